#ifndef EK_SIMFARM_SIMULATORS_RV32_BLOCK_CACHE_H_
#define EK_SIMFARM_SIMULATORS_RV32_BLOCK_CACHE_H_

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "simfarm/simulators/rv32/block.h"
#include "simfarm/simulators/rv32/core.h"
#include "simfarm/simulators/rv32/costs.h"
#include "simfarm/simulators/rv32/memory.h"

namespace edgekiln::simfarm::rv32 {

// What was executed at an address. `taken`, of a branch, and `cycles` are known
// where runs are profiled.
struct PcTally {
  int64_t executions = 0;
  int64_t taken = 0;
  int64_t cycles = 0;
};
using PcCounts = std::map<uint32_t, PcTally>;

// Decodes blocks from memory and keeps them, with their counts, until Flush().
// Blocks are decoded for the core's state: whoever switches float on or off, or
// makes frm valid or invalid, flushes. Not thread-safe.
class BlockCache {
 public:
  struct Options {
    const void* const* handlers = nullptr;  // Indexed by Handler.
    std::optional<CycleCosts> costs;        // Absent: one cycle each.
    int64_t max_wait_cycles = 0;            // Of one access to data.
    bool check_stack = false;
    bool profile = false;
  };

  // All must outlive this.
  BlockCache(Memory* memory, const Core* core, Options options);

  // The block that begins at `pc`. Never null: where no instruction can be
  // decoded, it is empty and stops.
  Block* Find(uint32_t pc);
  // The same with one instruction at most.
  Block* FindStep(uint32_t pc);
  // Find() for a jump; null if the driver is to look at `pc` first, because it
  // is hooked or the cache is full.
  Block* FindForJump(uint32_t pc);

  // Jumps to `pc` come to the driver from now on. Flushes if needed.
  void Hook(uint32_t pc);
  bool IsHooked(uint32_t pc) const { return hooks_.count(pc) != 0; }
  void ClearHooks();

  bool IsFull() const { return cached_instructions_ > kMaxInstructions; }
  // Forgets all blocks. Not while one is executed.
  void Flush();

  static void NoteLeftEarly(Block* block, int64_t done);
  PcCounts Counts() const;
  void ClearCounts();

  // Blocks that jalr found last, by address.
  static constexpr uint32_t kJumpEntries = 1024;
  static uint32_t JumpEntry(uint32_t pc) { return pc / 2 % kJumpEntries; }
  std::array<Block*, kJumpEntries>& jumps() { return jumps_; }

  // What is at `pc`, decoded for the core's state; or why there is nothing.
  struct Fetched {
    AccessProblem problem = AccessProblem::kNone;
    uint32_t problem_address = 0;
    uint32_t bits = 0;
    std::optional<Instruction> instruction;  // Absent: illegal, or a problem.
  };
  Fetched Fetch(uint32_t pc) const;
  // Whether blocks leave this instruction to the driver.
  bool NeedsDriver(const Instruction& instruction, uint32_t pc) const;
  int32_t CyclesOf(const Instruction& instruction, uint32_t pc) const;

 private:
  static constexpr int64_t kMaxInstructions = 1 << 20;
  struct Free {
    void operator()(Block* block) const;
  };
  using BlockPointer = std::unique_ptr<Block, Free>;
  using BlockMap = std::unordered_map<uint32_t, BlockPointer>;

  BlockPointer Build(uint32_t pc, int max_instructions);
  Block* FindIn(BlockMap* blocks, uint32_t pc, int max_instructions);
  int32_t LoadUseStall(const Instruction& load, const Fetched& next) const;
  void FillSlots(Block* block, bool stops);
  Slot MakeSlot(const BlockInstruction& at) const;
  void AddCounts(const Block& block, PcCounts* counts) const;

  Memory* const memory_;
  const Core* const core_;
  const Options options_;
  BlockMap blocks_;
  BlockMap steps_;
  int64_t cached_instructions_ = 0;
  std::set<uint32_t> hooks_;
  PcCounts flushed_counts_;
  std::array<Block*, kJumpEntries> jumps_ = {};
};

}  // namespace edgekiln::simfarm::rv32

#endif  // EK_SIMFARM_SIMULATORS_RV32_BLOCK_CACHE_H_
