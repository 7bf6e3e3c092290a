#include "compiler/engines/dla/planner.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "compiler/engines/dla/bound.h"
#include "compiler/engines/dla/layer_search.h"
#include "compiler/engines/dla/overlapped_search.h"
#include "compiler/engines/dla/residency.h"
#include "compiler/engines/dla/retiling.h"

namespace edgekiln::compiler::dla {
namespace {

// Bounds that plans exceed by less than one part of this many are good.
constexpr int64_t kTightEnough = 200;
// Another short plan is looked for where the one that overlaps exceeds the
// bound by more than one part of this many.
constexpr int64_t kFarFromBound = 20;
// No other is looked for where a plan exceeds the bound by less than one part
// of this many.
constexpr int64_t kNearEnough = 300;
// Where a plan for a smaller size takes more cycles by one part of this many,
// those for even smaller ones are taken to be no better.
constexpr int64_t kMuchSlower = 64;
// Smaller sizes that are planned for at most.
constexpr int kMostSmaller = 6;

std::vector<TilingSearch> SearchesOf(const Chip& chip,
                                     const SubgraphInput& input, Cuts cuts) {
  std::vector<TilingSearch> searches;
  searches.reserve(input.layers.size());
  for (const Layer& layer : input.layers) {
    searches.emplace_back(chip, layer, cuts);
  }
  return searches;
}

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

// Not with tiles of all rows, as chains are cut into pieces of rows.
bool MayChain(const v1::dla::TileRecipe& recipe) {
  return !recipe.serial() && !recipe.channels_only();
}

// Short and far from the bound: improving the frugal plan step by step may give
// a faster one.
bool IsFarFrom(const Bound& bound, const TimedPlan& plan) {
  return plan.cycles - plan.cycles / kFarFromBound > bound.cycles &&
         ComputeCommands(plan.plan) <= kShortPlan;
}

absl::StatusOr<TimedPlan> FindPlan(const Chip& chip, const SubgraphInput& input,
                                   const v1::dla::TileRecipe& recipe, Cuts cuts,
                                   const Bound& bound,
                                   std::vector<TilingSearch>& searches) {
  std::optional<TimedPlan> overlapped;
  if (!recipe.serial()) {
    EK_ASSIGN_OR_RETURN(overlapped, FindOverlapped(chip, input, searches, bound,
                                                   MayChain(recipe)));
    if (overlapped && !IsFarFrom(bound, *overlapped)) {
      return *std::move(overlapped);
    }
  }
  SubgraphPlan cheapest;
  Schedule scratch;
  for (const bool smallest : {false, true}) {
    EK_ASSIGN_OR_RETURN(const SubgraphPlan plan,
                        FrugalPlan(chip, input, cuts, searches, smallest));
    if (!smallest) cheapest = plan;
    EK_ASSIGN_OR_RETURN(
        std::optional<TimedPlan> timed,
        TimeIfFits(chip, input.storage, plan, chip.sram_bytes(), scratch));
    if (timed && !recipe.serial() && !OnlyLayer(input)) {
      EK_ASSIGN_OR_RETURN(timed, Retile(chip, input, cuts, *std::move(timed),
                                        bound.cycles, scratch));
    }
    if (overlapped && (!timed || !IsBetter(*timed, *overlapped))) {
      return *std::move(overlapped);
    }
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

// The better of `best` and the plans for smaller sizes: what fits less SRAM
// fits more of it. Tried are the coarse sizes below the chip's, large ones
// first, until plans, or their estimates, are so slow that none is expected to
// be better. Left out are sizes at least twice as large as what the last plan
// takes. Not for plans that take long to time, nor where `best` is near
// `bound_cycles`. An error of a smaller size ends the search: there is `best`.
TimedPlan BestOfSmaller(const Chip& chip, const SubgraphInput& input,
                        const v1::dla::TileRecipe& recipe, Cuts cuts,
                        int64_t bound_cycles,
                        std::vector<TilingSearch>& searches, TimedPlan best) {
  // As if it was the first size that is asked for.
  const auto estimate = [&](int64_t size) {
    for (TilingSearch& search : searches) search.Forget();
    return ChooseResidency(input, searches, RoundSize(size));
  };
  int64_t smallest = 1;
  for (const Layer& layer : input.layers) {
    smallest = std::max(smallest, SmallestSram(chip, layer, cuts));
  }
  std::optional<int64_t> estimated;  // For the chip's own size.
  int64_t peak_bytes = best.peak_bytes;
  int tried = 0;
  Schedule scratch;
  for (int64_t size = CoarseSizeBelow(chip.sram_bytes()); size >= smallest;
       size = CoarseSizeBelow(size)) {
    if (tried == kMostSmaller || ComputeCommands(best.plan) > kShortPlan ||
        best.cycles - best.cycles / kNearEnough <= bound_cycles) {
      break;
    }
    if (size / 2 >= peak_bytes) continue;
    if (!estimated) {
      const auto own = estimate(chip.sram_bytes());
      if (!own.ok() || !own->has_value()) break;
      estimated = (*own)->cycles;
    }
    const auto choice = estimate(size);
    if (!choice.ok() || !choice->has_value() ||
        (*choice)->cycles - *estimated > best.cycles - bound_cycles) {
      break;
    }
    const Chip smaller = chip.WithSram(size);
    const absl::StatusOr<Bound> bound =
        BoundOf(smaller, input, searches, MayChain(recipe));
    if (!bound.ok() || bound->cycles >= best.cycles) break;
    ++tried;
    absl::StatusOr<TimedPlan> plan =
        FindPlan(smaller, input, recipe, cuts, *bound, searches);
    // Such as of too many commands for a stream.
    if (!plan.ok()) break;
    peak_bytes = plan->peak_bytes;
    if (plan->cycles - plan->cycles / kMuchSlower > best.cycles) break;
    const bool is_long = ComputeCommands(plan->plan) > kShortPlan;
    if (IsBetter(*plan, best) &&
        CheckRegisters(smaller, input.storage, *plan, scratch).ok()) {
      best = *std::move(plan);
    }
    if (is_long) break;
  }
  return best;
}

}  // namespace

absl::StatusOr<TimedPlan> PlanSubgraph(const Chip& chip,
                                       const SubgraphInput& input,
                                       const v1::dla::TileRecipe& recipe) {
  const Cuts cuts = {recipe.channels_only() ? chip.most_rows() : 0};
  EK_RETURN_IF_ERROR(CheckSmallestSram(chip, *input.graph, input.layers, cuts));
  std::vector<TilingSearch> searches = SearchesOf(chip, input, cuts);
  EK_ASSIGN_OR_RETURN(Bound bound,
                      BoundOf(chip, input, searches, MayChain(recipe)));
  EK_ASSIGN_OR_RETURN(TimedPlan plan,
                      FindPlan(chip, input, recipe, cuts, bound, searches));
  Schedule scratch;
  if (!recipe.serial()) {
    EK_ASSIGN_OR_RETURN(
        plan, SearchLayer(chip, input, cuts, std::move(plan), scratch));
  }
  // It is near enough to most plans as it is, and serial ones are far anyway.
  if (!recipe.serial() &&
      plan.cycles - bound.cycles > plan.cycles / kTightEnough) {
    EK_RETURN_IF_ERROR(
        TightenBound(chip, input, searches, MayChain(recipe), bound));
  }
  if (!recipe.serial() && !OnlyLayer(input)) {
    plan = BestOfSmaller(chip, input, recipe, cuts, bound.cycles, searches,
                         std::move(plan));
  }
  EK_RETURN_IF_ERROR(CheckRegisters(chip, input.storage, plan, scratch));
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
