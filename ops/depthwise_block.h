#ifndef EK_OPS_DEPTHWISE_BLOCK_H_
#define EK_OPS_DEPTHWISE_BLOCK_H_

#include <cstdint>

#include "ops/depthwise_kernels.h"

// The depthwise kernel for any vector width, for the depthwise_*.cc files only.
// Internal linkage on purpose, as in gemm_float_block.h.
namespace edgekiln::ops {

// `kPixels` pixels of `kLanes` channels: their sums stay in registers.
template <int kLanes, int kPixels, typename X, typename W, typename Sum>
static inline void DepthwiseTile(const DepthwiseRun& run, const X* x, Sum zero,
                                 const W* w, Sum* out) {
  typedef Sum Sums __attribute__((vector_size(kLanes * sizeof(Sum))));
  typedef X Inputs __attribute__((vector_size(kLanes * sizeof(X))));
  typedef W Weights __attribute__((vector_size(kLanes * sizeof(W))));
  Sums sum[kPixels] = {};
  for (int64_t kh = 0; kh < run.rows; ++kh) {
    const X* x_line = x + kh * run.x_row;
    const W* w_line = w + kh * run.w_row;
    for (int64_t kw = 0; kw < run.columns; ++kw) {
      Weights weights;
      __builtin_memcpy(&weights, w_line + kw * run.channels, sizeof(weights));
      const Sums b = __builtin_convertvector(weights, Sums);
#pragma GCC unroll 8
      for (int p = 0; p < kPixels; ++p) {
        Inputs inputs;
        __builtin_memcpy(&inputs, x_line + kw * run.x_column + p * run.x_pixel,
                         sizeof(inputs));
        sum[p] += (__builtin_convertvector(inputs, Sums) - zero) * b;
      }
    }
  }
  for (int p = 0; p < kPixels; ++p) {
    // Through a copy: a sum whose address is taken would live in memory.
    const Sums done = sum[p];
    __builtin_memcpy(out + p * run.channels, &done, sizeof(done));
  }
}

template <int kLanes, typename X, typename W, typename Sum>
static inline void DepthwiseLanes(const DepthwiseRun& run, const X* x, Sum zero,
                                  const W* w, Sum* out) {
  int64_t p = 0;
  for (; p + 4 <= run.pixels; p += 4) {
    DepthwiseTile<kLanes, 4>(run, x + p * run.x_pixel, zero, w,
                             out + p * run.channels);
  }
  for (; p < run.pixels; ++p) {
    DepthwiseTile<kLanes, 1>(run, x + p * run.x_pixel, zero, w,
                             out + p * run.channels);
  }
}

template <int kLanes, typename X, typename W, typename Sum>
static inline void DepthwiseBlock(const DepthwiseRun& run, const X* x, Sum zero,
                                  const W* w, Sum* out) {
  int64_t c = 0;
  for (; c + kLanes <= run.channels; c += kLanes) {
    DepthwiseLanes<kLanes>(run, x + c, zero, w + c, out + c);
  }
  for (; c < run.channels; ++c) {
    DepthwiseLanes<1>(run, x + c, zero, w + c, out + c);
  }
}

}  // namespace edgekiln::ops

#endif  // EK_OPS_DEPTHWISE_BLOCK_H_
