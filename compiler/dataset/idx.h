#ifndef EK_COMPILER_DATASET_IDX_H_
#define EK_COMPILER_DATASET_IDX_H_

// MNIST's array format: two zero bytes, element type, number of dimensions,
// big-endian extents and values.

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "compiler/dataset/npy.h"
#include "compiler/dataset/sample_reader.h"

namespace edgekiln::compiler {

// Whether the bytes look like IDX or gzip.
bool IsIdx(absl::string_view bytes);

// Reads the header only, also of a file that is gzip. Errors: as ParseIdx().
absl::StatusOr<NpyInfo> InspectIdx(absl::string_view bytes,
                                   absl::string_view name);

// The samples of a file, also of one that is gzip, to be unpacked one after the
// other; no more than the first `wanted` are of use. `bytes` must outlive them.
// Errors: as ParseIdx().
absl::StatusOr<std::unique_ptr<SampleReader>> IdxSamples(
    absl::string_view bytes, int64_t wanted, absl::string_view name);

// Reads a whole file, unpacking it first if it is gzip, never
// further than its header says. Errors: INVALID_ARGUMENT, UNIMPLEMENTED
// (unknown element type, too many dimensions).
absl::StatusOr<NpyArray> ParseIdx(absl::string_view bytes,
                                  absl::string_view name);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_DATASET_IDX_H_
