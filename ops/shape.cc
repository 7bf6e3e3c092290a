#include <cstring>

#include "base/status_macros.h"
#include "ops/dot_output.h"
#include "ops/element_types.h"
#include "ops/kernels.h"
#include "ops/quantized_parameters.h"

namespace edgekiln::ops {
namespace {

template <typename T>
absl::Status RescaleRow(v1::Rounding rounding, const TensorView& input,
                        const char* from, int64_t count,
                        const MutableTensorView& output, char* to) {
  EK_ASSIGN_OR_RETURN(const RescaleParameters p,
                      ChangeOfScale({}, rounding, input.quantization,
                                    output.quantization, output.type));
  for (int64_t i = 0; i < count; ++i) {
    const T value = reinterpret_cast<const T*>(from)[i];
    reinterpret_cast<T*>(to)[i] =
        static_cast<T>(Finish(value - p.input_zero_point, p.multiplier,
                              p.output_zero_point, p.clamp));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status Reshape(const TensorView& input, const MutableTensorView& output) {
  std::memcpy(output.data, input.data,
              NumElements(output.shape) * ElementBytes(output.type));
  return absl::OkStatus();
}

absl::Status Concat(const v1::Concat& op, v1::Rounding rounding, Inputs inputs,
                    const MutableTensorView& output) {
  const int64_t bytes = ElementBytes(output.type);
  const int64_t inner = NumElements(output.shape.subspan(op.axis() + 1));
  const int64_t outer = NumElements(output.shape.first(op.axis()));
  const int64_t out_row = output.shape[op.axis()] * inner;
  int64_t at = 0;  // Elements of the current output row already written.
  for (const TensorView& input : inputs) {
    const int64_t row = input.shape[op.axis()] * inner;
    for (int64_t o = 0; o < outer; ++o) {
      const char* from = input.as<char>() + o * row * bytes;
      char* to = output.as<char>() + (o * out_row + at) * bytes;
      if (input.quantization == output.quantization) {
        std::memcpy(to, from, row * bytes);
        continue;
      }
      EK_RETURN_IF_ERROR(WithQuantizedType(output.type, [&](auto type) {
        return RescaleRow<decltype(type)>(rounding, input, from, row, output,
                                          to);
      }));
    }
    at += row;
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::ops
