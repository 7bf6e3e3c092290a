#ifndef EK_OPS_BROADCAST_H_
#define EK_OPS_BROADCAST_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace edgekiln::ops {

// Elements to step in `input` per step along each dimension of `out`; 0 where
// numpy's broadcasting repeats a value.
inline std::vector<int64_t> BroadcastStrides(absl::Span<const int64_t> input,
                                             absl::Span<const int64_t> out) {
  std::vector<int64_t> strides(out.size(), 0);
  int64_t stride = 1;
  for (size_t i = 0; i < input.size(); ++i) {
    const int64_t extent = input[input.size() - 1 - i];
    if (extent != 1) strides[out.size() - 1 - i] = stride;
    stride *= extent;
  }
  return strides;
}

// Calls fn(out_offset, a_offset, b_offset) for every element of `out` in order.
template <typename Fn>
void ForEachPair(absl::Span<const int64_t> a, absl::Span<const int64_t> b,
                 absl::Span<const int64_t> out, const Fn& fn) {
  int64_t elements = 1;
  for (const int64_t extent : out) elements *= extent;
  if (a == out && b == out) {
    for (int64_t i = 0; i < elements; ++i) fn(i, i, i);
    return;
  }
  const std::vector<int64_t> step_a = BroadcastStrides(a, out);
  const std::vector<int64_t> step_b = BroadcastStrides(b, out);
  std::vector<int64_t> position(out.size(), 0);
  int64_t at_a = 0;
  int64_t at_b = 0;
  for (int64_t i = 0; i < elements; ++i) {
    fn(i, at_a, at_b);
    for (int64_t d = static_cast<int64_t>(out.size()) - 1; d >= 0; --d) {
      at_a += step_a[d];
      at_b += step_b[d];
      if (++position[d] < out[d]) break;
      at_a -= step_a[d] * out[d];
      at_b -= step_b[d] * out[d];
      position[d] = 0;
    }
  }
}

}  // namespace edgekiln::ops

#endif  // EK_OPS_BROADCAST_H_
