#include "simfarm/simulators/dla/micro_kernel.h"

#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "simfarm/simulators/dla/avx512.h"

namespace edgekiln::simfarm::dla {
namespace {

void PortableKernel(const int16_t* x, const int16_t* weights, int64_t pairs,
                    int32_t* acc) {
  // Pixel by pixel: with the pixels innermost GCC 12 vectorises over them and
  // reads rows of `x` that do not exist.
  for (int64_t p = 0; p < kPixels; ++p) {
    const int16_t* row = x + p * 2 * pairs;
    uint32_t sums[kChannels] = {};
    for (int64_t i = 0; i < pairs; ++i) {
      const int16_t* w = weights + i * kChannels * 2;
      const int32_t x0 = row[2 * i];
      const int32_t x1 = row[2 * i + 1];
      for (int64_t c = 0; c < kChannels; ++c) {
        sums[c] += static_cast<uint32_t>(x0 * w[2 * c] + x1 * w[2 * c + 1]);
      }
    }
    std::memcpy(acc + p * kChannels, sums, sizeof(sums));
  }
}

#if defined(__x86_64__)

// Two values as the 32-bit unit that multiply-add works on.
int32_t Pair(const int16_t* x) {
  int32_t pair = 0;
  std::memcpy(&pair, x, sizeof(pair));
  return pair;
}

void Sse2Kernel(const int16_t* x, const int16_t* weights, int64_t pairs,
                int32_t* acc) {
  // Half of the channels at a time: 8 sums fit the 16 registers.
  for (int64_t half = 0; half < 2; ++half) {
    __m128i sums[kPixels][2];
    for (auto& row : sums) row[0] = row[1] = _mm_setzero_si128();
    for (int64_t i = 0; i < pairs; ++i) {
      const auto* w = reinterpret_cast<const __m128i*>(
          weights + i * kChannels * 2 + half * kChannels);
      const __m128i w0 = _mm_loadu_si128(w);
      const __m128i w1 = _mm_loadu_si128(w + 1);
      for (int64_t p = 0; p < kPixels; ++p) {
        const __m128i v = _mm_set1_epi32(Pair(x + p * 2 * pairs + 2 * i));
        sums[p][0] = _mm_add_epi32(sums[p][0], _mm_madd_epi16(v, w0));
        sums[p][1] = _mm_add_epi32(sums[p][1], _mm_madd_epi16(v, w1));
      }
    }
    for (int64_t p = 0; p < kPixels; ++p) {
      auto* out = reinterpret_cast<__m128i*>(acc + p * kChannels + half * 8);
      _mm_storeu_si128(out, sums[p][0]);
      _mm_storeu_si128(out + 1, sums[p][1]);
    }
  }
}

__attribute__((target("avx2"))) void Avx2Kernel(const int16_t* x,
                                                const int16_t* weights,
                                                int64_t pairs, int32_t* acc) {
  __m256i sums[kPixels][2];
  for (auto& row : sums) row[0] = row[1] = _mm256_setzero_si256();
  for (int64_t i = 0; i < pairs; ++i) {
    const auto* w =
        reinterpret_cast<const __m256i*>(weights + i * kChannels * 2);
    const __m256i w0 = _mm256_loadu_si256(w);
    const __m256i w1 = _mm256_loadu_si256(w + 1);
    for (int64_t p = 0; p < kPixels; ++p) {
      int32_t pair = 0;
      std::memcpy(&pair, x + p * 2 * pairs + 2 * i, sizeof(pair));
      const __m256i v = _mm256_set1_epi32(pair);
      sums[p][0] = _mm256_add_epi32(sums[p][0], _mm256_madd_epi16(v, w0));
      sums[p][1] = _mm256_add_epi32(sums[p][1], _mm256_madd_epi16(v, w1));
    }
  }
  for (int64_t p = 0; p < kPixels; ++p) {
    auto* out = reinterpret_cast<__m256i*>(acc + p * kChannels);
    _mm256_storeu_si256(out, sums[p][0]);
    _mm256_storeu_si256(out + 1, sums[p][1]);
  }
}

#endif

}  // namespace

bool UsesAvx512(CpuPath path) {
  const bool wanted = path == CpuPath::kBest || path == CpuPath::kAvx512Vnni;
  return wanted && avx512::Supported();
}

bool HasCpuPath(CpuPath path) {
  switch (path) {
    case CpuPath::kAvx512Vnni:
      return avx512::Supported();
#if defined(__x86_64__)
    case CpuPath::kSse2:
      return true;
    case CpuPath::kAvx2:
      return __builtin_cpu_supports("avx2");
#endif
    default:
      return path == CpuPath::kBest || path == CpuPath::kPortable;
  }
}

MicroKernel GetMicroKernel(CpuPath path) {
#if defined(__x86_64__)
  const bool wide = path != CpuPath::kPortable && path != CpuPath::kSse2;
  if (wide && __builtin_cpu_supports("avx2")) return Avx2Kernel;
  if (path != CpuPath::kPortable) return Sse2Kernel;
#endif
  return PortableKernel;
}

}  // namespace edgekiln::simfarm::dla
