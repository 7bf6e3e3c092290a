#include <algorithm>
#include <numeric>
#include <vector>

#include "ops/arithmetic.h"
#include "ops/element_types.h"
#include "ops/kernels.h"
#include "ops/lines.h"

// Ops that walk along one axis: searching, sorting, running sums.
namespace edgekiln::ops {
namespace {

// NaN counts as larger than every number.
template <typename T>
bool Less(T a, T b) {
  if (IsNan(a)) return false;
  return IsNan(b) || a < b;
}

void StoreIndex(const MutableTensorView& output, int64_t at, int64_t value) {
  if (output.type == v1::INT32) {
    output.as<int32_t>()[at] = static_cast<int32_t>(value);
  } else {
    output.as<int64_t>()[at] = value;
  }
}

template <typename T>
void Search(const v1::ArgReduce& op, const TensorView& input,
            const MutableTensorView& output) {
  const bool largest = op.function() == v1::ArgReduce::MAX;
  int64_t to = 0;
  const auto search = [&](int64_t first, int64_t count, int64_t step) {
    const T* line = input.as<T>() + first;
    int64_t best = 0;
    for (int64_t k = 1; k < count; ++k) {
      const T next = line[k * step];
      const T held = line[best * step];
      const bool better = largest ? Less(held, next) : Less(next, held);
      const bool worse = largest ? Less(next, held) : Less(held, next);
      if (better || (op.select_last() && !worse)) best = k;
    }
    StoreIndex(output, to++, best);
  };
  ForEachLine(input.shape, op.axis(), search);
}

template <typename T>
void PickOrdered(const v1::TopK& op, const TensorView& input, Outputs outputs) {
  std::vector<int64_t> order(input.shape[op.axis()]);
  const auto pick = [&](int64_t first, int64_t count, int64_t step) {
    const T* line = input.as<T>() + first;
    std::iota(order.begin(), order.end(), 0);
    std::partial_sort(order.begin(), order.begin() + op.k(), order.end(),
                      [&](int64_t a, int64_t b) {
                        const T x = line[(op.smallest() ? a : b) * step];
                        const T y = line[(op.smallest() ? b : a) * step];
                        if (Less(x, y)) return true;
                        return !Less(y, x) && a < b;
                      });
    // Of the same line in the outputs, where it has k elements.
    const int64_t to = first / (count * step) * op.k() * step + first % step;
    for (int64_t k = 0; k < op.k(); ++k) {
      outputs[0].as<T>()[to + k * step] = line[order[k] * step];
      if (outputs.size() > 1) StoreIndex(outputs[1], to + k * step, order[k]);
    }
  };
  ForEachLine(input.shape, op.axis(), pick);
}

// Floats add up in double; each result is rounded once.
template <typename T>
void RunningSum(const v1::CumSum& op, const TensorView& input,
                const MutableTensorView& output) {
  using Acc = std::conditional_t<std::is_floating_point_v<T>, double, T>;
  const auto run = [&](int64_t first, int64_t count, int64_t step) {
    Acc sum = 0;
    for (int64_t n = 0; n < count; ++n) {
      const int64_t at = first + (op.reverse() ? count - 1 - n : n) * step;
      const Acc next = Sum<Acc>(sum, input.as<T>()[at]);
      output.as<T>()[at] = static_cast<T>(op.exclusive() ? sum : next);
      sum = next;
    }
  };
  ForEachLine(input.shape, op.axis(), run);
}

}  // namespace

absl::Status ArgReduce(const v1::ArgReduce& op, const TensorView& input,
                       const MutableTensorView& output) {
  return WithElementType(input.type, [&](auto type) {
    Search<decltype(type)>(op, input, output);
    return absl::OkStatus();
  });
}

absl::Status TopK(const v1::TopK& op, const TensorView& input,
                  Outputs outputs) {
  return WithElementType(input.type, [&](auto type) {
    PickOrdered<decltype(type)>(op, input, outputs);
    return absl::OkStatus();
  });
}

absl::Status CumSum(const v1::CumSum& op, const TensorView& input,
                    const MutableTensorView& output) {
  return WithElementType(input.type, [&](auto type) {
    RunningSum<decltype(type)>(op, input, output);
    return absl::OkStatus();
  });
}

}  // namespace edgekiln::ops
