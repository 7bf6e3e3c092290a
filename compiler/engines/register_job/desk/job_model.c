/* Registers and variables (sections 2 and 3). */
#include "job_parts.h"

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
      job_fail(s, "a variable is out of range", ranges[i].variable);
    }
  }
}

#define CHECK(s, v, ranges) \
  check_ranges(s, v, ranges, (int)(sizeof(ranges) / sizeof(ranges[0])))

static void check_results(struct job_state *s, const struct job *job) {
  static const struct range table[] = {
      {JOB_OUT_ZERO_POINT, -128, 127}, {JOB_ROUNDING, 0, 2},
      {JOB_OUT_INT32, 0, 1},           {JOB_CONVERTS, 0, 1},
      {JOB_GAIN, 0, 2147483647},       {JOB_CODE_MIN, -32768, 32767},
      {JOB_CODE_MAX, -32768, 32767},   {JOB_CODE_SHIFT, 0, 15}};
  static const struct range converter[] = {{JOB_GAIN, 0, 2147483647},
                                           {JOB_CODE_MIN, -32768, 32767},
                                           {JOB_CODE_MAX, -32768, 32767},
                                           {JOB_CODE_SHIFT, 0, 15}};
  static const struct range shift[] = {{JOB_SHIFT, 0, 31}};
  const int64_t *v = job->v;
  int converts = job->kind.results == JOB_BY_CONVERTER;
  if (job_has_table(job)) {
    CHECK(s, v, table);
    converts = v[JOB_CONVERTS] == 1;
  }
  if (job->kind.results == JOB_BY_SHIFT) CHECK(s, v, shift);
  if (job->kind.results == JOB_BY_CONVERTER) CHECK(s, v, converter);
  if (converts && (v[JOB_GAIN] < 1 || v[JOB_CODE_MIN] > v[JOB_CODE_MAX])) {
    job_fail(s, "the converter has no gain or no codes", 0);
  }
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
                                         {JOB_DILATION_W, 1, JOB_MOST_EXTENT}};
  static const struct range zero[] = {{JOB_IN_ZERO_POINT, -128, 127}};
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
  const int by_table = job->kind.results == JOB_BY_TABLE;
  CHECK(s, v, always);
  if (v[JOB_CLAMP_MIN] > v[JOB_CLAMP_MAX]) {
    job_fail(s, "clamp_min is above clamp_max", 0);
  }
  if (job_has_window(job)) CHECK(s, v, window);
  if (job_has_weights(job)) CHECK(s, v, weights);
  if (job_has_weights(job) && by_table) CHECK(s, v, zero);
  if (job->kind.kernel == JOB_ADDITION && by_table) CHECK(s, v, addition);
  if (job->kind.kernel == JOB_AVERAGE_POOLING) CHECK(s, v, average);
  check_results(s, job);
  if (job->kind.kernel == JOB_DEPTHWISE_CONVOLUTION) {
    CHECK(s, v, depth);
    if (v[JOB_OUT_C] > v[JOB_IN_C] * v[JOB_DEPTH_MULTIPLIER]) {
      job_fail(s, "out_c is more than in_c times depth_multiplier", 0);
    }
  }
}

/* --- Registers --- */

/* What the low bits of a word are in a register. */
static int64_t held_value(const struct job_register *r, uint32_t word) {
  const uint64_t limit = (uint64_t)1 << r->bits;
  const uint64_t value = (word >> r->low_bit) & (limit - 1);
  return r->is_signed && value >= limit / 2 ? (int64_t)value - (int64_t)limit
                                            : (int64_t)value;
}

/* Puts what the registers of the record hold into `held`. */
static void read_record(const struct job_engine *e, struct job_state *s) {
  const int64_t address = e->find_record(s->held);
  const uint8_t *const bytes =
      desk_find(e->record_memory, (uint64_t)address, e->record_bytes, 0);
  uint32_t at;
  if (bytes == 0 || address % 4 != 0) {
    job_fail(s, "the record lies outside its memory, or not aligned to 4",
             (uint64_t)address);
    return;
  }
  for (at = 0; at < e->record_bytes; at += 4) {
    const uint32_t word = (uint32_t)bytes[at] | (uint32_t)bytes[at + 1] << 8 |
                          (uint32_t)bytes[at + 2] << 16 |
                          (uint32_t)bytes[at + 3] << 24;
    uint32_t rest = word;
    int i;
    for (i = 0; i < e->register_count; ++i) {
      const struct job_register *r = &e->registers[i];
      if (!r->in_record || r->offset != at) continue;
      s->held[i] = held_value(r, word);
      rest &= ~(uint32_t)((((uint64_t)1 << r->bits) - 1) << r->low_bit);
    }
    if (rest != 0) job_fail(s, "a bit of the record is of no register", at);
  }
}

static void transfer(struct job_state *s, const struct job_transfer *t) {
  const uint64_t flip = (uint64_t)t->reversed_bytes - 1;
  int64_t i;
  if (t->bytes < 1 || !t->is_joined || t->from_addr < 0 || t->to_addr < 0) {
    job_fail(s, "a transfer of nothing, or from or to nowhere",
             (uint64_t)t->from_addr);
    return;
  }
  if (t->from_memory == t->to_memory && t->from_addr < t->to_addr + t->bytes &&
      t->to_addr < t->from_addr + t->bytes) {
    job_fail(s, "a transfer writes what it reads", (uint64_t)t->to_addr);
    return;
  }
  for (i = 0; i < t->bytes; ++i) {
    const uint64_t from_addr = ((uint64_t)t->from_addr + (uint64_t)i) ^ flip;
    const uint64_t to_addr = ((uint64_t)t->to_addr + (uint64_t)i) ^ flip;
    const uint8_t *const from =
        desk_find((int32_t)t->from_memory, from_addr, 1, 0);
    uint8_t *const to = desk_find((int32_t)t->to_memory, to_addr, 1, 1);
    if (from == 0 || to == 0) {
      job_fail(s, "a transfer leaves its memories",
               from == 0 ? from_addr : to_addr);
      return;
    }
    *to = *from;
  }
}

static void run(const struct job_engine *e, struct job_state *s) {
  static struct job job;
  struct job_transfer moved;
  int kind, condition;
  if (e->find_transfer(s->held, &moved)) {
    transfer(s, &moved);
    return;
  }
  if (e->record_memory >= 0) read_record(e, s);
  if (s->error != 0) return;
  e->decode(s->held, job.v);
  for (kind = 0; kind < e->kind_count; ++kind) {
    if (e->kinds[kind].code == job.v[JOB_KERNEL]) break;
  }
  if (kind == e->kind_count) {
    job_fail(s, "the engine lacks the kernel", (uint64_t)job.v[JOB_KERNEL]);
    return;
  }
  job.kind = e->kinds[kind];
  job.error = 0;
  job.table = 0;
  job.has_cells = 0;
  check_variables(s, &job);
  if (s->error != 0) return;
  condition = e->refuse(kind, job.v);
  if (condition >= 0) {
    job_fail(s, "a condition of the job does not hold", (uint64_t)condition);
    return;
  }
  job_find_operands(e, s, kind, &job);
  if (s->error != 0) return;
  job_compute(&job);
  if (job.error != 0) job_fail(s, job.error, (uint64_t)job.v[JOB_OUT_ADDR]);
}

void job_write(const struct job_engine *e, struct job_state *s, uint32_t offset,
               uint32_t value) {
  int i;
  if (offset == e->start_offset) {
    if (value != e->start_value)
      job_fail(s, "no value that starts a job", value);
    if (s->error == 0) run(e, s);
    return;
  }
  for (i = 0; i < e->register_count; ++i) {
    const struct job_register *r = &e->registers[i];
    if (r->in_record || r->offset != offset) continue;
    if (value >= (uint64_t)1 << r->bits) {
      job_fail(s, "a bit that the register does not have", offset);
      return;
    }
    s->held[i] = held_value(r, value);
    return;
  }
  job_fail(s, "a write of no register", offset);
}

uint32_t job_read(const struct job_engine *e, struct job_state *s,
                  uint32_t offset) {
  if (offset != e->status_offset) job_fail(s, "a read of no status", offset);
  return e->status_done & e->status_mask;
}
