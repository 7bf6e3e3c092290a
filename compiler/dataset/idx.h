#ifndef EK_COMPILER_DATASET_IDX_H_
#define EK_COMPILER_DATASET_IDX_H_

// MNIST's array format: two zero bytes, element type, number of dimensions,
// big-endian extents and values.

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "compiler/dataset/npy.h"

namespace edgekiln::compiler {

// Whether the bytes look like IDX or gzip.
bool IsIdx(absl::string_view bytes);

// Reads the header only, also of a file that is gzip. Errors: as ParseIdx().
absl::StatusOr<NpyInfo> InspectIdx(absl::string_view bytes,
                                   absl::string_view name);

// Reads a whole file, unpacking it first if it is gzip, never
// further than its header says. Errors: INVALID_ARGUMENT, UNIMPLEMENTED
// (unknown element type, too many dimensions).
absl::StatusOr<NpyArray> ParseIdx(absl::string_view bytes,
                                  absl::string_view name);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_DATASET_IDX_H_
