#include "compiler/codegen/c/helper_table.h"

namespace edgekiln::compiler {

// Functions that layers share; the rows of kernels.txtpb that call them have
// their tables in the same order.
const std::vector<HelperText>& SharedHelpers() {
  static const auto& table = *new std::vector<HelperText>{
      {"shared_conv",
       R"(/* p: batch, input h w c, output h w c, kernel h w, stride h w, dilation h w,
   padding top left, zero points of x and y, limits, multiplier of a depthwise
   convolution or 0. */
#if defined(__GNUC__)
__attribute__((noinline))
#endif
static void $shared_conv(const int8_t *x, const int8_t *w, const int32_t *bias,
                         const int32_t *multiplier, const uint8_t *shift,
                         int8_t *y, const int32_t *p) {
  const int32_t depth = p[19] > 0 ? 1 : p[3];
  int32_t b, oy, ox, o, ky, kx, c;
  for (b = 0; b < p[0]; ++b) {
    for (oy = 0; oy < p[4]; ++oy) {
      for (ox = 0; ox < p[5]; ++ox) {
        for (o = 0; o < p[6]; ++o) {
          int32_t sum = 0;
          for (ky = 0; ky < p[7]; ++ky) {
            const int32_t iy = oy * p[9] - p[13] + ky * p[11];
            if (iy < 0 || iy >= p[1]) continue;
            for (kx = 0; kx < p[8]; ++kx) {
              const int32_t ix = ox * p[10] - p[14] + kx * p[12];
              const int8_t *px = x + ((b * p[1] + iy) * p[2] + ix) * p[3];
              const int8_t *pw;
              if (ix < 0 || ix >= p[2]) continue;
              if (p[19] > 0) {
                px += o / p[19];
                pw = w + (ky * p[8] + kx) * p[6] + o;
              } else {
                pw = w + ((o * p[7] + ky) * p[8] + kx) * depth;
              }
              for (c = 0; c < depth; ++c) sum += (px[c] - p[15]) * pw[c];
            }
          }
          *y++ = (int8_t)$finish_up(
              (int32_t)((uint32_t)sum + (uint32_t)bias[o]), multiplier[o],
              shift[o], p[16], p[17], p[18]);
        }
      }
    }
  }
}
)"},
      {"shared_add",
       R"(/* p: elements, zero points, 2^left shift, factors of a, b and the sum with
   their shifts, zero point, limits. */
#if defined(__GNUC__)
__attribute__((noinline))
#endif
static void $shared_add(const int8_t *a, const int8_t *b, int8_t *y,
                        const int32_t *p) {
  int32_t i;
  for (i = 0; i < p[0]; ++i) {
    const int32_t u =
        (int32_t)$round_up((int64_t)((a[i] - p[1]) * p[3]) * p[4], p[5]);
    const int32_t v =
        (int32_t)$round_up((int64_t)((b[i] - p[2]) * p[3]) * p[6], p[7]);
    y[i] = (int8_t)$finish_up(u + v, p[8], p[9], p[10], p[11], p[12]);
  }
}
)"},
  };
  return table;
}

}  // namespace edgekiln::compiler
