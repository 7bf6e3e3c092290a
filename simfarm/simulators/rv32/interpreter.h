#ifndef EK_SIMFARM_SIMULATORS_RV32_INTERPRETER_H_
#define EK_SIMFARM_SIMULATORS_RV32_INTERPRETER_H_

// Executes blocks: the inner loop of the simulator.

#include <cstdint>
#include <optional>
#include <string>

#include "simfarm/simulators/rv32/block_cache.h"
#include "simfarm/simulators/rv32/bus.h"
#include "simfarm/simulators/rv32/core.h"
#include "simfarm/simulators/rv32/fault.h"
#include "simfarm/simulators/rv32/memory.h"

namespace edgekiln::simfarm::rv32 {

// Why blocks are left. The core's pc is that of the next instruction and all
// counts are up to date.
enum class BlockExit {
  kLook,     // The driver looks at time, limits, hooks and pc again.
  kStop,     // The instruction at pc is the driver's.
  kProblem,  // See `problem`; the instruction at pc has done nothing.
};

struct Problem {
  FaultKind kind = FaultKind::kLoadAccess;
  uint32_t address = 0;
  std::string detail{};
};

// What a stretch of execution works on, and what it found.
struct Stretch {
  Core* core = nullptr;
  Memory* memory = nullptr;
  Bus* bus = nullptr;
  BlockCache* cache = nullptr;
  bool checked = false;

  // The stretch ends before it retires more instructions, and, where a cost
  // table is used, before an instruction could begin at or after the deadline.
  int64_t max_instructions = 0;
  int64_t deadline_cycles = 0;
  int64_t taken_cycles = 0;      // Of a taken branch, beyond one not taken.
  uint32_t misaligned_jump = 0;  // Address bits of jalr's target that trap.
  uint32_t stack_low = 0;

  Problem problem;
  bool code_changed = false;         // A store hit decoded code.
  std::optional<int32_t> exit_code;  // Of a device.
};

struct InterpreterMode {
  bool costs = false;  // Count cycles by table and wait states.
  bool checked = false;
  bool profile = false;  // Count taken branches and waits of each address.
};

// Executes from `block`. Its cache was made with Handlers(mode).
BlockExit Interpret(InterpreterMode mode, Stretch* stretch, Block* block);

const void* const* Handlers(InterpreterMode mode);

}  // namespace edgekiln::simfarm::rv32

#endif  // EK_SIMFARM_SIMULATORS_RV32_INTERPRETER_H_
