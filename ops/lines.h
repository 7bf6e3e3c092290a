#ifndef EK_OPS_LINES_H_
#define EK_OPS_LINES_H_

#include <cstdint>

#include "absl/types/span.h"
#include "ops/tensor_view.h"

namespace edgekiln::ops {

// Calls fn(first element, count, step) for each line of `count` elements that
// lie `step` apart along `axis`.
template <typename Fn>
void ForEachLine(absl::Span<const int64_t> shape, int32_t axis, const Fn& fn) {
  const int64_t count = shape[axis];
  const int64_t step = NumElements(shape.subspan(axis + 1));
  const int64_t outer = NumElements(shape.first(axis));
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < step; ++i) fn(o * count * step + i, count, step);
  }
}

}  // namespace edgekiln::ops

#endif  // EK_OPS_LINES_H_
