#ifndef EK_SIMFARM_CONFORMANCE_REGISTER_JOB_NAIVE_CELLS_H_
#define EK_SIMFARM_CONFORMANCE_REGISTER_JOB_NAIVE_CELLS_H_

// Cells of section 4 of docs/targets/register_job.md, bit by bit.

#include <cstdint>
#include <string>

#include "simfarm/conformance/register_job/naive_job.h"

namespace edgekiln::simfarm::conformance::register_job {

// The weight [o, y, x, i] of a job whose weights are cells.
int64_t WeightOfCells(const NaiveJob& job, const std::string& memory, int64_t o,
                      int64_t y, int64_t x, int64_t i);

// Whether no weight has both cells set, and nothing else is.
bool AreWeights(const NaiveJob& job, const std::string& memory);

}  // namespace edgekiln::simfarm::conformance::register_job

#endif  // EK_SIMFARM_CONFORMANCE_REGISTER_JOB_NAIVE_CELLS_H_
