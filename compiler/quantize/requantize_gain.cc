#include "compiler/quantize/requantize_gain.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "compiler/ir/graph_outline.h"
#include "compiler/partition/partition.h"
#include "compiler/quantize/quantize.h"
#include "compiler/quantize/ternary_weights.h"
#include "target/quantization_needs.h"

namespace edgekiln::compiler {
namespace {

// What engines take.
struct Taken {
  int64_t macs = 0;
  std::set<std::string> layers;
};

Taken TakenOf(const Graph& graph, const std::vector<int32_t>& engines) {
  Taken taken;
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    if (engines[i] < 0) continue;
    taken.macs += MacsOf(graph, graph.ops[i]);
    taken.layers.insert(graph.ops[i].id);
  }
  return taken;
}

// Ternary weights are made only if asked for (layer_schemes.h), or of such.
bool NeedsTernary(const v1::QuantizationNeeds& needs, const Op& op) {
  return std::any_of(needs.ops().begin(), needs.ops().end(),
                     [&](const v1::QuantizationNeeds::Op& need) {
                       return need.op() == op.kind() &&
                              need.weight_values() == v1::WEIGHTS_TERNARY;
                     });
}

absl::StatusOr<Taken> TakenOfForm(const Graph& real,
                                  const v1::Capabilities& capabilities) {
  // With zeros for weights: which values they become is not known yet.
  EK_ASSIGN_OR_RETURN(const Graph outline, GraphFromOutline(OutlineOf(real)));
  const v1::QuantizationNeeds needs = target::QuantizationNeedsOf(capabilities);
  std::set<std::string> ternary;
  v1::QuantizationConfig config;
  for (const Op& op : real.ops) {
    if (!NeedsTernary(needs, op) || !HasTernaryWeights(real, op)) continue;
    ternary.insert(op.id);
    v1::QuantizationConfig::LayerRule& rule = *config.add_layers();
    rule.set_layer(op.id);
    rule.mutable_scheme()->set_weights(v1::LayerScheme::TERNARY);
  }
  const absl::StatusOr<Graph> form = QuantizedForm(outline, needs, config);
  if (!form.ok()) return Taken();  // It cannot be quantized.
  EK_ASSIGN_OR_RETURN(std::vector<int32_t> engines,
                      EnginesOf(*form, capabilities));
  for (size_t i = 0; i < form->ops.size(); ++i) {
    const Op& op = form->ops[i];
    if (NeedsTernary(needs, op) && !ternary.contains(op.id)) engines[i] = -1;
  }
  return TakenOf(*form, engines);
}

// Without what stands in parentheses, which is of one layer.
std::string Outside(absl::string_view reason) {
  std::string text;
  int depth = 0;
  for (const char c : reason) {
    if (c == '(') {
      ++depth;
      if (!text.empty() && text.back() == ' ') text.pop_back();
    } else if (c == ')') {
      depth = std::max(depth - 1, 0);
    } else if (depth == 0) {
      text += c;
    }
  }
  return text;
}

}  // namespace

absl::StatusOr<std::string> WhyRequantize(
    const Graph& quantized, const Graph& real,
    const v1::Capabilities& capabilities) {
  if (capabilities.engines_size() == 0) return "";
  EK_ASSIGN_OR_RETURN(const std::vector<int32_t> engines,
                      EnginesOf(quantized, capabilities));
  const Taken before = TakenOf(quantized, engines);
  EK_ASSIGN_OR_RETURN(const Taken after, TakenOfForm(real, capabilities));
  if (after.macs <= before.macs) return "";
  EK_ASSIGN_OR_RETURN(const v1::Partition partition,
                      PartitionGraph(quantized, capabilities));
  std::string why;
  int64_t largest = -1;
  for (const v1::Partition::Placement& placement : partition.placements()) {
    const v1::Op& stored = partition.graph().ops(placement.op());
    if (placement.engine() >= 0 || !after.layers.contains(stored.id()))
      continue;
    const auto op = std::find_if(
        quantized.ops.begin(), quantized.ops.end(),
        [&](const Op& candidate) { return candidate.id == stored.id(); });
    const int64_t macs = op == quantized.ops.end() ? 0 : MacsOf(quantized, *op);
    if (macs <= largest) continue;
    largest = macs;
    why = Outside(placement.reason());
  }
  return why.empty() ? "its engines take fewer layers as they came" : why;
}

absl::StatusOr<EngineMacs> MacsOnEngines(const Graph& quantized,
                                         const v1::Capabilities& capabilities) {
  EngineMacs macs;
  for (const Op& op : quantized.ops) macs.all += MacsOf(quantized, op);
  if (capabilities.engines_size() == 0) return macs;
  EK_ASSIGN_OR_RETURN(const std::vector<int32_t> engines,
                      EnginesOf(quantized, capabilities));
  macs.on_engines = TakenOf(quantized, engines).macs;
  return macs;
}

}  // namespace edgekiln::compiler
