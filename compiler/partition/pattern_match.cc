#include "compiler/partition/pattern_match.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "compiler/ir/shapes.h"
#include "compiler/partition/numerics_match.h"
#include "compiler/passes/split_clamp.h"
#include "target/op_variables.h"

namespace edgekiln::compiler {
namespace {

// Appends the values of the op's variables. False if the shapes overflow.
bool AppendVariables(const Graph& graph, const Op& op,
                     std::vector<int64_t>& values) {
  const auto variables = target::VariablesOf(
      op.attributes, ShapesOf(graph, op.inputs), ShapesOf(graph, op.outputs));
  if (!variables.ok()) return false;
  const auto numbers = variables->values();
  values.insert(values.end(), numbers.begin(), numbers.end());
  return true;
}

void AddOnce(std::string why, std::vector<std::string>& failed) {
  if (!absl::c_linear_search(failed, why)) failed.push_back(std::move(why));
}

}  // namespace

PatternMatcher::PatternMatcher(const Graph& graph,
                               const v1::Capabilities& capabilities)
    : graph_(graph), capabilities_(capabilities), ranges_(graph) {
  ranges_.Update();
}

absl::StatusOr<PatternMatcher> PatternMatcher::Create(
    const Graph& graph, const v1::Capabilities& capabilities) {
  PatternMatcher matcher(graph, capabilities);
  bool has_chains = false;
  for (const auto& engine : capabilities.engines()) {
    std::vector<Pattern>& patterns = matcher.engines_.emplace_back();
    for (const v1::OpPattern& pattern : engine.patterns()) {
      Pattern& added = patterns.emplace_back();
      added.pattern = &pattern;
      for (const std::string& name : pattern.ops()) {
        const std::optional<target::PatternOp> op = target::FindPatternOp(name);
        if (!op) {
          return absl::InvalidArgumentError(
              absl::StrCat("engine ", engine.name(), ": no op ", name));
        }
        added.ops.push_back(*op);
      }
      if (added.ops.empty()) {
        return absl::InvalidArgumentError(
            absl::StrCat("engine ", engine.name(), ": a pattern without ops"));
      }
      has_chains = has_chains || added.ops.size() > 1;
      EK_ASSIGN_OR_RETURN(added.conditions,
                          target::PatternConditions::Compile(pattern),
                          absl::StrCat("engine ", engine.name()));
    }
  }
  if (has_chains) {
    matcher.producers_ = Producers(graph);
    matcher.readers_ = Consumers(graph);
    matcher.is_output_.resize(graph.tensors.size(), false);
    for (const TensorId id : graph.outputs) matcher.is_output_[id] = true;
  }
  return matcher;
}

// Follows the chain from its first op, which is of the right kind. Empty if the
// whole chain matches, else the reason.
std::string PatternMatcher::FindChain(int32_t first, const Pattern& pattern,
                                      const std::vector<bool>& taken,
                                      std::vector<int32_t>& ops) const {
  ops = {first};
  for (size_t i = 1; i < pattern.ops.size(); ++i) {
    const TensorId between = graph_.ops[ops.back()].outputs[0];
    const std::vector<int32_t>& readers = readers_[between];
    const auto why = [&](std::string here) {
      return absl::StrCat(pattern.pattern->ops(static_cast<int>(i)),
                          " as the only reader of ",
                          graph_.ops[ops.back()].kind(), " (",
                          ShortName(graph_.tensors[between]), " ", here, ")");
    };
    if (is_output_[between]) return why("is an output");
    if (readers.empty()) return why("has no reader");
    if (readers.size() > 1) {
      return why(absl::StrCat("has ", readers.size(), " readers"));
    }
    const Op& next = graph_.ops[readers[0]];
    if (!pattern.ops[i].Matches(next.attributes)) {
      return why(absl::StrCat("goes to ", next.kind()));
    }
    if (!taken.empty() && taken[readers[0]]) {
      return why(absl::StrCat("goes to ", next.kind(), " of another chain"));
    }
    ops.push_back(readers[0]);
  }
  return "";
}

std::string PatternMatcher::WhyNot(const Pattern& pattern,
                                   const std::vector<int32_t>& ops) const {
  std::vector<const Op*> all;
  for (const int32_t op : ops) all.push_back(&graph_.ops[op]);
  return WhyNotOps(pattern, all);
}

std::string PatternMatcher::WhyNotOps(const Pattern& pattern,
                                      absl::Span<const Op* const> ops) const {
  std::vector<int64_t> values;
  for (const Op* const op : ops) {
    if (std::string why =
            WhyNotNumerics(graph_, *op, pattern.pattern->numerics(), ranges_);
        !why.empty()) {
      return why;
    }
    if (!AppendVariables(graph_, *op, values)) return "smaller shapes";
  }
  return pattern.conditions.FirstFailed(values);
}

// The first op of the chain in which `op` is at `position`; -1 if there is
// none.
int32_t PatternMatcher::HeadOf(int32_t op, const Pattern& pattern,
                               size_t position) const {
  for (; position > 0; --position) {
    int32_t before = -1;
    for (const TensorId input : graph_.ops[op].inputs) {
      const int32_t producer = input == kNoTensor ? -1 : producers_[input];
      if (producer >= 0 &&
          pattern.ops[position - 1].Matches(graph_.ops[producer].attributes)) {
        before = producer;
      }
    }
    if (before < 0) return -1;
    op = before;
  }
  return op;
}

int32_t PatternMatcher::IndexOf(const Pattern& pattern, int32_t engine) const {
  return static_cast<int32_t>(&pattern - engines_[engine].data());
}

Match PatternMatcher::MatchChain(int32_t first, int32_t engine,
                                 const std::vector<bool>& taken) const {
  const v1::OpAttributes& attributes = graph_.ops[first].attributes;
  Match match;
  std::vector<int32_t> ops;
  for (const Pattern& pattern : engines_[engine]) {
    if (!pattern.ops[0].Matches(attributes)) continue;
    std::string why = FindChain(first, pattern, taken, ops);
    if (why.empty()) why = WhyNot(pattern, ops);
    if (why.empty()) {
      match.ops = std::move(ops);
      match.pattern = IndexOf(pattern, engine);
      match.failed.clear();
      const bool sums =
          pattern.pattern->numerics().requantization() ==
              v1::Numerics::NOT_REQUANTIZED &&
          graph_.tensors[graph_.ops[first].outputs[0]].type != v1::INT32;
      match.split = sums ? OpSplit::kSums : OpSplit::kNone;
      return match;
    }
    AddOnce(std::move(why), match.failed);
  }
  if (match.failed.empty()) ExplainMember(first, engine, taken, match);
  if (MatchPlainClamp(first, engine, match)) match.split = OpSplit::kClamp;
  return match;
}

// Whether a pattern of one op fails for its limits alone.
bool PatternMatcher::MatchPlainClamp(int32_t op, int32_t engine,
                                     Match& match) const {
  std::optional<Op> plain;
  for (const Pattern& pattern : engines_[engine]) {
    if (pattern.ops.size() > 1 || !pattern.pattern->numerics().plain_clamps() ||
        !pattern.ops[0].Matches(graph_.ops[op].attributes)) {
      continue;
    }
    if (!plain) plain = WithPlainClamp(graph_, graph_.ops[op]);
    if (!plain) return false;
    if (!WhyNotOps(pattern, {&*plain}).empty()) continue;
    match.failed = {WhyNot(pattern, {op})};
    match.ops = {op};
    match.pattern = IndexOf(pattern, engine);
    return true;
  }
  return false;
}

int32_t PatternMatcher::MostKernelPadding(int32_t first, int32_t engine) const {
  const Op& op = graph_.ops[first];
  int32_t most = 0;
  std::vector<int32_t> ops;
  for (const Pattern& pattern : engines_[engine]) {
    const int32_t padding = pattern.pattern->most_kernel_padding();
    const v1::Numerics& numerics = pattern.pattern->numerics();
    if (padding <= most || !pattern.ops[0].Matches(op.attributes) ||
        !FindChain(first, pattern, {}, ops).empty()) {
      continue;
    }
    bool takes = absl::c_all_of(ops, [&](int32_t each) {
      return WhyNotNumerics(graph_, graph_.ops[each], numerics, ranges_)
          .empty();
    });
    if (!takes && ops.size() == 1 && numerics.plain_clamps()) {
      const std::optional<Op> plain = WithPlainClamp(graph_, op);
      takes =
          plain && WhyNotNumerics(graph_, *plain, numerics, ranges_).empty();
    }
    if (takes) most = padding;
  }
  return most;
}

// Explains an op that occurs in chains, but never first: why the chain around
// it does not match.
void PatternMatcher::ExplainMember(int32_t op, int32_t engine,
                                   const std::vector<bool>& taken,
                                   Match& match) const {
  const v1::OpAttributes& attributes = graph_.ops[op].attributes;
  std::vector<std::string> lonely;
  std::vector<int32_t> ops;
  for (const Pattern& pattern : engines_[engine]) {
    for (size_t at = 1; at < pattern.ops.size(); ++at) {
      if (!pattern.ops[at].Matches(attributes)) continue;
      const int32_t head = HeadOf(op, pattern, at);
      if (head < 0) {
        AddOnce(absl::StrCat(graph_.ops[op].kind(), " behind ",
                             pattern.pattern->ops(static_cast<int>(at) - 1)),
                lonely);
        continue;
      }
      std::string why = FindChain(head, pattern, taken, ops);
      if (why.empty()) why = WhyNot(pattern, ops);
      if (why.empty()) {
        match.failed.clear();
        return;
      }
      AddOnce(std::move(why), match.failed);
    }
  }
  if (match.failed.empty()) match.failed = std::move(lonely);
}

}  // namespace edgekiln::compiler
