#ifndef EK_COMPILER_PARTITION_PATTERN_MATCH_H_
#define EK_COMPILER_PARTITION_PATTERN_MATCH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "compiler/ir/graph.h"
#include "compiler/partition/op_split.h"
#include "compiler/passes/product_sums.h"
#include "edgekiln/v1/target.pb.h"
#include "target/pattern_conditions.h"
#include "target/pattern_ops.h"

namespace edgekiln::compiler {

// What an engine answers about the ops that begin with one of them.
struct Match {
  // The chain: indices into graph.ops, rising. Each op reads what the one
  // before it writes; others may stand between them. Empty if the engine takes
  // nothing.
  std::vector<int32_t> ops;
  // The engine only runs the first half of this one op: the second one is still
  // to be placed.
  OpSplit split = OpSplit::kNone;
  // Which of the engine's patterns takes them.
  int32_t pattern = -1;
  // If it takes nothing, for each pattern with this kind of op the condition
  // that failed, as users read it: "kernels up to 7 (here kernel_h 9, kernel_w
  // 9)". Values of this one layer stand in parentheses, so that reports can
  // group layers by reason. Empty if the engine has no such pattern. With
  // kClamp, what the op's own limits fail.
  std::vector<std::string> failed;
};

// The patterns of a target's engines against one graph. Immutable, hence
// thread-safe.
class PatternMatcher {
 public:
  // Both must outlive it. INVALID_ARGUMENT if the capabilities are not what
  // targets are resolved to.
  static absl::StatusOr<PatternMatcher> Create(
      const Graph& graph, const v1::Capabilities& capabilities);

  // By the engine's patterns, of which the first that takes the op counts; if
  // none does, the first of one op that takes it with plain limits.
  // Ops in `taken` (by index; empty: none) are part of other chains.
  Match MatchChain(int32_t first, int32_t engine,
                   const std::vector<bool>& taken = {}) const;

  // The largest most_kernel_padding of the engine's patterns that would take
  // the op, or its first half, but for their conditions; 0 if there is none.
  // What numerics or other ops of a chain fail, no padding helps.
  int32_t MostKernelPadding(int32_t first, int32_t engine) const;

 private:
  struct Pattern {
    const v1::OpPattern* pattern = nullptr;
    std::vector<target::PatternOp> ops;
    target::PatternConditions conditions;
  };

  PatternMatcher(const Graph& graph, const v1::Capabilities& capabilities);

  std::string FindChain(int32_t first, const Pattern& pattern,
                        const std::vector<bool>& taken,
                        std::vector<int32_t>& ops) const;
  std::string WhyNot(const Pattern& pattern,
                     const std::vector<int32_t>& ops) const;
  std::string WhyNotOps(const Pattern& pattern,
                        absl::Span<const Op* const> ops) const;
  int32_t IndexOf(const Pattern& pattern, int32_t engine) const;
  bool MatchPlainClamp(int32_t op, int32_t engine, Match& match) const;
  void ExplainMember(int32_t op, int32_t engine, const std::vector<bool>& taken,
                     Match& match) const;
  int32_t HeadOf(int32_t op, const Pattern& pattern, size_t position) const;

  const Graph& graph_;
  const v1::Capabilities& capabilities_;
  ValueRanges ranges_;
  std::vector<std::vector<Pattern>> engines_;
  // By tensor; empty if all patterns are of one op.
  std::vector<int32_t> producers_;
  std::vector<std::vector<int32_t>> readers_;
  std::vector<bool> is_output_;
};

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_PARTITION_PATTERN_MATCH_H_
