#include "compiler/engines/register_job/planner.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/checked_math.h"
#include "base/error.h"
#include "base/rounding.h"
#include "base/status_macros.h"
#include "compiler/engines/register_job/schedule.h"
#include "compiler/engines/register_job/search.h"
#include "target/models/register_job/tile_decisions.h"

namespace edgekiln::compiler::register_job {
namespace {

constexpr int64_t kStepRoomAlignment = 16;

// Every tiling has a job with a value that a register does not hold.
absl::Status RegisterTooNarrow(const Op& layer, const absl::Status& smallest) {
  ErrorDetail detail = GetErrorDetail(smallest).value_or(
      ErrorDetail{.reason = "REGISTER_TOO_NARROW",
                  .what = std::string(smallest.message())});
  detail.where =
      absl::StrCat("op ", layer.id, " (", layer.kind(), "), ", detail.where);
  detail.fix =
      "leave the layer to the host: a condition in `where` of its "
      "pattern in the target file";
  return MakeError(absl::StatusCode::kUnimplemented, std::move(detail));
}

// RESOURCE_EXHAUSTED if nothing fits, UNIMPLEMENTED if a register is too narrow
// for the smallest tile.
absl::StatusOr<Choice> Choose(const Graph& graph, const Placement& placement,
                              int64_t bytes, const TileDecisions& decisions,
                              ChoiceMemo& memo) {
  const Op& layer = graph.ops[placement.operation.op_index];
  EK_ASSIGN_OR_RETURN(const std::optional<Choice> best,
                      memo.BestChoice(placement, bytes, decisions),
                      absl::StrCat("op ", layer.id, " (", layer.kind(), ")"));
  if (best) return *best;
  const auto need = SmallestBytes(placement, decisions);
  if (absl::IsOutOfRange(need.status())) {
    return RegisterTooNarrow(layer, need.status());
  }
  if (!need.ok()) return need.status();
  const Chip& chip = *placement.chip;
  return MemoryTooSmall(graph, placement.operation.op_index,
                        chip.machine().memories(chip.memory()), bytes, *need,
                        /*at_least=*/false);
}

v1::register_job::RegionDecisions ToProto(const Decision& decision,
                                          const Placement& placement) {
  v1::register_job::RegionDecisions decisions;
  decisions.set_rows(decision.tiling.rows);
  decisions.set_columns(decision.tiling.columns);
  decisions.set_channels(decision.tiling.channels);
  decisions.set_channels_outer(decision.channels_outer);
  decisions.set_input_rooms(decision.input_rooms);
  decisions.set_constant_rooms(decision.constant_rooms);
  decisions.set_output_rooms(decision.output_rooms);
  decisions.set_dense_blocks(placement.block > 0);
  decisions.set_by_row(placement.by_row);
  decisions.set_input_channels_multiple(
      static_cast<int32_t>(placement.input_channels_multiple));
  return decisions;
}

}  // namespace

absl::Status MemoryTooSmall(const Graph& graph, int32_t op,
                            const v1::ResolvedMemory& memory, int64_t bytes,
                            int64_t need, bool at_least) {
  const Op& layer = graph.ops[op];
  return MakeError(
      absl::StatusCode::kResourceExhausted,
      {.reason = "SRAM_TOO_SMALL",
       .what = "a layer does not fit the engine's memory, even tile by tile",
       .where = absl::StrCat("op ", layer.id, " (", layer.kind(), "), memory ",
                             memory.name()),
       .limit = absl::StrCat(bytes, " bytes of ", memory.name()),
       .need = absl::StrCat(need, at_least ? " bytes at least" : " bytes",
                            ": the smallest tile with all channels of its "
                            "input (this engine model cuts none of them), its "
                            "weights, and what stays there meanwhile"),
       .fix = absl::StrCat("use a target with at least ", need, " bytes of ",
                           memory.name(),
                           ", or a model with fewer channels there, or "
                           "--offload paying, which leaves such layers to the "
                           "host")});
}

absl::StatusOr<v1::RegionPlan> PlanRegion(const Graph& graph,
                                          Placement placement, int64_t bytes,
                                          const TileDecisions& decisions,
                                          ChoiceMemo& memo) {
  placement.costs = memo.CostsOf(placement);
  EK_ASSIGN_OR_RETURN(const Choice choice,
                      Choose(graph, placement, bytes, decisions, memo));
  EK_ASSIGN_OR_RETURN(const Schedule schedule,
                      Schedule::Create(placement, choice.decision));
  const Chip& chip = *placement.chip;
  v1::RegionPlan plan;
  Clock clock(chip);
  for (const TileStep& step : schedule.steps()) {
    v1::RegionPlan::Step& planned = *plan.add_steps();
    for (const int32_t job : step.after) planned.add_after(job);
    StepCost cost;
    if (step.kind == TileStep::Kind::kJob) {
      const target::JobVariables variables = schedule.VariablesOfJob(step);
      EK_ASSIGN_OR_RETURN(const auto code, chip.view().Encode(variables));
      EK_ASSIGN_OR_RETURN(
          const int64_t occupancy,
          chip.view().OccupancyCycles(placement.job, variables));
      planned.set_kind(v1::RegionPlan::Step::JOB);
      planned.set_engine_cycles(occupancy);
      cost = {true, chip.JobCycles(code), chip.HostCycles(occupancy)};
    } else {
      EK_ASSIGN_OR_RETURN(const MoveStep move, schedule.MoveOf(step));
      planned.set_kind(v1::RegionPlan::Step::MOVE);
      planned.set_early(step.kind == TileStep::Kind::kConstants);
      cost.host_cycles = move.move.host_cycles;
      cost.waits = move.move.window == chip.engine();
      if (move.move.window >= 0) planned.set_window(move.move.window);
    }
    planned.set_host_cycles(cost.host_cycles);
    clock.Step(cost, step.after);
  }
  for (const Buffer& buffer : schedule.buffers()) {
    v1::RegionPlan::Buffer& planned = *plan.add_buffers();
    planned.set_memory(chip.memory());
    planned.set_bytes(buffer.bytes);
    planned.set_first_step(buffer.first_step);
    planned.set_last_step(buffer.last_step);
    if (buffer.tensor != kNoTensor) planned.set_tensor(buffer.tensor);
    if (buffer.over != kNoTensor) planned.set_over(buffer.over);
  }
  std::vector<TensorId> residents;
  for (const Operand* operand : ResidentsOf(placement)) {
    residents.push_back(operand->tensor);
  }
  std::sort(residents.begin(), residents.end());
  for (const TensorId tensor : residents) plan.add_resident(tensor);
  const std::map<int32_t, int64_t> needs = {
      {chip.memory(), choice.bytes},
      {chip.ram(), StepRoomOf(chip, choice.needs).bytes}};
  for (const auto& [memory, bytes] : needs) {
    if (bytes == 0 && memory == chip.ram()) continue;
    v1::RegionPlan::MemoryNeed& need = *plan.add_needs();
    need.set_memory(memory);
    need.set_bytes(bytes);
  }
  plan.set_predicted_cycles(chip.EngineCycles(clock.End()));
  plan.mutable_decisions()->PackFrom(ToProto(choice.decision, placement));
  return plan;
}

StepRoom StepRoomOf(const Chip& chip, const TileNeeds& needs) {
  StepRoom room;
  room.bytes = chip.view().record_bytes();
  if (needs.rearranged_bytes > 0) {
    room.array_offset = RoundUp(room.bytes, kStepRoomAlignment);
    room.bytes = room.array_offset + needs.rearranged_bytes;
  }
  return room;
}

absl::StatusOr<int64_t> EstimateRegion(const Graph& graph, Placement placement,
                                       int64_t bytes, ChoiceMemo& memo) {
  placement.costs = memo.CostsOf(placement);
  EK_ASSIGN_OR_RETURN(const Choice choice,
                      Choose(graph, placement, bytes, TileDecisions(), memo));
  return placement.chip->EngineCycles(choice.cycles);
}

absl::StatusOr<Form> FormOf(const v1::RegionPlan& plan) {
  v1::register_job::RegionDecisions decisions;
  if (!plan.decisions().UnpackTo(&decisions)) {
    return absl::InvalidArgumentError("the region's plan is another engine's");
  }
  const int32_t multiple = decisions.input_channels_multiple();
  if (multiple < 0 || multiple > target::kMaxInputChannelsMultiple) {
    return absl::InvalidArgumentError(
        absl::StrCat("a plan with input channels in multiples of ", multiple));
  }
  return Form{decisions.dense_blocks(), decisions.by_row(), multiple};
}

absl::StatusOr<Decision> DecisionOf(const Operation& operation,
                                    const v1::RegionPlan& plan) {
  v1::register_job::RegionDecisions decisions;
  if (!plan.decisions().UnpackTo(&decisions)) {
    return absl::InvalidArgumentError("the region's plan is another engine's");
  }
  const auto rooms_hold = [](int32_t rooms) {
    return rooms == 1 || rooms == 2;
  };
  Decision decision;
  decision.tiling = {decisions.rows(), decisions.columns(),
                     decisions.channels()};
  decision.channels_outer = decisions.channels_outer();
  decision.input_rooms = decisions.input_rooms();
  decision.constant_rooms = decisions.constant_rooms();
  decision.output_rooms = decisions.output_rooms();
  const Image& out = operation.out;
  const Tiling& tiling = decision.tiling;
  const bool holds =
      tiling.rows > 0 && tiling.rows <= out.h && tiling.columns > 0 &&
      tiling.columns <= out.w && tiling.channels > 0 &&
      tiling.channels <= out.c && IsLegal(operation, tiling) &&
      rooms_hold(decision.input_rooms) && rooms_hold(decision.constant_rooms) &&
      rooms_hold(decision.output_rooms);
  if (holds) {
    // The plan has one job per tile: checked before tiles are built, which
    // bounds them.
    const auto tiles = CheckedProduct({CeilDiv(out.h, tiling.rows),
                                       CeilDiv(out.w, tiling.columns),
                                       CeilDiv(out.c, tiling.channels)});
    if (tiles && *tiles <= plan.steps_size()) return decision;
  }
  return absl::InvalidArgumentError(
      "the region's plan belongs to another graph");
}

}  // namespace edgekiln::compiler::register_job
