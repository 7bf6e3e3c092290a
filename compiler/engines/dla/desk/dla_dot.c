/* Commands with weights: CONV, CONV_RELU, DEPTH_CONV and MAT_MUL. */
#include "dla_operands.h"

/* What CONV, CONV_RELU, DEPTH_CONV and MAT_MUL differ in. */
struct dot {
  struct tensor in, out;
  int64_t kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w;
  int64_t pad_top, pad_left;
  int64_t depth_multiplier; /* 0: every output sees all input channels. */
  int64_t low, high;
  int int32;
};

static int32_t sum_of(const struct dla_model *m, const struct dot *d,
                      int64_t oy, int64_t ox, int64_t o, int32_t bias) {
  const int64_t *r = m->registers;
  const uint64_t weights = (uint64_t)r[DLA_WEIGHT_ADDR];
  const int64_t first = d->depth_multiplier > 0 ? o / d->depth_multiplier : 0;
  const int64_t channels = d->depth_multiplier > 0 ? 1 : d->in.c;
  uint64_t sum = (uint64_t)(int64_t)bias;
  int64_t ky, kx, i;
  for (ky = 0; ky < d->kernel_h; ++ky) {
    const int64_t y = oy * d->stride_h - d->pad_top + ky * d->dilation_h;
    if (y < 0 || y >= d->in.h) continue;
    for (kx = 0; kx < d->kernel_w; ++kx) {
      const int64_t x = ox * d->stride_w - d->pad_left + kx * d->dilation_w;
      const int64_t tap = ky * d->kernel_w + kx;
      uint64_t weight, input;
      if (x < 0 || x >= d->in.w) continue;
      weight =
          weights +
          (uint64_t)(d->depth_multiplier > 0
                         ? tap * d->out.c + o
                         : (o * d->kernel_h * d->kernel_w + tap) * d->in.c);
      input = at(&d->in, y, x, first);
      for (i = 0; i < channels; ++i) {
        sum +=
            (uint64_t)((load8(m, input + (uint64_t)i) - r[DLA_IN_ZERO_POINT]) *
                       (load8(m, weight + (uint64_t)i) -
                        r[DLA_WEIGHT_ZERO_POINT]));
      }
    }
  }
  return wrapped(sum);
}

static void run_dot(struct dla_model *m, const struct dot *d, int half_even) {
  int64_t y, x, o;
  for (o = 0; o < d->out.c; ++o) {
    const struct entry e = entry_of(m, o);
    for (y = 0; y < d->out.h; ++y) {
      for (x = 0; x < d->out.w; ++x) {
        const int64_t sum = sum_of(m, d, y, x, o, e.bias);
        const uint64_t to = at(&d->out, y, x, o);
        if (d->int32) {
          store32(m, to, sum);
        } else {
          store8(m, to,
                 limited(rescale(sum, e.multiplier, e.shift, half_even) +
                             m->registers[DLA_OUT_ZERO_POINT],
                         d->low, d->high));
        }
      }
    }
  }
}

/* Extents and window as the registers have them, or those of a product. */
static void set_geometry(const struct dla_model *m, struct dot *d,
                         int is_product) {
  const int64_t *r = m->registers;
  const uint64_t size = d->int32 ? 4 : 1;
  d->in =
      dla_tensor(m, DLA_IN_ADDR, DLA_IN_ROW_PITCH, is_product ? 1 : r[DLA_IN_H],
                 is_product ? r[DLA_OUT_W] : r[DLA_IN_W], r[DLA_IN_C], 1);
  d->out = dla_tensor(m, DLA_OUT_ADDR, DLA_OUT_ROW_PITCH,
                      is_product ? 1 : r[DLA_OUT_H], r[DLA_OUT_W], r[DLA_OUT_C],
                      size);
  d->kernel_h = is_product ? 1 : r[DLA_KERNEL_H];
  d->kernel_w = is_product ? 1 : r[DLA_KERNEL_W];
  d->stride_h = is_product ? 1 : r[DLA_STRIDE_H];
  d->stride_w = is_product ? 1 : r[DLA_STRIDE_W];
  d->dilation_h = is_product ? 1 : r[DLA_DILATION_H];
  d->dilation_w = is_product ? 1 : r[DLA_DILATION_W];
  d->pad_top = is_product ? 0 : r[DLA_PAD_TOP];
  d->pad_left = is_product ? 0 : r[DLA_PAD_LEFT];
}

static int has_dot_registers(struct dla_model *m, enum dla_command command) {
  static const uint8_t dilation[] = {DLA_DILATION_H, DLA_DILATION_W};
  static const uint8_t product[] = {DLA_OUT_W, DLA_OUT_C};
  static const uint8_t places[] = {DLA_IN_ADDR, DLA_IN_PIXEL_PITCH,
                                   DLA_OUT_ADDR, DLA_OUT_PIXEL_PITCH};
  if (command == DLA_MAT_MUL) {
    if (!DLA_ARE(product, 1, DLA_ANY, "an extent is 0") ||
        !DLA_ARE(places, 0, DLA_ANY, "")) {
      return 0;
    }
  } else if (!dla_has_shape(m) || !dla_has_window(m) ||
             !DLA_ARE(dilation, 1, DLA_ANY, "a dilation is 0")) {
    return 0;
  }
  return dla_has_one(m, DLA_IN_C, 1, DLA_ANY, "an extent is 0") &&
         dla_has_one(m, DLA_WEIGHT_ADDR, 0, DLA_ANY, "") &&
         dla_has_zero_point(m, DLA_IN_ZERO_POINT) &&
         dla_has_zero_point(m, DLA_WEIGHT_ZERO_POINT) &&
         dla_has_one(m, DLA_FLAGS, 0, 1, "FLAGS has a bit that means nothing");
}

void dla_dot(struct dla_model *m, enum dla_command command, int half_even) {
  const int64_t *r = m->registers;
  struct dot d;
  if (!has_dot_registers(m, command)) return;
  d.int32 = r[DLA_FLAGS] == 1;
  d.low = -128;
  d.high = 127;
  d.depth_multiplier = 0;
  if (d.int32 && half_even) {
    dla_fail(m, "encoding: ROUNDING in a command that does not round");
  }
  if (!d.int32) {
    if (!dla_has_zero_point(m, DLA_OUT_ZERO_POINT)) return;
    if (command != DLA_CONV) {
      if (!dla_has_clamp(m)) return;
      d.low = r[DLA_CLAMP_MIN];
      d.high = r[DLA_CLAMP_MAX];
    }
  }
  if (command == DLA_DEPTH_CONV) {
    if (!dla_has_one(m, DLA_DEPTH_MULTIPLIER, 1, DLA_ANY,
                     "DEPTH_MULTIPLIER is 0")) {
      return;
    }
    d.depth_multiplier = r[DLA_DEPTH_MULTIPLIER];
    if (r[DLA_OUT_C] > r[DLA_IN_C] * d.depth_multiplier) {
      dla_fail(m, "OUT_C is more than IN_C times DEPTH_MULTIPLIER");
    }
  }
  set_geometry(m, &d, command == DLA_MAT_MUL);
  if (command == DLA_MAT_MUL) {
    dla_read_tensor(m, &d.in);
  } else {
    dla_read_window(m, &d.in, d.dilation_h, d.dilation_w);
  }
  dla_read(m, (uint64_t)r[DLA_WEIGHT_ADDR],
           (uint64_t)d.kernel_h * (uint64_t)d.kernel_w * (uint64_t)d.out.c *
               (uint64_t)(d.depth_multiplier > 0 ? 1 : d.in.c));
  dla_read_table(m, !d.int32);
  dla_write_tensor(m, &d.out);
  if (m->error == 0) run_dot(m, &d, half_even);
}
