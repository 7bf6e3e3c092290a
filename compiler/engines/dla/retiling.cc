#include "compiler/engines/dla/retiling.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "compiler/engines/dla/tiling_costs.h"

namespace edgekiln::compiler::dla {
namespace {

// Commands that are scheduled for all trials together.
constexpr int64_t kMostCommands = 3'000;
// Along one axis a layer is cut into so many tiles at most.
constexpr int64_t kMostTiles = 12;
// Plans that exceed the bound by less than one part of this many are good.
constexpr int64_t kNearBound = 500;
// Passes over all layers.
constexpr int kPasses = 2;
// Commands that are scheduled for other tensors that stay and other orders.
constexpr int64_t kMostOtherCommands = 600;

// One axis that a layer is cut along, and the sizes that it may have there.
struct Axis {
  int64_t Tiling::*size;
  size_t Candidate::*index;
  const std::vector<AxisCut>* cuts;
};

class Retiler {
 public:
  Retiler(const Chip& chip, const SubgraphInput& input, const Cuts& cuts,
          TimedPlan plan, int64_t bound_cycles, Schedule& scratch)
      : chip_(chip),
        input_(input),
        cuts_(cuts),
        best_(std::move(plan)),
        sram_bytes_(best_.sram_bytes),
        bound_cycles_(bound_cycles),
        scratch_(scratch),
        chained_(input.layers.size(), false) {
    for (const Chain& chain : best_.plan.chains) {
      for (int32_t l = chain.first; l <= chain.last; ++l) chained_[l] = true;
    }
  }

  absl::StatusOr<TimedPlan> Run() && {
    if (ComputeCommands(best_.plan) > kShortPlan) return std::move(best_);
    EK_RETURN_IF_ERROR(RetileLayers());
    most_commands_ = commands_ + kMostOtherCommands;
    sram_bytes_ = chip_.sram_bytes();
    for (int64_t before = best_.cycles + 1; best_.cycles < before && !done();) {
      before = best_.cycles;
      EK_RETURN_IF_ERROR(Rearrange());
    }
    return std::move(best_);
  }

 private:
  bool done() const {
    return commands_ >= most_commands_ ||
           best_.cycles - best_.cycles / kNearBound <= bound_cycles_;
  }

  absl::Status RetileLayers() {
    for (int pass = 0; pass < kPasses; ++pass) {
      const int64_t before = best_.cycles;
      for (size_t l = input_.layers.size(); l-- > 0;) {
        if (input_.layers[l].op == LayerOp::kAlias || chained_[l]) continue;
        EK_RETURN_IF_ERROR(RetileLayer(l));
        if (done()) return absl::OkStatus();
      }
      if (best_.cycles == before) break;
    }
    return absl::OkStatus();
  }

  // Each step that makes the plan better is kept: another tensor stays or does
  // not, a layer has as many buffers as there is room for, reads its input as a
  // whole or tile by tile, or has its tiles in the other order, loads do not
  // run ahead.
  absl::Status Rearrange() {
    for (size_t l = 0; l < input_.layers.size() && !done(); ++l) {
      if (input_.layers[l].op == LayerOp::kAlias || chained_[l]) continue;
      if (IsReadLater(l)) {
        SubgraphPlan plan = best_.plan;
        const TensorId output = input_.storage[input_.layers[l].output];
        if (plan.resident.erase(output) == 0) plan.resident.insert(output);
        EK_RETURN_IF_ERROR(TryWithBuffers(std::move(plan)));
      }
      if (ComputeCommands(input_.layers[l], best_.plan.tilings[l]) > 1) {
        EK_RETURN_IF_ERROR(Try(l, best_.plan.tilings[l]));
        for (bool Tiling::*doubled :
             {&Tiling::double_input, &Tiling::double_block,
              &Tiling::double_output}) {
          SubgraphPlan plan = best_.plan;
          plan.tilings[l].*doubled = !(plan.tilings[l].*doubled);
          SubgraphPlan two = plan;
          EK_RETURN_IF_ERROR(TryPlan(std::move(plan)).status());
          if (std::exchange(two.buffers, 2) <= 2) continue;
          EK_RETURN_IF_ERROR(TryPlan(std::move(two)).status());
        }
      }
      Tiling tiling = best_.plan.tilings[l];
      tiling.whole_input = !tiling.whole_input;
      EK_RETURN_IF_ERROR(Try(l, tiling));
      if (!IsCutBothWays(l)) continue;
      tiling = best_.plan.tilings[l];
      tiling.order = tiling.order == TileOrder::kChannelsOuter
                         ? TileOrder::kPixelsOuter
                         : TileOrder::kChannelsOuter;
      EK_RETURN_IF_ERROR(Try(l, tiling));
    }
    if (done() || best_.plan.strict) return absl::OkStatus();
    SubgraphPlan strict = best_.plan;
    strict.strict = true;
    strict.lookahead = 0;
    strict.fenced = false;
    return TryPlan(std::move(strict)).status();
  }

  // Within the subgraph, by a layer that is in no chain.
  bool IsReadLater(size_t l) const {
    const TensorId output = input_.storage[input_.layers[l].output];
    bool read = false;
    for (size_t r = l + 1; r < input_.layers.size(); ++r) {
      const Layer& layer = input_.layers[r];
      if (layer.op == LayerOp::kAlias) continue;
      for (const TensorId tensor : {layer.input, layer.input2}) {
        if (tensor == kNoTensor || input_.storage[tensor] != output) continue;
        if (chained_[r]) return false;
        read = true;
      }
    }
    return read;
  }

  bool IsCutBothWays(size_t l) const {
    const Layer& layer = input_.layers[l];
    const Tiling& tiling = best_.plan.tilings[l];
    return tiling.channels < layer.out.c &&
           (tiling.rows < layer.out.h || tiling.columns < layer.out.w);
  }

  // With its buffers, or as few as its tiles can have.
  absl::Status TryWithBuffers(SubgraphPlan plan) {
    SubgraphPlan single = plan;
    EK_ASSIGN_OR_RETURN(const bool fits, TryPlan(std::move(plan)));
    if (fits) return absl::OkStatus();
    for (Tiling& tiling : single.tilings) {
      tiling.double_input = tiling.double_block = tiling.double_output = false;
      tiling.whole_input = false;
    }
    return TryPlan(std::move(single)).status();
  }

  absl::Status RetileLayer(size_t l) {
    TilingCosts costs(chip_, input_.layers[l], cuts_,
                      TilingCosts::Count::kCommands);
    const std::array<Axis, 4> axes = {
        {{&Tiling::channels, &Candidate::channels, &costs.channels()},
         {&Tiling::inputs, &Candidate::inputs, &costs.inputs()},
         {&Tiling::rows, &Candidate::rows, &costs.rows()},
         {&Tiling::columns, &Candidate::columns, &costs.columns()}}};
    for (const Axis& axis : axes) {
      for (const AxisCut& cut : *axis.cuts) {
        if (cut.tiles > kMostTiles || done()) break;
        Tiling tiling = best_.plan.tilings[l];
        if (tiling.*axis.size == cut.size) continue;
        tiling.*axis.size = cut.size;
        if (InputsPerStep(input_.layers[l], tiling) < input_.layers[l].in.c &&
            !SumsFitOf(input_.layers[l], tiling)) {
          continue;
        }
        EK_ASSIGN_OR_RETURN(const bool can,
                            CanBeBetter(l, tiling, axes, costs));
        if (can) EK_RETURN_IF_ERROR(Try(l, tiling));
      }
    }
    return absl::OkStatus();
  }

  // Of each unit, what the other layers take and this one takes at least.
  absl::StatusOr<bool> CanBeBetter(size_t l, const Tiling& tiling,
                                   const std::array<Axis, 4>& axes,
                                   TilingCosts& costs) const {
    Candidate candidate = {.order = tiling.order,
                           .whole_input = tiling.whole_input};
    for (const Axis& axis : axes) {
      const auto cut = std::find_if(
          axis.cuts->begin(), axis.cuts->end(),
          [&](const AxisCut& c) { return c.size == tiling.*axis.size; });
      if (cut == axis.cuts->end()) return true;
      candidate.*axis.index = cut - axis.cuts->begin();
    }
    const Layer& layer = input_.layers[l];
    const auto stays = [&](TensorId tensor) {
      return tensor != kNoTensor &&
             best_.plan.resident.contains(input_.storage[tensor]);
    };
    const Residency residency = {.input = stays(layer.input),
                                 .input2 = stays(layer.input2),
                                 .output = stays(layer.output)};
    TimedPlan::UnitCycles others;
    for (size_t i = 0; i < best_.unit_cycles.size(); ++i) {
      if (i == l) continue;
      others.dma += best_.unit_cycles[i].dma;
      others.compute += best_.unit_cycles[i].compute;
    }
    if (others.dma + costs.WorkOf(candidate, residency).moving_cycles() >
        best_.cycles) {
      return false;
    }
    EK_ASSIGN_OR_RETURN(const int64_t computing,
                        costs.ComputeCycles(candidate));
    return others.compute + computing <= best_.cycles;
  }

  bool SumsFitOf(const Layer& layer, const Tiling& tiling) const {
    return layer.gives_sums() ? SumsFit(chip_, layer.out.w, layer.out.c)
                              : SumsFit(chip_, tiling.columns, tiling.channels);
  }

  // With as many buffers as there is room for, or those that the layer has.
  absl::Status Try(size_t l, Tiling tiling) {
    Tiling all = tiling;
    all.double_input = all.double_block = all.double_output = true;
    for (const Tiling& with : {all, tiling}) {
      SubgraphPlan plan = best_.plan;
      plan.tilings[l] = with;
      EK_ASSIGN_OR_RETURN(const bool fits, TryPlan(std::move(plan)));
      if (fits) return absl::OkStatus();
    }
    return absl::OkStatus();
  }

  absl::StatusOr<bool> TryPlan(SubgraphPlan plan) {
    EK_ASSIGN_OR_RETURN(std::optional<TimedPlan> timed,
                        TimeIfFits(chip_, input_.storage, std::move(plan),
                                   sram_bytes_, scratch_));
    commands_ += std::ssize(scratch_.commands);
    if (!timed) return false;
    if (IsBetter(*timed, best_)) best_ = *std::move(timed);
    return true;
  }

  const Chip& chip_;
  const SubgraphInput& input_;
  const Cuts cuts_;
  TimedPlan best_;
  int64_t sram_bytes_;
  const int64_t bound_cycles_;
  Schedule& scratch_;
  std::vector<bool> chained_;  // By layer.
  int64_t commands_ = 0;
  int64_t most_commands_ = kMostCommands;
};

}  // namespace

absl::StatusOr<TimedPlan> Retile(const Chip& chip, const SubgraphInput& input,
                                 const Cuts& cuts, TimedPlan plan,
                                 int64_t bound_cycles, Schedule& scratch) {
  return Retiler(chip, input, cuts, std::move(plan), bound_cycles, scratch)
      .Run();
}

}  // namespace edgekiln::compiler::dla
