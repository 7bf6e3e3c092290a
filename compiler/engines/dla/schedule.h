#ifndef EK_COMPILER_ENGINES_DLA_SCHEDULE_H_
#define EK_COMPILER_ENGINES_DLA_SCHEDULE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "compiler/engines/dla/chain.h"
#include "compiler/engines/dla/chip.h"
#include "compiler/engines/dla/compute_command.h"
#include "compiler/engines/dla/layer.h"
#include "compiler/engines/dla/tiling.h"
#include "compiler/planning/offset_allocator.h"

// From tiled layers to one ordered list of DMA and compute commands over
// buffers. Loads run ahead of the computation as far as the SRAM allows;
// which commands must wait for which follows from the bytes they touch
// (hazards.h), not from how this list was made.
namespace edgekiln::compiler::dla {

// Of one operand of one layer.
inline constexpr int kMaxBuffers = 8;

// A subgraph with everything decided.
struct SubgraphPlan {
  std::vector<Layer> layers;    // In order of execution.
  std::vector<Tiling> tilings;  // One per layer; unused for kAlias.
  // Tensors, by storage, that stay in SRAM from their first to their last use.
  absl::flat_hash_set<TensorId> resident;
  // Tensors, by storage, that somebody outside reads: written to system memory
  // even if resident.
  absl::flat_hash_set<TensorId> external;
  // In order. What their layers pass on is not among `resident`.
  std::vector<Chain> chains;
  // Loads run this many steps ahead of the computation.
  int lookahead = 0;
  // Of an operand that its tiling gives two; more where there is room.
  int buffers = 2;
  // Loads do not run ahead of the layer that they belong to.
  bool fenced = false;
  // Nothing overlaps and no buffer outlives its tile: the least memory.
  bool strict = false;
  // By layer: what no plan can do without (bound.h). Empty: not known.
  std::vector<int64_t> bounds;
};

// Where activations and weights lie in system memory.
struct SystemMap {
  absl::flat_hash_map<TensorId, uint64_t> tensors;  // By storage.
  int32_t ram = 0;      // The memory they are in, as an index of the machine.
  uint64_t blocks = 0;  // Address of the first weight block.
};

// A weight block in flash; addresses follow one another in order.
struct Block {
  int32_t layer = 0;
  BlockChannels channels;
  uint64_t address = 0;
};

// Bytes [begin, end) of a buffer. Strided accesses count as their hull.
struct BufferAccess {
  int32_t buffer = 0;
  bool writes = false;
  int64_t begin = 0;
  int64_t end = 0;
};

// A tile of a layer's output, complete once its command is; without rows that
// an earlier one had, so that it may be empty.
struct TileTap {
  Slice slice;
  int32_t buffer = 0;
  Placement placement;
};

struct ScheduledCommand {
  DlaCommand command = DlaCommand::kDmaRead;
  bool half_even = false;
  int32_t layer = 0;  // Index into SubgraphPlan::layers.
  // SRAM addresses are relative to the buffer that `bases` names for them.
  RegisterFile registers;
  struct Base {
    DlaRegister reg;
    int32_t buffer;
  };
  absl::InlinedVector<Base, 4> bases;
  absl::InlinedVector<BufferAccess, 4> accesses;
  std::optional<TileTap> tap;

  bool is_dma() const {
    return command == DlaCommand::kDmaRead || command == DlaCommand::kDmaWrite;
  }
};

struct Schedule {
  // False: some tile needs more than all the SRAM, and the rest is empty.
  bool fits = true;
  // Without OP_END. More than a stream can have: incomplete.
  std::vector<ScheduledCommand> commands;
  std::vector<BufferLife> buffers;  // Instants are command indices.
  std::vector<Block> blocks;
  uint64_t blocks_end = 0;  // First system address after the blocks.
  int most_buffers = 0;     // That some operand of some layer takes turns in.
};

// `sram_bytes` bounds how far loads run ahead; whether all fits is known only
// after allocation. `storage` as StorageOf gave it. The result takes the memory
// of `reused`: schedules are large.
Schedule BuildSchedule(const SubgraphPlan& plan, const SystemMap& system,
                       const std::vector<TensorId>& storage, int64_t sram_bytes,
                       Schedule reused = {});

}  // namespace edgekiln::compiler::dla

#endif  // EK_COMPILER_ENGINES_DLA_SCHEDULE_H_
