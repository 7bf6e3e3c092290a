#ifndef JOB_MODEL_H_
#define JOB_MODEL_H_

/* A functional model of engines that the host drives by registers: what jobs
 * compute, without time. C99, no library. Sections are those of
 * docs/targets/register_job.md of edgekiln, from which alone it is written. A
 * job is done before the write that starts it returns, so that races are not
 * noticed; nor are bytes that nothing wrote. */

#include <stdint.h>

#include "desk.h"

/* What the expressions of a descriptor call; a choice looks at one side only.
 */
#define select(c, a, b) ((c) != 0 ? (a) : (b))

static inline int64_t floordiv(int64_t a, int64_t b) {
  if (b == 0) desk_stop("engine", "an expression divides by 0", 0);
  return a / b - (a % b != 0 && (a % b < 0) != (b < 0));
}
static inline int64_t ceildiv(int64_t a, int64_t b) {
  if (b == 0) desk_stop("engine", "an expression divides by 0", 0);
  return a / b + (a % b != 0 && (a % b < 0) == (b < 0));
}
static inline int64_t min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t max(int64_t a, int64_t b) { return a > b ? a : b; }

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

enum job_operand_name { JOB_IN, JOB_IN2, JOB_WEIGHTS, JOB_OUT, JOB_OPERANDS };

/* Axes h, w, c are 0, 1, 2; of weights o, h, w, i are 0 to 3. */
struct job_term {
  int axis;
  int64_t divide, modulo, stride; /* Modulo 0: the quotient as it is. */
};

struct job_operand {
  int terms;
  struct job_term term[16];
};

struct job_register {
  uint32_t offset, bits, is_signed;
};

/* What a descriptor says of an engine. */
struct job_engine {
  int32_t memory;
  const struct job_register* registers;
  int register_count;
  uint32_t start_offset, start_value;
  uint32_t status_offset, status_mask, status_done;
  /* The variables of a job, from what registers hold. */
  void (*decode)(const int64_t* held, int64_t* variables);
  /* Which job has the code, -1: none; its kernel and the range of weights. */
  int (*find)(int64_t code, int* kernel, int* least_weight, int* most_weight);
  /* Where the elements of the job's operands lie. */
  void (*place)(int job, const int64_t* variables,
                struct job_operand* operands);
};

/* What an engine holds; all 0 after power-up. */
struct job_state {
  int64_t held[256];
  /* What is wrong, 0 if nothing, and where: an offset or an address. */
  const char* error;
  uint64_t where;
};

/* Both set `error` for what sections 2 and 6 do not allow. */
void job_write(const struct job_engine* engine, struct job_state* state,
               uint32_t offset, uint32_t value);
uint32_t job_read(const struct job_engine* engine, struct job_state* state,
                  uint32_t offset);

/* Of job_kernels.c: a job whose operands are found. Offsets of an element are
 * the sum over its axes of offsets[operand][axis][index]. */
enum { JOB_MOST_EXTENT = 65536 };
struct job {
  enum job_kernel kernel;
  int64_t v[JOB_VARIABLES];
  uint8_t* operands[JOB_OPERANDS];
  const uint8_t* table;
  int least_weight, most_weight;
  const char* error;
};
extern int64_t job_offsets[JOB_OPERANDS][4][JOB_MOST_EXTENT];
void job_compute(struct job* job);

#endif /* JOB_MODEL_H_ */
