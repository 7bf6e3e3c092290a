#include "compiler/engines/dla/planner.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "compiler/engines/dla/encode.h"
#include "compiler/engines/dla/hazards.h"
#include "compiler/engines/dla/residency.h"

namespace edgekiln::compiler::dla {
namespace {

// Shares of the SRAM, in percent, that tilings may count on. Buffers of
// neighbouring layers overlap in time; what is held back is room for that.
constexpr int kShares[] = {100, 85, 70, 50};
constexpr int kLookaheads[] = {32, 4, 1};

// With the schedule's cycles, or nothing if its buffers do not fit.
absl::StatusOr<std::optional<TimedPlan>> TimeIfFits(const Chip& chip,
                                                    const SubgraphInput& input,
                                                    const SubgraphPlan& plan) {
  SystemMap system;
  for (const TensorId tensor : input.storage) system.tensors[tensor] = 0;
  const Schedule schedule =
      BuildSchedule(plan, system, input.storage, chip.sram_bytes());
  const OffsetPlan offsets = AllocateOffsets(schedule.buffers);
  if (offsets.peak_bytes > chip.sram_bytes()) return std::optional<TimedPlan>();
  EK_ASSIGN_OR_RETURN(const EncodedStream stream,
                      EncodeStream(chip, schedule, offsets.offsets,
                                   WaitCounts(schedule, offsets.offsets)));
  return std::optional<TimedPlan>({plan, stream.cycles, offsets.peak_bytes});
}

// The fastest plan for the first share of the SRAM that has one which fits;
// nothing if none has.
absl::StatusOr<std::optional<TimedPlan>> OverlappedPlan(
    const Chip& chip, const SubgraphInput& input) {
  for (const int share : kShares) {
    EK_ASSIGN_OR_RETURN(
        std::optional<ResidencyChoice> choice,
        ChooseResidency(chip, input, chip.sram_bytes() / 100 * share));
    if (!choice) continue;
    std::optional<TimedPlan> best;
    for (const int lookahead : kLookaheads) {
      choice->plan.lookahead = lookahead;
      EK_ASSIGN_OR_RETURN(std::optional<TimedPlan> timed,
                          TimeIfFits(chip, input, choice->plan));
      if (timed && (!best || timed->cycles < best->cycles)) {
        best = std::move(timed);
      }
    }
    if (best) return best;
  }
  return std::optional<TimedPlan>();
}

// Everything through system memory, one buffer of each kind: always fits what
// CheckSmallestSram accepts. `smallest` cuts to single rows and channels.
absl::StatusOr<SubgraphPlan> FrugalPlan(const Chip& chip,
                                        const SubgraphInput& input,
                                        bool smallest) {
  SubgraphPlan plan;
  plan.layers = input.layers;
  plan.external = input.external;
  plan.strict = true;
  for (const Layer& layer : input.layers) {
    Tiling tiling;
    if (!smallest && layer.op != LayerOp::kAlias) {
      EK_ASSIGN_OR_RETURN(const std::optional<TilingCost> best,
                          BestTiling(chip, layer, {}, chip.sram_bytes(),
                                     /*double_buffer=*/false));
      if (best) tiling = best->tiling;
    }
    plan.tilings.push_back(tiling);
  }
  return plan;
}

}  // namespace

absl::Status CheckSmallestSram(const Graph& graph,
                               const std::vector<Layer>& layers,
                               int64_t sram_bytes) {
  const Layer* largest = nullptr;
  int64_t need = 0;
  for (const Layer& layer : layers) {
    if (const int64_t bytes = SmallestSram(layer); bytes > need) {
      need = bytes;
      largest = &layer;
    }
  }
  if (need <= sram_bytes) return absl::OkStatus();
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
       .limit = absl::StrCat(sram_bytes, " bytes of SRAM"),
       .need = absl::StrCat(need,
                            " bytes: one output row of one channel with its "
                            "input rows and weights"),
       .fix = absl::StrCat("use a target with at least ", need,
                           " bytes of SRAM, or a model with narrower rows or "
                           "fewer channels there")});
}

absl::StatusOr<TimedPlan> PlanSubgraph(const Chip& chip,
                                       const SubgraphInput& input,
                                       const v1::dla::TileRecipe& recipe) {
  EK_RETURN_IF_ERROR(
      CheckSmallestSram(*input.graph, input.layers, chip.sram_bytes()));
  if (!recipe.serial()) {
    EK_ASSIGN_OR_RETURN(std::optional<TimedPlan> plan,
                        OverlappedPlan(chip, input));
    if (plan) return *std::move(plan);
  }
  for (const bool smallest : {false, true}) {
    EK_ASSIGN_OR_RETURN(const SubgraphPlan plan,
                        FrugalPlan(chip, input, smallest));
    EK_ASSIGN_OR_RETURN(std::optional<TimedPlan> timed,
                        TimeIfFits(chip, input, plan));
    if (timed) return *std::move(timed);
  }
  return MakeError(absl::StatusCode::kInternal,
                   {.fault = Fault::kInfra,
                    .reason = "PLAN_LOST",
                    .what = "no plan fits although the smallest tiles do",
                    .limit = absl::StrCat(chip.sram_bytes(), " bytes of SRAM"),
                    .fix = "report this with the model and the target"});
}

absl::StatusOr<int64_t> EstimateSubgraph(const Chip& chip,
                                         const SubgraphInput& input) {
  EK_RETURN_IF_ERROR(
      CheckSmallestSram(*input.graph, input.layers, chip.sram_bytes()));
  EK_ASSIGN_OR_RETURN(const std::optional<ResidencyChoice> choice,
                      ChooseResidency(chip, input, chip.sram_bytes()));
  if (choice) return choice->cycles;
  // So little SRAM that nothing overlaps: few tilings are tried.
  EK_ASSIGN_OR_RETURN(const TimedPlan plan, PlanSubgraph(chip, input, {}));
  return plan.cycles;
}

}  // namespace edgekiln::compiler::dla
