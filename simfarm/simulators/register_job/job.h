#ifndef EK_SIMFARM_SIMULATORS_REGISTER_JOB_JOB_H_
#define EK_SIMFARM_SIMULATORS_REGISTER_JOB_JOB_H_

// One job, decoded from registers and checked.

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "simfarm/simulators/chip_memory.h"
#include "target/layout.h"
#include "target/register_jobs.h"

namespace edgekiln::simfarm::register_job {

// An error of a job: FAILED_PRECONDITION.
absl::Status JobError(std::string what, std::string where,
                      std::string limit = "");

// Address and layout of an operand in the engine's memory.
struct JobOperandPlace {
  uint64_t address = 0;
  std::optional<target::Layout> layout;  // Absent: the kernel has none.
  int64_t bytes = 0;  // Up to the last element; gaps included.
};

struct Job {
  v1::RegisterJobs::Kernel kernel = v1::RegisterJobs::KERNEL_UNSPECIFIED;
  target::JobVariables variables;
  std::array<JobOperandPlace, target::kNumJobOperands> operands;
  bool has_table = false;
  target::WeightRange weights;  // Others are an error.
  int64_t cycles = 0;

  // Whether sums become results by the converter.
  bool converts() const {
    return has_table && variables[target::JobVariable::kConverts] != 0;
  }

  int64_t operator[](target::JobVariable variable) const {
    return variables[variable];
  }
  const JobOperandPlace& operand(target::JobOperand which) const {
    return operands[static_cast<size_t>(which)];
  }
  uint64_t table_address() const {
    return static_cast<uint64_t>(variables[target::JobVariable::kTableAddr]);
  }
  int64_t table_bytes() const {
    return variables[target::JobVariable::kOutC] * target::kJobTableEntryBytes;
  }
};

// Checks everything that does not depend on values: extents, parameters,
// layouts, alignment, that all operands lie in `memory` of `chip`, and that
// `out` overlaps no other, except where an addition may overwrite its input.
// `variables` are hostile.
absl::StatusOr<Job> CheckJob(const target::RegisterJobsView& view,
                             const target::JobVariables& variables,
                             ChipMemory& chip, int32_t memory);

}  // namespace edgekiln::simfarm::register_job

#endif  // EK_SIMFARM_SIMULATORS_REGISTER_JOB_JOB_H_
