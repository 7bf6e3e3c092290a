#ifndef EK_COMPILER_ENGINES_DLA_TILING_COSTS_H_
#define EK_COMPILER_ENGINES_DLA_TILING_COSTS_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "base/rounding.h"
#include "compiler/engines/dla/chip.h"
#include "compiler/engines/dla/cycle_limit.h"
#include "compiler/engines/dla/layer.h"
#include "compiler/engines/dla/tiling.h"

// What the tilings of one layer need and take, by the chip's own timing.
namespace edgekiln::compiler::dla {

// A tiling but for its buffers: indices into the cuts of a TilingCosts.
struct Candidate {
  size_t rows = 0;
  size_t columns = 0;
  size_t channels = 0;
  size_t inputs = 0;
  TileOrder order = TileOrder::kChannelsOuter;
  bool whole_input = false;
};

// The moves of one operand.
struct OperandWork {
  int64_t buffer_bytes = 0;
  int64_t all_bytes = 0;
  int64_t transfers = 0;
  int64_t buffers_used = 0;  // How often another load or tile takes a buffer.
  // Of the transfers, those that fill as many buffers as an operand can have:
  // more cannot be under way where layers meet.
  int64_t border_transfers = 0;
  int64_t cycles = 0;          // Of the DMA.
  int64_t exposed_cycles = 0;  // Before the first tile, or after the last.
};

struct Work {
  std::array<OperandWork, 3> operands;  // Input, block, output.
  int64_t sums_bytes = 0;               // Of all buffers.
  // With one buffer for each operand, packed.
  int64_t least_bytes() const {
    return operands[0].buffer_bytes + operands[1].buffer_bytes +
           operands[2].buffer_bytes + sums_bytes;
  }
  int64_t moving_cycles() const {
    return operands[0].cycles + operands[1].cycles + operands[2].cycles;
  }
  int64_t exposed_cycles() const {
    return operands[0].exposed_cycles + operands[1].exposed_cycles +
           operands[2].exposed_cycles;
  }
  int64_t dma_bytes() const {
    return operands[0].all_bytes + operands[1].all_bytes +
           operands[2].all_bytes;
  }
};

// The cuts of a layer, and what their combinations cost. Sizes are those of
// equal cuts, for channels also these rounded up to whole arrays; where there
// are very many, a selection. Cycles beyond kMostCycles count as so many.
// `chip` and `layer` must outlive it. Not thread-safe.
class TilingCosts {
 public:
  enum class Count {
    kAsIssued,  // A command is never faster than the front end issues it.
    kCommands,  // Of all commands, however fast they are issued. For bounds.
    // Of the array alone: commands of few elements, which add up and requantize
    // sums, do not count. For bounds.
    kArray,
  };
  TilingCosts(const Chip& chip, const Layer& layer, Cuts cuts,
              Count count = Count::kAsIssued);

  // Large sizes first.
  const std::vector<AxisCut>& rows() const { return rows_; }
  const std::vector<AxisCut>& columns() const { return columns_; }
  const std::vector<AxisCut>& channels() const { return channels_; }
  const std::vector<AxisCut>& inputs() const { return inputs_; }

  Tiling TilingOf(const Candidate& candidate) const;
  // Of the compute unit, for the whole layer. The same for both orders.
  absl::StatusOr<int64_t> ComputeCycles(const Candidate& candidate);
  // Of them, those that add and requantize sums.
  absl::StatusOr<int64_t> SummingCycles(const Candidate& candidate) const;
  // The same where rows and columns are whole: what the candidate's cut of the
  // input channels costs at least.
  absl::StatusOr<int64_t> AddingCycles(const Candidate& candidate);
  // About what each tile of rows and columns beyond the first adds to the
  // compute cycles: filling the array once more, for every command of it. At
  // most that.
  absl::StatusOr<int64_t> CyclesPerTile(const Candidate& candidate);
  // Of the last command with weights, or for a layer without them; all of those
  // of its step.
  absl::StatusOr<int64_t> LastStepCycles(const Candidate& candidate) const {
    return StepCycles({.rows = rows_[candidate.rows].last,
                       .columns = columns_[candidate.columns].last,
                       .channels = channels_[candidate.channels].last,
                       .inputs = inputs_[candidate.inputs].last});
  }
  // Of the array alone, for a layer that is not cut.
  absl::StatusOr<int64_t> UncutArrayCycles() const {
    return StepCycles({.rows = layer_.out.h,
                       .columns = layer_.out.w,
                       .channels = layer_.out.c,
                       .inputs = layer_.in.c},
                      Count::kArray);
  }
  Work WorkOf(const Candidate& candidate, const Residency& residency) const;
  // Of WorkOf(): what depends on the order, and on how the input is held; the
  // block does not on the latter.
  OperandWork InputWork(const Candidate& candidate,
                        const Residency& residency) const;
  OperandWork BlockWork(const Candidate& candidate,
                        const Residency& residency) const;
  OperandWork OutputWork(const Candidate& candidate,
                         const Residency& residency) const;
  // At most WorkOf().exposed_cycles(), without the block's, in either order and
  // however the input is held. Never more for smaller rows or columns.
  int64_t LeastExposedCycles(const Candidate& candidate,
                             const Residency& residency) const;
  // WorkOf().least_bytes().
  int64_t LeastBytes(const Candidate& candidate,
                     const Residency& residency) const;
  // Registers hold the pitches of the candidate's sums.
  bool SumsFit(const Candidate& candidate) const;
  int64_t DmaCycles(int64_t transfers, int64_t bytes) const {
    // Divisions take long, and most widths are powers of two.
    const int64_t moving =
        dma_shift_ < 0 ? CeilDiv(bytes, dma_bytes_per_cycle_)
                       : (bytes + dma_bytes_per_cycle_ - 1) >> dma_shift_;
    int64_t cycles = 0;
    if (__builtin_mul_overflow(transfers, dma_setup_cycles_, &cycles) ||
        __builtin_add_overflow(cycles, moving, &cycles)) {
      return kMostCycles;
    }
    return std::min(cycles, kMostCycles);
  }

 private:
  struct Shape {
    int64_t rows;
    int64_t columns;
    int64_t channels;
    int64_t inputs;
  };
  // Of the commands for one tile over `inputs` input channels; more than one
  // where the layer is computed by channel.
  absl::StatusOr<int64_t> StepCycles(const Shape& shape) const {
    return StepCycles(shape, count_);
  }
  absl::StatusOr<int64_t> StepCycles(const Shape& shape, Count count) const;
  // Over all tiles of the candidate: `cycles_of` their Shape, inputs left out.
  template <typename CyclesOfTile>
  absl::StatusOr<int64_t> SumOverTiles(const Candidate& candidate,
                                       const CyclesOfTile& cycles_of) const;
  // Of a tile's steps, with what adds and requantizes their sums.
  absl::StatusOr<int64_t> TileCycles(const Shape& pixels,
                                     size_t input_cut) const;
  // Of that, what adds and requantizes sums.
  absl::StatusOr<int64_t> SummingCycles(const Shape& pixels,
                                        const AxisCut& inputs) const;
  absl::StatusOr<int64_t> CommandCycles(DlaCommand command,
                                        const RegisterFile& registers,
                                        Count count) const;

  // Bytes of all buffers of sums.
  int64_t SumsOf(const Candidate& candidate) const;
  // That a tile reads.
  int64_t InputChannels(const Candidate& candidate) const {
    return channelwise_ ? channels_[candidate.channels].most_input
                        : inputs_[candidate.inputs].size;
  }

  const Chip& chip_;
  const Layer& layer_;
  const Count count_;
  const bool channelwise_;
  const int64_t dma_setup_cycles_;
  const int64_t dma_bytes_per_cycle_;
  const int dma_shift_;  // -1: no power of two.
  const int64_t all_block_bytes_;
  std::vector<AxisCut> rows_;
  std::vector<AxisCut> columns_;
  std::vector<AxisCut> channels_;
  std::vector<AxisCut> inputs_;
  // By candidate without its order.
  absl::flat_hash_map<uint64_t, int64_t> compute_cycles_;
  // Of sums of all pixels: adding two of them, and requantizing the result.
  struct Adding {
    int64_t once = -1;  // Unknown.
    int64_t requantizing = 0;
  };
  // By cut of the channels; -1: unknown.
  std::vector<Adding> adding_;
  std::vector<int64_t> filling_cycles_;  // Of one command for each tile.
};

}  // namespace edgekiln::compiler::dla

#endif  // EK_COMPILER_ENGINES_DLA_TILING_COSTS_H_
