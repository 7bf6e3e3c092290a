/* What jobs compute (section 5). */
#include "job_model.h"

static int32_t wrapped(uint64_t value) {
  const uint32_t low = (uint32_t)value;
  return low < 0x80000000u ? (int32_t)low : -(int32_t)(0xffffffffu - low) - 1;
}

/* value / divisor, rounded down; divisor > 0. */
static int64_t floored(int64_t value, int64_t divisor) {
  const int64_t quotient = value / divisor;
  return value % divisor < 0 ? quotient - 1 : quotient;
}

static int64_t half_even_ratio(int64_t sum, int64_t n) {
  int64_t quotient = floored(sum, n);
  const int64_t rest = sum - quotient * n;
  if (2 * rest > n || (2 * rest == n && quotient % 2 != 0)) ++quotient;
  return quotient;
}

static int64_t rescale(int64_t value, int64_t multiplier, int64_t shift,
                       int64_t rounding) {
  const int64_t power = (int64_t)1 << (31 - shift);
  const int64_t product = value * multiplier;
  int64_t quotient = floored(product, power);
  const int64_t rest = product - quotient * power;
  const int64_t half = power / 2;
  if (rounding == 0 && rest >= half) ++quotient;
  if (rounding == 1 && (rest > half || (rest == half && quotient % 2 != 0))) {
    ++quotient;
  }
  return wrapped((uint64_t)quotient);
}

static int64_t limited(int64_t value, int64_t low, int64_t high) {
  return value < low ? low : value > high ? high : value;
}

static int64_t clamped(const struct job *job, int64_t value) {
  return limited(value, job->v[JOB_CLAMP_MIN], job->v[JOB_CLAMP_MAX]);
}

static int32_t load32(const uint8_t *at) {
  return wrapped((uint64_t)at[0] | (uint64_t)at[1] << 8 |
                 (uint64_t)at[2] << 16 | (uint64_t)at[3] << 24);
}

static int64_t load8(const uint8_t *at) { return *at < 128 ? *at : *at - 256; }

static uint8_t *byte_of(const struct job *job, int operand, int64_t offset) {
  const struct job_bytes *const bytes = &job->operands[operand];
  return bytes->first + ((bytes->lead + offset) ^ bytes->flip);
}

static int64_t offset_of(int operand, int64_t a, int64_t b, int64_t c,
                         int64_t d) {
  return job_offsets[operand][0][a] + job_offsets[operand][1][b] +
         job_offsets[operand][2][c] + job_offsets[operand][3][d];
}

static int64_t value_at(const struct job *job, int operand, int64_t a,
                        int64_t b, int64_t c, int64_t d) {
  return load8(byte_of(job, operand, offset_of(operand, a, b, c, d)));
}

static void fail(struct job *job, const char *what) {
  if (job->error == 0) job->error = what;
}

/* --- Weights --- */

static int is_cell_set(const struct job *job, int64_t row, int64_t column) {
  const uint8_t bits =
      *byte_of(job, JOB_WEIGHTS, row * (job->cell_columns / 8) + column / 8);
  return bits >> (7 - column % 8) & 1;
}

/* The row of cells, as they lie, of an input of the sums; the inverse, too. */
static int64_t stored_row(const struct job *job, int64_t input) {
  return job->cells.last_row_first ? job->cell_rows - 1 - input : input;
}

/* Whether 1 and -1 change places. */
static int is_sign_changed(const struct job *job, int64_t row, int64_t column) {
  const struct job_cells *const cells = &job->cells;
  int64_t block;
  if (cells->sign_rows == 0 || cells->sign_columns == 0) return 0;
  block = row / cells->sign_rows;
  if (block >= cells->sign_mask_count) return 0;
  return (int)(cells->sign_masks[block] >> (column % cells->sign_columns) & 1u);
}

static int64_t weight_at(const struct job *job, int64_t o, int64_t ky,
                         int64_t kx, int64_t i) {
  const int64_t *v = job->v;
  int64_t row, weight;
  if (!job->has_cells) return value_at(job, JOB_WEIGHTS, o, ky, kx, i);
  row = stored_row(job, (i * v[JOB_KERNEL_H] + ky) * v[JOB_KERNEL_W] + kx);
  weight = is_cell_set(job, 2 * row, o) - is_cell_set(job, 2 * row + 1, o);
  return is_sign_changed(job, row, o) ? -weight : weight;
}

static void check_cells(struct job *job) {
  const int64_t *v = job->v;
  const int64_t inputs = v[JOB_KERNEL_H] * v[JOB_KERNEL_W] * v[JOB_IN_C];
  int64_t row, column;
  for (row = 0; row < job->cell_rows; ++row) {
    for (column = 0; column < job->cell_columns; ++column) {
      const int set = is_cell_set(job, 2 * row, column) +
                      is_cell_set(job, 2 * row + 1, column);
      if (stored_row(job, row) < inputs && column < v[JOB_OUT_C]) {
        if (set == 2) fail(job, "a weight has both cells set");
      } else if (set != 0) {
        fail(job, "a cell beside the weights is set");
      }
    }
  }
}

static void check_weights(struct job *job) {
  const int64_t *v = job->v;
  const int64_t channels =
      job->kind.kernel == JOB_CONVOLUTION ? v[JOB_IN_C] : 1;
  int64_t o, ky, kx, i;
  if (job->has_cells) {
    check_cells(job);
    return;
  }
  if (job->kind.least_weight == -128) return;
  for (o = 0; o < v[JOB_OUT_C]; ++o) {
    for (ky = 0; ky < v[JOB_KERNEL_H]; ++ky) {
      for (kx = 0; kx < v[JOB_KERNEL_W]; ++kx) {
        for (i = 0; i < channels; ++i) {
          const int64_t weight = weight_at(job, o, ky, kx, i);
          if (weight < job->kind.least_weight ||
              weight > job->kind.most_weight) {
            fail(job, "a weight is none of those that the job takes");
          }
        }
      }
    }
  }
}

/* --- Results of sums --- */

static int64_t converted(const struct job *job, int64_t sum, int64_t scale,
                         int64_t offset) {
  const int64_t *v = job->v;
  const int64_t code =
      limited(floored(sum, v[JOB_GAIN]), v[JOB_CODE_MIN], v[JOB_CODE_MAX]);
  const uint64_t low = (uint64_t)(code * scale + offset) & 0xffffu;
  const int64_t value = low < 0x8000u ? (int64_t)low : (int64_t)low - 0x10000;
  return clamped(job, floored(value, (int64_t)1 << v[JOB_CODE_SHIFT]));
}

/* Four bytes of a channel: its bias, or scale and offset. */
static uint32_t channel_bytes(const struct job *job, int operand,
                              int64_t channel) {
  uint32_t value = 0;
  int b;
  for (b = 3; b >= 0; --b) {
    value = value << 8 | (uint8_t)value_at(job, operand, channel, b, 0, 0);
  }
  return value;
}

static int64_t signed16(uint32_t value) {
  value &= 0xffffu;
  return value < 0x8000u ? (int64_t)value : (int64_t)value - 0x10000;
}

static int64_t bias_of(const struct job *job, int64_t channel) {
  switch (job->kind.results) {
    case JOB_BY_SHIFT:
      return wrapped(channel_bytes(job, JOB_BIAS, channel));
    case JOB_BY_CONVERTER:
      return 0;
    default:
      return load32(job->table + channel * 12);
  }
}

static int64_t result_by_table(struct job *job, int64_t sum, int64_t channel) {
  const int64_t *v = job->v;
  const int32_t a = load32(job->table + channel * 12 + 4);
  const int32_t b = load32(job->table + channel * 12 + 8);
  if (v[JOB_CONVERTS] == 1) {
    if (a < -32768 || a > 32767 || b < -32768 || b > 32767) {
      fail(job, "the table has a scale or offset that is out of range");
    }
    return job->error != 0 ? 0 : converted(job, sum, a, b);
  }
  if (a < 0 || b < -31 || b > 30) {
    fail(job, "the table has a factor that is out of range");
    return 0;
  }
  return clamped(job,
                 rescale(sum, a, b, v[JOB_ROUNDING]) + v[JOB_OUT_ZERO_POINT]);
}

static int64_t shifted(const struct job *job, int64_t sum) {
  return clamped(job, floored(sum, (int64_t)1 << job->v[JOB_SHIFT]));
}

/* Of a sum with its bias. */
static int64_t result_of(struct job *job, int64_t sum, int64_t channel) {
  uint32_t factors;
  switch (job->kind.results) {
    case JOB_BY_SHIFT:
      return shifted(job, sum);
    case JOB_BY_CONVERTER:
      factors = channel_bytes(job, JOB_AFFINE, channel);
      return converted(job, sum, signed16(factors), signed16(factors >> 16));
    default:
      return result_by_table(job, sum, channel);
  }
}

static void store(struct job *job, int64_t y, int64_t x, int64_t c,
                  int64_t value, int bytes) {
  const int64_t offset = offset_of(JOB_OUT, y, x, c, 0);
  int i;
  for (i = 0; i < bytes; ++i) {
    *byte_of(job, JOB_OUT, offset + i) = (uint8_t)((uint64_t)value >> (8 * i));
  }
}

/* --- Windows --- */

static int64_t row_of(const struct job *job, int axis, int64_t o, int64_t k,
                      int64_t dilation) {
  return o * job->v[JOB_STRIDE_H + axis] - job->v[JOB_PAD_TOP + axis] +
         k * dilation;
}

static int32_t sum_of(struct job *job, int64_t oy, int64_t ox, int64_t o) {
  const int64_t *v = job->v;
  const int is_depthwise = job->kind.kernel == JOB_DEPTHWISE_CONVOLUTION;
  const int64_t first = is_depthwise ? o / v[JOB_DEPTH_MULTIPLIER] : 0;
  const int64_t channels = is_depthwise ? 1 : v[JOB_IN_C];
  const int64_t zero =
      job->kind.results == JOB_BY_TABLE ? v[JOB_IN_ZERO_POINT] : 0;
  uint64_t sum = (uint64_t)bias_of(job, o);
  int64_t ky, kx, i;
  for (ky = 0; ky < v[JOB_KERNEL_H]; ++ky) {
    const int64_t y = row_of(job, 0, oy, ky, v[JOB_DILATION_H]);
    if (y < 0 || y >= v[JOB_IN_H]) continue;
    for (kx = 0; kx < v[JOB_KERNEL_W]; ++kx) {
      const int64_t x = row_of(job, 1, ox, kx, v[JOB_DILATION_W]);
      if (x < 0 || x >= v[JOB_IN_W]) continue;
      for (i = 0; i < channels; ++i) {
        sum += (uint64_t)((value_at(job, JOB_IN, y, x, first + i, 0) - zero) *
                          weight_at(job, o, ky, kx, i));
      }
    }
  }
  return wrapped(sum);
}

static int64_t pooled(struct job *job, int64_t oy, int64_t ox, int64_t c) {
  const int64_t *v = job->v;
  const int64_t zero = v[JOB_IN_ZERO_POINT];
  const int counts =
      job->kind.kernel == JOB_AVERAGE_POOLING && v[JOB_COUNT_PAD];
  int64_t sum = 0, n = 0, most = -128, ky, kx;
  for (ky = 0; ky < v[JOB_KERNEL_H]; ++ky) {
    const int64_t y = row_of(job, 0, oy, ky, 1);
    for (kx = 0; kx < v[JOB_KERNEL_W]; ++kx) {
      const int64_t x = row_of(job, 1, ox, kx, 1);
      if (y >= 0 && y < v[JOB_IN_H] && x >= 0 && x < v[JOB_IN_W]) {
        const int64_t value = value_at(job, JOB_IN, y, x, c, 0);
        sum += value;
        if (value > most) most = value;
        ++n;
      } else if (counts) {
        sum += zero;
        ++n;
      }
    }
  }
  if (n == 0) {
    fail(job, "a window covers nothing of the input");
    return 0;
  }
  if (job->kind.kernel == JOB_MAXIMUM_POOLING) return most;
  if (v[JOB_ROUNDING] == 1) return half_even_ratio(sum - n * zero, n) + zero;
  return sum > 0 ? (sum + n / 2) / n : (sum - n / 2) / n;
}

/* --- Elements --- */

static int64_t added(const struct job *job, int64_t y, int64_t x, int64_t c) {
  const int64_t *v = job->v;
  const int64_t left = (int64_t)1 << v[JOB_LEFT_SHIFT];
  int64_t a, b;
  if (job->kind.results == JOB_BY_SHIFT) {
    return shifted(job, value_at(job, JOB_IN, y, x, c, 0) +
                            value_at(job, JOB_IN2, y, x, c, 0));
  }
  a = rescale((value_at(job, JOB_IN, y, x, c, 0) - v[JOB_IN_ZERO_POINT]) * left,
              v[JOB_IN_MULTIPLIER], v[JOB_IN_SHIFT], v[JOB_ROUNDING]);
  b = rescale(
      (value_at(job, JOB_IN2, y, x, c, 0) - v[JOB_IN2_ZERO_POINT]) * left,
      v[JOB_IN2_MULTIPLIER], v[JOB_IN2_SHIFT], v[JOB_ROUNDING]);
  return clamped(job, rescale(wrapped((uint64_t)(a + b)), v[JOB_OUT_MULTIPLIER],
                              v[JOB_OUT_SHIFT], v[JOB_ROUNDING]) +
                          v[JOB_OUT_ZERO_POINT]);
}

static int64_t sum_at(const struct job *job, int64_t y, int64_t x, int64_t c) {
  const int64_t offset = offset_of(JOB_IN, y, x, c, 0);
  uint32_t value = 0;
  int b;
  for (b = 3; b >= 0; --b)
    value = value << 8 | *byte_of(job, JOB_IN, offset + b);
  return wrapped(value);
}

static void compute_element(struct job *job, int64_t y, int64_t x, int64_t c) {
  int64_t sum;
  switch (job->kind.kernel) {
    case JOB_ADDITION:
      store(job, y, x, c, added(job, y, x, c), 1);
      break;
    case JOB_AVERAGE_POOLING:
    case JOB_MAXIMUM_POOLING:
      store(job, y, x, c, clamped(job, pooled(job, y, x, c)), 1);
      break;
    case JOB_REQUANTIZATION:
      sum = wrapped((uint64_t)(sum_at(job, y, x, c) + bias_of(job, c)));
      store(job, y, x, c, result_of(job, sum, c), 1);
      break;
    default:
      sum = sum_of(job, y, x, c);
      if (job->kind.results == JOB_BY_TABLE && job->v[JOB_OUT_INT32] == 1) {
        store(job, y, x, c, sum, 4);
      } else {
        store(job, y, x, c, result_of(job, sum, c), 1);
      }
      break;
  }
}

void job_compute(struct job *job) {
  const int64_t *v = job->v;
  int64_t y, x, c;
  if (job->kind.kernel == JOB_CONVOLUTION ||
      job->kind.kernel == JOB_DEPTHWISE_CONVOLUTION) {
    check_weights(job);
  }
  for (y = 0; y < v[JOB_OUT_H]; ++y) {
    for (x = 0; x < v[JOB_OUT_W]; ++x) {
      for (c = 0; c < v[JOB_OUT_C] && job->error == 0; ++c) {
        compute_element(job, y, x, c);
      }
    }
  }
}
