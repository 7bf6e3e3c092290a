#include "compiler/engines/dla/tile_search.h"

#include <algorithm>
#include <utility>

#include "base/status_macros.h"
#include "compiler/engines/dla/cycle_limit.h"

namespace edgekiln::compiler::dla {
namespace {

// Whether a tiling that takes so many cycles at least is left out: costs beyond
// the limit are equal, so the first one that fits is as good as any.
bool Exceeds(int64_t cycles, const TilingCost& best) {
  return cycles > best.cycles || cycles >= kMostCycles;
}

}  // namespace

TilingSearch::TilingSearch(const Chip& chip, const Layer& layer, Cuts cuts)
    : chip_(chip), layer_(layer), cuts_(cuts), costs_(chip, layer, cuts) {}

absl::Status TilingSearch::MakeBranches(TilingCosts& costs,
                                        std::vector<Branch>& branches) {
  if (!branches.empty()) return absl::OkStatus();
  for (size_t c = 0; c < costs.channels().size(); ++c) {
    Branch branch = {.channels = c};
    EK_ASSIGN_OR_RETURN(branch.cycles, costs.ComputeCycles({.channels = c}));
    branches.push_back(branch);
  }
  std::stable_sort(
      branches.begin(), branches.end(),
      [](const Branch& a, const Branch& b) { return a.cycles < b.cycles; });
  return absl::OkStatus();
}

// Lower bound on the cycles of `work`, whatever its buffers, if computing takes
// `compute_cycles`.
int64_t TilingSearch::LeastCycles(const Work& work, int64_t compute_cycles,
                                  const TilingQuery& query) const {
  if (query.serial || chip_.blocking_dma()) {
    return compute_cycles + work.moving_cycles();
  }
  int64_t moving = work.moving_cycles();
  int64_t exposed = work.exposed_cycles();
  if (query.estimate.early_blocks) {
    moving -= work.operands[1].cycles;
    exposed -= work.operands[1].exposed_cycles;
  }
  return std::max(compute_cycles, moving) + exposed;
}

// Whether some order of the candidate's tiles, or way to hold its input, may be
// cheaper than `best`: all but these ways is as in `work`, and what is exposed
// does not depend on the order.
bool TilingSearch::CanBeat(Candidate candidate, const Work& work,
                           int64_t compute_cycles, const TilingQuery& query,
                           bool can_hold, const TilingCost& best) const {
  if (query.serial || chip_.blocking_dma()) return true;
  int64_t exposed = work.operands[0].exposed_cycles;
  if (can_hold) {
    candidate.whole_input = !candidate.whole_input;
    exposed = std::min(
        exposed, costs_.InputWork(candidate, query.residency).exposed_cycles);
  }
  exposed += work.operands[2].exposed_cycles;
  if (!query.estimate.early_blocks) exposed += work.operands[1].exposed_cycles;
  return compute_cycles + exposed <= best.cycles;
}

// Of the ways to order its tiles and hold its input, the cheapest. `floor` is
// at most the candidate's compute cycles, and is raised to them where they are
// needed.
absl::Status TilingSearch::Consider(Candidate candidate,
                                    const TilingQuery& query, int64_t& floor,
                                    std::optional<TilingCost>& best,
                                    bool& hopeful) {
  hopeful = false;
  if (best && Exceeds(floor, *best)) return absl::OkStatus();
  const bool pixels_cut = costs_.rows()[candidate.rows].tiles > 1 ||
                          costs_.columns()[candidate.columns].tiles > 1;
  const bool channels_cut = costs_.channels()[candidate.channels].tiles > 1;
  const bool cut =
      pixels_cut || channels_cut || costs_.inputs()[candidate.inputs].tiles > 1;
  const bool can_hold = cut && !query.residency.input;
  Work work = costs_.WorkOf(candidate, query.residency);
  for (const bool pixels_outer : {false, true}) {
    if (pixels_outer && !(pixels_cut && channels_cut)) continue;
    candidate.order =
        pixels_outer ? TileOrder::kPixelsOuter : TileOrder::kChannelsOuter;
    if (pixels_outer) {
      work.operands[1] = costs_.BlockWork(candidate, query.residency);
    }
    for (const bool whole_input : {false, true}) {
      if (whole_input && !can_hold) continue;
      candidate.whole_input = whole_input;
      if (pixels_outer || whole_input) {
        work.operands[0] = costs_.InputWork(candidate, query.residency);
      }
      const int64_t early =
          query.estimate.early_blocks ? work.operands[1].cycles : 0;
      if (best && Exceeds(work.moving_cycles() - early, *best)) {
        hopeful = hopeful || SkipsInput(layer_);
        continue;
      }
      hopeful = true;
      // Whatever its buffers are.
      if (best &&
          std::pair(LeastCycles(work, floor, query), work.dma_bytes()) >=
              std::pair(best->cycles, best->dma_bytes)) {
        if (CanBeat(candidate, work, floor, query, can_hold, *best)) continue;
        hopeful = floor <= best->cycles;
        return absl::OkStatus();
      }
      const Tiling tiling = costs_.TilingOf(candidate);
      const auto least = CostOf(chip_, layer_, tiling, work, floor, query);
      if (!least || (best && !(*least < *best))) continue;
      EK_ASSIGN_OR_RETURN(floor, costs_.ComputeCycles(candidate));
      const auto cost = CostOf(chip_, layer_, tiling, work, floor, query);
      if (cost && (!best || *cost < *best)) best = cost;
    }
  }
  hopeful = hopeful && (!best || floor <= best->cycles);
  return absl::OkStatus();
}

bool TilingSearch::Fits(const Candidate& candidate,
                        const TilingQuery& query) const {
  return costs_.LeastBytes(candidate, query.residency) <= query.budget_bytes;
}

// One by one: at the borders of the image a larger tile can read less.
size_t TilingSearch::FirstThatFits(Candidate candidate, size_t Candidate::*axis,
                                   size_t count,
                                   const TilingQuery& query) const {
  for (candidate.*axis = 0; candidate.*axis < count; ++(candidate.*axis)) {
    if (Fits(candidate, query)) break;
  }
  return candidate.*axis;
}

std::vector<size_t> TilingSearch::InputsThatFit(
    size_t channels, const TilingQuery& query) const {
  Candidate candidate;
  candidate.rows = costs_.rows().size() - 1;
  candidate.columns = costs_.columns().size() - 1;
  candidate.channels = channels;
  const size_t count = costs_.inputs().size();
  std::vector<size_t> fitting;
  if (Fits(candidate, query)) fitting.push_back(0);
  // Cut at all, a layer needs room for sums, and less for fewer inputs.
  candidate.inputs = count - 1;
  if (count == 1 || !Fits(candidate, query)) return fitting;
  for (size_t i = 1; i < count; ++i) {
    candidate.inputs = i;
    if (fitting.empty() || fitting.back() == 0) {
      if (!Fits(candidate, query)) continue;
    }
    fitting.push_back(i);
  }
  return fitting;
}

size_t TilingSearch::FirstRows(const Candidate& candidate,
                               const TilingQuery& query) const {
  return FirstThatFits(candidate, &Candidate::rows, costs_.rows().size(),
                       query);
}

size_t TilingSearch::FirstColumns(Candidate candidate,
                                  const TilingQuery& query) const {
  candidate.rows = costs_.rows().size() - 1;
  return FirstThatFits(candidate, &Candidate::columns, costs_.columns().size(),
                       query);
}

// Smaller tiles never compute in fewer cycles, nor, unless windows leave out
// input between them, move fewer bytes: where the best cannot be reached with
// some rows, it cannot with fewer.
absl::Status TilingSearch::SearchPixels(Candidate candidate,
                                        const TilingQuery& query, int64_t floor,
                                        std::optional<TilingCost>& best) {
  const int64_t block =
      query.estimate.early_blocks
          ? 0
          : costs_.BlockWork(candidate, query.residency).exposed_cycles;
  const auto exceeds = [&](int64_t computing) {
    return best &&
           computing + LeastExposed(candidate, query, block) > best->cycles;
  };
  const size_t smallest_rows = costs_.rows().size() - 1;
  const size_t smallest_columns = costs_.columns().size() - 1;
  candidate.rows = smallest_rows;
  candidate.columns = smallest_columns;
  if (exceeds(floor)) return absl::OkStatus();
  EK_ASSIGN_OR_RETURN(const int64_t per_tile, costs_.CyclesPerTile(candidate));
  for (size_t w = FirstColumns(candidate, query); w <= smallest_columns; ++w) {
    const int64_t column_tiles = costs_.columns()[w].tiles;
    candidate.rows = smallest_rows;
    candidate.columns = smallest_columns;
    if (exceeds(floor + TimesCycles(per_tile, column_tiles - 1))) break;
    candidate.columns = w;
    if (!costs_.SumsFit(candidate)) continue;
    const size_t first = FirstRows(candidate, query);
    int64_t known = floor;
    for (size_t r = first; r <= smallest_rows; ++r) {
      const int64_t tiles = costs_.rows()[r].tiles * column_tiles;
      known = std::max(known, floor + TimesCycles(per_tile, tiles - 1));
      candidate.rows = smallest_rows;
      if (exceeds(known)) break;
      candidate.rows = r;
      if (exceeds(known)) continue;
      bool hopeful = false;
      EK_RETURN_IF_ERROR(Consider(candidate, query, known, best, hopeful));
      if (hopeful) continue;
      if (r == 0) return absl::OkStatus();
      break;
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<TilingCost>> TilingSearch::Search(
    const TilingQuery& query, std::optional<TilingCost> best) {
  EK_RETURN_IF_ERROR(MakeBranches(costs_, branches_));
  for (const Branch& branch : branches_) {
    if (best && Exceeds(branch.cycles, *best)) break;
    for (const size_t i : InputsThatFit(branch.channels, query)) {
      const Candidate candidate = {.channels = branch.channels, .inputs = i};
      EK_ASSIGN_OR_RETURN(const int64_t adding, costs_.AddingCycles(candidate));
      const int64_t floor = branch.cycles + adding;
      if (best && Exceeds(floor, *best)) break;
      EK_RETURN_IF_ERROR(SearchPixels(candidate, query, floor, best));
    }
  }
  return best;
}

absl::StatusOr<std::optional<TilingCost>> TilingSearch::Best(
    const Residency& residency, int64_t budget_bytes, Estimate estimate) {
  const size_t which = (residency.input ? 1 : 0) + (residency.input2 ? 2 : 0) +
                       (residency.output ? 4 : 0) + (residency.blocks ? 8 : 0) +
                       (estimate.early_blocks ? 16 : 0) +
                       (estimate.small_tiles ? 32 : 0);
  // What smaller budgets gave is possible, what larger ones gave is the least.
  std::optional<TilingCost> possible;
  std::optional<TilingCost> least;
  for (const Found& found : found_[which]) {
    if (!found.cost) {
      if (found.budget_bytes >= budget_bytes) return found.cost;
      continue;
    }
    if (found.cost->sram_bytes <= budget_bytes &&
        (!possible || *found.cost < *possible)) {
      possible = found.cost;
    }
    if (found.budget_bytes >= budget_bytes &&
        (!least || *least < *found.cost)) {
      least = found.cost;
    }
  }
  if (possible && least && !(*least < *possible)) return possible;
  EK_ASSIGN_OR_RETURN(
      std::optional<TilingCost> cost,
      Search({residency, budget_bytes, /*serial=*/false, estimate}, possible));
  found_[which].push_back({budget_bytes, cost});
  return cost;
}

absl::StatusOr<std::optional<TilingCost>> TilingSearch::BestSerial(
    int64_t budget_bytes) {
  return Search({{}, budget_bytes, /*serial=*/true, {}}, std::nullopt);
}

absl::StatusOr<int64_t> TilingSearch::FewestComputeCycles(
    int64_t budget_bytes) {
  // Cut, it takes no fewer cycles.
  if (costs_.rows().front().size == layer_.out.h &&
      costs_.LeastBytes({}, {}) <= budget_bytes) {
    return costs_.UncutArrayCycles();
  }
  TilingCosts costs(chip_, layer_, cuts_, TilingCosts::Count::kArray);
  // Without weights, commands of a few elements take together as long.
  if (!layer_.has_weights()) return costs.ComputeCycles({});
  std::vector<Branch> branches;
  EK_RETURN_IF_ERROR(MakeBranches(costs, branches));
  int64_t fewest = 0;
  // Nothing resident needs the least, as a tile is at most its tensor.
  TilingQuery query;
  query.budget_bytes = budget_bytes;
  for (const Branch& branch : branches) {
    if (fewest > 0 && branch.cycles >= fewest) break;
    for (const size_t i : InputsThatFit(branch.channels, query)) {
      Candidate candidate = {.channels = branch.channels, .inputs = i};
      EK_ASSIGN_OR_RETURN(const int64_t adding, costs.AddingCycles(candidate));
      if (fewest > 0 && branch.cycles + adding >= fewest) break;
      for (size_t w = FirstColumns(candidate, query);
           w < costs.columns().size(); ++w) {
        candidate.columns = w;
        candidate.rows = FirstRows(candidate, query);
        // Fewer rows take no fewer cycles.
        if (candidate.rows == costs.rows().size()) continue;
        EK_ASSIGN_OR_RETURN(int64_t cycles, costs.ComputeCycles(candidate));
        cycles += adding;
        if (fewest == 0 || cycles < fewest) fewest = cycles;
        if (candidate.rows == 0) break;  // Nor do fewer columns.
      }
    }
  }
  return fewest;
}

}  // namespace edgekiln::compiler::dla
