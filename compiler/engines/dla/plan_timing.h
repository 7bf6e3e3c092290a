#ifndef EK_COMPILER_ENGINES_DLA_PLAN_TIMING_H_
#define EK_COMPILER_ENGINES_DLA_PLAN_TIMING_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "compiler/engines/dla/chip.h"
#include "compiler/engines/dla/schedule.h"

// What a plan takes once its commands are written, by the chip's own timing.
namespace edgekiln::compiler::dla {

// Plans are made for sizes of five significant bits, the same whatever the chip
// has beyond: so that a chip with more SRAM has the plans of one with less.
int64_t RoundSize(int64_t bytes);
// The next smaller size of three significant bits: four from one power of two
// to the next. Less than `bytes`; 0 below 2.
int64_t CoarseSizeBelow(int64_t bytes);

// A plan, and what it was found to take.
struct TimedPlan {
  SubgraphPlan plan;
  int64_t sram_bytes = 0;  // That it was made for: at most the chip's.
  int64_t cycles = 0;
  int64_t dma_bytes = 0;   // Both ways.
  int64_t peak_bytes = 0;  // Of SRAM.
  // Of the cycles, those of each layer's commands.
  std::vector<int64_t> layer_cycles;
  // Of the DMA and of the compute unit, by layer.
  struct UnitCycles {
    int64_t dma = 0;
    int64_t compute = 0;
  };
  std::vector<UnitCycles> unit_cycles;
  // What no plan can do without: bound.h.
  int64_t bound_cycles = 0;
};

// Fewer cycles, or as many and fewer DMA bytes.
bool IsBetter(const TimedPlan& a, const TimedPlan& b);

// Compute commands of a layer that is in no chain, and of a plan.
int64_t ComputeCommands(const Layer& layer, const Tiling& tiling);
int64_t ComputeCommands(const SubgraphPlan& plan);

// With the schedule's cycles, or nothing if its buffers do not fit, or there
// are too many commands. `storage` as StorageOf() gave it. The schedule is left
// in `scratch`, whose memory it takes.
absl::StatusOr<std::optional<TimedPlan>> TimeIfFits(
    const Chip& chip, const std::vector<TensorId>& storage, SubgraphPlan plan,
    int64_t sram_bytes, Schedule& scratch);

// INTERNAL if a value of its stream does not fit its register: timing does not
// look at that. `timed` as TimeIfFits() gave it for this `storage`; `scratch`
// as there.
absl::Status CheckRegisters(const Chip& chip,
                            const std::vector<TensorId>& storage,
                            const TimedPlan& timed, Schedule& scratch);

// The fastest way to run loads ahead; nothing if the tilings' buffers find no
// places. `commands` is raised by those that were scheduled.
absl::StatusOr<std::optional<TimedPlan>> RunAhead(
    const Chip& chip, const std::vector<TensorId>& storage, SubgraphPlan plan,
    int64_t sram_bytes, Schedule& scratch, int64_t& commands);

}  // namespace edgekiln::compiler::dla

#endif  // EK_COMPILER_ENGINES_DLA_PLAN_TIMING_H_
