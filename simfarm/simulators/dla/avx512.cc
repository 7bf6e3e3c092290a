#include "simfarm/simulators/dla/avx512.h"

#include <algorithm>
#include <cstring>

#include "simfarm/simulators/dla/avx512_finish.h"

namespace edgekiln::simfarm::dla::avx512 {

Requantization Requantization::From(int64_t channel) const {
  Requantization rest = *this;
  rest.bias += channel;
  if (!writes_int32) {
    rest.multiplier += channel;
    rest.n += channel;
  }
  return rest;
}

#if defined(__x86_64__)

namespace {

inline __mmask16 FirstLanes(int64_t lanes) {
  return static_cast<__mmask16>(
      lanes >= kLanes ? 0xffff
                      : (uint32_t{1} << std::max<int64_t>(lanes, 0)) - 1);
}

inline __mmask64 FirstBytes(int64_t bytes) {
  return bytes >= 64 ? ~uint64_t{0} : (uint64_t{1} << bytes) - 1;
}

inline int32_t LoadQuad(const uint8_t* bytes) {
  int32_t quad = 0;
  std::memcpy(&quad, bytes, sizeof(quad));
  return quad;
}

template <int kPixels, int kVectors>
EK_AVX512 void ConvolveTile(const ConvolutionBlock& block) {
  __m512i sums[kPixels][kVectors];
#pragma GCC unroll 8
  for (int p = 0; p < kPixels; ++p) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sums[p][v] = _mm512_setzero_si512();
  }
  const int8_t* weights = block.weights;
  const int64_t vector_bytes = block.shape.vector_bytes();
  const int64_t quads = block.shape.quads();
  for (int64_t s = 0; s < block.shape.segments; ++s) {
    const uint8_t* x[kPixels];
#pragma GCC unroll 8
    for (int p = 0; p < kPixels; ++p) {
      x[p] = block.pixels[p] + block.segment_offsets[s];
    }
    for (int64_t q = 0; q < quads; ++q, weights += kLanes * 4) {
      __m512i w[kVectors];
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        w[v] = _mm512_loadu_si512(weights + v * vector_bytes);
      }
#pragma GCC unroll 8
      for (int p = 0; p < kPixels; ++p) {
        const __m512i quad = _mm512_set1_epi32(LoadQuad(x[p] + 4 * q));
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) {
          sums[p][v] = _mm512_dpbusd_epi32(sums[p][v], quad, w[v]);
        }
      }
    }
  }
  const int64_t element_bytes = block.requantization.writes_int32 ? 4 : 1;
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    const Finish finish = MakeFinish(block.requantization, v * kLanes);
    const __mmask16 lanes = FirstLanes(block.channels - v * kLanes);
#pragma GCC unroll 8
    for (int p = 0; p < kPixels; ++p) {
      Store(sums[p][v], finish, lanes,
            block.outputs[p] + v * kLanes * element_bytes);
    }
  }
}

template <int kVectors>
void ConvolvePixels(const ConvolutionBlock& block) {
  switch (block.num_pixels) {
    case 1:
      return ConvolveTile<1, kVectors>(block);
    case 2:
      return ConvolveTile<2, kVectors>(block);
    case 3:
      return ConvolveTile<3, kVectors>(block);
    case 4:
      return ConvolveTile<4, kVectors>(block);
    case 5:
      return ConvolveTile<5, kVectors>(block);
    case 6:
      return ConvolveTile<6, kVectors>(block);
    default:
      break;
  }
  // More would not fit the registers.
  if constexpr (kVectors < kMaxVectors) {
    if (block.num_pixels == 7) return ConvolveTile<7, kVectors>(block);
    ConvolveTile<8, kVectors>(block);
  }
}

// The last bytes of a segment that fill no quad, of one channel.
int32_t PartialQuad(const uint8_t* weights, int64_t bytes) {
  int32_t quad = 0;
  std::memcpy(&quad, weights, bytes);
  return quad;
}

// A vector of depthwise sums holds channels 16 L + 4 j to 16 L + 4 j + 3 in its
// 128-bit lane L: what interleaving bytes gives. Back to channels 16 j to
// 16 j + 15: a transposition of lanes.
EK_AVX512 inline void TransposeLanes(__m512i sums[4]) {
  const __m512i a = _mm512_shuffle_i32x4(sums[0], sums[1], 0x44);
  const __m512i b = _mm512_shuffle_i32x4(sums[2], sums[3], 0x44);
  const __m512i c = _mm512_shuffle_i32x4(sums[0], sums[1], 0xee);
  const __m512i d = _mm512_shuffle_i32x4(sums[2], sums[3], 0xee);
  sums[0] = _mm512_shuffle_i32x4(a, b, 0x88);
  sums[1] = _mm512_shuffle_i32x4(a, b, 0xdd);
  sums[2] = _mm512_shuffle_i32x4(c, d, 0x88);
  sums[3] = _mm512_shuffle_i32x4(c, d, 0xdd);
}

// Bytes of four vectors to [4][16][4]: of each channel its four bytes.
EK_AVX512 inline void Interleave(const __m512i taps[4], __m512i out[4]) {
  const __m512i low01 = _mm512_unpacklo_epi8(taps[0], taps[1]);
  const __m512i high01 = _mm512_unpackhi_epi8(taps[0], taps[1]);
  const __m512i low23 = _mm512_unpacklo_epi8(taps[2], taps[3]);
  const __m512i high23 = _mm512_unpackhi_epi8(taps[2], taps[3]);
  out[0] = _mm512_unpacklo_epi16(low01, low23);
  out[1] = _mm512_unpackhi_epi16(low01, low23);
  out[2] = _mm512_unpacklo_epi16(high01, high23);
  out[3] = _mm512_unpackhi_epi16(high01, high23);
}

}  // namespace

bool Supported() {
  return __builtin_cpu_supports("avx512f") &&
         __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512vnni");
}

EK_AVX512 void PackWeights(const uint8_t* weights, const WeightShape& shape,
                           int8_t* packed, int32_t* sums) {
  const int64_t row = shape.segments * shape.segment_bytes;
  const __m512i ones = _mm512_set1_epi8(1);
  const __m512i lane =
      _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  const __m512i index =
      _mm512_mullo_epi32(lane, _mm512_set1_epi32(static_cast<int32_t>(row)));
  for (int64_t o = 0; o < shape.channels; o += kLanes) {
    const int64_t channels = std::min(kLanes, shape.channels - o);
    const __mmask16 lanes = FirstLanes(channels);
    __m512i sum = _mm512_setzero_si512();
    for (int64_t s = 0; s < shape.segments; ++s) {
      const uint8_t* from = weights + o * row + s * shape.segment_bytes;
      for (int64_t at = 0; at < shape.segment_bytes; at += 4) {
        const int64_t left = shape.segment_bytes - at;
        __m512i quad;
        if (left >= 4) {
          quad = _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), lanes,
                                             index, from + at, 1);
        } else {
          int32_t quads[kLanes] = {};
          for (int64_t c = 0; c < channels; ++c) {
            quads[c] = PartialQuad(from + c * row + at, left);
          }
          quad = _mm512_loadu_si512(quads);
        }
        sum = _mm512_dpbusd_epi32(sum, ones, quad);
        _mm512_storeu_si512(packed, quad);
        packed += kLanes * 4;
      }
    }
    _mm512_storeu_si512(sums + o, sum);
  }
}

void Convolve(const ConvolutionBlock& block) {
  switch (block.vectors) {
    case 1:
      return ConvolvePixels<1>(block);
    case 2:
      return ConvolvePixels<2>(block);
    case 3:
      return ConvolvePixels<3>(block);
    default:
      return ConvolvePixels<4>(block);
  }
}

EK_AVX512 void MultiplyRows(const uint8_t* x, const uint8_t* weights,
                            int64_t channels, int64_t count, int32_t offset,
                            int32_t* out) {
  const __m512i ones = _mm512_set1_epi8(1);
  for (int64_t o = 0; o < channels; ++o, weights += count) {
    __m512i products = _mm512_setzero_si512();
    __m512i sum = _mm512_setzero_si512();
    for (int64_t i = 0; i < count; i += 64) {
      const __mmask64 bytes = FirstBytes(count - i);
      const __m512i w = _mm512_maskz_loadu_epi8(bytes, weights + i);
      products = _mm512_dpbusd_epi32(products, _mm512_loadu_si512(x + i), w);
      sum = _mm512_dpbusd_epi32(sum, ones, w);
    }
    out[o] = _mm512_reduce_add_epi32(_mm512_sub_epi32(
        products, _mm512_mullo_epi32(sum, _mm512_set1_epi32(offset))));
  }
}

EK_AVX512 void PackDepthwise(const uint8_t taps[4][kDepthwiseLanes],
                             uint8_t* packed) {
  __m512i rows[4];
  for (int t = 0; t < 4; ++t) rows[t] = _mm512_loadu_si512(taps[t]);
  __m512i out[4];
  Interleave(rows, out);
  for (int j = 0; j < 4; ++j) _mm512_storeu_si512(packed + 64 * j, out[j]);
}

EK_AVX512 void ConvolveDepthwise(const DepthwiseRow& row) {
  Finish finish[4];
  for (int j = 0; j < 4; ++j) {
    finish[j] = MakeFinish(row.requantization, j * kLanes);
  }
  const int64_t element_bytes = row.requantization.writes_int32 ? 4 : 1;
  for (int64_t p = 0; p < row.pixels; ++p) {
    const uint8_t* x = row.input + p * row.input_step;
    uint8_t* out = row.output + p * row.output_step;
    __m512i sums[4];
    for (__m512i& sum : sums) sum = _mm512_setzero_si512();
    for (int64_t g = 0; g < row.tap_groups; ++g) {
      const int64_t* offsets = row.tap_offsets + 4 * g;
      const uint8_t* weights = row.weights + g * 4 * kDepthwiseLanes;
      __m512i taps[4];
#pragma GCC unroll 4
      for (int t = 0; t < 4; ++t) {
        taps[t] = _mm512_loadu_si512(x + offsets[t]);
      }
      __m512i quads[4];
      Interleave(taps, quads);
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) {
        sums[j] = _mm512_dpbusd_epi32(sums[j], quads[j],
                                      _mm512_loadu_si512(weights + 64 * j));
      }
    }
    TransposeLanes(sums);
    const int64_t channels =
        p + 1 == row.pixels ? row.last_channels : row.channels;
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      if (j * kLanes >= channels) break;
      Store(sums[j], finish[j], FirstLanes(channels - j * kLanes),
            out + j * kLanes * element_bytes);
    }
  }
}

EK_AVX512 void Requantize(const int32_t* sums, int64_t channels,
                          const Requantization& requantization, uint8_t* out) {
  const int64_t element_bytes = requantization.writes_int32 ? 4 : 1;
  for (int64_t c = 0; c < channels; c += kLanes) {
    const __mmask16 lanes = FirstLanes(channels - c);
    Store(_mm512_maskz_loadu_epi32(lanes, sums + c),
          MakeFinish(requantization, c), lanes, out + c * element_bytes);
  }
}

EK_AVX512 void Add(const Addition& addition, const uint8_t* a, const uint8_t* b,
                   int64_t count, uint8_t* out) {
  Factors factors[3];
  for (int i = 0; i < 3; ++i) {
    factors[i] =
        MakeFactors(_mm512_set1_epi32(addition.multiplier[i]),
                    _mm512_set1_epi32(addition.n[i]), addition.half_even);
  }
  const VectorLimits limits = MakeLimits(addition.limits);
  const __m512i zero_a = _mm512_set1_epi32(addition.zero_point[0]);
  const __m512i zero_b = _mm512_set1_epi32(addition.zero_point[1]);
  const __m128i shift = _mm_cvtsi32_si128(addition.left_shift);
  for (int64_t i = 0; i < count; i += kLanes) {
    const __mmask16 lanes = FirstLanes(count - i);
    const __m512i x = _mm512_cvtepi8_epi32(_mm_maskz_loadu_epi8(lanes, a + i));
    const __m512i y = _mm512_cvtepi8_epi32(_mm_maskz_loadu_epi8(lanes, b + i));
    const __m512i scaled_x = RescaleVector(
        _mm512_sll_epi32(_mm512_sub_epi32(x, zero_a), shift), factors[0]);
    const __m512i scaled_y = RescaleVector(
        _mm512_sll_epi32(_mm512_sub_epi32(y, zero_b), shift), factors[1]);
    const __m512i sum =
        RescaleVector(_mm512_add_epi32(scaled_x, scaled_y), factors[2]);
    _mm_mask_storeu_epi8(out + i, lanes, Limit(sum, limits));
  }
}

#undef EK_AVX512

#else

// Never called: Supported() is false.
bool Supported() { return false; }
void PackWeights(const uint8_t*, const WeightShape&, int8_t*, int32_t*) {}
void Convolve(const ConvolutionBlock&) {}
void MultiplyRows(const uint8_t*, const uint8_t*, int64_t, int64_t, int32_t,
                  int32_t*) {}
void ConvolveDepthwise(const DepthwiseRow&) {}
void PackDepthwise(const uint8_t[4][kDepthwiseLanes], uint8_t*) {}
void Requantize(const int32_t*, int64_t, const Requantization&, uint8_t*) {}
void Add(const Addition&, const uint8_t*, const uint8_t*, int64_t, uint8_t*) {}

#endif

}  // namespace edgekiln::simfarm::dla::avx512
