#include "compiler/engines/dla/layer_search.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "base/status_macros.h"
#include "compiler/engines/dla/cycle_limit.h"
#include "compiler/engines/dla/tiling_costs.h"

namespace edgekiln::compiler::dla {
namespace {

class LayerTilings {
 public:
  LayerTilings(const Chip& chip, const Layer& layer, Cuts cuts, int64_t below,
               int64_t most_looked_at)
      : chip_(chip),
        layer_(layer),
        costs_(chip, layer, cuts, TilingCosts::Count::kCommands),
        below_(below),
        most_looked_at_(most_looked_at) {
    issue_cycles_ = chip.IssueCycles(DlaCommand::kRegWrite);
    for (size_t i = 0; i < target::kNumDlaCommands; ++i) {
      const auto command = static_cast<DlaCommand>(i);
      if (chip.position(command) < 0) continue;
      issue_cycles_ = std::min(issue_cycles_, chip.IssueCycles(command));
    }
  }

  absl::StatusOr<BoundedTilings> Find() && {
    // Few compute cycles first.
    std::vector<std::pair<int64_t, size_t>> branches;
    for (size_t c = 0; c < costs_.channels().size(); ++c) {
      EK_ASSIGN_OR_RETURN(const int64_t cycles,
                          costs_.ComputeCycles({.channels = c}));
      branches.emplace_back(cycles, c);
    }
    std::sort(branches.begin(), branches.end());
    for (const auto& [cycles, c] : branches) {
      if (cycles >= below_) break;
      for (size_t i = 0; i < costs_.inputs().size(); ++i) {
        const Candidate candidate = {.channels = c, .inputs = i};
        EK_ASSIGN_OR_RETURN(const int64_t adding,
                            costs_.AddingCycles(candidate));
        if (cycles + adding >= below_) break;
        EK_RETURN_IF_ERROR(AddPixels(candidate, cycles + adding));
        if (!found_.all_looked_at) break;
      }
    }
    std::stable_sort(found_.tilings.begin(), found_.tilings.end(),
                     [](const BoundedTiling& a, const BoundedTiling& b) {
                       return a.least_cycles < b.least_cycles;
                     });
    return std::move(found_);
  }

 private:
  // `floor`: at most the cycles to compute it, cut along rows and columns or
  // not.
  absl::Status AddPixels(Candidate candidate, int64_t floor) {
    EK_ASSIGN_OR_RETURN(const int64_t per_tile,
                        costs_.CyclesPerTile(candidate));
    for (size_t w = 0; w < costs_.columns().size(); ++w) {
      candidate.columns = w;
      if (!costs_.SumsFit(candidate)) continue;
      for (size_t r = 0; r < costs_.rows().size(); ++r) {
        candidate.rows = r;
        const int64_t tiles =
            costs_.rows()[r].tiles * costs_.columns()[w].tiles;
        // Nor do smaller tiles compute in fewer cycles.
        if (floor + TimesCycles(per_tile, tiles - 1) >= below_) break;
        EK_RETURN_IF_ERROR(AddOrders(candidate));
        if (!found_.all_looked_at) return absl::OkStatus();
      }
    }
    return absl::OkStatus();
  }

  absl::Status AddOrders(Candidate candidate) {
    const bool pixels_cut = costs_.rows()[candidate.rows].tiles > 1 ||
                            costs_.columns()[candidate.columns].tiles > 1;
    const bool channels_cut = costs_.channels()[candidate.channels].tiles > 1;
    for (const bool pixels_outer : {false, true}) {
      // The same order as the other one.
      if (pixels_outer && !(pixels_cut && channels_cut)) continue;
      candidate.order =
          pixels_outer ? TileOrder::kPixelsOuter : TileOrder::kChannelsOuter;
      // Even of a layer that is not cut: where windows leave out columns, rows
      // as a whole are more bytes, but fewer registers for their transfer.
      for (const bool whole_input : {false, true}) {
        candidate.whole_input = whole_input;
        if (costs_.LeastBytes(candidate, {}) > chip_.sram_bytes()) continue;
        if (looked_at_++ >= most_looked_at_) {
          found_.all_looked_at = false;
          return absl::OkStatus();
        }
        EK_RETURN_IF_ERROR(AddBuffers(candidate));
      }
    }
    return absl::OkStatus();
  }

  // What a tiling takes, whatever its buffers are.
  struct Parts {
    std::array<int64_t, 3> cycles;  // Of the DMA: input, block, output.
    // What comes before the first command, and what after the last.
    std::array<int64_t, 3> exposed;
    // What comes between commands where the operand has a single buffer.
    std::array<int64_t, 3> alone{};
    int64_t computing = 0;
    // Of that, by commands that use those buffers.
    int64_t while_moving = 0;
    int64_t last_step = 0;
    int64_t commands = 0;  // And transfers.
  };

  absl::StatusOr<Parts> PartsOf(const Candidate& candidate, const Work& work) {
    Parts parts;
    const auto [input, block, output] = work.operands;
    const AxisCut& rows = costs_.rows()[candidate.rows];
    const AxisCut& columns = costs_.columns()[candidate.columns];
    const AxisCut& channels = costs_.channels()[candidate.channels];
    const bool split = costs_.inputs()[candidate.inputs].tiles > 1;
    parts.cycles = {input.cycles, block.cycles, output.cycles};
    const bool by_row = columns.tiles > 1 && channels.tiles > 1;
    parts.exposed = {
        input.exposed_cycles,
        block.transfers > 0 ? costs_.DmaCycles(1, block.buffer_bytes) : 0,
        costs_.DmaCycles(
            by_row ? rows.last : 1,
            rows.last * columns.last * channels.last * layer_.out_bytes)};
    // A single buffer changes hands.
    for (int i = 0; i < 3; ++i) {
      if (work.operands[i].buffers_used < 2) continue;
      parts.alone[i] = std::max<int64_t>(parts.cycles[i] - parts.exposed[i], 0);
    }
    // The next tile may be so small that it leaves all rows but the first.
    const bool last_is_smaller = rows.last < rows.size ||
                                 columns.last < columns.size ||
                                 channels.last < channels.size;
    if (by_row && last_is_smaller) {
      parts.alone[2] =
          TimesCycles(costs_.DmaCycles(1, 1), output.buffers_used - 1);
    }
    // Sums have buffers of their own, which the output's moves leave alone.
    if (split) parts.alone[2] = 0;
    EK_ASSIGN_OR_RETURN(parts.computing, costs_.ComputeCycles(candidate));
    parts.while_moving = parts.computing;
    if (split) {
      EK_ASSIGN_OR_RETURN(const int64_t summing,
                          costs_.SummingCycles(candidate));
      parts.while_moving -= summing;
    }
    EK_ASSIGN_OR_RETURN(parts.last_step, costs_.LastStepCycles(candidate));
    const Tiling tiling = costs_.TilingOf(candidate);
    parts.commands = ComputeCommands(layer_, tiling) + input.transfers +
                     block.transfers + output.transfers;
    if (split && layer_.gives_sums()) {
      parts.commands -= rows.tiles * columns.tiles * channels.tiles;
    }
    return parts;
  }

  // `doubled`: bits of the operands that have more than one buffer.
  int64_t LeastCycles(const Parts& parts, int doubled) const {
    const int64_t moving = parts.cycles[0] + parts.cycles[1] + parts.cycles[2];
    const int64_t launch = chip_.IssueCycles(DlaCommand::kDmaRead) +
                           2 * chip_.IssueCycles(DlaCommand::kRegWrite);
    if (chip_.blocking_dma()) return launch + parts.computing + moving;
    const int64_t before = launch + parts.exposed[0] + parts.exposed[1];
    int64_t alone = 0;
    for (int i = 0; i < 3; ++i) {
      if ((doubled >> i & 1) == 0) alone += parts.alone[i];
    }
    const int64_t reading = launch + parts.cycles[0] + parts.cycles[1];
    return std::max({before + parts.computing + parts.exposed[2],
                     before + parts.while_moving + alone + parts.exposed[2],
                     reading + parts.last_step + parts.exposed[2],
                     launch + moving,
                     TimesCycles(issue_cycles_, parts.commands)});
  }

  absl::Status AddBuffers(const Candidate& candidate) {
    const Work work = costs_.WorkOf(candidate, {});
    // Before the compute cycles, which take longer to find.
    if (work.operands[1].cycles + work.operands[2].cycles >= below_) {
      return absl::OkStatus();
    }
    EK_ASSIGN_OR_RETURN(const Parts parts, PartsOf(candidate, work));
    int usable = 0;
    for (int i = 0; i < 3; ++i) {
      if (work.operands[i].buffers_used > 1) usable |= 1 << i;
    }
    const auto add = [&](int doubled, bool strict) {
      const int64_t least = LeastCycles(parts, doubled);
      if (least >= below_) return;
      BoundedTiling found = {costs_.TilingOf(candidate), strict, least};
      found.tiling.double_input = (doubled & 1) != 0;
      found.tiling.double_block = (doubled & 2) != 0;
      found.tiling.double_output = (doubled & 4) != 0;
      found_.tilings.push_back(found);
    };
    for (int doubled = usable;; doubled = (doubled - 1) & usable) {
      int64_t bytes = work.least_bytes();
      for (int i = 0; i < 3; ++i) {
        if ((doubled >> i & 1) != 0) bytes += work.operands[i].buffer_bytes;
      }
      if (bytes <= chip_.sram_bytes()) add(doubled, /*strict=*/false);
      if (doubled == 0) break;
    }
    add(0, /*strict=*/true);
    return absl::OkStatus();
  }

  const Chip& chip_;
  const Layer& layer_;
  TilingCosts costs_;
  const int64_t below_;
  const int64_t most_looked_at_;
  int64_t issue_cycles_ = 0;
  int64_t looked_at_ = 0;
  BoundedTilings found_;
};

}  // namespace

absl::StatusOr<BoundedTilings> TilingsOfLayer(const Chip& chip,
                                              const Layer& layer, Cuts cuts,
                                              int64_t below_cycles,
                                              int64_t most_looked_at) {
  return LayerTilings(chip, layer, cuts, below_cycles, most_looked_at).Find();
}

std::optional<size_t> OnlyLayer(const SubgraphInput& input) {
  std::optional<size_t> only;
  for (size_t l = 0; l < input.layers.size(); ++l) {
    if (input.layers[l].op == LayerOp::kAlias) continue;
    if (only) return std::nullopt;
    only = l;
  }
  return only;
}

absl::StatusOr<TimedPlan> SearchLayer(const Chip& chip,
                                      const SubgraphInput& input,
                                      const Cuts& cuts, TimedPlan plan,
                                      Schedule& scratch,
                                      const LayerSearchLimits& limits) {
  const std::optional<size_t> only = OnlyLayer(input);
  if (!only) return plan;
  EK_ASSIGN_OR_RETURN(const BoundedTilings found,
                      TilingsOfLayer(chip, input.layers[*only], cuts,
                                     plan.cycles, limits.looked_at));
  int64_t commands = 0;
  for (const BoundedTiling& next : found.tilings) {
    if (next.least_cycles >= plan.cycles || commands >= limits.commands) break;
    SubgraphPlan tried = plan.plan;
    tried.tilings[*only] = next.tiling;
    tried.strict = next.strict;
    tried.fenced = false;
    std::optional<TimedPlan> timed;
    if (next.strict) {
      tried.lookahead = 0;
      EK_ASSIGN_OR_RETURN(timed, TimeIfFits(chip, input.storage, tried,
                                            chip.sram_bytes(), scratch));
      commands += std::ssize(scratch.commands);
    } else {
      EK_ASSIGN_OR_RETURN(timed,
                          RunAhead(chip, input.storage, std::move(tried),
                                   chip.sram_bytes(), scratch, commands));
    }
    if (timed && IsBetter(*timed, plan)) plan = *std::move(timed);
  }
  return plan;
}

}  // namespace edgekiln::compiler::dla
