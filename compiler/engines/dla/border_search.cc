#include "compiler/engines/dla/border_search.h"

#include <algorithm>
#include <limits>

#include "base/status_macros.h"
#include "compiler/engines/dla/cycle_limit.h"

namespace edgekiln::compiler::dla {
namespace {

// Tilings of one layer at the ends. Layers that compute for long have many that
// are nearly alike.
constexpr int kMostLookedAt = 2048;

}  // namespace

BorderSearch::BorderSearch(const Chip& chip, const Layer& layer, Cuts cuts)
    : layer_(layer), costs_(chip, layer, cuts, TilingCosts::Count::kCommands) {}

// Of the DMA, in whatever order the tiles are computed: but for setting up the
// transfers that may be under way at the layer's borders.
int64_t BorderSearch::Moving(Candidate candidate,
                             const Residency& residency) const {
  const auto cycles = [&](const OperandWork& work) {
    return costs_.DmaCycles(
        std::max<int64_t>(work.transfers - work.border_transfers, 0),
        work.all_bytes);
  };
  int64_t least = std::numeric_limits<int64_t>::max();
  for (const TileOrder order :
       {TileOrder::kChannelsOuter, TileOrder::kPixelsOuter}) {
    candidate.order = order;
    least = std::min(least, cycles(costs_.InputWork(candidate, residency)) +
                                cycles(costs_.BlockWork(candidate, residency)));
  }
  return least + cycles(costs_.OutputWork(candidate, residency));
}

absl::Status BorderSearch::MakeBranches() {
  if (!branches_.empty()) return absl::OkStatus();
  for (size_t c = 0; c < costs_.channels().size(); ++c) {
    Branch branch = {.channels = c};
    EK_ASSIGN_OR_RETURN(branch.cycles, costs_.ComputeCycles({.channels = c}));
    branches_.push_back(branch);
  }
  std::stable_sort(
      branches_.begin(), branches_.end(),
      [](const Branch& a, const Branch& b) { return a.cycles < b.cycles; });
  return absl::OkStatus();
}

absl::StatusOr<std::optional<int64_t>> BorderSearch::Fewest(
    const Residency& residency, int64_t budget_bytes, int64_t hidden_cycles) {
  EK_RETURN_IF_ERROR(MakeBranches());
  std::optional<int64_t> fewest;
  const auto fits = [&](const Candidate& candidate) {
    return Fits(candidate, residency, budget_bytes);
  };
  const size_t smallest_rows = costs_.rows().size() - 1;
  const size_t smallest_columns = costs_.columns().size() - 1;
  const bool skips = SkipsInput(layer_);
  for (const Branch& branch : branches_) {
    if (fewest && branch.cycles >= *fewest) break;
    for (size_t i = 0; i < costs_.inputs().size(); ++i) {
      Candidate candidate = {.rows = smallest_rows,
                             .columns = smallest_columns,
                             .channels = branch.channels,
                             .inputs = i};
      EK_ASSIGN_OR_RETURN(const int64_t adding, costs_.AddingCycles(candidate));
      if (fewest && branch.cycles + adding >= *fewest) break;
      if (!fits(candidate)) continue;
      for (const bool whole_input : {false, true}) {
        if (whole_input && residency.input) continue;
        candidate.whole_input = whole_input;
        // Larger tiles compute in no more cycles, and unless windows leave out
        // input between them move no more.
        for (candidate.columns = 0; candidate.columns <= smallest_columns;
             ++candidate.columns) {
          if (!costs_.SumsFit(candidate)) continue;
          bool largest = false;
          for (candidate.rows = 0; candidate.rows <= smallest_rows;
               ++candidate.rows) {
            if (!fits(candidate)) continue;
            largest = candidate.rows == 0;
            const int64_t moving = Moving(candidate, residency) - hidden_cycles;
            if (!fewest || moving < *fewest) {
              EK_ASSIGN_OR_RETURN(const int64_t computing,
                                  costs_.ComputeCycles(candidate));
              const int64_t cycles = std::max(computing, moving);
              if (!fewest || cycles < *fewest) fewest = cycles;
            }
            if (!skips) break;
          }
          if (largest && !skips) break;
        }
      }
    }
  }
  return fewest;
}

absl::StatusOr<std::optional<int64_t>> BorderSearch::FewestAtEnds(
    const EndsQuery& query) {
  EK_RETURN_IF_ERROR(MakeBranches());
  const Residency& residency = query.residency;
  std::optional<int64_t> fewest;
  const size_t smallest_rows = costs_.rows().size() - 1;
  const size_t smallest_columns = costs_.columns().size() - 1;
  const bool skips = SkipsInput(layer_);
  int looked_at = 0;
  const auto hopeless = [&](int64_t cycles) {
    return fewest && cycles >= *fewest;
  };
  for (const Branch& branch : branches_) {
    if (hopeless(query.computed_before + branch.cycles)) break;
    for (size_t i = 0; i < costs_.inputs().size(); ++i) {
      Candidate candidate = {.rows = smallest_rows,
                             .columns = smallest_columns,
                             .channels = branch.channels,
                             .inputs = i};
      EK_ASSIGN_OR_RETURN(const int64_t adding, costs_.AddingCycles(candidate));
      const int64_t floor = branch.cycles + adding;
      if (hopeless(query.computed_before + floor)) break;
      if (!Fits(candidate, residency, query.budget_bytes)) continue;
      EK_ASSIGN_OR_RETURN(const int64_t per_tile,
                          costs_.CyclesPerTile(candidate));
      for (const bool whole_input : {false, true}) {
        if (whole_input && residency.input) continue;
        candidate.whole_input = whole_input;
        for (candidate.columns = 0; candidate.columns <= smallest_columns;
             ++candidate.columns) {
          if (!costs_.SumsFit(candidate)) continue;
          bool narrower = false;  // Fewer columns may be better.
          for (candidate.rows = 0; candidate.rows <= smallest_rows;
               ++candidate.rows) {
            if (!Fits(candidate, residency, query.budget_bytes)) {
              narrower = true;
              continue;
            }
            const int64_t tiles = costs_.rows()[candidate.rows].tiles *
                                  costs_.columns()[candidate.columns].tiles;
            // Smaller tiles neither compute in fewer cycles nor read less.
            const int64_t reading =
                query.read_before + Reading(candidate, residency);
            if (hopeless(query.computed_before + floor +
                         TimesCycles(per_tile, tiles - 1)) ||
                (hopeless(reading) && !skips)) {
              break;
            }
            narrower = true;
            if (++looked_at > kMostLookedAt) {
              // None that is left computes in fewer cycles than this branch.
              return std::min(*fewest, query.computed_before + branch.cycles +
                                           LeastAtEnds(query));
            }
            EK_ASSIGN_OR_RETURN(const int64_t cycles,
                                AtEnds(candidate, query, reading));
            if (!hopeless(cycles)) fewest = cycles;
          }
          if (!narrower) break;
        }
      }
    }
  }
  return fewest;
}

absl::StatusOr<int64_t> BorderSearch::AtEnds(const Candidate& candidate,
                                             const EndsQuery& query,
                                             int64_t reading) {
  EK_ASSIGN_OR_RETURN(int64_t computing, costs_.ComputeCycles(candidate));
  computing += query.computed_before;
  if (query.is_first) {
    const OperandWork block = costs_.BlockWork(candidate, query.residency);
    computing += costs_.InputWork(candidate, query.residency).exposed_cycles;
    if (block.transfers > 0) {
      computing += costs_.DmaCycles(1, block.buffer_bytes);
    }
  }
  EK_ASSIGN_OR_RETURN(const int64_t last, costs_.LastStepCycles(candidate));
  int64_t cycles = std::max(computing, reading + last);
  if (query.is_last) {
    const int64_t bytes = costs_.rows()[candidate.rows].last *
                          costs_.columns()[candidate.columns].last *
                          costs_.channels()[candidate.channels].last *
                          layer_.out_bytes;
    cycles += costs_.DmaCycles(1, bytes);
  }
  return cycles;
}

// A byte of each operand.
int64_t BorderSearch::LeastAtEnds(const EndsQuery& query) const {
  int64_t transfers = query.is_last ? 1 : 0;
  if (query.is_first) {
    transfers += StreamedInputs(layer_, query.residency);
    if (layer_.has_block()) ++transfers;
  }
  return transfers * costs_.DmaCycles(1, 1);
}

// Of the DMA, in whatever order the tiles are computed.
int64_t BorderSearch::Reading(Candidate candidate,
                              const Residency& residency) const {
  int64_t least = std::numeric_limits<int64_t>::max();
  for (const TileOrder order :
       {TileOrder::kChannelsOuter, TileOrder::kPixelsOuter}) {
    candidate.order = order;
    least = std::min(least, costs_.InputWork(candidate, residency).cycles +
                                costs_.BlockWork(candidate, residency).cycles);
  }
  return least;
}

}  // namespace edgekiln::compiler::dla
