#ifndef EK_COMPILER_DATASET_SAMPLE_READER_H_
#define EK_COMPILER_DATASET_SAMPLE_READER_H_

// Samples of a stored array, unpacked as they are asked for: a file of
// megabytes may unpack to gigabytes of which a job uses the first hundred
// samples, or all of them one after the other.

#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "compiler/dataset/byte_stream.h"
#include "compiler/dataset/npy.h"

namespace edgekiln::compiler {

// Not thread-safe.
class SampleReader {
 public:
  virtual ~SampleReader() = default;
  // The next `samples` samples: values in C order, little-endian, until the
  // next call. The caller asks for no more than there are. INVALID_ARGUMENT
  // (damaged).
  virtual absl::StatusOr<absl::string_view> Next(int64_t samples) = 0;
  // To be called after the last sample of use: whether the array is as long as
  // announced and has its checksum. What follows those samples is unpacked for
  // that only up to kCheckedRestBytes. INVALID_ARGUMENT.
  virtual absl::Status Finish() = 0;
};

// A fraction of a second. Beyond, the rest of an array costs more than it can
// tell of the samples in front of it.
inline constexpr int64_t kCheckedRestBytes = int64_t{256} << 20;

// Samples along the first of at least one dimensions. `values` stands where the
// values begin. Of an array in Fortran order, of which each sample is
// everywhere, the first `wanted` samples are unpacked at once.
std::unique_ptr<SampleReader> NewSampleReader(ByteStream values,
                                              const NpyInfo& info,
                                              int64_t wanted,
                                              std::optional<uint32_t> crc,
                                              absl::string_view name);

// Bytes of one sample. The size of the whole has been checked.
int64_t StoredSampleBytes(const NpyInfo& info);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_DATASET_SAMPLE_READER_H_
