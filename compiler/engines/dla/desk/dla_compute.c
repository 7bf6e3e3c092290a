/* Pools and what works element by element. */
#include "dla_operands.h"

/* --- Pools --- */

static int64_t pooled(struct dla_model *m, const struct tensor *in, int64_t oy,
                      int64_t ox, int64_t c, int half_even) {
  const int64_t *r = m->registers;
  const int64_t kind = r[DLA_POOL_KIND];
  int64_t sum = 0, n = 0, most = -128, ky, kx;
  for (ky = 0; ky < r[DLA_KERNEL_H]; ++ky) {
    const int64_t y = oy * r[DLA_STRIDE_H] - r[DLA_PAD_TOP] + ky;
    for (kx = 0; kx < r[DLA_KERNEL_W]; ++kx) {
      const int64_t x = ox * r[DLA_STRIDE_W] - r[DLA_PAD_LEFT] + kx;
      if (y >= 0 && y < in->h && x >= 0 && x < in->w) {
        const int64_t value = load8(m, at(in, y, x, c));
        sum += value;
        if (value > most) most = value;
        ++n;
      } else if (kind == 2) {
        sum += r[DLA_IN_ZERO_POINT];
        ++n;
      }
    }
  }
  if (n == 0) {
    dla_fail(m, "a window covers nothing of the input");
    return 0;
  }
  if (kind == 1) return most;
  if (half_even) {
    return half_even_ratio(sum - n * r[DLA_IN_ZERO_POINT], n) +
           r[DLA_IN_ZERO_POINT];
  }
  return sum > 0 ? (sum + n / 2) / n : (sum - n / 2) / n;
}

static void pool(struct dla_model *m, int half_even) {
  const int64_t *r = m->registers;
  struct tensor in, out;
  int64_t y, x, c;
  if (!dla_has_shape(m) || !dla_has_window(m) || !dla_has_clamp(m) ||
      !dla_has_one(m, DLA_POOL_KIND, 0, 2, "POOL_KIND is unknown")) {
    return;
  }
  if (r[DLA_POOL_KIND] == 1 && half_even) {
    dla_fail(m, "encoding: ROUNDING in a command that does not round");
  }
  if ((r[DLA_POOL_KIND] == 2 || half_even) &&
      !dla_has_zero_point(m, DLA_IN_ZERO_POINT)) {
    return;
  }
  in = dla_tensor(m, DLA_IN_ADDR, DLA_IN_ROW_PITCH, r[DLA_IN_H], r[DLA_IN_W],
                  r[DLA_OUT_C], 1);
  out = dla_tensor(m, DLA_OUT_ADDR, DLA_OUT_ROW_PITCH, r[DLA_OUT_H],
                   r[DLA_OUT_W], r[DLA_OUT_C], 1);
  dla_read_window(m, &in, 1, 1);
  dla_write_tensor(m, &out);
  for (y = 0; y < out.h; ++y) {
    for (x = 0; x < out.w; ++x) {
      for (c = 0; c < out.c && m->error == 0; ++c) {
        store8(m, at(&out, y, x, c),
               clamped(m, pooled(m, &in, y, x, c, half_even)));
      }
    }
  }
}

/* --- Element by element --- */

static int is_same(const struct tensor *a, const struct tensor *b) {
  return a->address == b->address && a->row_pitch == b->row_pitch &&
         a->pixel_pitch == b->pixel_pitch && a->size == b->size;
}

static int64_t added(const struct dla_model *m, int64_t a, int64_t b,
                     int half_even) {
  const int64_t *r = m->registers;
  const int64_t left = (int64_t)1 << r[DLA_LEFT_SHIFT];
  const int64_t x =
      rescale(wrapped((uint64_t)((a - r[DLA_IN_ZERO_POINT]) * left)),
              r[DLA_IN_MULTIPLIER], r[DLA_IN_SHIFT], half_even);
  const int64_t y =
      rescale(wrapped((uint64_t)((b - r[DLA_IN2_ZERO_POINT]) * left)),
              r[DLA_IN2_MULTIPLIER], r[DLA_IN2_SHIFT], half_even);
  return clamped(m, rescale(wrapped((uint64_t)(x + y)), r[DLA_OUT_MULTIPLIER],
                            r[DLA_OUT_SHIFT], half_even) +
                        r[DLA_OUT_ZERO_POINT]);
}

static int64_t result_of(const struct dla_model *m, enum dla_command command,
                         int64_t a, int64_t b, int64_t channel, int half_even) {
  const int64_t *r = m->registers;
  const int64_t zero = r[DLA_IN_ZERO_POINT];
  struct entry e;
  switch (command) {
    case DLA_ACT_RELU:
      return a > zero ? a : zero;
    case DLA_ACT_LRELU:
      if (a >= zero) return a;
      return limited(
          rescale(a - zero, r[DLA_IN_MULTIPLIER], r[DLA_IN_SHIFT], half_even) +
              zero,
          -128, 127);
    case DLA_E_ABS:
      return limited((a < zero ? zero - a : a - zero) + zero, -128, 127);
    case DLA_C_MIN:
      return a < b ? a : b;
    case DLA_C_MAX:
      return a > b ? a : b;
    case DLA_E_ADD:
      return added(m, a, b, half_even);
    case DLA_E32_ADD:
      return wrapped((uint64_t)(a + b));
    case DLA_E32_SHIFT:
      return r[DLA_IN_SHIFT] >= 0 ? wrapped((uint64_t)a << r[DLA_IN_SHIFT])
                                  : shifted(a, (uint32_t)-r[DLA_IN_SHIFT]);
    default: /* REQUANT */
      e = entry_of(m, channel);
      return clamped(m, rescale(wrapped((uint64_t)(a + e.bias)), e.multiplier,
                                e.shift, half_even) +
                            r[DLA_OUT_ZERO_POINT]);
  }
}

static int has_element_registers(struct dla_model *m,
                                 enum dla_command command) {
  switch (command) {
    case DLA_ACT_RELU:
    case DLA_E_ABS:
      return dla_has_zero_point(m, DLA_IN_ZERO_POINT);
    case DLA_ACT_LRELU:
      return dla_has_zero_point(m, DLA_IN_ZERO_POINT) &&
             dla_has_factor(m, DLA_IN_MULTIPLIER);
    case DLA_C_MIN:
    case DLA_C_MAX:
    case DLA_E32_ADD:
      return dla_has_second(m);
    case DLA_E_ADD:
      return dla_has_second(m) && dla_has_zero_point(m, DLA_IN_ZERO_POINT) &&
             dla_has_zero_point(m, DLA_IN2_ZERO_POINT) &&
             dla_has_zero_point(m, DLA_OUT_ZERO_POINT) &&
             dla_has_factor(m, DLA_IN_MULTIPLIER) &&
             dla_has_factor(m, DLA_IN2_MULTIPLIER) &&
             dla_has_factor(m, DLA_OUT_MULTIPLIER) && dla_has_clamp(m) &&
             dla_has_one(m, DLA_LEFT_SHIFT, 0, 24,
                         "LEFT_SHIFT is out of range");
    case DLA_E32_SHIFT:
      return dla_has_one(m, DLA_IN_SHIFT, -31, 30, "a shift is out of range");
    default: /* REQUANT */
      if (!dla_has_zero_point(m, DLA_OUT_ZERO_POINT) || !dla_has_clamp(m))
        return 0;
      dla_read_table(m, 1);
      return m->error == 0;
  }
}

static int64_t load(const struct dla_model *m, const struct tensor *t,
                    int64_t y, int64_t x, int64_t c) {
  return t->size == 4 ? load32(m, at(t, y, x, c)) : load8(m, at(t, y, x, c));
}

static void element_wise(struct dla_model *m, enum dla_command command,
                         int half_even) {
  const int64_t *r = m->registers;
  const int sums = command == DLA_E32_ADD || command == DLA_E32_SHIFT;
  const int two = command == DLA_C_MIN || command == DLA_C_MAX ||
                  command == DLA_E_ADD || command == DLA_E32_ADD;
  const uint64_t size = sums || command == DLA_REQUANT ? 4 : 1;
  const int64_t h = r[DLA_OUT_H], w = r[DLA_OUT_W], channels = r[DLA_OUT_C];
  struct tensor a, b, out;
  int64_t y, x, c;
  if (!dla_has_shape(m) || !has_element_registers(m, command)) return;
  a = dla_tensor(m, DLA_IN_ADDR, DLA_IN_ROW_PITCH, h, w, channels, size);
  b = two ? dla_tensor(m, DLA_IN2_ADDR, DLA_IN2_ROW_PITCH, h, w, channels, size)
          : a;
  out = dla_tensor(m, DLA_OUT_ADDR, DLA_OUT_ROW_PITCH, h, w, channels,
                   sums ? 4 : 1);
  dla_read_tensor(m, &a);
  dla_read_tensor(m, &b);
  /* Each element is read before it is written, so it may lie there. */
  if (m->error == 0 && is_same(&a, &out)) {
    dla_forget_reads(m);
    if (!is_same(&b, &out)) dla_read_tensor(m, &b);
    if (command == DLA_REQUANT) dla_read_table(m, 1);
  } else if (m->error == 0 && is_same(&b, &out)) {
    dla_forget_reads(m);
    dla_read_tensor(m, &a);
  }
  dla_write_tensor(m, &out);
  for (y = 0; y < h; ++y) {
    for (x = 0; x < w; ++x) {
      for (c = 0; c < channels && m->error == 0; ++c) {
        const int64_t value = result_of(m, command, load(m, &a, y, x, c),
                                        load(m, &b, y, x, c), c, half_even);
        if (sums) {
          store32(m, at(&out, y, x, c), value);
        } else {
          store8(m, at(&out, y, x, c), value);
        }
      }
    }
  }
}

void dla_compute(struct dla_model *m, enum dla_command command, int half_even) {
  switch (command) {
    case DLA_CONV:
    case DLA_CONV_RELU:
    case DLA_DEPTH_CONV:
    case DLA_MAT_MUL:
      dla_dot(m, command, half_even);
      break;
    case DLA_POOL:
      pool(m, half_even);
      break;
    default:
      element_wise(m, command, half_even);
      break;
  }
  dla_forget_reads(m);
}
