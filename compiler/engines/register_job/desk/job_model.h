#ifndef JOB_MODEL_H_
#define JOB_MODEL_H_

/* A functional model of engines that the host drives by registers: what jobs
 * compute, without time. C99, no library. Sections are those of
 * docs/targets/register_job.md of edgekiln, from which alone it is written. A
 * job is done before the write that starts it returns, so that races are not
 * noticed; nor are bytes that nothing wrote. What is staged is read where it
 * comes from. */

#include <stdint.h>

#include "desk.h"

/* What the expressions of a descriptor call; a choice looks at one side only.
 * Values have 64 bits, and one that does not fit is an error. */
#define select(c, a, b) ((c) != 0 ? (a) : (b))

static inline int64_t refused_expression(void) {
  desk_stop("engine", "an expression overflows or divides by 0", 0);
  return 0;
}
static inline int64_t plus(int64_t a, int64_t b) {
  const int fits = b > 0 ? a <= INT64_MAX - b : a >= INT64_MIN - b;
  return fits ? a + b : refused_expression();
}
static inline int64_t minus(int64_t a, int64_t b) {
  const int fits = b > 0 ? a >= INT64_MIN + b : a <= INT64_MAX + b;
  return fits ? a - b : refused_expression();
}
static inline int64_t negative(int64_t a) { return minus(0, a); }
static inline int64_t times(int64_t a, int64_t b) {
  int fits = 1;
  if (a > 0) {
    fits = b > 0 ? a <= INT64_MAX / b : b >= INT64_MIN / a;
  } else if (a < 0) {
    fits = b > 0 ? a >= INT64_MIN / b : b >= INT64_MAX / a;
  }
  return fits ? a * b : refused_expression();
}
static inline int64_t floordiv(int64_t a, int64_t b) {
  if (b == 0 || (a == INT64_MIN && b == -1)) return refused_expression();
  return a / b - (a % b != 0 && (a % b < 0) != (b < 0));
}
static inline int64_t ceildiv(int64_t a, int64_t b) {
  if (b == 0 || (a == INT64_MIN && b == -1)) return refused_expression();
  return a / b + (a % b != 0 && (a % b < 0) == (b < 0));
}
static inline int64_t min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t max(int64_t a, int64_t b) { return a > b ? a : b; }
static inline int64_t equal(int64_t a, int64_t b) { return a == b; }
static inline int64_t unequal(int64_t a, int64_t b) { return a != b; }
static inline int64_t less(int64_t a, int64_t b) { return a < b; }
static inline int64_t at_most(int64_t a, int64_t b) { return a <= b; }

/* Section 3. */
enum job_variable {
  JOB_KERNEL,
  JOB_IN_H,
  JOB_IN_W,
  JOB_IN_C,
  JOB_OUT_H,
  JOB_OUT_W,
  JOB_OUT_C,
  JOB_KERNEL_H,
  JOB_KERNEL_W,
  JOB_STRIDE_H,
  JOB_STRIDE_W,
  JOB_DILATION_H,
  JOB_DILATION_W,
  JOB_PAD_TOP,
  JOB_PAD_LEFT,
  JOB_DEPTH_MULTIPLIER,
  JOB_IN_ADDR,
  JOB_IN2_ADDR,
  JOB_WEIGHTS_ADDR,
  JOB_TABLE_ADDR,
  JOB_OUT_ADDR,
  JOB_IN_ZERO_POINT,
  JOB_IN2_ZERO_POINT,
  JOB_OUT_ZERO_POINT,
  JOB_CLAMP_MIN,
  JOB_CLAMP_MAX,
  JOB_IN_MULTIPLIER,
  JOB_IN_SHIFT,
  JOB_IN2_MULTIPLIER,
  JOB_IN2_SHIFT,
  JOB_OUT_MULTIPLIER,
  JOB_OUT_SHIFT,
  JOB_LEFT_SHIFT,
  JOB_ROUNDING,
  JOB_OUT_INT32,
  JOB_COUNT_PAD,
  JOB_CONVERTS,
  JOB_GAIN,
  JOB_CODE_MIN,
  JOB_CODE_MAX,
  JOB_CODE_SHIFT,
  JOB_SHIFT,
  JOB_RECORD_ADDR,
  JOB_VARIABLES
};

enum job_kernel {
  JOB_CONVOLUTION,
  JOB_DEPTHWISE_CONVOLUTION,
  JOB_ADDITION,
  JOB_AVERAGE_POOLING,
  JOB_MAXIMUM_POOLING,
  JOB_REQUANTIZATION
};

/* How results are made of sums. */
enum job_results { JOB_BY_TABLE, JOB_BY_SHIFT, JOB_BY_CONVERTER };

enum job_operand_name {
  JOB_IN,
  JOB_IN2,
  JOB_WEIGHTS,
  JOB_BIAS,
  JOB_AFFINE,
  JOB_OUT,
  JOB_OPERANDS
};

/* Axes h, w, c are 0, 1, 2; of weights o, h, w, i are 0 to 3; of biases and
 * factors o, b are 0, 1. */
struct job_term {
  int axis;
  int64_t divide, modulo, stride; /* Modulo 0: the quotient as it is. */
};

/* Weights -1, 0 and 1 as bits in rows. */
struct job_cells {
  int64_t rows_multiple, columns_multiple;
  int last_row_first;
  int64_t sign_rows, sign_columns; /* 0: no sign is changed. */
  const uint32_t* sign_masks;
  int sign_mask_count;
};

enum { JOB_MOST_TERMS = 16, JOB_MOST_REGISTERS = 256 };

/* Where an operand lies (section 4). */
struct job_operand {
  int32_t memory;
  int64_t address;
  int64_t reversed_bytes; /* 1: none. */
  int32_t staged_in;      /* A memory; -1: it is not staged. */
  int64_t staged_capacity;
  int64_t size; /* Of staged operands. */
  int has_cells;
  struct job_cells cells;
  int terms;
  struct job_term term[JOB_MOST_TERMS];
};

struct job_register {
  uint32_t offset, bits, is_signed;
  uint32_t in_record, low_bit;
};

/* A job of a descriptor. */
struct job_kind {
  int64_t code;
  enum job_kernel kernel;
  enum job_results results;
  int least_weight, most_weight;
};

/* A transfer of the link in the window (section 7). */
struct job_transfer {
  int64_t from_memory, to_memory, from_addr, to_addr, bytes;
  int is_joined;          /* Whether the link joins the two memories. */
  int64_t reversed_bytes; /* 1: none. */
};

/* What a descriptor says of an engine. */
struct job_engine {
  int32_t memory; /* Of its own. */
  const struct job_register* registers;
  int register_count;
  int32_t record_memory; /* -1: there are no records. */
  uint32_t record_bytes;
  uint32_t start_offset, start_value;
  uint32_t status_offset, status_mask, status_done;
  const struct job_kind* kinds;
  int kind_count;
  /* Where the record lies, from what the registers of the window hold. */
  int64_t (*find_record)(const int64_t* held);
  /* Whether the registers tell a transfer, and which. */
  int (*find_transfer)(const int64_t* held, struct job_transfer* transfer);
  /* The variables of a job, from what registers hold. */
  void (*decode)(const int64_t* held, int64_t* variables);
  /* The first condition of the job that does not hold; -1: all do. */
  int (*refuse)(int kind, const int64_t* variables);
  /* Where the job's operands lie. */
  void (*place)(int kind, const int64_t* variables,
                struct job_operand* operands);
};

/* What an engine holds; all 0 after power-up. */
struct job_state {
  int64_t held[JOB_MOST_REGISTERS];
  /* What is wrong, 0 if nothing, and where: an offset or an address. */
  const char* error;
  uint64_t where;
};

/* Both set `error` for what sections 2 and 6 do not allow. */
void job_write(const struct job_engine* engine, struct job_state* state,
               uint32_t offset, uint32_t value);
uint32_t job_read(const struct job_engine* engine, struct job_state* state,
                  uint32_t offset);

/* Bytes of an operand: byte i of its memory, counted from `first`, is
 * first[(lead + i) ^ flip]. */
struct job_bytes {
  uint8_t* first;
  int64_t lead, flip;
};

/* Of job_kernels.c: a job whose operands are found. Offsets of an element are
 * the sum over its axes of offsets[operand][axis][index]. */
enum { JOB_MOST_EXTENT = 65536 };
struct job {
  struct job_kind kind;
  int64_t v[JOB_VARIABLES];
  struct job_bytes operands[JOB_OPERANDS];
  int has_cells;
  struct job_cells cells;
  int64_t cell_rows, cell_columns;
  const uint8_t* table;
  const char* error;
};
extern int64_t job_offsets[JOB_OPERANDS][4][JOB_MOST_EXTENT];
void job_compute(struct job* job);

#endif /* JOB_MODEL_H_ */
