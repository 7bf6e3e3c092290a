#include "compiler/engines/dla/tile_search.h"

#include <algorithm>

#include "base/rounding.h"
#include "base/status_macros.h"

namespace edgekiln::compiler::dla {

absl::StatusOr<std::optional<TilingCost>> CostOf(const Chip& chip,
                                                 const Layer& layer,
                                                 TilingCosts& costs,
                                                 const Candidate& candidate,
                                                 const TilingQuery& query) {
  std::optional<TilingCost> best;
  const Work work = costs.WorkOf(candidate, query.residency);
  const Tiling tiling = costs.TilingOf(candidate);
  const bool never_overlaps = query.serial || chip.blocking_dma();
  const bool exact = query.serial && !IsAligned(layer, tiling);
  const int64_t moving = work.moving_cycles();
  int64_t bytes = work.sums_bytes;
  int64_t exposed = 0;
  for (const OperandWork& operand : work.operands) {
    bytes += exact ? operand.buffer_bytes
                   : RoundUp(operand.buffer_bytes, kSlotAlignment);
    // Where nothing overlaps all moves count already.
    if (!never_overlaps) exposed += operand.exposed_cycles;
  }
  if (bytes > query.budget_bytes) return best;
  EK_ASSIGN_OR_RETURN(const int64_t computing, costs.ComputeCycles(candidate));
  TilingCost cost = {.tiling = tiling, .dma_bytes = work.dma_bytes()};
  // Which operands have a second buffer, as bits.
  for (int doubled = never_overlaps ? 0 : 7; doubled >= 0; --doubled) {
    int64_t taken = bytes;
    int64_t alone = never_overlaps ? moving : 0;  // While nothing computes.
    bool useless = false;
    for (int i = 0; i < 3 && !never_overlaps; ++i) {
      const OperandWork& operand = work.operands[i];
      if ((doubled >> i & 1) != 0) {
        taken += RoundUp(operand.buffer_bytes, kSlotAlignment);
        useless = useless || operand.buffers_used < 2;
      } else if (operand.buffers_used > 1) {
        alone += operand.cycles - operand.exposed_cycles;
      }
    }
    if (useless || taken > query.budget_bytes) continue;
    cost.sram_bytes = taken;
    cost.cycles = std::max(computing + alone, moving) + exposed;
    cost.tiling.double_input = (doubled & 1) != 0;
    cost.tiling.double_block = (doubled & 2) != 0;
    cost.tiling.double_output = (doubled & 4) != 0;
    if (!best || cost < *best) best = cost;
  }
  return best;
}

TilingSearch::TilingSearch(const Chip& chip, const Layer& layer, Cuts cuts)
    : chip_(chip), layer_(layer), costs_(chip, layer, cuts) {}

absl::Status TilingSearch::MakeBranches() {
  if (!branches_.empty()) return absl::OkStatus();
  for (size_t c = 0; c < costs_.channels().size(); ++c) {
    for (size_t i = 0; i < costs_.inputs().size(); ++i) {
      Branch branch = {.channels = c, .inputs = i};
      EK_ASSIGN_OR_RETURN(
          branch.cycles,
          costs_.ComputeCycles({.channels = c, .inputs = i}));
      branches_.push_back(branch);
    }
  }
  std::stable_sort(branches_.begin(), branches_.end(),
                   [](const Branch& a, const Branch& b) {
                     return a.cycles < b.cycles;
                   });
  return absl::OkStatus();
}

// Of the ways to order its tiles and hold its input, the cheapest. False if all
// of them, for any SRAM, cost more than the best.
absl::StatusOr<bool> TilingSearch::Consider(Candidate candidate,
                                            const TilingQuery& query,
                                            std::optional<TilingCost>& best) {
  const bool pixels_cut = costs_.rows()[candidate.rows].tiles > 1 ||
                          costs_.columns()[candidate.columns].tiles > 1;
  const bool channels_cut = costs_.channels()[candidate.channels].tiles > 1;
  bool hopeful = false;
  for (const bool pixels_outer : {false, true}) {
    if (pixels_outer && !(pixels_cut && channels_cut)) continue;
    for (const bool whole_input : {false, true}) {
      if (whole_input && (query.residency.input || !pixels_cut)) continue;
      candidate.order =
          pixels_outer ? TileOrder::kPixelsOuter : TileOrder::kChannelsOuter;
      candidate.whole_input = whole_input;
      const Work work = costs_.WorkOf(candidate, query.residency);
      if (best && work.moving_cycles() > best->cycles) continue;
      hopeful = true;
      if (work.least_bytes() > query.budget_bytes) continue;
      EK_ASSIGN_OR_RETURN(const int64_t computing,
                          costs_.ComputeCycles(candidate));
      if (best && computing > best->cycles) return false;
      EK_ASSIGN_OR_RETURN(const std::optional<TilingCost> cost,
                          CostOf(chip_, layer_, costs_, candidate, query));
      if (cost && (!best || *cost < *best)) best = cost;
    }
  }
  return hopeful;
}

// Smaller tiles never compute in fewer cycles, nor move fewer bytes: where the
// best cannot be reached with some rows, it cannot with fewer.
absl::Status TilingSearch::SearchBranch(const Branch& branch,
                                        const TilingQuery& query,
                                        std::optional<TilingCost>& best) {
  Candidate candidate = {.channels = branch.channels, .inputs = branch.inputs};
  for (size_t w = 0; w < costs_.columns().size(); ++w) {
    candidate.columns = w;
    for (size_t r = 0; r < costs_.rows().size(); ++r) {
      candidate.rows = r;
      if (!costs_.SumsFit(candidate)) break;
      EK_ASSIGN_OR_RETURN(const bool hopeful,
                          Consider(candidate, query, best));
      if (hopeful) continue;
      if (r == 0) return absl::OkStatus();
      break;
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<TilingCost>> TilingSearch::Search(
    const TilingQuery& query) {
  EK_RETURN_IF_ERROR(MakeBranches());
  std::optional<TilingCost> best;
  for (const Branch& branch : branches_) {
    if (best && branch.cycles > best->cycles) break;
    EK_RETURN_IF_ERROR(SearchBranch(branch, query, best));
  }
  return best;
}

absl::StatusOr<std::optional<TilingCost>> TilingSearch::Best(
    const Residency& residency, int64_t budget_bytes) {
  const size_t which = (residency.input ? 1 : 0) + (residency.input2 ? 2 : 0) +
                       (residency.output ? 4 : 0);
  for (const Found& found : found_[which]) {
    if (found.budget_bytes >= budget_bytes &&
        (!found.cost || found.cost->sram_bytes <= budget_bytes)) {
      return found.cost;
    }
  }
  EK_ASSIGN_OR_RETURN(std::optional<TilingCost> cost,
                      Search({residency, budget_bytes, /*serial=*/false}));
  found_[which].push_back({budget_bytes, cost});
  return cost;
}

absl::StatusOr<std::optional<TilingCost>> TilingSearch::BestSerial(
    int64_t budget_bytes) {
  return Search({{}, budget_bytes, /*serial=*/true});
}

absl::StatusOr<int64_t> TilingSearch::FewestComputeCycles(
    int64_t budget_bytes) {
  EK_RETURN_IF_ERROR(MakeBranches());
  int64_t fewest = 0;
  for (const Branch& branch : branches_) {
    if (fewest > 0 && branch.cycles >= fewest) break;
    Candidate candidate = {.channels = branch.channels,
                           .inputs = branch.inputs};
    for (size_t w = 0; w < costs_.columns().size(); ++w) {
      candidate.columns = w;
      for (size_t r = 0; r < costs_.rows().size(); ++r) {
        candidate.rows = r;
        const Tiling tiling = costs_.TilingOf(candidate);
        if (TileBytes(layer_, tiling, {}) > budget_bytes) continue;
        EK_ASSIGN_OR_RETURN(const int64_t cycles,
                            costs_.ComputeCycles(candidate));
        if (fewest == 0 || cycles < fewest) fewest = cycles;
        break;  // Fewer rows take no fewer cycles.
      }
    }
  }
  return fewest;
}

}  // namespace edgekiln::compiler::dla
