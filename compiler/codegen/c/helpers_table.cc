#include "compiler/codegen/c/helper_table.h"

namespace edgekiln::compiler {

// What the table of kernels calls; p is in the order of the rows of
// kernels.txtpb. They compute every address from the indices of the element, as
// kernels for any shape do.
const std::vector<HelperText>& TableHelpers() {
  static const auto& table = *new std::vector<HelperText>{
      {"entry",
       R"(/* One call of a kernel: tensors and factors, result, shape. */
struct $entry {
  void (*kernel)(const struct $entry *e);
  const void *in[5];
  void *out;
  const int32_t *p;
};
)"},
      {"hidden_entry",
       R"(/* The same entry; which one is kept from the optimizer, which would make a
   kernel of its own for it. */
static inline const struct $entry *$hidden_entry(const struct $entry *e) {
#if defined(__GNUC__)
  __asm__("" : "+r"(e));
#endif
  return e;
}
)"},
      {"table_store",
       R"(/* Element `at` of the result: the sum itself, or rescaled by the factor of
   channel o. q: zero point, limits, rounding (0: half up, 1: half even, 2:
   down). */
static void $table_store(const struct $entry *e, int32_t at, int32_t o,
                         int32_t sum, const int32_t *q) {
  const int32_t *const bias = (const int32_t *)e->in[2];
  const int32_t *const multiplier = (const int32_t *)e->in[3];
  const int32_t *const shift = (const int32_t *)e->in[4];
  int64_t product;
  if (bias != 0) sum = (int32_t)((uint32_t)sum + (uint32_t)bias[o]);
  if (multiplier == 0) {
    ((int32_t *)e->out)[at] = sum;
    return;
  }
  product = (int64_t)sum * multiplier[o];
  sum = (int32_t)(q[3] == 0   ? $round_up(product, shift[o])
                  : q[3] == 1 ? $round_even(product, shift[o])
                              : $round_floor(product, shift[o]));
  ((int8_t *)e->out)[at] = (int8_t)$limit((int64_t)sum + q[0], q[1], q[2]);
}
)"},
      {"table_conv",
       R"(/* p: batch, input h w c, output h w c, kernel h w, stride h w, dilation h w,
   padding top left, zero points of x, w and y, limits, rounding,
   groups. */
static void $table_conv(const struct $entry *e) {
  const int8_t *const x = (const int8_t *)e->in[0];
  const int8_t *const w = (const int8_t *)e->in[1];
  const int32_t *const p = e->p;
  const int32_t depth = p[3] / p[21];
  const int32_t each = p[6] / p[21];
  int32_t b, oy, ox, o, ky, kx, c;
  for (b = 0; b < p[0]; ++b) {
    for (oy = 0; oy < p[4]; ++oy) {
      for (ox = 0; ox < p[5]; ++ox) {
        for (o = 0; o < p[6]; ++o) {
          const int32_t first = o / each * depth;
          int32_t sum = 0;
          for (ky = 0; ky < p[7]; ++ky) {
            const int32_t iy = oy * p[9] - p[13] + ky * p[11];
            for (kx = 0; kx < p[8]; ++kx) {
              const int32_t ix = ox * p[10] - p[14] + kx * p[12];
              if (iy < 0 || iy >= p[1] || ix < 0 || ix >= p[2]) continue;
              for (c = 0; c < depth; ++c) {
                sum += (x[((b * p[1] + iy) * p[2] + ix) * p[3] + first + c] -
                        p[15]) *
                       (w[((o * p[7] + ky) * p[8] + kx) * depth + c] - p[16]);
              }
            }
          }
          $table_store(e, ((b * p[4] + oy) * p[5] + ox) * p[6] + o, o, sum,
                       p + 17);
        }
      }
    }
  }
}
)"},
      {"table_depthwise",
       R"(/* p: as of a convolution, but the depth multiplier for groups. */
static void $table_depthwise(const struct $entry *e) {
  const int8_t *const x = (const int8_t *)e->in[0];
  const int8_t *const w = (const int8_t *)e->in[1];
  const int32_t *const p = e->p;
  int32_t b, oy, ox, c, m, ky, kx;
  for (b = 0; b < p[0]; ++b) {
    for (oy = 0; oy < p[4]; ++oy) {
      for (ox = 0; ox < p[5]; ++ox) {
        for (c = 0; c < p[3]; ++c) {
          for (m = 0; m < p[21]; ++m) {
            const int32_t o = c * p[21] + m;
            int32_t sum = 0;
            for (ky = 0; ky < p[7]; ++ky) {
              const int32_t iy = oy * p[9] - p[13] + ky * p[11];
              for (kx = 0; kx < p[8]; ++kx) {
                const int32_t ix = ox * p[10] - p[14] + kx * p[12];
                if (iy < 0 || iy >= p[1] || ix < 0 || ix >= p[2]) continue;
                sum += (x[((b * p[1] + iy) * p[2] + ix) * p[3] + c] - p[15]) *
                       (w[(ky * p[8] + kx) * p[6] + o] - p[16]);
              }
            }
            $table_store(e, ((b * p[4] + oy) * p[5] + ox) * p[6] + o, o, sum,
                         p + 17);
          }
        }
      }
    }
  }
}
)"},
      {"table_fully_connected",
       R"(/* p: rows, depth, columns, zero points of x, w and y, limits, rounding. */
static void $table_fully_connected(const struct $entry *e) {
  const int8_t *const x = (const int8_t *)e->in[0];
  const int8_t *const w = (const int8_t *)e->in[1];
  const int32_t *const p = e->p;
  int32_t r, o, k;
  for (r = 0; r < p[0]; ++r) {
    for (o = 0; o < p[2]; ++o) {
      int32_t sum = 0;
      for (k = 0; k < p[1]; ++k) {
        sum += (x[r * p[1] + k] - p[3]) * (w[o * p[1] + k] - p[4]);
      }
      $table_store(e, r * p[2] + o, o, sum, p + 5);
    }
  }
}
)"},
      {"table_add",
       R"(/* p: elements, zero points, 2^left shift, factors of a, b and the sum with
   their shifts, zero point, limits. */
static void $table_add(const struct $entry *e) {
  const int8_t *const a = (const int8_t *)e->in[0];
  const int8_t *const b = (const int8_t *)e->in[1];
  int8_t *const y = (int8_t *)e->out;
  const int32_t *const p = e->p;
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
      {"table_average",
       R"(/* p: batch, input h w c, output h w, kernel h w, stride h w, dilation h w,
   padding top left, zero point, limits, whether padding counts. */
static void $table_average(const struct $entry *e) {
  const int8_t *const x = (const int8_t *)e->in[0];
  int8_t *const y = (int8_t *)e->out;
  const int32_t *const p = e->p;
  int32_t b, oy, ox, ky, kx, c;
  for (b = 0; b < p[0]; ++b) {
    for (oy = 0; oy < p[4]; ++oy) {
      for (ox = 0; ox < p[5]; ++ox) {
        for (c = 0; c < p[3]; ++c) {
          int32_t sum = 0, inside = 0, count, mean;
          for (ky = 0; ky < p[6]; ++ky) {
            const int32_t iy = oy * p[8] - p[12] + ky * p[10];
            for (kx = 0; kx < p[7]; ++kx) {
              const int32_t ix = ox * p[9] - p[13] + kx * p[11];
              if (iy < 0 || iy >= p[1] || ix < 0 || ix >= p[2]) continue;
              sum += x[((b * p[1] + iy) * p[2] + ix) * p[3] + c];
              ++inside;
            }
          }
          count = p[17] != 0 ? p[6] * p[7] : inside;
          sum += (count - inside) * p[14];
          mean = count == 0 ? p[14] : $average32(sum, count);
          y[((b * p[4] + oy) * p[5] + ox) * p[3] + c] =
              (int8_t)$clamp(mean, p[15], p[16]);
        }
      }
    }
  }
}
)"},
      {"table_maximum",
       R"(/* p: as of an average. */
static void $table_maximum(const struct $entry *e) {
  const int8_t *const x = (const int8_t *)e->in[0];
  int8_t *const y = (int8_t *)e->out;
  const int32_t *const p = e->p;
  int32_t b, oy, ox, ky, kx, c;
  for (b = 0; b < p[0]; ++b) {
    for (oy = 0; oy < p[4]; ++oy) {
      for (ox = 0; ox < p[5]; ++ox) {
        for (c = 0; c < p[3]; ++c) {
          int32_t most = -128;
          for (ky = 0; ky < p[6]; ++ky) {
            const int32_t iy = oy * p[8] - p[12] + ky * p[10];
            for (kx = 0; kx < p[7]; ++kx) {
              const int32_t ix = ox * p[9] - p[13] + kx * p[11];
              int32_t value;
              if (iy < 0 || iy >= p[1] || ix < 0 || ix >= p[2]) continue;
              value = x[((b * p[1] + iy) * p[2] + ix) * p[3] + c];
              if (most < value) most = value;
            }
          }
          y[((b * p[4] + oy) * p[5] + ox) * p[3] + c] =
              (int8_t)$clamp(most, p[15], p[16]);
        }
      }
    }
  }
}
)"},
      {"table_softmax",
       R"(/* in: values, powers by the distance to the largest, scale of the output.
   p: lines around, length, step, zero point. */
static void $table_softmax(const struct $entry *e) {
  const int8_t *const x = (const int8_t *)e->in[0];
  const float *const powers = (const float *)e->in[1];
  const float *const scale = (const float *)e->in[2];
  int8_t *const y = (int8_t *)e->out;
  const int32_t *const p = e->p;
  int32_t o, j, i;
  for (o = 0; o < p[0]; ++o) {
    for (j = 0; j < p[2]; ++j) {
      const int32_t first = o * p[1] * p[2] + j;
      int32_t largest = x[first];
      float sum = 0;
      float factor;
      for (i = 0; i < p[1]; ++i) {
        const int32_t value = x[first + i * p[2]];
        if (largest < value) largest = value;
      }
      for (i = 0; i < p[1]; ++i) sum += powers[largest - x[first + i * p[2]]];
      factor = 1.0f / (sum * scale[0]);
      for (i = 0; i < p[1]; ++i) {
        const float steps =
            powers[largest - x[first + i * p[2]]] * factor + 0.5f;
        y[first + i * p[2]] =
            (int8_t)$clamp($small_whole(steps) + p[3], -128, 127);
      }
    }
  }
}
)"},
      {"table_dot_float",
       R"(/* A convolution; in[3]: limits. p: batch, input h w c, output h w c,
   kernel h w, stride h w, dilation h w, padding top left, groups, depth
   multiplier or 0. */
static void $table_dot_float(const struct $entry *e) {
  const float *const x = (const float *)e->in[0];
  const float *const w = (const float *)e->in[1];
  const float *const bias = (const float *)e->in[2];
  const float *const limits = (const float *)e->in[3];
  float *const y = (float *)e->out;
  const int32_t *const p = e->p;
  const int32_t depth = p[16] > 0 ? 1 : p[3] / p[15];
  const int32_t each = p[16] > 0 ? p[16] : p[6] / p[15];
  int32_t b, oy, ox, o, ky, kx, c;
  for (b = 0; b < p[0]; ++b) {
    for (oy = 0; oy < p[4]; ++oy) {
      for (ox = 0; ox < p[5]; ++ox) {
        for (o = 0; o < p[6]; ++o) {
          const int32_t first = o / each * depth;
          float sum = 0;
          for (ky = 0; ky < p[7]; ++ky) {
            const int32_t iy = oy * p[9] - p[13] + ky * p[11];
            for (kx = 0; kx < p[8]; ++kx) {
              const int32_t ix = ox * p[10] - p[14] + kx * p[12];
              const int32_t tap = p[16] > 0
                                      ? (ky * p[8] + kx) * p[6] + o
                                      : ((o * p[7] + ky) * p[8] + kx) * depth;
              if (iy < 0 || iy >= p[1] || ix < 0 || ix >= p[2]) continue;
              for (c = 0; c < depth; ++c) {
                sum += x[((b * p[1] + iy) * p[2] + ix) * p[3] + first + c] *
                       w[tap + c];
              }
            }
          }
          if (bias != 0) sum = sum + bias[o];
          if (sum < limits[0]) sum = limits[0];
          if (sum > limits[1]) sum = limits[1];
          y[((b * p[4] + oy) * p[5] + ox) * p[6] + o] = sum;
        }
      }
    }
  }
}
)"},
      {"table_add_float",
       R"(/* in: a, b, limits. p: elements. */
static void $table_add_float(const struct $entry *e) {
  const float *const a = (const float *)e->in[0];
  const float *const b = (const float *)e->in[1];
  const float *const limits = (const float *)e->in[2];
  float *const y = (float *)e->out;
  int32_t i;
  for (i = 0; i < e->p[0]; ++i) {
    float sum = a[i] + b[i];
    if (sum < limits[0]) sum = limits[0];
    if (sum > limits[1]) sum = limits[1];
    y[i] = sum;
  }
}
)"},
  };
  return table;
}

}  // namespace edgekiln::compiler
