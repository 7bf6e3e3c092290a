#include "compiler/partition/split_accumulators.h"

#include <optional>

#include "absl/status/status.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "compiler/passes/split_requantization.h"

namespace edgekiln::compiler {
namespace {

std::string WhyNot(const absl::Status& status) {
  const std::optional<ErrorDetail> detail = GetErrorDetail(status);
  return detail ? detail->what : std::string(status.message());
}

}  // namespace

absl::StatusOr<SplitOps> SplitAccumulators(Graph& graph,
                                           absl::Span<const int32_t> ops) {
  SplitOps result;
  std::vector<int32_t> accepted;
  std::vector<bool> split(graph.ops.size(), false);
  for (const int32_t op : ops) {
    const absl::Status status = CheckSplitsRequantization(graph, graph.ops[op]);
    if (!status.ok()) {
      result.refused[op] = WhyNot(status);
      continue;
    }
    accepted.push_back(op);
    split[op] = true;
  }
  EK_RETURN_IF_ERROR(SplitRequantization(graph, accepted));
  for (size_t i = 0; i < split.size(); ++i) {
    result.origin.insert(result.origin.end(), split[i] ? 2 : 1,
                         static_cast<int32_t>(i));
  }
  return result;
}

}  // namespace edgekiln::compiler
