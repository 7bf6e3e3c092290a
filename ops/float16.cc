#include "ops/float16.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/status_macros.h"

namespace edgekiln::ops {

uint16_t HalfFromDouble(double value) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double size = std::fabs(value);
  if (std::isnan(value)) return sign | 0x7e00;
  if (size >= 65520.0) return sign | 0x7c00;  // Halfway to 2^16, and above.
  int exponent = 0;
  std::frexp(size, &exponent);  // size < 2^exponent
  if (size == 0 || exponent < -13) exponent = -13;
  // Steps of this binade; the rounding of nearbyint is that of the default
  // environment, half to even.
  const double steps = std::nearbyint(std::ldexp(size, 11 - exponent));
  // Subnormals start at exponent field 0; carries run into it by themselves.
  return static_cast<uint16_t>(sign + ((exponent + 13) << 10) +
                               static_cast<int>(steps));
}

bool HasFloat16(Inputs inputs, Outputs outputs) {
  const auto is_half = [](const auto& tensor) {
    return tensor.type == v1::FLOAT16;
  };
  return std::any_of(inputs.begin(), inputs.end(), is_half) ||
         std::any_of(outputs.begin(), outputs.end(), is_half);
}

absl::Status ComputeInFloat(
    Inputs inputs, Outputs outputs,
    absl::FunctionRef<absl::Status(Inputs, Outputs)> compute) {
  std::vector<std::vector<float>> values(inputs.size() + outputs.size());
  std::vector<TensorView> floats(inputs.begin(), inputs.end());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].type != v1::FLOAT16) continue;
    const int64_t elements = NumElements(inputs[i].shape);
    values[i].resize(elements);
    const auto* from = inputs[i].as<uint16_t>();
    float* to = values[i].data();
    for (int64_t e = 0; e < elements; ++e) to[e] = FloatFromHalf(from[e]);
    floats[i].type = v1::FLOAT32;
    floats[i].data = values[i].data();
  }
  std::vector<MutableTensorView> results(outputs.begin(), outputs.end());
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].type != v1::FLOAT16) continue;
    std::vector<float>& to = values[inputs.size() + i];
    to.resize(NumElements(outputs[i].shape));
    results[i].type = v1::FLOAT32;
    results[i].data = to.data();
  }
  EK_RETURN_IF_ERROR(compute(floats, results));
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].type != v1::FLOAT16) continue;
    const std::vector<float>& from = values[inputs.size() + i];
    auto* to = outputs[i].as<uint16_t>();
    for (size_t e = 0; e < from.size(); ++e) to[e] = HalfFromFloat(from[e]);
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::ops
