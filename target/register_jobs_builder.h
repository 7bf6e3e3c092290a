#ifndef EK_TARGET_REGISTER_JOBS_BUILDER_H_
#define EK_TARGET_REGISTER_JOBS_BUILDER_H_

// How RegisterJobsView::Create() reads the jobs of an engine: only its sources
// include this.

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "edgekiln/v1/target.pb.h"
#include "target/expression.h"
#include "target/register_jobs.h"

namespace edgekiln::target {

// Compiles the expressions of one engine. `machine` must outlive it.
class RegisterJobsView::Builder {
 public:
  Builder(const v1::Machine& machine, int32_t engine);

  // Once.
  absl::StatusOr<RegisterJobsView> Build();

 private:
  using Kernel = v1::RegisterJobs;

  // Position of a memory by name.
  absl::StatusOr<int32_t> FindMemory(const std::string& name,
                                     const std::string& where) const;
  bool EngineReaches(int32_t memory) const;
  absl::Status AddRecord();
  // The engine must know where the record is before it reads any of it.
  absl::Status CheckRecordAddress() const;
  // The place of a register in the record.
  absl::Status AddToRecord(const Kernel::Register& reg,
                           const std::string& where);
  // A register that the host writes; `offsets` are taken.
  absl::Status CheckInWindow(const Kernel::Register& reg,
                             const std::string& where,
                             std::set<uint32_t>& offsets) const;
  absl::Status AddRegisters();
  absl::Status AddFields();
  bool IsTold(JobVariable variable) const;
  absl::Status AddJob(const Kernel::Job& job);
  absl::Status AddConditions(const Kernel::Job& job, Job& parsed) const;
  absl::Status AddOperands(const Kernel::Job& job, Job& parsed) const;
  // Where the job brings it first.
  absl::Status StageOperand(const Kernel::Operand& operand,
                            Operand& place) const;
  // Where an operand lies, and how.
  absl::Status PlaceOperand(JobOperand which, const Kernel::Operand& operand,
                            Operand& place) const;
  absl::Status AddOperand(Kernel::Kernel kernel, JobOperand which,
                          const Kernel::Operand& operand, Operand& place) const;
  absl::Status AddCells(Kernel::Kernel kernel, JobOperand which,
                        const Kernel::Operand& operand, Operand& place) const;
  absl::StatusOr<Expression> Compile(const std::string& text) const;

  const v1::Machine& machine_;
  const int32_t engine_;
  std::vector<Constant> constants_;
  std::vector<std::string> register_names_;
  RegisterJobsView view_;
};

}  // namespace edgekiln::target

#endif  // EK_TARGET_REGISTER_JOBS_BUILDER_H_
