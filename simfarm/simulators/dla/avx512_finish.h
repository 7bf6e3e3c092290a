#ifndef EK_SIMFARM_SIMULATORS_DLA_AVX512_FINISH_H_
#define EK_SIMFARM_SIMULATORS_DLA_AVX512_FINISH_H_

#include <cstdint>

#include "simfarm/simulators/dla/avx512.h"

#if defined(__x86_64__)

#include <immintrin.h>

// For each function instead of the whole file: inline functions of headers
// must stay usable on machines without these instructions.
#define EK_AVX512 \
  __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni")))

// What becomes of 16 sums at a time: bias, rescaling, limits. For avx512.cc.
namespace edgekiln::simfarm::dla::avx512 {

// Rescale() of 16 values, each with its own factor. Products of even and odd
// lanes are formed separately: they need 64 bits.
struct Factors {
  __m512i multiplier, odd_multiplier;
  __m512i n, odd_n;
  __m512i half, odd_half;
  bool half_even;
};

EK_AVX512 inline Factors MakeFactors(__m512i multiplier, __m512i n,
                                     bool half_even) {
  const __m512i one = _mm512_set1_epi64(1);
  Factors f;
  f.half_even = half_even;
  f.multiplier = multiplier;
  f.odd_multiplier = _mm512_srli_epi64(multiplier, 32);
  f.n = _mm512_and_si512(n, _mm512_set1_epi64(0xff));
  f.odd_n = _mm512_srli_epi64(n, 32);
  f.half = _mm512_sllv_epi64(one, _mm512_sub_epi64(f.n, one));
  f.odd_half = _mm512_sllv_epi64(one, _mm512_sub_epi64(f.odd_n, one));
  return f;
}

// What half to even adds to a product besides the half: 0, or -1 where what
// lies below is even.
EK_AVX512 inline __m512i EvenCorrection(__m512i product, __m512i n) {
  const __m512i one = _mm512_set1_epi64(1);
  return _mm512_sub_epi64(_mm512_and_si512(_mm512_srav_epi64(product, n), one),
                          one);
}

EK_AVX512 inline __m512i RescaleVector(__m512i value, const Factors& f) {
  __m512i even = _mm512_mul_epi32(value, f.multiplier);
  __m512i odd =
      _mm512_mul_epi32(_mm512_srli_epi64(value, 32), f.odd_multiplier);
  if (f.half_even) {
    even = _mm512_add_epi64(even, EvenCorrection(even, f.n));
    odd = _mm512_add_epi64(odd, EvenCorrection(odd, f.odd_n));
  }
  const __m512i even_result =
      _mm512_srav_epi64(_mm512_add_epi64(even, f.half), f.n);
  const __m512i odd_result =
      _mm512_srav_epi64(_mm512_add_epi64(odd, f.odd_half), f.odd_n);
  return _mm512_mask_shuffle_epi32(even_result, 0xaaaa, odd_result,
                                   _MM_PERM_CCAA);
}

// OutputLimits::Apply() of 16 values.
struct VectorLimits {
  __m512i min, max, zero_point;
};

EK_AVX512 inline VectorLimits MakeLimits(const OutputLimits& limits) {
  return {_mm512_set1_epi32(limits.min - limits.zero_point),
          _mm512_set1_epi32(limits.max - limits.zero_point),
          _mm512_set1_epi32(limits.zero_point)};
}

EK_AVX512 inline __m128i Limit(__m512i value, const VectorLimits& limits) {
  const __m512i limited =
      _mm512_min_epi32(_mm512_max_epi32(value, limits.min), limits.max);
  return _mm512_cvtepi32_epi8(_mm512_add_epi32(limited, limits.zero_point));
}

// Everything between a vector of sums and its results.
struct Finish {
  __m512i bias;
  Factors factors;
  VectorLimits limits;
  bool writes_int32;
};

EK_AVX512 inline Finish MakeFinish(const Requantization& r, int64_t channel) {
  Finish finish;
  finish.writes_int32 = r.writes_int32;
  finish.bias = _mm512_loadu_si512(r.bias + channel);
  if (r.writes_int32) return finish;
  finish.factors = MakeFactors(_mm512_loadu_si512(r.multiplier + channel),
                               _mm512_loadu_si512(r.n + channel), r.half_even);
  finish.limits = MakeLimits(r.limits);
  return finish;
}

// `out` belongs to the first channel of the vector.
EK_AVX512 inline void Store(__m512i sums, const Finish& finish, __mmask16 lanes,
                            uint8_t* out) {
  const __m512i value = _mm512_add_epi32(sums, finish.bias);
  if (finish.writes_int32) {
    _mm512_mask_storeu_epi32(out, lanes, value);
  } else {
    _mm_mask_storeu_epi8(
        out, lanes, Limit(RescaleVector(value, finish.factors), finish.limits));
  }
}

}  // namespace edgekiln::simfarm::dla::avx512

#endif  // __x86_64__

#endif  // EK_SIMFARM_SIMULATORS_DLA_AVX512_FINISH_H_
