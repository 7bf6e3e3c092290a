#include "ops/depthwise_block.h"

// What every machine can run.
namespace edgekiln::ops {

void DepthwiseScalar(const DepthwiseRun& run, const float* x, float zero,
                     const float* w, float* out) {
  DepthwiseBlock<4>(run, x, zero, w, out);
}

void DepthwiseScalar(const DepthwiseRun& run, const int8_t* x, int32_t zero,
                     const int16_t* w, int32_t* out) {
  DepthwiseBlock<4>(run, x, zero, w, out);
}

void DepthwiseScalar(const DepthwiseRun& run, const uint8_t* x, int32_t zero,
                     const int16_t* w, int32_t* out) {
  DepthwiseBlock<4>(run, x, zero, w, out);
}

}  // namespace edgekiln::ops
