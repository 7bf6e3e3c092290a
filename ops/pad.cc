#include <algorithm>
#include <cstring>
#include <vector>

#include "ops/arithmetic.h"
#include "ops/element_types.h"
#include "ops/float16.h"
#include "ops/kernels.h"
#include "ops/quantized_parameters.h"
#include "ops/strided_copy.h"

namespace edgekiln::ops {
namespace {

// One element holding the padding value, in the tensor's own type.
std::vector<char> PaddingElement(const v1::Pad& op, const TensorView& input) {
  std::vector<char> element(ElementBytes(input.type), 0);
  const auto store = [&element](auto value) {
    std::memcpy(element.data(), &value, sizeof(value));
  };
  if (input.quantization.present()) {
    v1::Clamp at_value;
    at_value.set_min(op.value());
    // Integers are little-endian: the low bytes come first.
    const int32_t value =
        ClampRange(at_value, v1::HALF_UP, input.quantization, input.type).min;
    std::memcpy(element.data(), &value,
                std::min(element.size(), sizeof(value)));
  } else if (input.type == v1::FLOAT16) {
    store(HalfFromFloat(op.value()));
  } else {
    // CheckOp() has seen that the type holds the value.
    (void)WithElementType(input.type, [&](auto type) {
      using T = decltype(type);
      if constexpr (std::is_integral_v<T>) {
        store(SaturatingCast<T>(op.value()));
      } else {
        store(static_cast<T>(op.value()));
      }
      return absl::OkStatus();
    });
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
  const std::vector<int64_t> steps = RowMajorSteps(out_shape);
  std::vector<int64_t> position(rank, 0);
  for (int64_t r = 0; r < rows; ++r) {
    int64_t at = 0;
    for (int64_t d = 0; d < rank; ++d) {
      at += (position[d] + op.before(static_cast<int>(d))) * steps[d];
    }
    std::memcpy(to + at * bytes, input.as<char>() + r * row * bytes,
                row * bytes);
    for (int64_t d = rank - 2; d >= 0; --d) {
      if (++position[d] < input.shape[d]) break;
      position[d] = 0;
    }
  }
}

int64_t FloorModulo(int64_t value, int64_t period) {
  const int64_t rest = value % period;
  return rest < 0 ? rest + period : rest;
}

// Which of `extent` elements stands at `position`, which may lie outside.
int64_t SourceOf(v1::Pad::Mode mode, int64_t position, int64_t extent) {
  switch (mode) {
    case v1::Pad::REFLECT: {
      if (extent == 1) return 0;
      const int64_t at = FloorModulo(position, 2 * (extent - 1));
      return std::min(at, 2 * (extent - 1) - at);
    }
    case v1::Pad::SYMMETRIC: {
      const int64_t at = FloorModulo(position, 2 * extent);
      return std::min(at, 2 * extent - 1 - at);
    }
    case v1::Pad::WRAP:
      return FloorModulo(position, extent);
    default:
      return std::clamp<int64_t>(position, 0, extent - 1);
  }
}

// Writes what stands in the dimensions from `d` on; returns where it ends.
template <typename T>
T* CopyPadded(const v1::Pad& op, absl::Span<const int64_t> shape,
              const std::vector<int64_t>& steps, size_t d, const T* from,
              T* to) {
  if (d == shape.size()) {
    *to = *from;
    return to + 1;
  }
  const auto field = static_cast<int>(d);
  for (int64_t i = -op.before(field); i < shape[d] + op.after(field); ++i) {
    const T* source = from + SourceOf(op.mode(), i, shape[d]) * steps[d];
    to = CopyPadded(op, shape, steps, d + 1, source, to);
  }
  return to;
}

}  // namespace

absl::Status Pad(const v1::Pad& op, const TensorView& input,
                 const MutableTensorView& output) {
  const int64_t elements = NumElements(output.shape);
  char* to = output.as<char>();
  if (op.mode() == v1::Pad::CONSTANT) {
    const std::vector<char> element = PaddingElement(op, input);
    for (int64_t i = 0; i < elements; ++i) {
      std::memcpy(to + i * std::ssize(element), element.data(), element.size());
    }
    CopyInside(op, input, output.shape, to);
    return absl::OkStatus();
  }
  WithElementSize(ElementBytes(output.type), [&](auto type) {
    using T = decltype(type);
    CopyPadded(op, input.shape, RowMajorSteps(input.shape), 0, input.as<T>(),
               output.as<T>());
  });
  return absl::OkStatus();
}

}  // namespace edgekiln::ops
