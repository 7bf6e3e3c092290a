#include "compiler/engines/dla/read_once.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "base/status_macros.h"
#include "compiler/engines/dla/layer.h"
#include "compiler/engines/dla/tiling_costs.h"
#include "compiler/ir/graph.h"

namespace edgekiln::compiler::dla {
namespace {

// Of the cycles, one part of so many is what reading once may take.
constexpr int64_t kDearest = 100'000;
// Of rows, into which a layer is cut at most.
constexpr int64_t kMostTiles = 48;

class OnceReader {
 public:
  OnceReader(const Chip& chip, const SubgraphInput& input, const Cuts& cuts,
             TimedPlan plan, Schedule& scratch)
      : chip_(chip),
        input_(input),
        cuts_(cuts),
        best_(std::move(plan)),
        scratch_(scratch),
        spare_cycles_(best_.cycles / kDearest) {}

  absl::StatusOr<TimedPlan> Run() && {
    if (spare_cycles_ == 0 || !best_.plan.chains.empty() || !AllStays()) {
      return std::move(best_);
    }
    for (size_t l = 0; l < input_.layers.size(); ++l) {
      if (ReadsTwice(l)) EK_RETURN_IF_ERROR(Read(l));
    }
    return std::move(best_);
  }

 private:
  bool Stays(TensorId tensor) const {
    return best_.plan.resident.contains(input_.storage[tensor]);
  }

  bool AllStays() const {
    absl::flat_hash_set<TensorId> made;
    for (const Layer& layer : input_.layers) {
      for (const TensorId tensor : {layer.input, layer.input2}) {
        if (tensor != kNoTensor && made.contains(input_.storage[tensor]) &&
            !Stays(tensor)) {
          return false;
        }
      }
      made.insert(input_.storage[layer.output]);
    }
    return true;
  }

  bool ReadsTwice(size_t l) const {
    const Layer& layer = input_.layers[l];
    const Tiling& tiling = best_.plan.tilings[l];
    return layer.op != LayerOp::kAlias && !Stays(layer.input) &&
           !layer.has_second_input() && !tiling.whole_input &&
           InputsPerStep(layer, tiling) == layer.in.c &&
           (tiling.rows < layer.out.h || tiling.columns < layer.out.w);
  }

  absl::Status Read(size_t l) {
    TilingCosts costs(chip_, input_.layers[l], cuts_);
    const std::optional<Candidate> present = CandidateOf(l, costs);
    if (!present) return absl::OkStatus();
    EK_ASSIGN_OR_RETURN(const int64_t cycles, Estimate(l, *present, costs));
    Candidate candidate = *present;
    candidate.whole_input = true;
    candidate.columns = 0;
    std::optional<TimedPlan> once;
    for (candidate.rows = 0; candidate.rows < costs.rows().size() &&
                             costs.rows()[candidate.rows].tiles <= kMostTiles;
         ++candidate.rows) {
      EK_ASSIGN_OR_RETURN(const int64_t whole, Estimate(l, candidate, costs));
      if (whole > cycles + spare_cycles_) continue;
      SubgraphPlan plan = best_.plan;
      Tiling& tiling = plan.tilings[l];
      tiling.rows = costs.rows()[candidate.rows].size;
      tiling.columns = input_.layers[l].out.w;
      tiling.whole_input = true;
      EK_ASSIGN_OR_RETURN(std::optional<TimedPlan> timed,
                          TimeIfFits(chip_, input_.storage, std::move(plan),
                                     best_.sram_bytes, scratch_));
      if (timed && timed->dma_bytes < best_.dma_bytes &&
          timed->cycles <= best_.cycles + spare_cycles_ &&
          (!once || IsBetter(*timed, *once))) {
        once = std::move(timed);
      }
    }
    if (!once) return absl::OkStatus();
    spare_cycles_ -= std::max<int64_t>(0, once->cycles - best_.cycles);
    best_ = *std::move(once);
    return absl::OkStatus();
  }

  // Of the layer's tiling; nothing if no cut has its sizes.
  std::optional<Candidate> CandidateOf(size_t l,
                                       const TilingCosts& costs) const {
    const Tiling& tiling = best_.plan.tilings[l];
    Candidate candidate = {.order = tiling.order};
    const auto find = [](const std::vector<AxisCut>& cuts, int64_t size,
                         size_t& index) {
      const auto cut = absl::c_find_if(
          cuts, [&](const AxisCut& c) { return c.size == size; });
      index = static_cast<size_t>(cut - cuts.begin());
      return cut != cuts.end();
    };
    if (!find(costs.rows(), tiling.rows, candidate.rows) ||
        !find(costs.columns(), tiling.columns, candidate.columns) ||
        !find(costs.channels(), tiling.channels, candidate.channels)) {
      return std::nullopt;
    }
    return candidate;
  }

  // Computing, and what nothing hides before the first tile.
  absl::StatusOr<int64_t> Estimate(size_t l, const Candidate& candidate,
                                   TilingCosts& costs) const {
    EK_ASSIGN_OR_RETURN(const int64_t computing,
                        costs.ComputeCycles(candidate));
    const Residency residency = {.output = Stays(input_.layers[l].output)};
    return computing + costs.InputWork(candidate, residency).exposed_cycles;
  }

  const Chip& chip_;
  const SubgraphInput& input_;
  const Cuts cuts_;
  TimedPlan best_;
  Schedule& scratch_;
  int64_t spare_cycles_;
};

}  // namespace

absl::StatusOr<TimedPlan> ReadOnce(const Chip& chip, const SubgraphInput& input,
                                   const Cuts& cuts, TimedPlan plan,
                                   Schedule& scratch) {
  return OnceReader(chip, input, cuts, std::move(plan), scratch).Run();
}

}  // namespace edgekiln::compiler::dla
