#ifndef EK_OPS_DEPTHWISE_KERNELS_H_
#define EK_OPS_DEPTHWISE_KERNELS_H_

#include <cstdint>

// One function per instruction set and element type, each instruction set in a
// source file of its own that is compiled for it. depthwise.cc chooses; nobody
// else calls these.
namespace edgekiln::ops {

// Neighbouring output pixels whose windows lie inside the input by the same
// steps. Strides in elements.
struct DepthwiseRun {
  int64_t pixels, channels;
  int64_t rows, columns;             // Steps of the window.
  int64_t x_row, x_column, x_pixel;  // From one step or pixel to the next.
  int64_t w_row;                     // Columns are `channels` apart.
};

// out[p * channels + c] = sum over rows and columns, ascending, of
// (x[...] - zero) * w[...]
template <typename X, typename W, typename Sum>
using DepthwiseKernel = void (*)(const DepthwiseRun& run, const X* x, Sum zero,
                                 const W* w, Sum* out);

void DepthwiseScalar(const DepthwiseRun&, const float*, float, const float*,
                     float*);
void DepthwiseScalar(const DepthwiseRun&, const int8_t*, int32_t,
                     const int16_t*, int32_t*);
void DepthwiseScalar(const DepthwiseRun&, const uint8_t*, int32_t,
                     const int16_t*, int32_t*);
void DepthwiseAvx2(const DepthwiseRun&, const float*, float, const float*,
                   float*);
void DepthwiseAvx2(const DepthwiseRun&, const int8_t*, int32_t, const int16_t*,
                   int32_t*);
void DepthwiseAvx2(const DepthwiseRun&, const uint8_t*, int32_t, const int16_t*,
                   int32_t*);
void DepthwiseAvx512(const DepthwiseRun&, const float*, float, const float*,
                     float*);
void DepthwiseAvx512(const DepthwiseRun&, const int8_t*, int32_t,
                     const int16_t*, int32_t*);
void DepthwiseAvx512(const DepthwiseRun&, const uint8_t*, int32_t,
                     const int16_t*, int32_t*);

}  // namespace edgekiln::ops

#endif  // EK_OPS_DEPTHWISE_KERNELS_H_
