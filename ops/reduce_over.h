#ifndef EK_OPS_REDUCE_OVER_H_
#define EK_OPS_REDUCE_OVER_H_

#include <cstdint>
#include <vector>

#include "ops/broadcast.h"
#include "ops/tensor_view.h"

namespace edgekiln::ops {

// For each output element, f(f(f(start, x0), x1), ...) over the reduced axes in
// row-major order of the input. `Axes` is any range of axes.
template <typename T, typename Acc, typename Axes, typename F>
std::vector<Acc> ReduceOver(const Axes& axes, const TensorView& input,
                            int64_t outputs, Acc start, const F& f) {
  std::vector<int64_t> kept(input.shape.begin(), input.shape.end());
  for (const int32_t axis : axes) kept[axis] = 1;
  std::vector<Acc> result(outputs, start);
  if (NumElements(input.shape) == 0) return result;
  // The result, broadcast back to the input's shape, is walked along with it.
  ForEachRow<1>({kept}, input.shape, [&](const BroadcastRow<1>& row) {
    const T* x = input.as<T>() + row.out;
    Acc* y = result.data() + row.at[0];
    if (row.step[0] == 0) {
      Acc value = *y;
      for (int64_t i = 0; i < row.count; ++i) value = f(value, x[i]);
      *y = value;
    } else {
      for (int64_t i = 0; i < row.count; ++i) y[i] = f(y[i], x[i]);
    }
  });
  return result;
}

// How many input elements make one output element.
template <typename Axes>
int64_t ReducedCount(const Axes& axes, absl::Span<const int64_t> shape) {
  int64_t count = 1;
  for (const int32_t axis : axes) count *= shape[axis];
  return count;
}

}  // namespace edgekiln::ops

#endif  // EK_OPS_REDUCE_OVER_H_
