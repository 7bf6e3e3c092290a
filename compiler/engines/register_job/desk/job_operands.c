/* Where the operands of a job lie (section 4). */
#include "job_parts.h"

enum { kTableEntryBytes = 12 };

int64_t job_offsets[JOB_OPERANDS][4][JOB_MOST_EXTENT];

/* Extents of an operand's axes; 0: the kernel has no such operand. */
static int extents_of(const struct job *job, int operand, int64_t *extents) {
  const int64_t *v = job->v;
  extents[0] = v[JOB_OUT_H];
  extents[1] = v[JOB_OUT_W];
  extents[2] = v[JOB_OUT_C];
  extents[3] = 1;
  switch (operand) {
    case JOB_IN:
      if (job_has_window(job)) {
        extents[0] = v[JOB_IN_H];
        extents[1] = v[JOB_IN_W];
      }
      if (job_has_weights(job)) extents[2] = v[JOB_IN_C];
      return 1;
    case JOB_IN2:
      return job->kind.kernel == JOB_ADDITION;
    case JOB_WEIGHTS:
      extents[0] = v[JOB_OUT_C];
      extents[1] = v[JOB_KERNEL_H];
      extents[2] = v[JOB_KERNEL_W];
      extents[3] = job->kind.kernel == JOB_CONVOLUTION ? v[JOB_IN_C] : 1;
      return job_has_weights(job);
    case JOB_BIAS:
    case JOB_AFFINE:
      extents[0] = v[JOB_OUT_C];
      extents[1] = 4;
      extents[2] = 1;
      return job_has_weights(job) &&
             job->kind.results ==
                 (operand == JOB_BIAS ? JOB_BY_SHIFT : JOB_BY_CONVERTER);
    default:
      return 1;
  }
}

static int64_t element_bytes(const struct job *job, int operand) {
  const int sums =
      job_has_weights(job) && job_has_table(job) && job->v[JOB_OUT_INT32] == 1;
  if (operand == JOB_IN && job->kind.kernel == JOB_REQUANTIZATION) return 4;
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
          job_fail(s, "an operand has no legal layout", (uint64_t)operand);
          return 0;
        }
        digit = i / term->divide;
        if (term->modulo > 0) digit %= term->modulo;
        offset = plus(offset, times(digit, term->stride));
      }
      job_offsets[operand][axis][i] = offset;
      if (offset > most) most = offset;
    }
    end = plus(end, most);
  }
  return end;
}

/* Bytes of the cells. */
static int64_t find_cells(struct job_state *s, struct job *job,
                          const struct job_cells *cells) {
  static const int64_t most = (int64_t)1 << 30;
  const int64_t *v = job->v;
  const int64_t inputs = times(v[JOB_KERNEL_H] * v[JOB_KERNEL_W], v[JOB_IN_C]);
  if (cells->rows_multiple < 1 || cells->columns_multiple < 32 ||
      cells->columns_multiple % 32 != 0 || inputs > most ||
      cells->rows_multiple > most || cells->columns_multiple > most) {
    job_fail(s, "cells have no legal rows or columns", 0);
    return 0;
  }
  job->has_cells = 1;
  job->cells = *cells;
  job->cell_rows = ceildiv(inputs, cells->rows_multiple) * cells->rows_multiple;
  job->cell_columns =
      ceildiv(v[JOB_OUT_C], cells->columns_multiple) * cells->columns_multiple;
  return times(job->cell_rows, job->cell_columns / 4);
}

struct extent {
  int32_t memory;
  int64_t begin, end;
};

/* The place of an operand, whole groups of reversed bytes. */
static struct extent find_operand(struct job_state *s, int operand,
                                  const struct job_operand *placed,
                                  const int64_t *extents, struct job *job) {
  const int64_t element = element_bytes(job, operand);
  const int64_t group = placed->reversed_bytes;
  const int64_t lead = placed->address & (group - 1);
  struct extent all = {0, 0, 0};
  int64_t bytes;
  if (placed->has_cells) {
    bytes = find_cells(s, job, &placed->cells);
  } else {
    bytes = fill_offsets(s, operand, placed, extents, element);
  }
  if (s->error != 0) return all;
  all.memory = placed->memory;
  all.begin = minus(placed->address, lead);
  all.end = plus(all.begin, times(ceildiv(plus(lead, bytes), group), group));
  job->operands[operand].first =
      desk_find(placed->memory, (uint64_t)all.begin,
                (uint64_t)(all.end - all.begin), operand == JOB_OUT);
  job->operands[operand].lead = lead;
  job->operands[operand].flip = group - 1;
  if (job->operands[operand].first == 0) {
    job_fail(s, "an operand lies outside its memory",
             (uint64_t)placed->address);
  }
  if (element == 4 && placed->address % 4 != 0) {
    job_fail(s, "an operand is not aligned to 4", (uint64_t)placed->address);
  }
  return all;
}

/* What is brought to one memory must fit there together. */
static void check_stages(struct job_state *s,
                         const struct job_operand *operands) {
  int a, b;
  for (a = 0; a < JOB_OPERANDS; ++a) {
    int64_t total = 0;
    if (operands[a].staged_in < 0) continue;
    for (b = 0; b < JOB_OPERANDS; ++b) {
      if (operands[b].staged_in == operands[a].staged_in) {
        total = plus(total, operands[b].size);
      }
    }
    if (total > operands[a].staged_capacity) {
      job_fail(s, "a memory does not hold what is staged in it", (uint64_t)a);
    }
  }
}

/* Whether each element of `operand` lies where that of the result does. */
static int lies_in_place(const struct job *job, int operand,
                         const int64_t *extents) {
  const struct job_bytes *const out = &job->operands[JOB_OUT];
  const struct job_bytes *const in = &job->operands[operand];
  int axis;
  int64_t i;
  if (in->first != out->first || in->lead != out->lead ||
      in->flip != out->flip) {
    return 0;
  }
  for (axis = 0; axis < 4; ++axis) {
    for (i = 0; i < extents[axis]; ++i) {
      if (job_offsets[operand][axis][i] != job_offsets[JOB_OUT][axis][i]) {
        return 0;
      }
    }
  }
  return 1;
}

static void find_table(const struct job_engine *e, struct job_state *s,
                       struct job *job, struct extent *all) {
  const int64_t address = job->v[JOB_TABLE_ADDR];
  const int64_t bytes = job->v[JOB_OUT_C] * kTableEntryBytes;
  all->memory = e->memory;
  all->begin = address;
  all->end = plus(address, bytes);
  job->table = desk_find(e->memory, (uint64_t)address, (uint64_t)bytes, 0);
  if (job->table == 0 || address % 4 != 0) {
    job_fail(s, "the table lies outside the memory, or not aligned to 4",
             (uint64_t)address);
  }
}

void job_find_operands(const struct job_engine *e, struct job_state *s,
                       int kind, struct job *job) {
  static const int addresses[JOB_OPERANDS] = {
      JOB_IN_ADDR,      JOB_IN2_ADDR,     JOB_WEIGHTS_ADDR,
      JOB_WEIGHTS_ADDR, JOB_WEIGHTS_ADDR, JOB_OUT_ADDR};
  struct job_operand placed[JOB_OPERANDS];
  struct extent all[JOB_OPERANDS + 1] = {{0, 0, 0}};
  int64_t extents[4];
  int i;
  for (i = 0; i < JOB_OPERANDS; ++i) {
    placed[i].memory = e->memory;
    placed[i].address = job->v[addresses[i]];
    placed[i].reversed_bytes = 1;
    placed[i].staged_in = -1;
    placed[i].staged_capacity = placed[i].size = 0;
    placed[i].has_cells = 0;
    placed[i].terms = 0;
  }
  e->place(kind, job->v, placed);
  for (i = 0; i < JOB_OPERANDS && s->error == 0; ++i) {
    if (!extents_of(job, i, extents)) continue;
    all[i] = find_operand(s, i, &placed[i], extents, job);
    if (placed[i].has_cells) {
      placed[i].size = times(job->cell_rows, job->cell_columns / 4);
    }
  }
  check_stages(s, placed);
  if (job_has_table(job) && s->error == 0) {
    find_table(e, s, job, &all[JOB_OPERANDS]);
  }
  if (s->error != 0) return;
  extents_of(job, JOB_OUT, extents);
  for (i = 0; i <= JOB_OPERANDS; ++i) {
    if (i == JOB_OUT || all[i].memory != all[JOB_OUT].memory ||
        all[i].begin >= all[JOB_OUT].end || all[JOB_OUT].begin >= all[i].end) {
      continue;
    }
    /* Element by element, an addition may write what it has read. */
    if (job->kind.kernel == JOB_ADDITION && i <= JOB_IN2 &&
        lies_in_place(job, i, extents)) {
      continue;
    }
    job_fail(s, "the result overlaps an operand", (uint64_t)all[JOB_OUT].begin);
  }
}
