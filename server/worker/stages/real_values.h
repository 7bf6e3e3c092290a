#ifndef EK_SERVER_WORKER_STAGES_REAL_VALUES_H_
#define EK_SERVER_WORKER_STAGES_REAL_VALUES_H_

// The real values that the arrays of a chunk stand for.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "compiler/dataset/npy.h"
#include "edgekiln/v1/graph.pb.h"

namespace edgekiln::server {

// One array of a chunk. Quantized integers are worth what Dequantize makes of
// them, in float32, so that it does not matter which side of the chip's border
// converts them. Borrows the array.
class RealValues {
 public:
  // INTERNAL if `array` does not hold `samples` samples.
  static absl::StatusOr<RealValues> Create(const v1::Chunk::Array& array,
                                           int64_t samples);

  int64_t per_sample() const { return per_sample_; }
  // Replaces `values` by those of sample `index` of the chunk.
  void Read(int64_t index, std::vector<double>& values) const;

 private:
  RealValues() = default;

  const std::string* data_ = nullptr;
  compiler::NpyType type_ = compiler::NpyType::kFloat32;
  int64_t per_sample_ = 0;
  // real = scale * (value - zero_point), of the channel of each element; empty:
  // as stored.
  std::vector<float> scales_;
  std::vector<int32_t> zero_points_;
  int64_t channel_stride_ = 1;  // Elements from one channel to the next.
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_WORKER_STAGES_REAL_VALUES_H_
