#include "compiler/engines/dla/retiling.h"

#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "compiler/engines/dla/tiling_costs.h"

namespace edgekiln::compiler::dla {
namespace {

// Plans of more compute commands are long.
constexpr int64_t kShortPlan = 96;
// Commands that are scheduled for all trials together.
constexpr int64_t kMostCommands = 3'000;
// Along one axis a layer is cut into so many tiles at most.
constexpr int64_t kMostTiles = 12;
// Plans that exceed the bound by less than one part of this many are good.
constexpr int64_t kNearBound = 500;
// Passes over all layers.
constexpr int kPasses = 2;

// One axis that a layer is cut along, and the sizes that it may have there.
struct Axis {
  int64_t Tiling::*size;
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
        bound_cycles_(bound_cycles),
        scratch_(scratch),
        chained_(input.layers.size(), false) {
    for (const Chain& chain : best_.plan.chains) {
      for (int32_t l = chain.first; l <= chain.last; ++l) chained_[l] = true;
    }
  }

  absl::StatusOr<TimedPlan> Run() && {
    if (ComputeCommands(best_.plan) > kShortPlan) return std::move(best_);
    for (int pass = 0; pass < kPasses; ++pass) {
      const int64_t before = best_.cycles;
      for (size_t l = input_.layers.size(); l-- > 0;) {
        if (input_.layers[l].op == LayerOp::kAlias || chained_[l]) continue;
        EK_RETURN_IF_ERROR(RetileLayer(l));
        if (done()) return std::move(best_);
      }
      if (best_.cycles == before) break;
    }
    return std::move(best_);
  }

 private:
  bool done() const {
    return commands_ >= kMostCommands ||
           best_.cycles - best_.cycles / kNearBound <= bound_cycles_;
  }

  absl::Status RetileLayer(size_t l) {
    const TilingCosts costs(chip_, input_.layers[l], cuts_);
    const std::array<Axis, 4> axes = {{{&Tiling::channels, &costs.channels()},
                                       {&Tiling::inputs, &costs.inputs()},
                                       {&Tiling::rows, &costs.rows()},
                                       {&Tiling::columns, &costs.columns()}}};
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
        EK_RETURN_IF_ERROR(Try(l, tiling));
      }
    }
    return absl::OkStatus();
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
      EK_ASSIGN_OR_RETURN(
          std::optional<TimedPlan> timed,
          TimeIfFits(chip_, input_.storage, plan, best_.sram_bytes, scratch_));
      commands_ += std::ssize(scratch_.commands);
      if (!timed) continue;
      if (IsBetter(*timed, best_)) best_ = *std::move(timed);
      return absl::OkStatus();
    }
    return absl::OkStatus();
  }

  const Chip& chip_;
  const SubgraphInput& input_;
  const Cuts cuts_;
  TimedPlan best_;
  const int64_t bound_cycles_;
  Schedule& scratch_;
  std::vector<bool> chained_;  // By layer.
  int64_t commands_ = 0;
};

}  // namespace

absl::StatusOr<TimedPlan> Retile(const Chip& chip, const SubgraphInput& input,
                                 const Cuts& cuts, TimedPlan plan,
                                 int64_t bound_cycles, Schedule& scratch) {
  return Retiler(chip, input, cuts, std::move(plan), bound_cycles, scratch)
      .Run();
}

}  // namespace edgekiln::compiler::dla
