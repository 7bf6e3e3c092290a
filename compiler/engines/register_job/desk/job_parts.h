#ifndef JOB_PARTS_H_
#define JOB_PARTS_H_

/* What job_model.c and job_operands.c share. */

#include "job_model.h"

/* The first error counts. */
static inline void job_fail(struct job_state* s, const char* what,
                            uint64_t where) {
  if (s->error != 0) return;
  s->error = what;
  s->where = where;
}

static inline int job_has_window(const struct job* job) {
  return job->kind.kernel != JOB_ADDITION &&
         job->kind.kernel != JOB_REQUANTIZATION;
}

static inline int job_has_weights(const struct job* job) {
  return job->kind.kernel == JOB_CONVOLUTION ||
         job->kind.kernel == JOB_DEPTHWISE_CONVOLUTION;
}

static inline int job_has_table(const struct job* job) {
  return job->kind.results == JOB_BY_TABLE &&
         (job_has_weights(job) || job->kind.kernel == JOB_REQUANTIZATION);
}

/* Of a job whose kind and variables are checked: finds its operands in the
 * memories of the desk. */
void job_find_operands(const struct job_engine* engine, struct job_state* state,
                       int kind, struct job* job);

#endif /* JOB_PARTS_H_ */
