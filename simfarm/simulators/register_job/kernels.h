#ifndef EK_SIMFARM_SIMULATORS_REGISTER_JOB_KERNELS_H_
#define EK_SIMFARM_SIMULATORS_REGISTER_JOB_KERNELS_H_

// What jobs compute: docs/targets/register_job.md, "Kernels".

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "simfarm/simulators/register_job/job.h"

namespace edgekiln::simfarm::register_job {

// Operands of a job, dense: rows, columns, channels; weights [o, h, w, i], of a
// depthwise convolution [o, h, w].
struct DenseOperands {
  std::string in;
  std::string in2;
  std::string weights;
  std::string bias;    // int32 by output channel.
  std::string affine;  // int16 pairs by output channel: scale, offset.
  std::string table;   // As it lies in memory.
  std::string out;     // Of the right size.
};

// Computes all of `out`. FAILED_PRECONDITION if a table entry has an illegal
// number, a weight is none of those that the job takes, or a window has no
// element.
absl::Status Compute(const Job& job, DenseOperands& operands);

}  // namespace edgekiln::simfarm::register_job

#endif  // EK_SIMFARM_SIMULATORS_REGISTER_JOB_KERNELS_H_
