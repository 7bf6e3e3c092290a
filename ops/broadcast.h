#ifndef EK_OPS_BROADCAST_H_
#define EK_OPS_BROADCAST_H_

#include <array>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"

// Numpy's broadcasting.
namespace edgekiln::ops {

// Elements to step in `input` per step along each dimension of `out`; 0 where
// broadcasting repeats a value.
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

// A run of output elements along which every input steps by 0 or by 1.
template <size_t N>
struct BroadcastRow {
  int64_t count = 1;
  std::array<int64_t, N> step = {};
  int64_t out = 0;  // Where the run starts.
  std::array<int64_t, N> at = {};
};

// A dimension of the output after those that can be walked as one are joined.
template <size_t N>
struct BroadcastLoop {
  int64_t extent = 1;
  std::array<int64_t, N> step = {};
};

template <size_t N>
std::vector<BroadcastLoop<N>> JoinLoops(
    const std::array<absl::Span<const int64_t>, N>& inputs,
    absl::Span<const int64_t> out) {
  std::array<std::vector<int64_t>, N> strides;
  for (size_t n = 0; n < N; ++n) strides[n] = BroadcastStrides(inputs[n], out);
  std::vector<BroadcastLoop<N>> loops;  // Innermost first.
  for (size_t i = out.size(); i-- > 0;) {
    if (out[i] == 1) continue;
    bool joins = !loops.empty();
    BroadcastLoop<N> next;
    next.extent = out[i];
    for (size_t n = 0; n < N; ++n) {
      next.step[n] = strides[n][i];
      joins =
          joins && next.step[n] == loops.back().step[n] * loops.back().extent;
    }
    if (joins) {
      loops.back().extent *= out[i];
    } else {
      loops.push_back(next);
    }
  }
  if (loops.empty()) loops.push_back({});
  return loops;
}

// Calls fn(row) for runs that cover `out`, which must not be empty, in order.
template <size_t N, typename Fn>
void ForEachRow(const std::array<absl::Span<const int64_t>, N>& inputs,
                absl::Span<const int64_t> out, const Fn& fn) {
  const std::vector<BroadcastLoop<N>> loops = JoinLoops<N>(inputs, out);
  BroadcastRow<N> row;
  row.count = loops[0].extent;
  row.step = loops[0].step;
  std::vector<int64_t> position(loops.size(), 0);
  while (true) {
    fn(row);
    row.out += row.count;
    size_t d = 1;
    for (; d < loops.size(); ++d) {
      for (size_t n = 0; n < N; ++n) row.at[n] += loops[d].step[n];
      if (++position[d] < loops[d].extent) break;
      for (size_t n = 0; n < N; ++n) {
        row.at[n] -= loops[d].step[n] * loops[d].extent;
      }
      position[d] = 0;
    }
    if (d == loops.size()) return;
  }
}

// out[..] = f(a[..], b[..]) where `out_shape` is the common shape of the two;
// written to be vectorised.
template <typename A, typename B, typename Out, typename F>
void ApplyBroadcast(const A* a, absl::Span<const int64_t> a_shape, const B* b,
                    absl::Span<const int64_t> b_shape, Out* out,
                    absl::Span<const int64_t> out_shape, const F& f) {
  ForEachRow<2>({a_shape, b_shape}, out_shape, [&](const BroadcastRow<2>& row) {
    const A* x = a + row.at[0];
    const B* y = b + row.at[1];
    Out* to = out + row.out;
    if (row.step[0] == 0) {
      const A same = *x;
      // Only a run of one element repeats both.
      for (int64_t i = 0; i < row.count; ++i) to[i] = f(same, y[i]);
    } else if (row.step[1] == 0) {
      const B same = *y;
      for (int64_t i = 0; i < row.count; ++i) to[i] = f(x[i], same);
    } else {
      for (int64_t i = 0; i < row.count; ++i) to[i] = f(x[i], y[i]);
    }
  });
}

}  // namespace edgekiln::ops

#endif  // EK_OPS_BROADCAST_H_
