#include <cmath>
#include <vector>

#include "ops/kernels.h"

namespace edgekiln::ops {

namespace {

template <typename T>
void Normalize(const v1::BatchNormalization& op, Inputs inputs,
               const MutableTensorView& output) {
  const int64_t channels = output.shape[op.axis()];
  const int64_t inner = NumElements(output.shape.subspan(op.axis() + 1));
  // In double: one rounding per value, and sqrt is exact to the last bit
  // everywhere.
  std::vector<double> factor(channels);
  for (int64_t c = 0; c < channels; ++c) {
    const double variance = inputs[4].as<T>()[c];
    factor[c] = double{inputs[1].as<T>()[c]} /
                std::sqrt(variance + double{op.epsilon()});
  }
  const T* x = inputs[0].as<T>();
  const T* bias = inputs[2].as<T>();
  const T* mean = inputs[3].as<T>();
  T* y = output.as<T>();
  for (int64_t i = 0; i < NumElements(output.shape); ++i) {
    const int64_t c = i / inner % channels;
    y[i] = static_cast<T>((double{x[i]} - double{mean[c]}) * factor[c] +
                          double{bias[c]});
  }
}

}  // namespace

absl::Status BatchNormalization(const v1::BatchNormalization& op, Inputs inputs,
                                const MutableTensorView& output) {
  if (output.type == v1::FLOAT64) {
    Normalize<double>(op, inputs, output);
  } else {
    Normalize<float>(op, inputs, output);
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::ops
