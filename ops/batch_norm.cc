#include <cmath>
#include <vector>

#include "ops/kernels.h"

namespace edgekiln::ops {

absl::Status BatchNormalization(const v1::BatchNormalization& op, Inputs inputs,
                                const MutableTensorView& output) {
  const int64_t channels = output.shape[op.axis()];
  const int64_t inner = NumElements(output.shape.subspan(op.axis() + 1));
  // In double: one rounding per value, and sqrt is exact to the last bit
  // everywhere.
  std::vector<double> factor(channels);
  for (int64_t c = 0; c < channels; ++c) {
    const double variance = inputs[4].as<float>()[c];
    factor[c] = double{inputs[1].as<float>()[c]} /
                std::sqrt(variance + double{op.epsilon()});
  }
  const float* x = inputs[0].as<float>();
  const float* bias = inputs[2].as<float>();
  const float* mean = inputs[3].as<float>();
  float* y = output.as<float>();
  for (int64_t i = 0; i < NumElements(output.shape); ++i) {
    const int64_t c = i / inner % channels;
    y[i] = static_cast<float>((double{x[i]} - double{mean[c]}) * factor[c] +
                              double{bias[c]});
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::ops
