#include <cstring>
#include <vector>

#include "base/status_macros.h"
#include "ops/arithmetic.h"
#include "ops/element_types.h"
#include "ops/index_values.h"
#include "ops/kernels.h"
#include "ops/strided_copy.h"

// Values that indices place in a copy of the first input, in the order of the
// indices.
namespace edgekiln::ops {
namespace {

// Calls visit(reduce) with the function T(there, value) of a reduction.
template <typename T, typename Visit>
absl::Status WithReduction(v1::ScatterReduction reduction, const Visit& visit) {
  switch (reduction) {
    case v1::SCATTER_ADD:
      return visit([](T there, T value) { return Sum(there, value); });
    case v1::SCATTER_MUL:
      return visit([](T there, T value) { return Product(there, value); });
    case v1::SCATTER_MAX:
      return visit([](T there, T value) { return Larger(there, value); });
    case v1::SCATTER_MIN:
      return visit([](T there, T value) { return Smaller(there, value); });
    default:
      return visit([](T, T value) { return value; });
  }
}

// Calls visit(type, reduce): a replacement sees only how large elements are.
template <typename Visit>
absl::Status Dispatch(v1::ScatterReduction reduction, v1::ElementType type,
                      const Visit& visit) {
  const auto with = [&](auto tag) {
    using T = decltype(tag);
    return WithReduction<T>(
        reduction, [&](const auto& reduce) { return visit(tag, reduce); });
  };
  if (reduction != v1::SCATTER_REPLACE) return WithElementType(type, with);
  absl::Status status;
  WithElementSize(ElementBytes(type), [&](auto tag) {
    status = visit(tag, [](auto, auto value) { return value; });
  });
  return status;
}

}  // namespace

absl::Status ScatterElements(const v1::ScatterElements& op, Inputs inputs,
                             const MutableTensorView& output) {
  const TensorView& indices = inputs[1];
  const std::vector<int64_t> steps = RowMajorSteps(output.shape);
  const int64_t elements = NumElements(indices.shape);
  std::memcpy(output.data, inputs[0].data,
              NumElements(output.shape) * ElementBytes(output.type));
  return Dispatch(
      op.reduction(), output.type,
      [&](auto tag, const auto& reduce) -> absl::Status {
        using T = decltype(tag);
        T* y = output.as<T>();
        const T* updates = inputs[2].as<T>();
        std::vector<int64_t> position(indices.shape.size(), 0);
        for (int64_t i = 0; i < elements; ++i) {
          EK_ASSIGN_OR_RETURN(const int64_t placed,
                              PositionAt(indices, i, output.shape[op.axis()]));
          int64_t at = 0;
          for (size_t d = 0; d < position.size(); ++d) {
            const bool is_axis = static_cast<int32_t>(d) == op.axis();
            at += (is_axis ? placed : position[d]) * steps[d];
          }
          y[at] = reduce(y[at], updates[i]);
          Advance(indices.shape, position);
        }
        return absl::OkStatus();
      });
}

absl::Status ScatterNd(const v1::ScatterNd& op, Inputs inputs,
                       const MutableTensorView& output) {
  const TensorView& indices = inputs[1];
  const std::vector<int64_t> steps = RowMajorSteps(output.shape);
  const size_t length = static_cast<size_t>(indices.shape.back());
  const int64_t tuples =
      NumElements(indices.shape.first(indices.shape.size() - 1));
  const int64_t run = NumElements(output.shape.subspan(length));
  std::memcpy(output.data, inputs[0].data,
              NumElements(output.shape) * ElementBytes(output.type));
  return Dispatch(op.reduction(), output.type,
                  [&](auto tag, const auto& reduce) -> absl::Status {
                    using T = decltype(tag);
                    const T* update = inputs[2].as<T>();
                    for (int64_t i = 0; i < tuples; ++i) {
                      EK_ASSIGN_OR_RETURN(
                          const int64_t at,
                          OffsetOfTuple(indices, i, output.shape, steps));
                      T* y = output.as<T>() + at;
                      for (int64_t k = 0; k < run; ++k) {
                        y[k] = reduce(y[k], *update++);
                      }
                    }
                    return absl::OkStatus();
                  });
}

}  // namespace edgekiln::ops
