#ifndef EK_COMPILER_ENGINES_REGISTER_JOB_CHOICE_MEMO_H_
#define EK_COMPILER_ENGINES_REGISTER_JOB_CHOICE_MEMO_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "compiler/engines/register_job/op_costs.h"
#include "compiler/engines/register_job/placement.h"
#include "compiler/engines/register_job/search.h"
#include "edgekiln/v1/engines/register_job.pb.h"

namespace edgekiln::compiler::register_job {

// BestChoice() for many placements on one machine: what it has found for one
// serves all that differ only in what it does not read, such as layers of equal
// sizes in one network. Not thread-safe.
class ChoiceMemo {
 public:
  absl::StatusOr<std::optional<Choice>> BestChoice(
      const Placement& placement, int64_t bytes,
      const v1::register_job::TileDecisions& decisions);

  // For Placement::costs of placements of that op; lives as long as this.
  OpCosts* CostsOf(const Placement& placement);

 private:
  absl::flat_hash_map<std::string, absl::StatusOr<std::optional<Choice>>>
      known_;
  absl::flat_hash_map<std::string, std::unique_ptr<OpCosts>> costs_;
};

}  // namespace edgekiln::compiler::register_job

#endif  // EK_COMPILER_ENGINES_REGISTER_JOB_CHOICE_MEMO_H_
