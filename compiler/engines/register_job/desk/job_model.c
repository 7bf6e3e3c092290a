/* Registers and operands (sections 2 to 4). */
#include "job_model.h"

enum { kTableEntryBytes = 12 };

int64_t job_offsets[JOB_OPERANDS][4][JOB_MOST_EXTENT];

static void fail(struct job_state *s, const char *what, uint64_t where) {
  if (s->error != 0) return;
  s->error = what;
  s->where = where;
}

/* --- Variables --- */

struct range {
  uint8_t variable;
  int64_t least, most;
};

static void check_ranges(struct job_state *s, const int64_t *v,
                         const struct range *ranges, int count) {
  int i;
  for (i = 0; i < count; ++i) {
    const int64_t value = v[ranges[i].variable];
    if (value < ranges[i].least || value > ranges[i].most) {
      fail(s, "a variable is out of range", ranges[i].variable);
    }
  }
}

#define CHECK(s, v, ranges) \
  check_ranges(s, v, ranges, (int)(sizeof(ranges) / sizeof(ranges[0])))

static int has_window(enum job_kernel kernel) {
  return kernel != JOB_ADDITION && kernel != JOB_REQUANTIZATION;
}

static int has_weights(enum job_kernel kernel) {
  return kernel == JOB_CONVOLUTION || kernel == JOB_DEPTHWISE_CONVOLUTION;
}

static int has_table(enum job_kernel kernel) {
  return has_weights(kernel) || kernel == JOB_REQUANTIZATION;
}

static void check_variables(struct job_state *s, const struct job *job) {
  static const struct range always[] = {{JOB_OUT_H, 1, JOB_MOST_EXTENT},
                                        {JOB_OUT_W, 1, JOB_MOST_EXTENT},
                                        {JOB_OUT_C, 1, JOB_MOST_EXTENT},
                                        {JOB_CLAMP_MIN, -128, 127},
                                        {JOB_CLAMP_MAX, -128, 127}};
  static const struct range window[] = {
      {JOB_IN_H, 1, JOB_MOST_EXTENT},     {JOB_IN_W, 1, JOB_MOST_EXTENT},
      {JOB_KERNEL_H, 1, JOB_MOST_EXTENT}, {JOB_KERNEL_W, 1, JOB_MOST_EXTENT},
      {JOB_STRIDE_H, 1, JOB_MOST_EXTENT}, {JOB_STRIDE_W, 1, JOB_MOST_EXTENT},
      {JOB_PAD_TOP, 0, JOB_MOST_EXTENT},  {JOB_PAD_LEFT, 0, JOB_MOST_EXTENT}};
  static const struct range weights[] = {{JOB_IN_C, 1, JOB_MOST_EXTENT},
                                         {JOB_DILATION_H, 1, JOB_MOST_EXTENT},
                                         {JOB_DILATION_W, 1, JOB_MOST_EXTENT},
                                         {JOB_IN_ZERO_POINT, -128, 127}};
  static const struct range results[] = {
      {JOB_OUT_ZERO_POINT, -128, 127}, {JOB_ROUNDING, 0, 2},
      {JOB_OUT_INT32, 0, 1},           {JOB_CONVERTS, 0, 1},
      {JOB_GAIN, 0, 2147483647},       {JOB_CODE_MIN, -32768, 32767},
      {JOB_CODE_MAX, -32768, 32767},   {JOB_CODE_SHIFT, 0, 15}};
  static const struct range depth[] = {
      {JOB_DEPTH_MULTIPLIER, 1, JOB_MOST_EXTENT}};
  static const struct range addition[] = {{JOB_IN_ZERO_POINT, -128, 127},
                                          {JOB_IN2_ZERO_POINT, -128, 127},
                                          {JOB_OUT_ZERO_POINT, -128, 127},
                                          {JOB_IN_MULTIPLIER, 0, 2147483647},
                                          {JOB_IN2_MULTIPLIER, 0, 2147483647},
                                          {JOB_OUT_MULTIPLIER, 0, 2147483647},
                                          {JOB_IN_SHIFT, -31, 30},
                                          {JOB_IN2_SHIFT, -31, 30},
                                          {JOB_OUT_SHIFT, -31, 30},
                                          {JOB_LEFT_SHIFT, 0, 22},
                                          {JOB_ROUNDING, 0, 2}};
  static const struct range average[] = {{JOB_IN_ZERO_POINT, -128, 127},
                                         {JOB_ROUNDING, 0, 1},
                                         {JOB_COUNT_PAD, 0, 1}};
  const int64_t *v = job->v;
  CHECK(s, v, always);
  if (v[JOB_CLAMP_MIN] > v[JOB_CLAMP_MAX]) {
    fail(s, "clamp_min is above clamp_max", 0);
  }
  if (has_window(job->kernel)) CHECK(s, v, window);
  if (has_weights(job->kernel)) CHECK(s, v, weights);
  if (job->kernel == JOB_ADDITION) CHECK(s, v, addition);
  if (job->kernel == JOB_AVERAGE_POOLING) CHECK(s, v, average);
  if (has_table(job->kernel)) {
    CHECK(s, v, results);
    if (v[JOB_CONVERTS] == 1 &&
        (v[JOB_GAIN] < 1 || v[JOB_CODE_MIN] > v[JOB_CODE_MAX])) {
      fail(s, "the converter has no gain or no codes", 0);
    }
  }
  if (job->kernel == JOB_DEPTHWISE_CONVOLUTION) {
    CHECK(s, v, depth);
    if (v[JOB_OUT_C] > v[JOB_IN_C] * v[JOB_DEPTH_MULTIPLIER]) {
      fail(s, "out_c is more than in_c times depth_multiplier", 0);
    }
  }
}

/* --- Operands --- */

/* Extents of an operand's axes; 0: the kernel has no such operand. */
static int extents_of(const struct job *job, int operand, int64_t *extents) {
  const int64_t *v = job->v;
  const int window = has_window(job->kernel);
  extents[0] = v[JOB_OUT_H];
  extents[1] = v[JOB_OUT_W];
  extents[2] = v[JOB_OUT_C];
  extents[3] = 1;
  switch (operand) {
    case JOB_IN:
      if (window) {
        extents[0] = v[JOB_IN_H];
        extents[1] = v[JOB_IN_W];
      }
      if (has_weights(job->kernel)) extents[2] = v[JOB_IN_C];
      return 1;
    case JOB_IN2:
      return job->kernel == JOB_ADDITION;
    case JOB_WEIGHTS:
      extents[0] = v[JOB_OUT_C];
      extents[1] = v[JOB_KERNEL_H];
      extents[2] = v[JOB_KERNEL_W];
      extents[3] = job->kernel == JOB_CONVOLUTION ? v[JOB_IN_C] : 1;
      return has_weights(job->kernel);
    default:
      return 1;
  }
}

static int64_t element_bytes(const struct job *job, int operand) {
  const int sums = has_weights(job->kernel) && job->v[JOB_OUT_INT32] == 1;
  if (operand == JOB_IN && job->kernel == JOB_REQUANTIZATION) return 4;
  return operand == JOB_OUT && sums ? 4 : 1;
}

/* Fills job_offsets; returns one past the last byte, from the first. */
static int64_t fill_offsets(struct job_state *s, int operand,
                            const struct job_operand *placed,
                            const int64_t *extents, int64_t element) {
  int64_t end = element;
  int axis, t;
  for (axis = 0; axis < 4; ++axis) {
    int64_t i, most = 0;
    for (i = 0; i < extents[axis]; ++i) {
      int64_t offset = 0;
      for (t = 0; t < placed->terms; ++t) {
        const struct job_term *term = &placed->term[t];
        int64_t digit;
        if (term->axis != axis) continue;
        if (term->divide < 1 || term->modulo < 0 || term->stride < 0) {
          fail(s, "an operand has no legal layout", (uint64_t)operand);
          return 0;
        }
        digit = i / term->divide;
        if (term->modulo > 0) digit %= term->modulo;
        offset += digit * term->stride;
      }
      job_offsets[operand][axis][i] = offset;
      if (offset > most) most = offset;
    }
    end += most;
  }
  return end;
}

static void find_operands(const struct job_engine *e, struct job_state *s,
                          int index, struct job *job) {
  static const int addresses[JOB_OPERANDS] = {JOB_IN_ADDR, JOB_IN2_ADDR,
                                              JOB_WEIGHTS_ADDR, JOB_OUT_ADDR};
  struct job_operand placed[JOB_OPERANDS];
  int64_t begin[JOB_OPERANDS + 1], end[JOB_OPERANDS + 1];
  int operand;
  for (operand = 0; operand < JOB_OPERANDS; ++operand) {
    placed[operand].terms = 0;
    begin[operand] = end[operand] = 0;
  }
  e->place(index, job->v, placed);
  for (operand = 0; operand < JOB_OPERANDS && s->error == 0; ++operand) {
    const int64_t address = job->v[addresses[operand]];
    const int64_t element = element_bytes(job, operand);
    int64_t extents[4];
    if (!extents_of(job, operand, extents)) continue;
    begin[operand] = address;
    end[operand] =
        address + fill_offsets(s, operand, &placed[operand], extents, element);
    job->operands[operand] =
        desk_find(e->memory, (uint64_t)address,
                  (uint64_t)(end[operand] - address), operand == JOB_OUT);
    if (job->operands[operand] == 0) {
      fail(s, "an operand lies outside the memory", (uint64_t)address);
    }
    if (element == 4 && address % 4 != 0) {
      fail(s, "an operand is not aligned to 4", (uint64_t)address);
    }
  }
  begin[JOB_OPERANDS] = end[JOB_OPERANDS] = 0;
  if (has_table(job->kernel)) {
    const int64_t address = job->v[JOB_TABLE_ADDR];
    const int64_t bytes = job->v[JOB_OUT_C] * kTableEntryBytes;
    begin[JOB_OPERANDS] = address;
    end[JOB_OPERANDS] = address + bytes;
    job->table = desk_find(e->memory, (uint64_t)address, (uint64_t)bytes, 0);
    if (job->table == 0 || address % 4 != 0) {
      fail(s, "the table lies outside the memory, or not aligned to 4",
           (uint64_t)address);
    }
  }
  for (operand = 0; operand <= JOB_OPERANDS; ++operand) {
    if (operand == JOB_OUT || begin[operand] >= end[JOB_OUT] ||
        begin[JOB_OUT] >= end[operand]) {
      continue;
    }
    /* Element by element, an addition may write what it has read. */
    if (job->kernel == JOB_ADDITION && operand <= JOB_IN2 &&
        begin[operand] == begin[JOB_OUT] && end[operand] == end[JOB_OUT]) {
      continue;
    }
    fail(s, "the result overlaps an operand", (uint64_t)begin[JOB_OUT]);
  }
}

/* --- Registers --- */

static void run(const struct job_engine *e, struct job_state *s) {
  static struct job job;
  int kernel = 0, index;
  e->decode(s->held, job.v);
  index =
      e->find(job.v[JOB_KERNEL], &kernel, &job.least_weight, &job.most_weight);
  if (index < 0) {
    fail(s, "the engine lacks the kernel", (uint64_t)job.v[JOB_KERNEL]);
    return;
  }
  job.kernel = (enum job_kernel)kernel;
  job.error = 0;
  job.table = 0;
  check_variables(s, &job);
  if (s->error == 0) find_operands(e, s, index, &job);
  if (s->error != 0) return;
  job_compute(&job);
  if (job.error != 0) fail(s, job.error, (uint64_t)job.v[JOB_OUT_ADDR]);
}

void job_write(const struct job_engine *e, struct job_state *s, uint32_t offset,
               uint32_t value) {
  int i;
  if (offset == e->start_offset) {
    if (value != e->start_value) fail(s, "no value that starts a job", value);
    if (s->error == 0) run(e, s);
    return;
  }
  for (i = 0; i < e->register_count; ++i) {
    const struct job_register *r = &e->registers[i];
    const uint64_t limit = (uint64_t)1 << r->bits;
    if (r->offset != offset) continue;
    if (value >= limit) {
      fail(s, "a bit that the register does not have", offset);
      return;
    }
    s->held[i] = r->is_signed && value >= limit / 2
                     ? (int64_t)value - (int64_t)limit
                     : (int64_t)value;
    return;
  }
  fail(s, "a write of no register", offset);
}

uint32_t job_read(const struct job_engine *e, struct job_state *s,
                  uint32_t offset) {
  if (offset != e->status_offset) fail(s, "a read of no status", offset);
  return e->status_done & e->status_mask;
}
