#include "compiler/engines/dla/plan_timing.h"

#include <algorithm>
#include <bit>
#include <tuple>
#include <utility>

#include "base/rounding.h"
#include "base/status_macros.h"
#include "compiler/engines/dla/encode.h"
#include "compiler/engines/dla/hazards.h"

namespace edgekiln::compiler::dla {
namespace {

// How far loads run ahead. Many buffers need room that is left over; fenced is
// for want of room between the layers.
struct Ahead {
  int lookahead;
  int buffers;
  bool fenced;
};
constexpr Ahead kAhead[] = {
    {32, kMaxBuffers, false}, {32, 2, false}, {1, 2, false}, {1, 2, true}};

int64_t DmaBytes(const Schedule& schedule) {
  int64_t bytes = 0;
  for (const ScheduledCommand& command : schedule.commands) {
    if (!command.is_dma()) continue;
    bytes += command.registers[DlaRegister::kDmaRows] *
             command.registers[DlaRegister::kDmaRowBytes];
  }
  return bytes;
}

// With tensors at address 0 of system memory.
Schedule ScheduleOf(const SubgraphPlan& plan,
                    const std::vector<TensorId>& storage, int64_t sram_bytes,
                    Schedule scratch) {
  SystemMap system;
  for (const TensorId tensor : storage) system.tensors[tensor] = 0;
  return BuildSchedule(plan, system, storage, sram_bytes, std::move(scratch));
}

// Down to this many significant bits.
int64_t Rounded(int64_t bytes, int bits) {
  const int low_bits =
      std::max<int>(std::bit_width(static_cast<uint64_t>(bytes)), bits) - bits;
  return bytes >> low_bits << low_bits;
}

}  // namespace

int64_t RoundSize(int64_t bytes) { return Rounded(bytes, 5); }

int64_t CoarseSizeBelow(int64_t bytes) {
  return bytes < 2 ? 0 : Rounded(bytes - 1, 3);
}

bool IsBetter(const TimedPlan& a, const TimedPlan& b) {
  return std::tie(a.cycles, a.dma_bytes) < std::tie(b.cycles, b.dma_bytes);
}

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
  auto chain = plan.chains.begin();
  const auto count = static_cast<int32_t>(plan.layers.size());
  for (int32_t l = 0; l < count; ++l) {
    if (chain == plan.chains.end() || l < chain->first) {
      commands += ComputeCommands(plan.layers[l], plan.tilings[l]);
      continue;
    }
    const int64_t pieces = PiecesOf(plan.layers, *chain);
    const RowCounts rows = CountRows(plan.layers, *chain);
    commands += rows.copies;
    for (; l <= chain->last; ++l) {
      Layer piece = plan.layers[l];
      piece.out.h = rows.most[l - chain->first + 1];
      // One more than a stream can have is enough to know.
      commands += pieces * std::min(ComputeCommands(piece, plan.tilings[l]),
                                    target::kMaxDlaStreamCommands + 1);
    }
    l = chain->last;
    ++chain;
  }
  return commands;
}

absl::StatusOr<std::optional<TimedPlan>> TimeIfFits(
    const Chip& chip, const std::vector<TensorId>& storage, SubgraphPlan plan,
    int64_t sram_bytes, Schedule& scratch) {
  // Before any of them is made.
  if (ComputeCommands(plan) > target::kMaxDlaStreamCommands) {
    return std::optional<TimedPlan>();
  }
  scratch = ScheduleOf(plan, storage, sram_bytes, std::move(scratch));
  const Schedule& schedule = scratch;
  if (!schedule.fits ||
      std::ssize(schedule.commands) > target::kMaxDlaStreamCommands) {
    return std::optional<TimedPlan>();
  }
  const OffsetPlan offsets =
      AllocateOffsetsWithin(schedule.buffers, sram_bytes);
  if (offsets.peak_bytes > sram_bytes) return std::optional<TimedPlan>();
  EK_ASSIGN_OR_RETURN(const StreamTime time,
                      TimeStream(chip, schedule, offsets.offsets,
                                 WaitCounts(schedule, offsets.offsets)));
  TimedPlan timed;
  timed.sram_bytes = sram_bytes;
  timed.cycles = time.cycles;
  timed.dma_bytes = DmaBytes(schedule);
  timed.peak_bytes = offsets.peak_bytes;
  timed.layer_cycles.resize(plan.layers.size());
  timed.unit_cycles.resize(plan.layers.size());
  for (size_t i = 0; i < schedule.commands.size(); ++i) {
    const ScheduledCommand& command = schedule.commands[i];
    timed.layer_cycles[command.layer] += time.command_cycles[i];
    TimedPlan::UnitCycles& units = timed.unit_cycles[command.layer];
    (command.is_dma() ? units.dma : units.compute) += time.occupancy_cycles[i];
  }
  timed.plan = std::move(plan);
  return std::optional<TimedPlan>(std::move(timed));
}

absl::Status CheckRegisters(const Chip& chip,
                            const std::vector<TensorId>& storage,
                            const TimedPlan& timed, Schedule& scratch) {
  scratch =
      ScheduleOf(timed.plan, storage, timed.sram_bytes, std::move(scratch));
  const OffsetPlan offsets =
      AllocateOffsetsWithin(scratch.buffers, timed.sram_bytes);
  return EncodeStream(chip, scratch, offsets.offsets,
                      WaitCounts(scratch, offsets.offsets))
      .status();
}

absl::StatusOr<std::optional<TimedPlan>> RunAhead(
    const Chip& chip, const std::vector<TensorId>& storage, SubgraphPlan plan,
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
                        TimeIfFits(chip, storage, plan, sram_bytes, scratch));
    commands += std::ssize(scratch.commands);
    if (timed && (!best || IsBetter(*timed, *best))) best = std::move(timed);
  }
  return best;
}

}  // namespace edgekiln::compiler::dla
