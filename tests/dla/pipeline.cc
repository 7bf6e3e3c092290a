#include "tests/dla/pipeline.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "compiler/partition/partition.h"
#include "target/resolve.h"

namespace edgekiln::tests {

v1::ResolvedTarget DlaTarget(int64_t pes, bool output_parallel,
                             int64_t sram_bytes) {
  v1::ResolvedTarget target = *target::ResolveTarget(absl::StrCat(
      "extends: \"dla\" set { name: \"pes\" value: ", pes,
      " } set { name: \"output_parallel\" value: ", output_parallel ? 1 : 0,
      " }"));
  const int32_t sram = target.machine().engines(0).scratchpad();
  target.mutable_machine()->mutable_memories(sram)->set_capacity_bytes(
      sram_bytes);
  return target;
}

absl::StatusOr<compiler::EmitResult> CompileQuantized(
    const compiler::Graph& graph, const v1::ResolvedTarget& target) {
  EK_ASSIGN_OR_RETURN(
      const v1::Partition partition,
      compiler::PartitionGraph(graph, target.capabilities()));
  EK_ASSIGN_OR_RETURN(const v1::TilingPlan plan,
                      compiler::TilePartition(partition, target.machine()));
  return compiler::EmitProgram(partition, plan, target.machine());
}

int64_t SmallestSramOf(const absl::Status& status) {
  const std::optional<ErrorDetail> detail = GetErrorDetail(status);
  int64_t bytes = -1;
  if (!detail || detail->reason != "SRAM_TOO_SMALL" ||
      !absl::SimpleAtoi(detail->need.substr(0, detail->need.find(' ')),
                        &bytes)) {
    return -1;
  }
  return bytes;
}

}  // namespace edgekiln::tests
