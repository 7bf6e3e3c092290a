// Compiled with -mavx512bw (ops/CMakeLists.txt); empty on other machines.
#if defined(__AVX512BW__)

#include <immintrin.h>

#include "ops/depthwise_block.h"

namespace edgekiln::ops {

void DepthwiseAvx512(const DepthwiseRun& run, const float* x, float zero,
                     const float* w, float* out) {
  DepthwiseBlock<16>(run, x, zero, w, out);
}

void DepthwiseAvx512(const DepthwiseRun& run, const int8_t* x, int32_t zero,
                     const int16_t* w, int32_t* out) {
  DepthwiseBlock<16>(run, x, zero, w, out);
}

void DepthwiseAvx512(const DepthwiseRun& run, const uint8_t* x, int32_t zero,
                     const int16_t* w, int32_t* out) {
  DepthwiseBlock<16>(run, x, zero, w, out);
}

}  // namespace edgekiln::ops

#endif  // __AVX512BW__
