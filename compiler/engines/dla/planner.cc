#include "compiler/engines/dla/planner.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/rounding.h"
#include "base/status_macros.h"
#include "compiler/engines/dla/bound.h"
#include "compiler/engines/dla/encode.h"
#include "compiler/engines/dla/hazards.h"
#include "compiler/engines/dla/residency.h"

namespace edgekiln::compiler::dla {
namespace {

// Sizes of SRAM that are tried, from the largest that fits on.
constexpr int kSizes = 8;
// After this many commands were scheduled no other size is tried: the plan is
// for an SRAM so small that one takes long.
constexpr int64_t kEnoughCommands = 150'000;
// Plans take less than their estimate by one part of this many at most.
constexpr int64_t kEstimateError = 1000;
// Plans that exceed the bound by less than one part of this many are good.
constexpr int64_t kNearBound = 200;

// Plans are made for sizes of five significant bits, the same whatever the chip
// has beyond: so that a chip with more SRAM has the plans of one with less.
int64_t RoundSize(int64_t bytes) {
  const auto low_bits =
      std::max<int>(std::bit_width(static_cast<uint64_t>(bytes)), 5) - 5;
  return bytes >> low_bits << low_bits;
}

// How far loads run ahead. Many buffers need room that is left over; fenced is
// for want of room between the layers.
struct Ahead {
  int lookahead;
  int buffers;
  bool fenced;
};
constexpr Ahead kAhead[] = {
    {32, kMaxBuffers, false}, {32, 2, false}, {1, 2, false}, {1, 2, true}};

// Compute commands of a layer: those for one tile take what is counted.
int64_t ComputeCommands(const Layer& layer, const Tiling& tiling) {
  if (layer.op == LayerOp::kAlias) return 0;
  const int64_t pixel_tiles =
      CeilDiv(layer.out.h, tiling.rows) * CeilDiv(layer.out.w, tiling.columns);
  const int64_t channel_tiles = CeilDiv(layer.out.c, tiling.channels);
  if (layer.by_channel) {
    return pixel_tiles * std::max(layer.in.c, channel_tiles);
  }
  // Sums of each block but the first are added, and requantized in the end.
  const int64_t steps = CeilDiv(layer.in.c, InputsPerStep(layer, tiling));
  return pixel_tiles * channel_tiles * (steps > 1 ? 2 * steps : 1);
}

int64_t ComputeCommands(const SubgraphPlan& plan) {
  int64_t commands = 0;
  for (size_t l = 0; l < plan.layers.size(); ++l) {
    commands += ComputeCommands(plan.layers[l], plan.tilings[l]);
  }
  return commands;
}

// With the schedule's cycles, or nothing if its buffers do not fit, or there
// are too many commands.
absl::StatusOr<std::optional<TimedPlan>> TimeIfFits(const Chip& chip,
                                                    const SubgraphInput& input,
                                                    const SubgraphPlan& plan,
                                                    int64_t sram_bytes,
                                                    Schedule& scratch) {
  // Before any of them is made.
  if (ComputeCommands(plan) > target::kMaxDlaStreamCommands) {
    return std::optional<TimedPlan>();
  }
  SystemMap system;
  for (const TensorId tensor : input.storage) system.tensors[tensor] = 0;
  scratch = BuildSchedule(plan, system, input.storage, sram_bytes,
                          std::move(scratch));
  const Schedule& schedule = scratch;
  if (!schedule.fits ||
      std::ssize(schedule.commands) > target::kMaxDlaStreamCommands) {
    return std::optional<TimedPlan>();
  }
  const OffsetPlan offsets =
      AllocateOffsetsWithin(schedule.buffers, sram_bytes);
  if (offsets.peak_bytes > sram_bytes) return std::optional<TimedPlan>();
  EK_ASSIGN_OR_RETURN(const EncodedStream stream,
                      EncodeStream(chip, schedule, offsets.offsets,
                                   WaitCounts(schedule, offsets.offsets)));
  TimedPlan timed;
  timed.plan = plan;
  timed.sram_bytes = sram_bytes;
  timed.cycles = stream.cycles;
  timed.peak_bytes = offsets.peak_bytes;
  return std::optional<TimedPlan>(std::move(timed));
}

std::vector<TilingSearch> SearchesOf(const Chip& chip,
                                     const SubgraphInput& input, Cuts cuts) {
  std::vector<TilingSearch> searches;
  searches.reserve(input.layers.size());
  for (const Layer& layer : input.layers) {
    searches.emplace_back(chip, layer, cuts);
  }
  return searches;
}

// The fastest way to run loads ahead; nothing if the tilings' buffers find no
// places. `commands` is raised by those that were scheduled.
absl::StatusOr<std::optional<TimedPlan>> RunAhead(
    const Chip& chip, const SubgraphInput& input, SubgraphPlan plan,
    int64_t sram_bytes, Schedule& scratch, int64_t& commands) {
  std::optional<TimedPlan> best;
  for (const Ahead& ahead : kAhead) {
    if (ahead.fenced && best) continue;
    // No operand has more buffers than these: the schedule would be the same.
    if (ahead.lookahead == plan.lookahead && ahead.buffers < plan.buffers &&
        scratch.most_buffers <= ahead.buffers) {
      commands += std::ssize(scratch.commands);
      continue;
    }
    plan.lookahead = ahead.lookahead;
    plan.buffers = ahead.buffers;
    plan.fenced = ahead.fenced;
    EK_ASSIGN_OR_RETURN(std::optional<TimedPlan> timed,
                        TimeIfFits(chip, input, plan, sram_bytes, scratch));
    commands += std::ssize(scratch.commands);
    if (timed && (!best || timed->cycles < best->cycles)) {
      best = std::move(timed);
    }
  }
  return best;
}

// Finds the fastest plan for a few sizes of SRAM, the chip's and below: more of
// it makes tilings cheaper by their estimate, and now and then dearer in fact.
class OverlappedSearch {
 public:
  OverlappedSearch(const Chip& chip, const SubgraphInput& input,
                   std::vector<TilingSearch>& searches, int64_t bound_cycles)
      : chip_(chip),
        input_(input),
        searches_(searches),
        bound_cycles_(bound_cycles) {}

  // Nothing if no plan fits.
  absl::StatusOr<std::optional<TimedPlan>> Run() && {
    for (int64_t size = RoundSize(chip_.sram_bytes());
         size > 0 && (tried_ < kSizes || !best_) && commands_ < kEnoughCommands;
         size = RoundSize(size - 1)) {
      EK_ASSIGN_OR_RETURN(const std::optional<ResidencyChoice> choice,
                          ChooseResidency(input_, searches_, size));
      if (!choice) break;  // Nor do less.
      if (best_ &&
          choice->cycles - choice->cycles / kEstimateError > best_->cycles) {
        break;
      }
      EK_RETURN_IF_ERROR(Try(choice->plan, size));
      // Between layers that compute for long, blocks move for nothing.
      if (tried_++ > 0 || !best_ ||
          best_->cycles - best_->cycles / kNearBound <= bound_cycles_) {
        continue;
      }
      EK_ASSIGN_OR_RETURN(
          const std::optional<ResidencyChoice> early,
          ChooseResidency(input_, searches_, size, /*early_blocks=*/true));
      if (early) EK_RETURN_IF_ERROR(Try(early->plan, size));
    }
    return std::move(best_);
  }

 private:
  absl::Status Try(const SubgraphPlan& plan, int64_t size) {
    if (best_ && plan.tilings == before_.tilings &&
        plan.resident == before_.resident) {
      return absl::OkStatus();
    }
    before_ = plan;
    EK_ASSIGN_OR_RETURN(
        std::optional<TimedPlan> timed,
        RunAhead(chip_, input_, plan, size, scratch_, commands_));
    if (timed && (!best_ || timed->cycles < best_->cycles)) {
      best_ = std::move(timed);
    }
    return absl::OkStatus();
  }

  const Chip& chip_;
  const SubgraphInput& input_;
  std::vector<TilingSearch>& searches_;
  const int64_t bound_cycles_;
  std::optional<TimedPlan> best_;
  SubgraphPlan before_;
  Schedule scratch_;
  int64_t commands_ = 0;
  int tried_ = 0;
};

// Least SRAM, of sizes as they are tried, with which the layers' cheapest
// tilings need no more commands than a stream can have; 0 if none is enough.
absl::StatusOr<int64_t> SramForStream(const Chip& chip,
                                      const SubgraphInput& input,
                                      std::vector<TilingSearch>& searches) {
  const auto suffices = [&](int64_t bytes) -> absl::StatusOr<bool> {
    int64_t commands = 0;
    for (size_t l = 0; l < input.layers.size(); ++l) {
      if (input.layers[l].op == LayerOp::kAlias) continue;
      EK_ASSIGN_OR_RETURN(const std::optional<TilingCost> best,
                          searches[l].BestSerial(bytes));
      if (!best) return false;
      commands += ComputeCommands(input.layers[l], best->tiling);
      commands += best->transfers;
    }
    return commands <= target::kMaxDlaStreamCommands;
  };
  constexpr int64_t kLargest = int64_t{1} << 28;
  int64_t low = chip.sram_bytes();
  int64_t high = low;
  for (bool enough = false; !enough;) {
    if (high >= kLargest) return 0;
    low = high;
    high = std::min(2 * high, kLargest);
    EK_ASSIGN_OR_RETURN(enough, suffices(high));
  }
  while (high - low > high / 32) {
    const int64_t middle = low + (high - low) / 2;
    EK_ASSIGN_OR_RETURN(const bool enough, suffices(middle));
    (enough ? high : low) = middle;
  }
  return high;
}

// `sram_bytes`: enough for fewer commands; 0: not known.
absl::Status StreamTooLong(const Graph& graph, const SubgraphPlan& plan,
                           int64_t sram_bytes) {
  size_t longest = 0;
  for (size_t l = 0; l < plan.layers.size(); ++l) {
    if (ComputeCommands(plan.layers[l], plan.tilings[l]) >
        ComputeCommands(plan.layers[longest], plan.tilings[longest])) {
      longest = l;
    }
  }
  const Layer& layer = plan.layers[longest];
  const Op& op = graph.ops[layer.op_index];
  return MakeError(
      absl::StatusCode::kResourceExhausted,
      {.reason = "STREAM_TOO_LONG",
       .what = "the model takes more commands than a stream of the accelerator "
               "can have",
       .where = absl::StrCat("op ", op.id, " (", op.kind(), "), tensor ",
                             graph.tensors[layer.output].name, " ", layer.out.h,
                             "x", layer.out.w, "x", layer.out.c),
       .limit = absl::StrCat(target::kMaxDlaStreamCommands, " commands"),
       .need =
           absl::StrCat("about ", ComputeCommands(layer, plan.tilings[longest]),
                        " for this op alone"),
       .fix = absl::StrCat(
           sram_bytes > 0 ? absl::StrCat("use a target with at least ",
                                         sram_bytes, " bytes of SRAM")
                          : "use a target with more SRAM",
           ", so that there are fewer tiles; or, for a depthwise convolution, "
           "one with OP_DEPTH_CONV")});
}

// Everything through system memory, one buffer of each kind: always fits what
// CheckSmallestSram accepts. `smallest` cuts to single pixels, where these are
// cut, and channels.
absl::StatusOr<SubgraphPlan> FrugalPlan(const Chip& chip,
                                        const SubgraphInput& input, Cuts cuts,
                                        std::vector<TilingSearch>& searches,
                                        bool smallest) {
  SubgraphPlan plan;
  plan.layers = input.layers;
  plan.external = input.external;
  plan.strict = true;
  for (size_t l = 0; l < input.layers.size(); ++l) {
    Tiling tiling = SmallestTiling(chip, input.layers[l], cuts);
    if (!smallest && input.layers[l].op != LayerOp::kAlias) {
      EK_ASSIGN_OR_RETURN(const std::optional<TilingCost> best,
                          searches[l].BestSerial(chip.sram_bytes()));
      if (best) tiling = best->tiling;
    }
    plan.tilings.push_back(tiling);
  }
  return plan;
}

}  // namespace

absl::Status CheckSmallestSram(const Chip& chip, const Graph& graph,
                               const std::vector<Layer>& layers, Cuts cuts) {
  const Layer* largest = nullptr;
  int64_t need = 0;
  for (const Layer& layer : layers) {
    if (const int64_t bytes = SmallestSram(chip, layer, cuts); bytes > need) {
      need = bytes;
      largest = &layer;
    }
  }
  if (need <= chip.sram_bytes()) return absl::OkStatus();
  const Op& op = graph.ops[largest->op_index];
  const ImageExtent& in = largest->in;
  return MakeError(
      absl::StatusCode::kResourceExhausted,
      {.reason = "SRAM_TOO_SMALL",
       .what = "the model does not fit the accelerator's SRAM, even tile by "
               "tile",
       .where = absl::StrCat("op ", op.id, " (", op.kind(), "), tensor ",
                             graph.tensors[largest->input].name, " ", in.h, "x",
                             in.w, "x", in.c),
       .limit = absl::StrCat(chip.sram_bytes(), " bytes of SRAM"),
       .need = absl::StrCat(need, " bytes: ",
                            cuts.channels_only()
                                ? "all rows of one output channel with their "
                                  "input and weights, as the recipe cuts "
                                  "layers along channels only"
                                : "one output pixel of one channel with its "
                                  "window of all input channels and its "
                                  "weights"),
       .fix =
           absl::StrCat("use a target with at least ", need, " bytes of SRAM, ",
                        cuts.channels_only() ? "another recipe, " : "",
                        "or a model with smaller windows or fewer channels "
                        "there")});
}

namespace {

absl::StatusOr<TimedPlan> FindPlan(const Chip& chip, const SubgraphInput& input,
                                   const v1::dla::TileRecipe& recipe, Cuts cuts,
                                   int64_t bound_cycles,
                                   std::vector<TilingSearch>& searches) {
  if (!recipe.serial()) {
    EK_ASSIGN_OR_RETURN(
        std::optional<TimedPlan> plan,
        OverlappedSearch(chip, input, searches, bound_cycles).Run());
    if (plan) return *std::move(plan);
  }
  SubgraphPlan cheapest;
  Schedule scratch;
  for (const bool smallest : {false, true}) {
    EK_ASSIGN_OR_RETURN(const SubgraphPlan plan,
                        FrugalPlan(chip, input, cuts, searches, smallest));
    if (!smallest) cheapest = plan;
    EK_ASSIGN_OR_RETURN(
        std::optional<TimedPlan> timed,
        TimeIfFits(chip, input, plan, chip.sram_bytes(), scratch));
    if (timed) return *std::move(timed);
    // Its buffers fit. Of too many computations nothing was scheduled.
    if (smallest &&
        (ComputeCommands(plan) > target::kMaxDlaStreamCommands ||
         std::ssize(scratch.commands) > target::kMaxDlaStreamCommands)) {
      EK_ASSIGN_OR_RETURN(const int64_t bytes,
                          SramForStream(chip, input, searches));
      return StreamTooLong(*input.graph, cheapest, bytes);
    }
  }
  return MakeError(absl::StatusCode::kInternal,
                   {.fault = Fault::kInfra,
                    .reason = "PLAN_LOST",
                    .what = "no plan fits although the smallest tiles do",
                    .limit = absl::StrCat(chip.sram_bytes(), " bytes of SRAM"),
                    .fix = "report this with the model and the target"});
}

}  // namespace

absl::StatusOr<TimedPlan> PlanSubgraph(const Chip& chip,
                                       const SubgraphInput& input,
                                       const v1::dla::TileRecipe& recipe) {
  const Cuts cuts = {recipe.channels_only() ? chip.most_rows() : 0};
  EK_RETURN_IF_ERROR(CheckSmallestSram(chip, *input.graph, input.layers, cuts));
  std::vector<TilingSearch> searches = SearchesOf(chip, input, cuts);
  EK_ASSIGN_OR_RETURN(Bound bound, BoundOf(chip, input, searches));
  EK_ASSIGN_OR_RETURN(TimedPlan plan, FindPlan(chip, input, recipe, cuts,
                                               bound.cycles, searches));
  plan.bound_cycles = bound.cycles;
  plan.plan.bounds = std::move(bound.layers);
  return plan;
}

absl::StatusOr<int64_t> EstimateSubgraph(const Chip& chip,
                                         const SubgraphInput& input) {
  EK_RETURN_IF_ERROR(CheckSmallestSram(chip, *input.graph, input.layers));
  std::vector<TilingSearch> searches = SearchesOf(chip, input, {});
  EK_ASSIGN_OR_RETURN(const std::optional<ResidencyChoice> choice,
                      ChooseResidency(input, searches, chip.sram_bytes()));
  if (choice) return choice->cycles;
  // So little SRAM that nothing overlaps: few tilings are tried.
  EK_ASSIGN_OR_RETURN(const TimedPlan plan, PlanSubgraph(chip, input, {}));
  return plan.cycles;
}

}  // namespace edgekiln::compiler::dla
