#include <algorithm>
#include <array>
#include <type_traits>

#include "base/status_macros.h"
#include "ops/broadcast.h"
#include "ops/dot_output.h"
#include "ops/kernels.h"
#include "ops/quantized_parameters.h"

namespace edgekiln::ops {
namespace {

// 8-bit values as indices: a function of one of them is a table.
template <typename T>
uint8_t Index(T value) {
  return static_cast<uint8_t>(value);
}

// Rescale((value - zero_point) << left_shift, multiplier) of every value.
template <typename T>
std::array<int32_t, 256> ScaledTable(const QuantizedAddParameters& p, int i) {
  std::array<int32_t, 256> table{};
  constexpr int32_t kLowest = std::is_signed_v<T> ? -128 : 0;
  for (int32_t v = kLowest; v < kLowest + 256; ++v) {
    table[Index(static_cast<T>(v))] =
        Rescale((v - p.zero_point[i]) * (1 << p.left_shift), p.multiplier[i]);
  }
  return table;
}

template <typename T>
absl::Status AddQuantized(const v1::Clamp& clamp, Inputs inputs,
                          const MutableTensorView& output) {
  EK_ASSIGN_OR_RETURN(
      const QuantizedAddParameters p,
      AddParameters(clamp, inputs[0].quantization, inputs[1].quantization,
                    output.quantization, output.type));
  const std::array<int32_t, 256> scaled_a = ScaledTable<T>(p, 0);
  const std::array<int32_t, 256> scaled_b = ScaledTable<T>(p, 1);
  const T* a = inputs[0].as<T>();
  const T* b = inputs[1].as<T>();
  T* out = output.as<T>();
  ForEachPair(inputs[0].shape, inputs[1].shape, output.shape,
              [&](int64_t o, int64_t i, int64_t j) {
                const int32_t sum =
                    scaled_a[Index(a[i])] + scaled_b[Index(b[j])];
                out[o] = static_cast<T>(Finish(sum, p.output_multiplier,
                                               p.output_zero_point, p.clamp));
              });
  return absl::OkStatus();
}

template <typename T>
absl::Status MulQuantized(const v1::Clamp& clamp, Inputs inputs,
                          const MutableTensorView& output) {
  EK_ASSIGN_OR_RETURN(
      const QuantizedMulParameters p,
      MulParameters(clamp, inputs[0].quantization, inputs[1].quantization,
                    output.quantization, output.type));
  const T* a = inputs[0].as<T>();
  const T* b = inputs[1].as<T>();
  T* out = output.as<T>();
  ForEachPair(inputs[0].shape, inputs[1].shape, output.shape,
              [&](int64_t o, int64_t i, int64_t j) {
                const int32_t product =
                    (a[i] - p.zero_point[0]) * (b[j] - p.zero_point[1]);
                out[o] = static_cast<T>(Finish(product, p.multiplier,
                                               p.output_zero_point, p.clamp));
              });
  return absl::OkStatus();
}

template <typename Combine>
void BinaryFloat(const v1::Clamp& clamp, Inputs inputs,
                 const MutableTensorView& output, const Combine& combine) {
  const FloatRange range = FloatRangeOf(clamp);
  const float* a = inputs[0].as<float>();
  const float* b = inputs[1].as<float>();
  float* out = output.as<float>();
  ForEachPair(inputs[0].shape, inputs[1].shape, output.shape,
              [&](int64_t o, int64_t i, int64_t j) {
                out[o] = range.Apply(combine(a[i], b[j]));
              });
}

template <typename T>
absl::Status ClipQuantized(const v1::Clamp& clamp, const TensorView& input,
                           const MutableTensorView& output) {
  EK_ASSIGN_OR_RETURN(const RescaleParameters p,
                      ChangeOfScale(clamp, input.quantization,
                                    output.quantization, output.type));
  const T* x = input.as<T>();
  T* out = output.as<T>();
  for (int64_t i = 0; i < NumElements(output.shape); ++i) {
    out[i] = static_cast<T>(
        p.identity ? std::clamp<int32_t>(x[i], p.clamp.min, p.clamp.max)
                   : Finish(x[i] - p.input_zero_point, p.multiplier,
                            p.output_zero_point, p.clamp));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status Add(const v1::Add& op, Inputs inputs,
                 const MutableTensorView& output) {
  if (output.type == v1::INT8) {
    return AddQuantized<int8_t>(op.clamp(), inputs, output);
  }
  if (output.type == v1::UINT8) {
    return AddQuantized<uint8_t>(op.clamp(), inputs, output);
  }
  BinaryFloat(op.clamp(), inputs, output,
              [](float a, float b) { return a + b; });
  return absl::OkStatus();
}

absl::Status Mul(const v1::Mul& op, Inputs inputs,
                 const MutableTensorView& output) {
  if (output.type == v1::INT8) {
    return MulQuantized<int8_t>(op.clamp(), inputs, output);
  }
  if (output.type == v1::UINT8) {
    return MulQuantized<uint8_t>(op.clamp(), inputs, output);
  }
  BinaryFloat(op.clamp(), inputs, output,
              [](float a, float b) { return a * b; });
  return absl::OkStatus();
}

absl::Status Clip(const v1::Clip& op, const TensorView& input,
                  const MutableTensorView& output) {
  if (output.type == v1::INT8) {
    return ClipQuantized<int8_t>(op.clamp(), input, output);
  }
  if (output.type == v1::UINT8) {
    return ClipQuantized<uint8_t>(op.clamp(), input, output);
  }
  const FloatRange range = FloatRangeOf(op.clamp());
  const float* x = input.as<float>();
  float* out = output.as<float>();
  for (int64_t i = 0; i < NumElements(output.shape); ++i) {
    out[i] = range.Apply(x[i]);
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::ops
