#include "compiler/partition/partition.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "compiler/partition/host_reason.h"
#include "compiler/partition/one_channel.h"
#include "compiler/partition/pad_kernels.h"
#include "compiler/partition/pattern_match.h"
#include "compiler/partition/phases.h"
#include "compiler/partition/split_accumulators.h"
#include "compiler/partition/ungroup.h"

namespace edgekiln::compiler {
namespace {

constexpr int32_t kHost = -1;

struct Choice : Placement {
  OpSplit split = OpSplit::kNone;  // The engine runs the first half only.
};

// What the op computes: "sqrt" says more than "unary".
std::string Computes(const Op& op) {
  const v1::OpAttributes& attributes = op.attributes;
  std::string name(op.kind());
  if (attributes.has_unary()) {
    name = v1::Unary::Function_Name(attributes.unary().function());
  } else if (attributes.has_binary()) {
    name = v1::Binary::Function_Name(attributes.binary().function());
  } else if (attributes.has_reduce()) {
    name = absl::StrCat(
        "reduce ", v1::Reduce::Function_Name(attributes.reduce().function()));
  }
  return absl::AsciiStrToLower(name);
}

// The engine of each op, and the chains of more than one op, rising.
struct Choices {
  std::vector<Choice> ops;
  std::vector<std::vector<int32_t>> chains;
  std::vector<bool> chained;  // By op.
};

// Match of the engine; refused if it only gives sums and the op cannot be
// split.
Match MatchOrHalf(const Graph& graph, const PatternMatcher& matcher,
                  int32_t first, int32_t engine,
                  const std::vector<bool>& chained = {}) {
  Match match = matcher.MatchChain(first, engine, chained);
  if (match.split != OpSplit::kSums) return match;
  const std::string why = WhyNoAccumulator(graph, graph.ops[first]);
  if (why.empty()) return match;
  match = Match();
  match.failed.push_back(
      absl::StrCat("ops that have int32 sums (here ", why, ")"));
  return match;
}

// "npu runs conv2d up to its limits: npu needs results up to 127 (here 96)".
std::string ReasonFor(const std::string& engine, const Op& op,
                      const Match& match) {
  std::string reason =
      absl::StrCat(engine, " runs ", Computes(op), UpTo(match.split));
  for (const std::string& why : match.failed) {
    absl::StrAppend(&reason, ": ", engine, " needs ", why);
  }
  return reason;
}

// Places the chain that begins with op `first`, or puts that op on the host.
// Tries engines in order, from `engine` on.
void ChooseEngine(const Graph& graph, int32_t first,
                  const v1::Capabilities& capabilities,
                  const PatternMatcher& matcher, int32_t engine,
                  Choices& choices) {
  const Op& op = graph.ops[first];
  std::string refusals;
  const int32_t engines = capabilities.engines_size();
  for (int32_t n = 0; n < engines; ++n) {
    const int32_t e = (engine + n) % engines;
    const std::string& name = capabilities.engines(e).name();
    const Match match = MatchOrHalf(graph, matcher, first, e, choices.chained);
    for (const int32_t taken : match.ops) {
      Choice& choice = choices.ops[taken];
      choice.engine = e;
      choice.reason = ReasonFor(name, graph.ops[taken], match);
      choice.split = match.split;
    }
    if (match.ops.size() > 1) {
      choices.chains.push_back(match.ops);
      for (const int32_t taken : match.ops) choices.chained[taken] = true;
    }
    if (!match.ops.empty()) return;
    for (const std::string& why : match.failed) {
      absl::StrAppend(&refusals, refusals.empty() ? "" : "; ", name, " needs ",
                      why);
    }
  }
  if (refusals.empty()) {
    refusals = absl::StrCat("no engine of this target has ", Computes(op));
  }
  choices.ops[first] = {{kHost, std::move(refusals)}};
}

// Whether an engine of the target convolves; none does so in groups.
bool HasConvolution(const v1::Capabilities& capabilities) {
  for (const auto& engine : capabilities.engines()) {
    for (const v1::OpPattern& pattern : engine.patterns()) {
      if (absl::c_linear_search(pattern.ops(), "conv2d")) return true;
    }
  }
  return false;
}

bool IsReshape(const Op& op) {
  return op.attributes.op_case() == v1::OpAttributes::kReshape;
}

// Engines read activations from RAM, where a constant is not, under whatever
// shape.
void PlaceReadersOfReshapedConstants(const Graph& graph,
                                     std::vector<Choice>& choices) {
  std::vector<bool> reshaped(graph.tensors.size(), false);
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const Op& op = graph.ops[i];
    if (IsReshape(op)) {
      const TensorId input = op.inputs[0];
      reshaped[op.outputs[0]] =
          reshaped[input] || graph.tensors[input].is_constant();
      continue;
    }
    if (choices[i].engine == kHost) continue;
    for (const TensorId input : op.inputs) {
      if (input == kNoTensor || !reshaped[input]) continue;
      choices[i] = {{kHost, "an operand is a constant under another shape"}};
      break;
    }
  }
}

// If one op of a chain goes to the host, the whole chain does.
void KeepChainsWhole(Choices& choices) {
  for (const std::vector<int32_t>& chain : choices.chains) {
    for (const int32_t op : chain) {
      if (choices.ops[op].engine != kHost) continue;
      const std::string reason = choices.ops[op].reason;
      for (const int32_t each : chain) choices.ops[each] = {{kHost, reason}};
      break;
    }
  }
}

// A reshape moves no bytes. It follows its producer, so that it never cuts a
// subgraph in two.
void PlaceReshapes(const Graph& graph, std::vector<Placement>& choices) {
  const std::vector<int32_t> producers = Producers(graph);
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    if (!IsReshape(graph.ops[i])) continue;
    const int32_t producer = producers[graph.ops[i].inputs[0]];
    if (producer >= 0) choices[i].engine = choices[producer].engine;
    choices[i].reason = "moves no bytes: the same memory under another shape";
  }
}

// What an engine would get as a program of its own must hold work: reshapes
// that nothing else of the engine stands beside go to the host.
void PlaceLoneReshapes(const Graph& graph, std::vector<Placement>& choices) {
  for (size_t first = 0; first < choices.size();) {
    size_t end = first;
    bool works = false;
    for (; end < choices.size() && choices[end].engine == choices[first].engine;
         ++end) {
      works = works || !IsReshape(graph.ops[end]);
    }
    for (size_t i = first; i < end && !works; ++i) choices[i].engine = kHost;
    first = end;
  }
}

// Ops that no engine has, and that are there for another layer's sake, say so.
void ExplainHostOps(const Graph& graph, std::vector<Placement>& choices) {
  const HostReasons reasons(graph);
  for (size_t i = 0; i < choices.size(); ++i) {
    if (choices[i].engine != kHost) continue;
    const std::string why = reasons.For(graph.ops[i]);
    if (!why.empty()) absl::StrAppend(&choices[i].reason, "; ", why);
  }
}

// Programs move values; a tensor without any has no place in memory.
absl::Status CheckAllHaveElements(const Graph& graph) {
  for (const Tensor& tensor : graph.tensors) {
    if (tensor.is_constant() || tensor.num_elements() > 0) continue;
    return MakeError(
        absl::StatusCode::kUnimplemented,
        {.fault = Fault::kUser,
         .reason = "SHAPE_UNSUPPORTED",
         .what = absl::StrCat("a tensor of shape [",
                              absl::StrJoin(tensor.shape, ","), "]"),
         .where = absl::StrCat("tensor '", tensor.name, "'"),
         .need = "at least one element",
         .fix = "remove what makes it from the model; the reference computes "
                "it (edgekiln run without --target)"});
  }
  return absl::OkStatus();
}

// The placement of all ops but reshapes.
absl::StatusOr<Choices> ChoiceOfOps(const Graph& graph,
                                    const v1::Capabilities& capabilities) {
  EK_ASSIGN_OR_RETURN(const PatternMatcher matcher,
                      PatternMatcher::Create(graph, capabilities));
  Choices choices;
  choices.ops.resize(graph.ops.size());
  choices.chained.resize(graph.ops.size(), false);
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    // Part of a chain that began before it.
    if (choices.ops[i].engine != kHost) continue;
    ChooseEngine(graph, static_cast<int32_t>(i), capabilities, matcher, 0,
                 choices);
  }
  PlaceReadersOfReshapedConstants(graph, choices.ops);
  KeepChainsWhole(choices);
  return choices;
}

// Makes the ops of each chain neighbours by moving them right before its last
// one. Legal, as nothing else reads their outputs.
void GatherChains(Graph& graph, Choices& choices) {
  if (choices.chains.empty()) return;
  std::vector<std::vector<int32_t>> before(graph.ops.size());
  std::vector<bool> moves(graph.ops.size(), false);
  for (const std::vector<int32_t>& chain : choices.chains) {
    if (choices.ops[chain[0]].engine == kHost) continue;
    before[chain.back()].assign(chain.begin(), chain.end() - 1);
    for (const int32_t op : before[chain.back()]) moves[op] = true;
  }
  std::vector<Op> ops;
  std::vector<Choice> placed;
  const auto take = [&](int32_t op) {
    ops.push_back(std::move(graph.ops[op]));
    placed.push_back(std::move(choices.ops[op]));
  };
  for (int32_t i = 0; i < std::ssize(graph.ops); ++i) {
    if (moves[i]) continue;
    for (const int32_t op : before[i]) take(op);
    take(i);
  }
  graph.ops = std::move(ops);
  choices.ops = std::move(placed);
}

struct Placed {
  std::vector<Placement> ops;
  std::vector<int32_t> origin;  // By op, what it was before ops were split.
};

// Splits ops whose engine only runs the first half, and chooses who runs the
// second one: the same engine if it can.
absl::StatusOr<std::vector<int32_t>> SplitChosen(
    Graph& graph, const v1::Capabilities& capabilities,
    std::vector<Choice>& choices) {
  std::vector<OpSplit> splits;
  for (const Choice& choice : choices) splits.push_back(choice.split);
  EK_ASSIGN_OR_RETURN(const std::vector<int32_t> origin,
                      SplitOps(graph, splits));
  if (origin.size() == choices.size()) return origin;
  EK_ASSIGN_OR_RETURN(const PatternMatcher matcher,
                      PatternMatcher::Create(graph, capabilities));
  Choices split;
  split.chained.resize(graph.ops.size(), false);
  for (size_t i = 0; i < origin.size(); ++i) {
    const Choice& whole = choices[origin[i]];
    split.ops.push_back(whole);
    if (i == 0 || origin[i] != origin[i - 1]) continue;
    ChooseEngine(graph, static_cast<int32_t>(i), capabilities, matcher,
                 whole.engine, split);
  }
  choices = std::move(split.ops);
  return origin;
}

// Splits ops and places all halves.
absl::StatusOr<Placed> PlaceOps(Graph& graph,
                                const v1::Capabilities& capabilities,
                                std::vector<Choice> choices) {
  Placed placed;
  EK_ASSIGN_OR_RETURN(placed.origin, SplitChosen(graph, capabilities, choices));
  placed.ops.assign(std::make_move_iterator(choices.begin()),
                    std::make_move_iterator(choices.end()));
  PlaceReshapes(graph, placed.ops);
  PlaceLoneReshapes(graph, placed.ops);
  ExplainHostOps(graph, placed.ops);
  return placed;
}

v1::Partition InSubgraphs(const Graph& graph,
                          const std::vector<Placement>& choices) {
  v1::Partition partition;
  *partition.mutable_graph() = GraphToProto(graph);
  int32_t subgraph = -1;
  for (size_t i = 0; i < choices.size(); ++i) {
    if (i == 0 || choices[i].engine != choices[i - 1].engine) ++subgraph;
    v1::Partition::Placement* placement = partition.add_placements();
    placement->set_op(static_cast<int32_t>(i));
    placement->set_engine(choices[i].engine);
    placement->set_reason(choices[i].reason);
    placement->set_subgraph(subgraph);
  }
  return partition;
}

}  // namespace

absl::StatusOr<std::vector<int32_t>> EnginesOf(
    const Graph& source, const v1::Capabilities& capabilities) {
  Graph graph = source;  // Constants stay shared.
  EK_RETURN_IF_ERROR(ConvolveOneChannel(capabilities, graph));
  EK_ASSIGN_OR_RETURN(const Phases phases, UsePhases(graph, capabilities));
  EK_RETURN_IF_ERROR(PadKernels(graph, capabilities).status());
  EK_ASSIGN_OR_RETURN(Choices choices, ChoiceOfOps(graph, capabilities));
  EK_ASSIGN_OR_RETURN(const Placed placed,
                      PlaceOps(graph, capabilities, std::move(choices.ops)));
  std::vector<int32_t> engines(source.ops.size());
  // The first half of a split op counts.
  for (size_t i = placed.ops.size(); i-- > 0;) {
    const int32_t op = phases.origin[placed.origin[i]];
    if (op >= 0) engines[op] = placed.ops[i].engine;
  }
  return engines;
}

absl::StatusOr<v1::Capabilities> InOrderOf(const v1::PartitionRecipe& recipe,
                                           v1::Capabilities capabilities) {
  for (const int32_t engine : recipe.separate_requantization()) {
    if (engine < 0 || engine >= capabilities.engines_size()) {
      return absl::InvalidArgumentError(
          "the recipe names an engine that the target does not have");
    }
    auto& patterns = *capabilities.mutable_engines(engine)->mutable_patterns();
    std::stable_partition(patterns.begin(), patterns.end(),
                          [](const v1::OpPattern& pattern) {
                            return pattern.numerics().requantization() ==
                                   v1::Numerics::NOT_REQUANTIZED;
                          });
  }
  return capabilities;
}

absl::StatusOr<v1::Partition> PartitionGraph(
    const Graph& source, const v1::Capabilities& capabilities) {
  EK_RETURN_IF_ERROR(VerifyGraph(source), "partition");
  EK_RETURN_IF_ERROR(CheckAllHaveElements(source));
  Graph graph = source;  // Constants stay shared.
  if (HasConvolution(capabilities)) UngroupConvolutions(graph);
  EK_RETURN_IF_ERROR(ConvolveOneChannel(capabilities, graph));
  EK_ASSIGN_OR_RETURN(const Phases phases, UsePhases(graph, capabilities));
  EK_ASSIGN_OR_RETURN(const std::vector<std::string> padded,
                      PadKernels(graph, capabilities));
  EK_ASSIGN_OR_RETURN(Choices choices, ChoiceOfOps(graph, capabilities));
  for (size_t i = 0; i < padded.size(); ++i) {
    if (phases.origin[i] < 0) choices.ops[i].reason += phases.notes[i];
    if (choices.ops[i].engine == kHost) continue;
    if (phases.origin[i] >= 0) choices.ops[i].reason += phases.notes[i];
    absl::StrAppend(&choices.ops[i].reason, padded[i]);
  }
  GatherChains(graph, choices);
  EK_ASSIGN_OR_RETURN(const Placed placed,
                      PlaceOps(graph, capabilities, std::move(choices.ops)));
  v1::Partition partition = InSubgraphs(graph, placed.ops);
  partition.mutable_rearranged()->Assign(phases.rearranged.begin(),
                                         phases.rearranged.end());
  return partition;
}

absl::StatusOr<v1::Partition> PartitionOnHost(const Graph& graph) {
  EK_RETURN_IF_ERROR(VerifyGraph(graph), "partition");
  EK_RETURN_IF_ERROR(CheckAllHaveElements(graph));
  return PartitionOf(
      graph,
      std::vector<Placement>(
          graph.ops.size(), {kHost,
                             "the job asks for everything on the host (offload "
                             "none)"}));
}

absl::StatusOr<std::vector<std::vector<Taker>>> EnginesThatTake(
    const Graph& graph, const v1::Capabilities& capabilities) {
  EK_ASSIGN_OR_RETURN(const PatternMatcher matcher,
                      PatternMatcher::Create(graph, capabilities));
  std::vector<std::vector<Taker>> engines(graph.ops.size());
  std::vector<bool> chained(graph.ops.size(), false);
  for (int32_t i = 0; i < std::ssize(graph.ops); ++i) {
    if (IsReshape(graph.ops[i])) continue;
    for (int32_t e = 0; e < capabilities.engines_size(); ++e) {
      const Match match = MatchOrHalf(graph, matcher, i, e);
      if (match.ops.size() == 1) engines[i].push_back({e, match.split});
      if (match.ops.size() < 2) continue;
      for (const int32_t op : match.ops) chained[op] = true;
    }
  }
  for (size_t i = 0; i < engines.size(); ++i) {
    if (chained[i]) engines[i].clear();
  }
  return engines;
}

v1::Partition PartitionOf(const Graph& graph,
                          std::vector<Placement> placements) {
  PlaceReshapes(graph, placements);
  PlaceLoneReshapes(graph, placements);
  return InSubgraphs(graph, placements);
}

}  // namespace edgekiln::compiler
