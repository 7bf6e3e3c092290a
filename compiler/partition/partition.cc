#include "compiler/partition/partition.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "compiler/partition/host_reason.h"
#include "compiler/partition/pattern_match.h"
#include "compiler/partition/ungroup.h"

namespace edgekiln::compiler {
namespace {

constexpr int32_t kHost = -1;

using Choice = Placement;

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

// Places the chain that begins with op `first`, or that op on the host.
void ChooseEngine(const Graph& graph, int32_t first,
                  const v1::Capabilities& capabilities,
                  std::vector<Choice>& choices) {
  const Op& op = graph.ops[first];
  std::string refusals;
  for (int32_t e = 0; e < capabilities.engines_size(); ++e) {
    const auto& engine = capabilities.engines(e);
    const Match match = MatchChain(graph, first, engine);
    for (const int32_t taken : match.ops) {
      choices[taken] = {
          e, absl::StrCat(engine.name(), " runs ", graph.ops[taken].kind())};
    }
    if (!match.ops.empty()) return;
    for (const std::string& why : match.failed) {
      absl::StrAppend(&refusals, refusals.empty() ? "" : "; ", engine.name(),
                      " needs ", why);
    }
  }
  if (refusals.empty()) {
    refusals = absl::StrCat("no engine of this target has ", Computes(op));
  }
  choices[first] = {kHost, std::move(refusals)};
}

// Whether an engine of the target convolves; none does so in groups.
bool HasConvolution(const v1::Capabilities& capabilities) {
  for (const auto& engine : capabilities.engines()) {
    for (const v1::OpPattern& pattern : engine.patterns()) {
      if (pattern.pattern() == v1::OpPattern::CONV2D) return true;
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
      choices[i] = {kHost, "an operand is a constant under another shape"};
      break;
    }
  }
}

// A reshape moves no bytes. It follows its producer, so that it never cuts a
// subgraph in two.
void PlaceReshapes(const Graph& graph, std::vector<Choice>& choices) {
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
void PlaceLoneReshapes(const Graph& graph, std::vector<Choice>& choices) {
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
void ExplainHostOps(const Graph& graph, std::vector<Choice>& choices) {
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

std::vector<Choice> ChoiceOfOps(const Graph& graph,
                                const v1::Capabilities& capabilities) {
  std::vector<Choice> choices(graph.ops.size());
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    // Part of a chain that began before it.
    if (choices[i].engine != kHost) continue;
    ChooseEngine(graph, static_cast<int32_t>(i), capabilities, choices);
  }
  PlaceReadersOfReshapedConstants(graph, choices);
  PlaceReshapes(graph, choices);
  PlaceLoneReshapes(graph, choices);
  ExplainHostOps(graph, choices);
  return choices;
}

v1::Partition InSubgraphs(const Graph& graph,
                          const std::vector<Choice>& choices) {
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

std::vector<int32_t> EnginesOf(const Graph& graph,
                               const v1::Capabilities& capabilities) {
  std::vector<int32_t> engines;
  for (const Choice& choice : ChoiceOfOps(graph, capabilities)) {
    engines.push_back(choice.engine);
  }
  return engines;
}

absl::StatusOr<v1::Partition> PartitionGraph(
    const Graph& source, const v1::Capabilities& capabilities) {
  EK_RETURN_IF_ERROR(VerifyGraph(source), "partition");
  EK_RETURN_IF_ERROR(CheckAllHaveElements(source));
  Graph graph = source;  // Constants stay shared.
  if (HasConvolution(capabilities)) UngroupConvolutions(graph);
  return InSubgraphs(graph, ChoiceOfOps(graph, capabilities));
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

std::vector<std::vector<int32_t>> EnginesThatTake(
    const Graph& graph, const v1::Capabilities& capabilities) {
  std::vector<std::vector<int32_t>> engines(graph.ops.size());
  std::vector<bool> chained(graph.ops.size(), false);
  for (int32_t i = 0; i < std::ssize(graph.ops); ++i) {
    if (IsReshape(graph.ops[i])) continue;
    for (int32_t e = 0; e < capabilities.engines_size(); ++e) {
      const Match match = MatchChain(graph, i, capabilities.engines(e));
      if (match.ops.size() == 1) engines[i].push_back(e);
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
