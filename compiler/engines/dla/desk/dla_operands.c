/* Operands and registers of compute commands (sections 3 and 4). */
#include "dla_operands.h"

struct tensor dla_tensor(const struct dla_model *m, enum dla_register address,
                         enum dla_register row_pitch, int64_t h, int64_t w,
                         int64_t c, uint64_t size) {
  struct tensor t;
  t.address = (uint64_t)m->registers[address];
  t.row_pitch = (uint64_t)m->registers[row_pitch];
  t.pixel_pitch = (uint64_t)m->registers[row_pitch + 1];
  t.h = h;
  t.w = w;
  t.c = c;
  t.size = size;
  return t;
}

static void check_alignment(struct dla_model *m, const struct tensor *t) {
  if (t->size != 4) return;
  if (t->address % 4 != 0 || (t->h > 1 && t->row_pitch % 4 != 0) ||
      (t->w > 1 && t->pixel_pitch % 4 != 0)) {
    dla_fail(m, "an int32 tensor is not aligned to 4");
  }
}

void dla_read_tensor(struct dla_model *m, const struct tensor *t) {
  int64_t y, x;
  check_alignment(m, t);
  for (y = 0; y < t->h; ++y) {
    for (x = 0; x < t->w && m->error == 0; ++x) {
      dla_read(m, at(t, y, x, 0), (uint64_t)t->c * t->size);
    }
  }
}

void dla_write_tensor(struct dla_model *m, const struct tensor *t) {
  const uint64_t pixel = (uint64_t)t->c * t->size;
  const uint64_t row = (uint64_t)(t->w - 1) * t->pixel_pitch + pixel;
  int64_t y, x;
  check_alignment(m, t);
  if ((t->w > 1 && t->pixel_pitch < pixel) ||
      (t->h > 1 && t->row_pitch < row)) {
    dla_fail(m, "pixels or rows of the output overlap");
  }
  for (y = 0; y < t->h; ++y) {
    for (x = 0; x < t->w && m->error == 0; ++x) {
      dla_write(m, at(t, y, x, 0), pixel);
    }
  }
}

/* --- Registers --- */

/* Whether they are all there, with values in [low, high]. */
int dla_are(struct dla_model *m, const uint8_t *list, int count, int64_t low,
            int64_t high, const char *what) {
  int i;
  for (i = 0; i < count; ++i) {
    if (!m->is_defined[list[i]]) {
      dla_fail(m, "reads a register that nothing wrote");
    } else if (m->registers[list[i]] < low || m->registers[list[i]] > high) {
      dla_fail(m, what);
    }
  }
  return m->error == 0;
}

int dla_has_shape(struct dla_model *m) {
  static const uint8_t shape[] = {DLA_OUT_H, DLA_OUT_W, DLA_OUT_C};
  static const uint8_t places[] = {DLA_IN_ADDR,        DLA_IN_ROW_PITCH,
                                   DLA_IN_PIXEL_PITCH, DLA_OUT_ADDR,
                                   DLA_OUT_ROW_PITCH,  DLA_OUT_PIXEL_PITCH};
  return DLA_ARE(shape, 1, DLA_ANY, "an extent is 0") &&
         DLA_ARE(places, 0, DLA_ANY, "");
}

int dla_has_second(struct dla_model *m) {
  static const uint8_t places[] = {DLA_IN2_ADDR, DLA_IN2_ROW_PITCH,
                                   DLA_IN2_PIXEL_PITCH};
  return DLA_ARE(places, 0, DLA_ANY, "");
}

int dla_has_clamp(struct dla_model *m) {
  static const uint8_t clamp[] = {DLA_CLAMP_MIN, DLA_CLAMP_MAX};
  if (!DLA_ARE(clamp, -128, 127, "")) return 0;
  if (m->registers[DLA_CLAMP_MIN] > m->registers[DLA_CLAMP_MAX]) {
    dla_fail(m, "CLAMP_MIN is above CLAMP_MAX");
  }
  return m->error == 0;
}

int dla_has_one(struct dla_model *m, enum dla_register r, int64_t low,
                int64_t high, const char *what) {
  const uint8_t list[1] = {(uint8_t)r};
  return dla_are(m, list, 1, low, high, what);
}

int dla_has_zero_point(struct dla_model *m, enum dla_register r) {
  return dla_has_one(m, r, -128, 127, "");
}

int dla_has_factor(struct dla_model *m, enum dla_register multiplier) {
  const enum dla_register shift = (enum dla_register)(multiplier + 1);
  return dla_has_one(m, multiplier, 0, DLA_ANY, "a multiplier is negative") &&
         dla_has_one(m, shift, -31, 30, "a shift is out of range");
}

/* --- Windows --- */

int dla_has_window(struct dla_model *m) {
  static const uint8_t extents[] = {DLA_IN_H,     DLA_IN_W,     DLA_KERNEL_H,
                                    DLA_KERNEL_W, DLA_STRIDE_H, DLA_STRIDE_W};
  static const uint8_t pads[] = {DLA_PAD_TOP, DLA_PAD_LEFT};
  return DLA_ARE(extents, 1, DLA_ANY, "an extent, kernel or stride is 0") &&
         DLA_ARE(pads, 0, DLA_ANY, "");
}

/* Marks the rows, or columns, that some window covers. */
static void find_covered(const int64_t *r, int axis, int64_t dilation,
                         uint8_t *covered) {
  const int64_t extent = r[DLA_IN_H + axis];
  int64_t o, k;
  for (o = 0; o < extent; ++o) covered[o] = 0;
  for (o = 0; o < r[DLA_OUT_H + axis]; ++o) {
    for (k = 0; k < r[DLA_KERNEL_H + axis]; ++k) {
      const int64_t i =
          o * r[DLA_STRIDE_H + axis] - r[DLA_PAD_TOP + axis] + k * dilation;
      if (i >= extent) break;
      if (i >= 0) covered[i] = 1;
    }
  }
}

/* Of a windowed input, only what some window covers is read. */
void dla_read_window(struct dla_model *m, const struct tensor *in,
                     int64_t dilation_h, int64_t dilation_w) {
  static uint8_t rows[kMostExtent], columns[kMostExtent];
  int64_t y, x;
  find_covered(m->registers, 0, dilation_h, rows);
  find_covered(m->registers, 1, dilation_w, columns);
  for (y = 0; y < in->h; ++y) {
    for (x = 0; x < in->w && m->error == 0; ++x) {
      if (!rows[y] || !columns[x]) continue;
      dla_read(m, at(in, y, x, 0), (uint64_t)in->c);
    }
  }
}

void dla_read_table(struct dla_model *m, int has_factors) {
  const int64_t channels = m->registers[DLA_OUT_C];
  int64_t c;
  if (!dla_has_one(m, DLA_TABLE_ADDR, 0, DLA_ANY, "")) return;
  if (m->registers[DLA_TABLE_ADDR] % 4 != 0) {
    dla_fail(m, "the table is not aligned to 4");
  }
  dla_read(m, (uint64_t)m->registers[DLA_TABLE_ADDR],
           (uint64_t)channels * kTableEntryBytes);
  for (c = 0; c < channels && m->error == 0 && has_factors; ++c) {
    const struct entry e = entry_of(m, c);
    if (e.multiplier < 0 || e.shift < -31 || e.shift > 30) {
      dla_fail(m, "the table has a factor that is out of range");
    }
  }
}
