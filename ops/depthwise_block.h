#ifndef EK_OPS_DEPTHWISE_BLOCK_H_
#define EK_OPS_DEPTHWISE_BLOCK_H_

#include <cstdint>
#include <type_traits>

#include "ops/depthwise_kernels.h"

// The depthwise kernel for any vector width, for the depthwise_*.cc files only.
// Internal linkage on purpose, as in gemm_float_block.h.
namespace edgekiln::ops {

// Whether each int32 product is computed as a pair of int16 products (madd),
// the second of which is 0. That is faster than a product of int32.
template <int kLanes, typename X>
static constexpr bool MultipliesPairs() {
#if defined(__AVX512BW__)
  return sizeof(X) == 1 && kLanes == 16;
#elif defined(__AVX2__)
  return sizeof(X) == 1 && kLanes == 8;
#else
  return false;
#endif
}

// As numbers of the sums' type. Through int16: compilers widen bytes to int32
// one by one.
template <int kLanes, typename X, typename Sum, typename Inputs>
static inline auto Widened(Inputs inputs) {
  typedef Sum Sums __attribute__((vector_size(kLanes * sizeof(Sum))));
  typedef std::conditional_t<sizeof(X) == 1, int16_t, X> Half;
  typedef Half Halves __attribute__((vector_size(kLanes * sizeof(Half))));
  return __builtin_convertvector(__builtin_convertvector(inputs, Halves), Sums);
}

// a * b of numbers within int16; of MultipliesPairs(), the upper halves of `b`
// are 0.
template <int kLanes, typename X, typename Sums>
static inline Sums Products(Sums a, Sums b) {
  if constexpr (MultipliesPairs<kLanes, X>()) {
#if defined(__AVX512BW__)
    return (Sums)_mm512_madd_epi16((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
    return (Sums)_mm256_madd_epi16((__m256i)a, (__m256i)b);
#endif
  } else {
    return a * b;
  }
}

// `kPixels` pixels of `kVectors` times `kLanes` channels: their sums stay in
// registers.
template <int kLanes, int kPixels, int kVectors, typename X, typename W,
          typename Sum>
static inline void DepthwiseTile(const DepthwiseRun& run, const X* x, Sum zero,
                                 const W* w, Sum* out) {
  typedef Sum Sums __attribute__((vector_size(kLanes * sizeof(Sum))));
  typedef X Inputs __attribute__((vector_size(kLanes * sizeof(X))));
  typedef W Weights __attribute__((vector_size(kLanes * sizeof(W))));
  Sums sum[kPixels][kVectors] = {};
  for (int64_t kh = 0; kh < run.rows; ++kh) {
    const X* x_line = x + kh * run.x_row;
    const W* w_line = w + kh * run.w_row;
    for (int64_t kw = 0; kw < run.columns; ++kw) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        Weights weights;
        __builtin_memcpy(&weights, w_line + kw * run.channels + v * kLanes,
                         sizeof(weights));
        Sums b = __builtin_convertvector(weights, Sums);
        if constexpr (MultipliesPairs<kLanes, X>()) b &= 0xffff;
#pragma GCC unroll 8
        for (int p = 0; p < kPixels; ++p) {
          Inputs inputs;
          __builtin_memcpy(
              &inputs,
              x_line + kw * run.x_column + p * run.x_pixel + v * kLanes,
              sizeof(inputs));
          sum[p][v] +=
              Products<kLanes, X>(Widened<kLanes, X, Sum>(inputs) - zero, b);
        }
      }
    }
  }
  for (int p = 0; p < kPixels; ++p) {
    for (int v = 0; v < kVectors; ++v) {
      // Through a copy: a sum whose address is taken would live in memory.
      const Sums done = sum[p][v];
      __builtin_memcpy(out + p * run.channels + v * kLanes, &done,
                       sizeof(done));
    }
  }
}

// For lines of few pixels: several vectors of channels at a time. Not inlined,
// as is the next one: side by side they would run out of registers.
template <int kLanes, int kVectors, typename X, typename W, typename Sum>
[[gnu::noinline]] static void DepthwisePixels(const DepthwiseRun& run,
                                              const X* x, Sum zero, const W* w,
                                              Sum* out) {
  for (int64_t p = 0; p < run.pixels; ++p) {
    DepthwiseTile<kLanes, 1, kVectors>(run, x + p * run.x_pixel, zero, w,
                                       out + p * run.channels);
  }
}

template <int kLanes, typename X, typename W, typename Sum>
[[gnu::noinline]] static void DepthwiseLanes(const DepthwiseRun& run,
                                             const X* x, Sum zero, const W* w,
                                             Sum* out) {
  int64_t p = 0;
  for (; p + 4 <= run.pixels; p += 4) {
    DepthwiseTile<kLanes, 4, 1>(run, x + p * run.x_pixel, zero, w,
                                out + p * run.channels);
  }
  for (; p < run.pixels; ++p) {
    DepthwiseTile<kLanes, 1, 1>(run, x + p * run.x_pixel, zero, w,
                                out + p * run.channels);
  }
}

template <int kLanes, typename X, typename W, typename Sum>
static inline void DepthwiseBlock(const DepthwiseRun& run, const X* x, Sum zero,
                                  const W* w, Sum* out) {
  int64_t c = 0;
  constexpr int kVectors = 4;
  if (run.pixels < 4) {
    for (; c + kVectors * kLanes <= run.channels; c += kVectors * kLanes) {
      DepthwisePixels<kLanes, kVectors>(run, x + c, zero, w + c, out + c);
    }
  }
  for (; c + kLanes <= run.channels; c += kLanes) {
    DepthwiseLanes<kLanes>(run, x + c, zero, w + c, out + c);
  }
  for (; c < run.channels; ++c) {
    DepthwiseLanes<1>(run, x + c, zero, w + c, out + c);
  }
}

}  // namespace edgekiln::ops

#endif  // EK_OPS_DEPTHWISE_BLOCK_H_
