#include "compiler/partition/split_accumulators.h"

#include <optional>

#include "absl/status/status.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "compiler/passes/split_requantization.h"

namespace edgekiln::compiler {

std::string WhyNoAccumulator(const Graph& graph, const Op& op) {
  const absl::Status status = CheckSplitsRequantization(graph, op);
  if (status.ok()) return "";
  const std::optional<ErrorDetail> detail = GetErrorDetail(status);
  return detail ? detail->what : std::string(status.message());
}

absl::StatusOr<std::vector<int32_t>> SplitAccumulators(
    Graph& graph, absl::Span<const int32_t> ops) {
  std::vector<int32_t> copies(graph.ops.size(), 1);
  for (const int32_t op : ops) copies[op] = 2;
  EK_RETURN_IF_ERROR(SplitRequantization(graph, ops));
  std::vector<int32_t> origin;
  origin.reserve(graph.ops.size());
  for (size_t i = 0; i < copies.size(); ++i) {
    origin.insert(origin.end(), copies[i], static_cast<int32_t>(i));
  }
  return origin;
}

}  // namespace edgekiln::compiler
