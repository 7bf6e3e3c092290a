#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/status_macros.h"
#include "ops/dot_output.h"
#include "ops/kernels.h"
#include "ops/quantized_parameters.h"

// Ops that move values: of any element type, by the size of its elements.
namespace edgekiln::ops {
namespace {

std::vector<int64_t> Strides(absl::Span<const int64_t> shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (int64_t i = std::ssize(shape) - 2; i >= 0; --i) {
    strides[i] = strides[i + 1] * shape[i + 1];
  }
  return strides;
}

template <int kBytes>
void TransposeElements(const char* from, absl::Span<const int64_t> shape,
                       const std::vector<int64_t>& step, char* to) {
  std::vector<int64_t> position(shape.size(), 0);
  const int64_t elements = NumElements(shape);
  int64_t at = 0;
  for (int64_t i = 0; i < elements; ++i) {
    std::memcpy(to + i * kBytes, from + at * kBytes, kBytes);
    for (int64_t d = std::ssize(shape) - 1; d >= 0; --d) {
      at += step[d];
      if (++position[d] < shape[d]) break;
      at -= step[d] * shape[d];
      position[d] = 0;
    }
  }
}

// One element holding the padding value, in the tensor's own type.
std::vector<char> PaddingElement(const v1::Pad& op, const TensorView& input) {
  std::vector<char> element(ElementBytes(input.type), 0);
  if (input.type == v1::FLOAT32) {
    const float value = op.value();
    std::memcpy(element.data(), &value, sizeof(value));
  } else if (input.quantization.present()) {
    v1::Clamp at_value;
    at_value.set_min(op.value());
    // Integers are little-endian: the low bytes come first.
    const int32_t value =
        ClampRange(at_value, input.quantization, input.type).min;
    std::memcpy(element.data(), &value,
                std::min(element.size(), sizeof(value)));
  }
  return element;
}

// Copies `input` into the middle of `to`, one innermost row at a time.
void CopyInside(const v1::Pad& op, const TensorView& input,
                absl::Span<const int64_t> out_shape, char* to) {
  const int64_t bytes = ElementBytes(input.type);
  const int64_t rank = std::ssize(out_shape);
  const int64_t row = rank == 0 ? 1 : input.shape[rank - 1];
  const int64_t rows = row == 0 ? 0 : NumElements(input.shape) / row;
  const std::vector<int64_t> strides = Strides(out_shape);
  std::vector<int64_t> position(rank, 0);
  for (int64_t r = 0; r < rows; ++r) {
    int64_t at = 0;
    for (int64_t d = 0; d < rank; ++d) {
      at += (position[d] + op.before(static_cast<int>(d))) * strides[d];
    }
    std::memcpy(to + at * bytes, input.as<char>() + r * row * bytes,
                row * bytes);
    for (int64_t d = rank - 2; d >= 0; --d) {
      if (++position[d] < input.shape[d]) break;
      position[d] = 0;
    }
  }
}

template <typename T>
absl::Status RescaleRow(const TensorView& input, const T* from, int64_t count,
                        const MutableTensorView& output, T* to) {
  EK_ASSIGN_OR_RETURN(
      const RescaleParameters p,
      ChangeOfScale({}, input.quantization, output.quantization, output.type));
  for (int64_t i = 0; i < count; ++i) {
    to[i] = static_cast<T>(Finish(from[i] - p.input_zero_point, p.multiplier,
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

absl::Status Transpose(const v1::Transpose& op, const TensorView& input,
                       const MutableTensorView& output) {
  const std::vector<int64_t> strides = Strides(input.shape);
  std::vector<int64_t> step;
  for (const int32_t from : op.permutation()) step.push_back(strides[from]);
  const char* from = input.as<char>();
  char* to = output.as<char>();
  switch (ElementBytes(output.type)) {
    case 1:
      TransposeElements<1>(from, output.shape, step, to);
      break;
    case 2:
      TransposeElements<2>(from, output.shape, step, to);
      break;
    case 4:
      TransposeElements<4>(from, output.shape, step, to);
      break;
    default:
      TransposeElements<8>(from, output.shape, step, to);
  }
  return absl::OkStatus();
}

absl::Status Pad(const v1::Pad& op, const TensorView& input,
                 const MutableTensorView& output) {
  const std::vector<char> element = PaddingElement(op, input);
  char* to = output.as<char>();
  for (int64_t i = 0; i < NumElements(output.shape); ++i) {
    std::memcpy(to + i * std::ssize(element), element.data(), element.size());
  }
  CopyInside(op, input, output.shape, to);
  return absl::OkStatus();
}

absl::Status Concat(const v1::Concat& op, Inputs inputs,
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
      } else if (output.type == v1::INT8) {
        EK_RETURN_IF_ERROR(
            RescaleRow(input, reinterpret_cast<const int8_t*>(from), row,
                       output, reinterpret_cast<int8_t*>(to)));
      } else {
        EK_RETURN_IF_ERROR(
            RescaleRow(input, reinterpret_cast<const uint8_t*>(from), row,
                       output, reinterpret_cast<uint8_t*>(to)));
      }
    }
    at += row;
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::ops
