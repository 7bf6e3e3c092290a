#ifndef EK_SIMFARM_SIMULATORS_REGISTER_JOB_JOB_H_
#define EK_SIMFARM_SIMULATORS_REGISTER_JOB_JOB_H_

// One job, decoded from registers and checked.

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "simfarm/simulators/chip_memory.h"
#include "target/cell_rows.h"
#include "target/layout.h"
#include "target/register_jobs.h"

namespace edgekiln::simfarm::register_job {

// An error of a job: FAILED_PRECONDITION.
absl::Status JobError(std::string what, std::string where,
                      std::string limit = "");

// Where an operand lies.
struct JobOperandPlace {
  int32_t memory = -1;
  uint64_t address = 0;
  std::optional<target::Layout> layout;  // Absent: the kernel has none.
  int64_t bytes = 0;  // Up to the last element; gaps included.
};

struct Job {
  v1::RegisterJobs::Kernel kernel = v1::RegisterJobs::KERNEL_UNSPECIFIED;
  target::JobVariables variables;
  std::array<JobOperandPlace, target::kNumJobOperands> operands;
  bool has_table = false;  // In the engine's own memory.
  // How results are made of sums.
  v1::RegisterJobs::Results results = v1::RegisterJobs::BY_TABLE;
  target::WeightRange weights;  // Others are an error.
  // How weights are stored whose operand's layout is that of cells.
  std::optional<target::CellRows> cells;
  int64_t cycles = 0;

  bool by_shift() const { return results == v1::RegisterJobs::BY_SHIFT; }
  bool by_converter() const {
    return results == v1::RegisterJobs::BY_CONVERTER;
  }
  // Whether sums become results by the converter.
  bool converts() const {
    return by_converter() ||
           (has_table && variables[target::JobVariable::kConverts] != 0);
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
// layouts, alignment, the conditions of the descriptor, that all operands lie
// in their memories of `chip`, and that `out` overlaps no other, except where
// an addition may overwrite its input. `variables` are hostile.
absl::StatusOr<Job> CheckJob(const target::RegisterJobsView& view,
                             const target::JobVariables& variables,
                             ChipMemory& chip);

}  // namespace edgekiln::simfarm::register_job

#endif  // EK_SIMFARM_SIMULATORS_REGISTER_JOB_JOB_H_
