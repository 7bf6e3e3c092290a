#ifndef EK_SIMFARM_SIMULATORS_RV32_BLOCK_H_
#define EK_SIMFARM_SIMULATORS_RV32_BLOCK_H_

// Decoded code: straight runs of instructions, each linked to those that follow
// it.

#include <cstdint>
#include <vector>

#include "simfarm/simulators/rv32/isa.h"
#include "simfarm/simulators/rv32/memory.h"

namespace edgekiln::simfarm::rv32 {

struct Block;

// One instruction as the interpreter wants it. Slot i of a block is its
// instruction i; pseudo slots come behind the last. A jump or a branch has its
// exits, {imm: address, link}, in its own and the next slot.
struct Slot {
  const void* handler = nullptr;
  union {
    Window* window = nullptr;  // Loads and stores: of the last address.
    Block* link;               // Exits: the block there, or null.
  };
  int32_t imm = 0;
  uint8_t rd = 0;  // kDiscard for x0.
  uint8_t rs1 = 0;
  uint8_t rs2 = 0;
  uint8_t extra = 0;  // Of float instructions: rs3; their rm is in imm.
};

struct BlockInstruction {
  uint32_t pc = 0;
  int32_t cycles_before = 0;  // From the beginning of the block.
  Instruction instruction;
};

// The slots lie behind it in memory.
struct Block {
  Slot* slots() { return reinterpret_cast<Slot*>(this + 1); }

  int32_t instructions = 0;
  int32_t cycles = 0;  // Without a taken branch and waits for data.
  int64_t max_cycles = 0;
  int64_t entries = 0;
  uint32_t pc = 0;
  uint32_t end = 0;  // Behind the last instruction.
  std::vector<BlockInstruction> code;
  // left_early[i]: how many entries ended behind i instructions. Empty: none.
  std::vector<int64_t> left_early;
  // Where runs are profiled: how often the branch at the end was taken, and the
  // wait cycles for data of each instruction.
  int64_t taken = 0;
  std::vector<int64_t> waits;
};

// What a slot does. Operations of the instruction set have their own numbers.
enum Handler : uint16_t {
  kFirstOpHandler = 0,
  // Pseudo slots, no instructions: exits.
  kFallThrough = kNumOps,
  kCheckStack,  // Exits if sp is above the stack's low end.
  kStop,        // The next instruction is not for blocks.
  kAddiStack,   // addi to sp, with the check.
  kFirstPair,
};

// Pairs of neighbours that one handler does: X(first, second).
// clang-format off
#define EK_RV32_PAIRS(X)                                                     \
  X(Lb, Lb) X(Lbu, Lbu) X(Lb, Lw) X(Lw, Lb) X(Lw, Lw) X(Lh, Lh) X(Lhu, Lhu)  \
  X(Lb, Addi) X(Lbu, Addi) X(Lw, Addi) X(Addi, Lb) X(Addi, Lbu) X(Addi, Lw)  \
  X(Addi, Addi) X(Mul, Add) X(Mul, Mul) X(Add, Add) X(Add, Mul) X(Lb, Mul)   \
  X(Add, Lb) X(Add, Lbu) X(Add, Lw) X(Add, Addi) X(Addi, Add)                \
  X(Addi, Bne) X(Add, Bne) X(Addi, Bltu) X(Addi, Blt) X(Addi, Beq)           \
  X(Addi, Bgeu) X(Addi, Bge) X(Andi, Bne) X(Andi, Beq) X(Lw, Bne) X(Lw, Beq) \
  X(Sw, Addi) X(Sb, Addi) X(Sw, Sw) X(Addi, Sw) X(Addi, Sb) X(Add, Sw)       \
  X(Slli, Add) X(Lui, Addi) X(Slli, Srli) X(Slli, Srai) X(Srli, Andi)        \
  X(Srli, Xor) X(Slli, Xor) X(Xor, Slli) X(Xor, Srli) X(Addi, Jal)           \
  X(Sw, Jal) X(Add, Jal) X(Xor, Add) X(Add, Slli) X(Mul, Addi) X(Sub, Add)   \
  X(Flw, Flw) X(Flw, Addi) X(FmulS, FaddS)
// clang-format on

// The handler for both, or that of `first` alone if they are not a pair.
Handler FindPair(Op first, Op second);

}  // namespace edgekiln::simfarm::rv32

#endif  // EK_SIMFARM_SIMULATORS_RV32_BLOCK_H_
