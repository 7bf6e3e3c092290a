#ifndef DLA_OPERANDS_H_
#define DLA_OPERANDS_H_

/* What compute commands are written with: arithmetic, tensors, tables, and
 * checks of registers (sections 3 to 5). */

#include "dla_model.h"

enum { kMostExtent = 65536, kTableEntryBytes = 12 };

/* --- Arithmetic --- */

static inline int32_t wrapped(uint64_t value) {
  const uint32_t low = (uint32_t)value;
  return low < 0x80000000u ? (int32_t)low : -(int32_t)(0xffffffffu - low) - 1;
}

static inline int64_t wrapped64(uint64_t value) {
  return value < (uint64_t)1 << 63 ? (int64_t)value
                                   : -(int64_t)(UINT64_MAX - value) - 1;
}

/* value / 2^n, rounded down. */
static inline int64_t shifted(int64_t value, uint32_t n) {
  const int64_t power = (int64_t)1 << n;
  const int64_t quotient = value / power;
  return value % power < 0 ? quotient - 1 : quotient;
}

static inline int64_t rescale(int64_t value, int64_t multiplier, int64_t shift,
                              int half_even) {
  const uint32_t n = (uint32_t)(31 - shift);
  const int64_t half = (int64_t)1 << (n - 1);
  const int64_t product = value * multiplier;
  int64_t quotient, rest;
  if (!half_even) {
    const uint64_t sum = (uint64_t)product + (uint64_t)half;
    return wrapped((uint64_t)shifted(wrapped64(sum), n));
  }
  quotient = shifted(product, n);
  rest = product - quotient * ((int64_t)1 << n);
  if (rest > half || (rest == half && quotient % 2 != 0)) ++quotient;
  return wrapped((uint64_t)quotient);
}

static inline int64_t limited(int64_t value, int64_t low, int64_t high) {
  return value < low ? low : value > high ? high : value;
}

/* sum / n to the nearest, ties to even; n > 0. */
static inline int64_t half_even_ratio(int64_t sum, int64_t n) {
  int64_t quotient = sum / n;
  int64_t rest = sum % n;
  if (rest < 0) {
    rest += n;
    --quotient;
  }
  if (2 * rest > n || (2 * rest == n && quotient % 2 != 0)) ++quotient;
  return quotient;
}

static inline int64_t clamped(const struct dla_model* m, int64_t value) {
  return limited(value, m->registers[DLA_CLAMP_MIN],
                 m->registers[DLA_CLAMP_MAX]);
}

/* --- Memory --- */

/* A tensor in SRAM; h, w and c are what the command reads or writes of it. */
struct tensor {
  uint64_t address, row_pitch, pixel_pitch;
  int64_t h, w, c;
  uint64_t size; /* Of an element, in bytes. */
};

static inline int64_t load8(const struct dla_model* m, uint64_t at) {
  const int64_t byte = m->sram[at];
  return byte < 128 ? byte : byte - 256;
}

static inline int32_t load32(const struct dla_model* m, uint64_t at) {
  return wrapped((uint64_t)m->sram[at] | (uint64_t)m->sram[at + 1] << 8 |
                 (uint64_t)m->sram[at + 2] << 16 |
                 (uint64_t)m->sram[at + 3] << 24);
}

static inline void store8(struct dla_model* m, uint64_t at, int64_t value) {
  m->sram[at] = (uint8_t)(value & 255);
}

static inline void store32(struct dla_model* m, uint64_t at, int64_t value) {
  int i;
  for (i = 0; i < 4; ++i) {
    m->sram[at + (uint64_t)i] = (uint8_t)(((uint64_t)value >> (8 * i)) & 255);
  }
}

static inline uint64_t at(const struct tensor* t, int64_t y, int64_t x,
                          int64_t c) {
  return t->address + (uint64_t)y * t->row_pitch +
         (uint64_t)x * t->pixel_pitch + (uint64_t)c * t->size;
}

/* --- Tables --- */

struct entry {
  int32_t bias, multiplier, shift;
};

static inline struct entry entry_of(const struct dla_model* m,
                                    int64_t channel) {
  const uint64_t at = (uint64_t)m->registers[DLA_TABLE_ADDR] +
                      (uint64_t)channel * kTableEntryBytes;
  struct entry e;
  e.bias = load32(m, at);
  e.multiplier = load32(m, at + 4);
  e.shift = load32(m, at + 8);
  return e;
}

/* What a command reads and writes of tensors. Rules that are broken are errors
 * of the model. */
struct tensor dla_tensor(const struct dla_model* m, enum dla_register address,
                         enum dla_register row_pitch, int64_t h, int64_t w,
                         int64_t c, uint64_t size);
void dla_read_tensor(struct dla_model* m, const struct tensor* t);
void dla_write_tensor(struct dla_model* m, const struct tensor* t);
/* Of a windowed input, only what some window covers is read. */
void dla_read_window(struct dla_model* m, const struct tensor* in,
                     int64_t dilation_h, int64_t dilation_w);
/* The table of OUT_C entries. */
void dla_read_table(struct dla_model* m, int has_factors);

/* Whether registers are written and in range: extents and places of IN and OUT,
 * places of IN2, window without dilation, and so on. */
int dla_are(struct dla_model* m, const uint8_t* list, int count, int64_t low,
            int64_t high, const char* what);
int dla_has_one(struct dla_model* m, enum dla_register r, int64_t low,
                int64_t high, const char* what);
int dla_has_shape(struct dla_model* m);
int dla_has_second(struct dla_model* m);
int dla_has_window(struct dla_model* m);
int dla_has_clamp(struct dla_model* m);
int dla_has_zero_point(struct dla_model* m, enum dla_register r);
int dla_has_factor(struct dla_model* m, enum dla_register multiplier);

#define DLA_ARE(list, low, high, what) \
  dla_are(m, list, (int)(sizeof(list)), low, high, what)
/* Above every value of a register. */
#define DLA_ANY ((int64_t)1 << 40)

/* Of dla_dot.c: a command with weights. */
void dla_dot(struct dla_model* m, enum dla_command command, int half_even);

#endif /* DLA_OPERANDS_H_ */
