#include "compiler/passes/transposed_tensor.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

namespace edgekiln::compiler {
namespace {

// A dimension of the result: its extent, and how many bytes one step along it
// is in the source.
struct Axis {
  int64_t extent = 1;
  int64_t stride = 0;
};

// The dimensions of the result, those joined that lie behind one another in
// the source, too; at least one.
std::vector<Axis> JoinedAxes(const std::vector<int64_t>& shape,
                             const std::vector<int64_t>& stride) {
  std::vector<Axis> axes;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 1) continue;
    const bool joins =
        !axes.empty() && axes.back().stride == shape[i] * stride[i];
    if (joins) {
      axes.back() = {axes.back().extent * shape[i], stride[i]};
    } else {
      axes.push_back({shape[i], stride[i]});
    }
  }
  if (axes.empty()) axes.emplace_back();
  return axes;
}

// Elements of type T in the order of `axes`. Networks are mostly weights that
// pass through here once: it goes through them in squares, so that a line of
// the cache is used up once it was fetched, on either side.
template <typename T>
class Gather {
 public:
  Gather(const char* from, char* to, std::vector<Axis> axes)
      : from_(from), to_(to), columns_(axes.back()) {
    axes.pop_back();
    // The rows are of the axis whose neighbours are the nearest.
    const auto nearest = std::min_element(
        axes.begin(), axes.end(),
        [](const Axis& a, const Axis& b) { return a.stride < b.stride; });
    int64_t bytes = columns_.extent * static_cast<int64_t>(sizeof(T));
    for (auto axis = axes.end(); axis != axes.begin();) {
      --axis;
      if (axis == nearest) {
        rows_ = *axis;
        row_bytes_ = bytes;
      } else {
        outer_.push_back({*axis, bytes});
      }
      bytes *= axis->extent;
    }
  }

  void Run() const { Run(outer_.size(), from_, to_); }

 private:
  struct OuterAxis {
    Axis axis;
    int64_t to_bytes;
  };

  void Run(size_t depth, const char* from, char* to) const {
    if (depth == 0) return Plane(from, to);
    const OuterAxis& outer = outer_[depth - 1];
    for (int64_t i = 0; i < outer.axis.extent; ++i) {
      Run(depth - 1, from + i * outer.axis.stride, to + i * outer.to_bytes);
    }
  }

  void Plane(const char* from, char* to) const {
    constexpr int64_t kSide = 16;
    for (int64_t r = 0; r < rows_.extent; r += kSide) {
      const int64_t rows = std::min(kSide, rows_.extent - r);
      for (int64_t c = 0; c < columns_.extent; c += kSide) {
        const int64_t columns = std::min(kSide, columns_.extent - c);
        const char* source = from + r * rows_.stride + c * columns_.stride;
        char* target = to + r * row_bytes_ + c * sizeof(T);
        for (int64_t i = 0; i < rows; ++i) {
          if (columns == kSide) {
            Row<kSide>(source, target);
          } else {
            for (int64_t k = 0; k < columns; ++k) {
              Row<1>(source + k * columns_.stride, target + k * sizeof(T));
            }
          }
          source += rows_.stride;
          target += row_bytes_;
        }
      }
    }
  }

  template <int kCount>
  void Row(const char* source, char* target) const {
    T values[kCount];
#pragma GCC unroll 16
    for (int k = 0; k < kCount; ++k) {
      std::memcpy(&values[k], source + k * columns_.stride, sizeof(T));
    }
    std::memcpy(target, values, sizeof(values));
  }

  const char* const from_;
  char* const to_;
  const Axis columns_;
  Axis rows_;
  int64_t row_bytes_ = 0;
  std::vector<OuterAxis> outer_;  // The innermost first.
};

template <typename T>
void GatherAs(const char* from, char* to, std::vector<Axis> axes) {
  Gather<T>(from, to, std::move(axes)).Run();
}

}  // namespace

Tensor TransposedTensor(const Tensor& constant,
                        absl::Span<const int32_t> permutation,
                        ConstantPool& pool) {
  const int rank = static_cast<int>(permutation.size());
  const int64_t element_bytes = ElementBytes(constant.type);
  std::vector<int64_t> input_stride(rank, element_bytes);
  for (int i = rank - 2; i >= 0; --i) {
    input_stride[i] = input_stride[i + 1] * constant.shape[i + 1];
  }
  Tensor result = constant;
  std::vector<int64_t> stride(rank);
  for (int i = 0; i < rank; ++i) {
    result.shape[i] = constant.shape[permutation[i]];
    stride[i] = input_stride[permutation[i]];
    if (constant.quantization.has_value() &&
        constant.quantization->axis == permutation[i]) {
      result.quantization->axis = i;
    }
  }
  ConstantPool::Room room = pool.Allocate(std::ssize(*constant.data));
  result.data = std::move(room.data);
  if (constant.data->empty()) return result;
  const char* from = constant.data->data();
  std::vector<Axis> axes = JoinedAxes(result.shape, stride);
  switch (element_bytes) {
    case 1:
      GatherAs<uint8_t>(from, room.bytes, std::move(axes));
      break;
    case 2:
      GatherAs<uint16_t>(from, room.bytes, std::move(axes));
      break;
    case 4:
      GatherAs<uint32_t>(from, room.bytes, std::move(axes));
      break;
    default:
      GatherAs<uint64_t>(from, room.bytes, std::move(axes));
  }
  return result;
}

Tensor TransposedTensor(const Tensor& constant,
                        absl::Span<const int32_t> permutation) {
  ConstantPool pool;
  return TransposedTensor(constant, permutation, pool);
}

}  // namespace edgekiln::compiler
