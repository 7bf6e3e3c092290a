#include "compiler/engines/dla/stored_plan.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/status_macros.h"

namespace edgekiln::compiler::dla {
namespace {

absl::StatusOr<std::vector<Chain>> ChainsFromProto(
    const Chip& chip, const SubgraphInput& input,
    const v1::RegionPlan& stored_plan,
    const v1::dla::RegionDecisions& decisions) {
  const std::vector<bool> passes_on =
      LayersThatPassOn(input.layers, input.storage, input.external);
  std::vector<Chain> chains;
  int32_t next = 0;
  for (const v1::dla::RegionDecisions::Chain& stored : decisions.chains()) {
    Chain chain = {
        .first = stored.first(), .last = stored.last(), .rows = stored.rows()};
    bool fits = chain.first >= next && chain.first < chain.last &&
                chain.last < std::ssize(input.layers) &&
                chain.last - chain.first < kMostChainLayers &&
                chain.rows >= 1 &&
                chain.rows <= input.layers[chain.last].out.h &&
                PiecesOf(input.layers, chain) <= target::kMaxDlaStreamCommands;
    for (int32_t l = chain.first; fits && l < chain.last; ++l) {
      fits = passes_on[l];
    }
    if (!fits) {
      return absl::InvalidArgumentError(
          "the region's plan chains layers that do not pass on their output");
    }
    chain = WithCopies(chip, input.layers, chain);
    chains.push_back(chain);
    next = chain.last + 1;
  }
  // Memory outside is planned by the ops' chains, the schedule by the layers'.
  bool same = stored_plan.chains_size() == std::ssize(chains);
  for (int i = 0; same && i < stored_plan.chains_size(); ++i) {
    const v1::RegionPlan::Chain& ops = stored_plan.chains(i);
    same = ops.first() == input.layers[chains[i].first].op_index &&
           ops.last() == input.layers[chains[i].last].op_index;
  }
  if (!same) {
    return absl::InvalidArgumentError(
        "the region's plan chains other ops than its decisions do");
  }
  return chains;
}

// No cut is larger than what is cut.
bool IsTilingOf(const Layer& layer,
                const v1::dla::RegionDecisions::Layer& tiling) {
  if (tiling.rows() < 1 || tiling.columns() < 1 || tiling.channels() < 1 ||
      tiling.inputs() < 1) {
    return false;
  }
  return layer.op == LayerOp::kAlias ||
         (tiling.rows() <= layer.out.h && tiling.columns() <= layer.out.w &&
          tiling.channels() <= layer.out.c && tiling.inputs() <= layer.in.c);
}

}  // namespace

v1::RegionPlan PlanToProto(const Chip& chip, const SubgraphInput& input,
                           const TimedPlan& timed) {
  const SubgraphPlan& plan = timed.plan;
  v1::dla::RegionDecisions decisions;
  for (size_t l = 0; l < plan.layers.size(); ++l) {
    v1::dla::RegionDecisions::Layer* layer = decisions.add_layers();
    layer->set_op(plan.layers[l].op_index);
    const Tiling& tiling = plan.tilings[l];
    layer->set_rows(tiling.rows);
    layer->set_columns(tiling.columns);
    layer->set_channels(tiling.channels);
    layer->set_inputs(tiling.inputs);
    layer->set_pixels_outer(tiling.order == TileOrder::kPixelsOuter);
    layer->set_whole_input(tiling.whole_input);
    layer->set_double_input(tiling.double_input);
    layer->set_double_block(tiling.double_block);
    layer->set_double_output(tiling.double_output);
    layer->set_keeps_blocks(tiling.keeps_blocks);
    if (!plan.bounds.empty()) layer->set_bound_cycles(plan.bounds[l]);
  }
  for (const Chain& chain : plan.chains) {
    v1::dla::RegionDecisions::Chain* stored = decisions.add_chains();
    stored->set_first(chain.first);
    stored->set_last(chain.last);
    stored->set_rows(chain.rows);
  }
  decisions.set_lookahead(plan.lookahead);
  decisions.set_buffers(plan.buffers);
  decisions.set_fenced(plan.fenced);
  decisions.set_strict(plan.strict);
  decisions.set_sram_bytes(timed.sram_bytes);
  v1::RegionPlan stored;
  stored.mutable_decisions()->PackFrom(decisions);
  std::vector<TensorId> resident(plan.resident.begin(), plan.resident.end());
  for (const Chain& chain : plan.chains) {
    v1::RegionPlan::Chain* ops = stored.add_chains();
    ops->set_first(plan.layers[chain.first].op_index);
    ops->set_last(plan.layers[chain.last].op_index);
    for (int32_t l = chain.first; l < chain.last; ++l) {
      resident.push_back(input.storage[plan.layers[l].output]);
    }
  }
  std::sort(resident.begin(), resident.end());
  for (const TensorId tensor : resident) stored.add_resident(tensor);
  v1::RegionPlan::MemoryNeed* need = stored.add_needs();
  need->set_memory(chip.sram_memory());
  need->set_bytes(timed.peak_bytes);
  stored.set_predicted_cycles(timed.cycles);
  stored.set_bound_cycles(timed.bound_cycles);
  return stored;
}

absl::StatusOr<SubgraphPlan> PlanFromProto(
    const Chip& chip, const SubgraphInput& input, const v1::RegionPlan& stored,
    const v1::dla::RegionDecisions& decisions) {
  const auto foreign = [] {
    return absl::InvalidArgumentError(
        "the region's plan belongs to another graph");
  };
  if (decisions.layers_size() != static_cast<int>(input.layers.size())) {
    return foreign();
  }
  SubgraphPlan plan;
  plan.layers = input.layers;
  plan.external = input.external;
  plan.lookahead = decisions.lookahead();
  if (decisions.buffers() < 1 || decisions.buffers() > kMaxBuffers) {
    return foreign();
  }
  plan.buffers = decisions.buffers();
  plan.fenced = decisions.fenced();
  plan.strict = decisions.strict();
  for (size_t l = 0; l < input.layers.size(); ++l) {
    const auto& tiling = decisions.layers(static_cast<int>(l));
    if (tiling.op() != input.layers[l].op_index ||
        !IsTilingOf(input.layers[l], tiling)) {
      return foreign();
    }
    plan.tilings.push_back({.rows = tiling.rows(),
                            .columns = tiling.columns(),
                            .channels = tiling.channels(),
                            .inputs = tiling.inputs(),
                            .order = tiling.pixels_outer()
                                         ? TileOrder::kPixelsOuter
                                         : TileOrder::kChannelsOuter,
                            .whole_input = tiling.whole_input(),
                            .double_input = tiling.double_input(),
                            .double_block = tiling.double_block(),
                            .double_output = tiling.double_output(),
                            .keeps_blocks = tiling.keeps_blocks()});
    plan.bounds.push_back(tiling.bound_cycles());
  }
  for (const int32_t tensor : stored.resident()) plan.resident.insert(tensor);
  EK_ASSIGN_OR_RETURN(plan.chains,
                      ChainsFromProto(chip, input, stored, decisions));
  for (const Chain& chain : plan.chains) {
    for (int32_t l = chain.first; l < chain.last; ++l) {
      plan.resident.erase(input.storage[plan.layers[l].output]);
    }
  }
  return plan;
}

}  // namespace edgekiln::compiler::dla
