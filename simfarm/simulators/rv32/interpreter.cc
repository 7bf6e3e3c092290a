#include "simfarm/simulators/rv32/interpreter.h"

#include <cstring>

#include "simfarm/simulators/rv32/slow_access.h"
#include "simfarm/simulators/rv32/soft_float.h"

// Threaded code: each handler ends by jumping to the next one, so that the
// host predicts each jump by itself. Handlers are labels of one function; their
// addresses leave it through `table`.

namespace edgekiln::simfarm::rv32 {
namespace {

constexpr uint32_t Signed(bool value) { return value ? 1 : 0; }

int32_t AsInt(uint32_t value) { return static_cast<int32_t>(value); }

uint32_t MulHigh(int64_t a, int64_t b) {
  return static_cast<uint32_t>(static_cast<uint64_t>(a * b) >> 32);
}

uint32_t MulHighUnsigned(uint64_t a, uint64_t b) {
  return static_cast<uint32_t>(a * b >> 32);
}

constexpr uint32_t kMinInt = 0x80000000;

uint32_t Divide(uint32_t a, uint32_t b) {
  if (b == 0) return ~0u;
  if (a == kMinInt && b == ~0u) return a;
  return static_cast<uint32_t>(AsInt(a) / AsInt(b));
}

uint32_t Remainder(uint32_t a, uint32_t b) {
  if (b == 0) return a;
  if (a == kMinInt && b == ~0u) return 0;
  return static_cast<uint32_t>(AsInt(a) % AsInt(b));
}

template <typename Type>
bool AllDefined(const uint8_t* defined) {
  Type flags = 0;
  std::memcpy(&flags, defined, sizeof(flags));
  return flags == static_cast<Type>(~Type{0});
}

template <typename Type>
Type Load(const uint8_t* bytes) {
  Type value = 0;
  std::memcpy(&value, bytes, sizeof(value));
  return value;
}

template <typename Type>
void Store(uint8_t* bytes, uint32_t value) {
  const auto narrow = static_cast<Type>(value);
  std::memcpy(bytes, &narrow, sizeof(narrow));
}

// What handlers do with their slot, `o`. Loads and stores leave for slow_access
// if their window does not cover the address.
#define EK_A x[o->rs1]
#define EK_B x[o->rs2]
#define EK_RD x[o->rd]
#define EK_IMM static_cast<uint32_t>(o->imm)
#define EK_WAIT(wait)                                                  \
  if (kCosts) {                                                        \
    cycles += (wait);                                                  \
    if (kProfile) {                                                    \
      block->waits[static_cast<size_t>(o - block->slots())] += (wait); \
    }                                                                  \
  }
#define EK_ACCESS(log2)                                \
  uint32_t offset = EK_A + EK_IMM;                     \
  Window* const window = o->window;                    \
  if (!window->Contains<log2>(&offset)) [[unlikely]] { \
    op = o;                                            \
    goto slow_access;                                  \
  }                                                    \
  EK_WAIT(window->wait_cycles)
#define EK_LOAD(log2, Type, Unsigned, target)                        \
  {                                                                  \
    EK_ACCESS(log2);                                                 \
    if (kChecked && !AllDefined<Unsigned>(window->defined + offset)) \
        [[unlikely]] {                                               \
      EK_WAIT(-window->wait_cycles)                                  \
      op = o;                                                        \
      goto slow_access;                                              \
    }                                                                \
    target = static_cast<uint32_t>(                                  \
        static_cast<int32_t>(Load<Type>(window->bytes + offset)));   \
  }
#define EK_STORE(log2, Type, value)                                          \
  {                                                                          \
    EK_ACCESS(log2);                                                         \
    if (kChecked) std::memset(window->defined + offset, 0xff, sizeof(Type)); \
    Store<Type>(window->bytes + offset, value);                              \
  }
#define EK_GO(slot)                   \
  {                                   \
    exit = (slot);                    \
    Block* const next = exit->link;   \
    if (next == nullptr) [[unlikely]] \
      goto resolve;                   \
    EK_ENTER(next);                   \
  }
#define EK_ENTER(next)                                                       \
  block = (next);                                                            \
  left -= block->instructions;                                               \
  if (left < 0) [[unlikely]]                                                 \
    goto out_of_fuel;                                                        \
  if (kCosts) {                                                              \
    if (cycles + block->max_cycles >= stretch->deadline_cycles) [[unlikely]] \
      goto out_of_fuel;                                                      \
    cycles += block->cycles;                                                 \
  }                                                                          \
  ++block->entries;                                                          \
  op = block->slots();                                                       \
  goto * op->handler
#define EK_BRANCH(condition)                       \
  {                                                \
    if (condition) {                               \
      if (kCosts) cycles += stretch->taken_cycles; \
      if (kProfile) ++block->taken;                \
      EK_GO(o);                                    \
    }                                              \
    EK_GO(o + 1);                                  \
  }

#define EK_DO_Lui EK_RD = EK_IMM;
#define EK_DO_Auipc EK_RD = EK_IMM;
#define EK_DO_Jal \
  EK_RD = EK_IMM; \
  EK_GO(o + 1)
#define EK_DO_Jalr                                            \
  {                                                           \
    target = (EK_A + EK_IMM) & ~1u;                           \
    if (target & stretch->misaligned_jump) [[unlikely]]       \
      goto stop_here;                                         \
    EK_RD = static_cast<uint32_t>((o + 1)->imm);              \
    Block* const next = jumps[BlockCache::JumpEntry(target)]; \
    if (next == nullptr || next->pc != target) [[unlikely]]   \
      goto resolve_jump;                                      \
    EK_ENTER(next);                                           \
  }
#define EK_DO_Beq EK_BRANCH(EK_A == EK_B)
#define EK_DO_Bne EK_BRANCH(EK_A != EK_B)
#define EK_DO_Blt EK_BRANCH(AsInt(EK_A) < AsInt(EK_B))
#define EK_DO_Bge EK_BRANCH(AsInt(EK_A) >= AsInt(EK_B))
#define EK_DO_Bltu EK_BRANCH(EK_A < EK_B)
#define EK_DO_Bgeu EK_BRANCH(EK_A >= EK_B)
#define EK_DO_Lb EK_LOAD(0, int8_t, uint8_t, EK_RD)
#define EK_DO_Lh EK_LOAD(1, int16_t, uint16_t, EK_RD)
#define EK_DO_Lw EK_LOAD(2, uint32_t, uint32_t, EK_RD)
#define EK_DO_Lbu EK_LOAD(0, uint8_t, uint8_t, EK_RD)
#define EK_DO_Lhu EK_LOAD(1, uint16_t, uint16_t, EK_RD)
#define EK_DO_Sb EK_STORE(0, uint8_t, EK_B)
#define EK_DO_Sh EK_STORE(1, uint16_t, EK_B)
#define EK_DO_Sw EK_STORE(2, uint32_t, EK_B)
#define EK_DO_Addi EK_RD = EK_A + EK_IMM;
#define EK_DO_Slti EK_RD = Signed(AsInt(EK_A) < o->imm);
#define EK_DO_Sltiu EK_RD = Signed(EK_A < EK_IMM);
#define EK_DO_Xori EK_RD = EK_A ^ EK_IMM;
#define EK_DO_Ori EK_RD = EK_A | EK_IMM;
#define EK_DO_Andi EK_RD = EK_A & EK_IMM;
#define EK_DO_Slli EK_RD = EK_A << EK_IMM;
#define EK_DO_Srli EK_RD = EK_A >> EK_IMM;
#define EK_DO_Srai EK_RD = static_cast<uint32_t>(AsInt(EK_A) >> EK_IMM);
#define EK_DO_Add EK_RD = EK_A + EK_B;
#define EK_DO_Sub EK_RD = EK_A - EK_B;
#define EK_DO_Sll EK_RD = EK_A << (EK_B & 31);
#define EK_DO_Slt EK_RD = Signed(AsInt(EK_A) < AsInt(EK_B));
#define EK_DO_Sltu EK_RD = Signed(EK_A < EK_B);
#define EK_DO_Xor EK_RD = EK_A ^ EK_B;
#define EK_DO_Srl EK_RD = EK_A >> (EK_B & 31);
#define EK_DO_Sra EK_RD = static_cast<uint32_t>(AsInt(EK_A) >> (EK_B & 31));
#define EK_DO_Or EK_RD = EK_A | EK_B;
#define EK_DO_And EK_RD = EK_A & EK_B;
#define EK_DO_Mul EK_RD = EK_A * EK_B;
#define EK_DO_Mulh EK_RD = MulHigh(AsInt(EK_A), AsInt(EK_B));
#define EK_DO_Mulhsu EK_RD = MulHigh(AsInt(EK_A), int64_t{EK_B});
#define EK_DO_Mulhu EK_RD = MulHighUnsigned(EK_A, EK_B);
#define EK_DO_Div EK_RD = Divide(EK_A, EK_B);
#define EK_DO_Divu EK_RD = EK_B == 0 ? ~0u : EK_A / EK_B;
#define EK_DO_Rem EK_RD = Remainder(EK_A, EK_B);
#define EK_DO_Remu EK_RD = EK_B == 0 ? EK_A : EK_A % EK_B;
// Stores to code take effect at once, so that there is nothing to order.
#define EK_DO_Fence
#define EK_DO_FenceI
#define EK_DO_Ecall goto stop_here;
#define EK_DO_Ebreak goto stop_here;
#define EK_DO_Mret goto stop_here;
#define EK_DO_Wfi goto stop_here;
#define EK_DO_Csrrw goto stop_here;
#define EK_DO_Csrrs goto stop_here;
#define EK_DO_Csrrc goto stop_here;
#define EK_DO_Csrrwi goto stop_here;
#define EK_DO_Csrrsi goto stop_here;
#define EK_DO_Csrrci goto stop_here;

#define EK_FA f[o->rs1]
#define EK_FB f[o->rs2]
#define EK_FC f[o->extra]
#define EK_FD f[o->rd]
#define EK_RM core.RoundingOf(EK_IMM)
#define EK_FLAGS &core.fflags
#define EK_DO_Flw EK_LOAD(2, uint32_t, uint32_t, EK_FD)
#define EK_DO_Fsw EK_STORE(2, uint32_t, EK_FB)
#define EK_DO_FmaddS \
  EK_FD = FloatMultiplyAdd(EK_FA, EK_FB, EK_FC, EK_RM, EK_FLAGS);
#define EK_DO_FmsubS \
  EK_FD = FloatMultiplyAdd(EK_FA, EK_FB, EK_FC ^ kMinInt, EK_RM, EK_FLAGS);
#define EK_DO_FnmsubS \
  EK_FD = FloatMultiplyAdd(EK_FA ^ kMinInt, EK_FB, EK_FC, EK_RM, EK_FLAGS);
#define EK_DO_FnmaddS                                                      \
  EK_FD = FloatMultiplyAdd(EK_FA ^ kMinInt, EK_FB, EK_FC ^ kMinInt, EK_RM, \
                           EK_FLAGS);
#define EK_DO_FaddS EK_FD = FloatAdd(EK_FA, EK_FB, EK_RM, EK_FLAGS);
#define EK_DO_FsubS EK_FD = FloatSubtract(EK_FA, EK_FB, EK_RM, EK_FLAGS);
#define EK_DO_FmulS EK_FD = FloatMultiply(EK_FA, EK_FB, EK_RM, EK_FLAGS);
#define EK_DO_FdivS EK_FD = FloatDivide(EK_FA, EK_FB, EK_RM, EK_FLAGS);
#define EK_DO_FsqrtS EK_FD = FloatSqrt(EK_FA, EK_RM, EK_FLAGS);
#define EK_DO_FsgnjS EK_FD = (EK_FA & ~kMinInt) | (EK_FB & kMinInt);
#define EK_DO_FsgnjnS EK_FD = (EK_FA & ~kMinInt) | (~EK_FB & kMinInt);
#define EK_DO_FsgnjxS EK_FD = EK_FA ^ (EK_FB & kMinInt);
#define EK_DO_FminS EK_FD = FloatMin(EK_FA, EK_FB, EK_FLAGS);
#define EK_DO_FmaxS EK_FD = FloatMax(EK_FA, EK_FB, EK_FLAGS);
#define EK_DO_FcvtWS EK_RD = FloatToInt(EK_FA, EK_RM, EK_FLAGS);
#define EK_DO_FcvtWuS EK_RD = FloatToUint(EK_FA, EK_RM, EK_FLAGS);
#define EK_DO_FmvXW EK_RD = EK_FA;
#define EK_DO_FclassS EK_RD = FloatClass(EK_FA);
#define EK_DO_FeqS EK_RD = Signed(FloatEqual(EK_FA, EK_FB, EK_FLAGS));
#define EK_DO_FltS EK_RD = Signed(FloatLess(EK_FA, EK_FB, EK_FLAGS));
#define EK_DO_FleS EK_RD = Signed(FloatLessEqual(EK_FA, EK_FB, EK_FLAGS));
#define EK_DO_FcvtSW EK_FD = IntToFloat(EK_A, EK_RM, EK_FLAGS);
#define EK_DO_FcvtSWu EK_FD = UintToFloat(EK_A, EK_RM, EK_FLAGS);
#define EK_DO_FmvWX EK_FD = EK_A;

// With `table` set it only hands out the handlers' addresses.
template <bool kCosts, bool kChecked, bool kProfile>
BlockExit Execute(Stretch* stretch, Block* block, const void* const** table) {
  static const void* const kLabels[] = {
#define EK_LABEL(name, format, cost) &&do_##name,
      EK_RV32_OPS(EK_LABEL)
#undef EK_LABEL
          && fall_through,
      &&check_stack, &&stop_here, &&addi_stack,
#define EK_LABEL(first, second) &&do_##first##_##second,
      EK_RV32_PAIRS(EK_LABEL)
#undef EK_LABEL
  };
  if (table != nullptr) {
    *table = kLabels;
    return BlockExit::kLook;
  }
  Core& core = *stretch->core;
  uint32_t* const x = core.x.data();
  uint32_t* const f = core.f.data();
  Block** const jumps = stretch->cache->jumps().data();
  int64_t left = stretch->max_instructions;
  int64_t cycles = core.cycles;
  uint32_t target = 0;
  Slot* exit = nullptr;
  Slot* op = nullptr;
  BlockExit result = BlockExit::kLook;
  EK_ENTER(block);

#define EK_HANDLER(name, format, cost)   \
  do_##name : {                          \
    [[maybe_unused]] Slot* const o = op; \
    EK_DO_##name                         \
  }                                      \
  ++op;                                  \
  goto * op->handler;
  EK_RV32_OPS(EK_HANDLER)
#undef EK_HANDLER
#define EK_HANDLER(first, second)            \
  do_##first##_##second : {                  \
    [[maybe_unused]] Slot* const o = op;     \
    EK_DO_##first                            \
  }                                          \
  {                                          \
    [[maybe_unused]] Slot* const o = op + 1; \
    EK_DO_##second                           \
  }                                          \
  op += 2;                                   \
  goto * op->handler;
  EK_RV32_PAIRS(EK_HANDLER)
#undef EK_HANDLER

addi_stack : {
  const uint32_t sp = x[op->rs1] + static_cast<uint32_t>(op->imm);
  if (sp < stretch->stack_low) [[unlikely]] {
    stretch->problem = {FaultKind::kStackOverflow, sp, ""};
    result = BlockExit::kProblem;
    goto leave;
  }
  x[op->rd] = sp;
  ++op;
  goto * op->handler;
}
check_stack:
  if (x[2] < stretch->stack_low) [[unlikely]] {
    // The instruction before is the one to blame.
    --op;
    stretch->problem = {FaultKind::kStackOverflow, x[2], ""};
    result = BlockExit::kProblem;
    goto leave;
  }
fall_through:
  EK_GO(op);

resolve:
  target = static_cast<uint32_t>(exit->imm);
  exit->link = stretch->cache->FindForJump(target);
  if (exit->link == nullptr) {
    core.pc = target;
    goto done;
  }
  EK_ENTER(exit->link);

resolve_jump : {
  Block* const next = stretch->cache->FindForJump(target);
  if (next == nullptr) {
    core.pc = target;
    goto done;
  }
  EK_ENTER(next);
}

slow_access : {
  const int64_t at = op - block->slots();
  // Counts as they are before this instruction.
  const BlockInstruction& instruction = block->code[static_cast<size_t>(at)];
  core.cycles = kCosts ? cycles - (block->cycles - instruction.cycles_before)
                       : core.cycles;
  const int64_t begun =
      stretch->max_instructions - left - (block->instructions - at);
  if (!kCosts) core.cycles += begun;
  int64_t wait_cycles = 0;
  const AccessResult access =
      AccessSlowly(stretch, instruction.instruction, op, &wait_cycles);
  if (!kCosts) core.cycles -= begun;
  if (kCosts) {
    cycles += wait_cycles;
    if (kProfile) block->waits[static_cast<size_t>(at)] += wait_cycles;
  }
  switch (access) {
    case AccessResult::kRetry:
      goto * op->handler;
    case AccessResult::kDone:
      ++op;
      goto * op->handler;
    case AccessResult::kLeave:
      ++op;
      goto leave;
    case AccessResult::kProblem:
      result = BlockExit::kProblem;
      goto leave;
  }
}

stop_here:
  result = BlockExit::kStop;
leave : {
  // Before the instruction at `op`, which may be the end of the block.
  const int64_t at = op - block->slots();
  core.pc = block->end;
  if (at < block->instructions) {
    const BlockInstruction& next = block->code[static_cast<size_t>(at)];
    core.pc = next.pc;
    left += block->instructions - at;
    if (kCosts) cycles -= block->cycles - next.cycles_before;
    BlockCache::NoteLeftEarly(block, at);
  }
  goto done;
}

out_of_fuel:
  left += block->instructions;
  core.pc = block->pc;

done:
  const int64_t executed = stretch->max_instructions - left;
  core.instructions += executed;
  core.cycles = kCosts ? cycles : core.cycles + executed;
  return result;
}

template <bool kCosts, bool kChecked, bool kProfile>
const void* const* Labels() {
  const void* const* labels = nullptr;
  Execute<kCosts, kChecked, kProfile>(nullptr, nullptr, &labels);
  return labels;
}

// Calls `function` with the mode as template arguments.
template <typename Function>
auto WithMode(InterpreterMode mode, const Function& function) {
  const auto with = [&]<bool kCosts, bool kChecked>() {
    return mode.profile
               ? function.template operator()<kCosts, kChecked, true>()
               : function.template operator()<kCosts, kChecked, false>();
  };
  if (mode.costs) {
    return mode.checked ? with.template operator()<true, true>()
                        : with.template operator()<true, false>();
  }
  return mode.checked ? with.template operator()<false, true>()
                      : with.template operator()<false, false>();
}

}  // namespace

BlockExit Interpret(InterpreterMode mode, Stretch* stretch, Block* block) {
  return WithMode(mode, [&]<bool kCosts, bool kChecked, bool kProfile>() {
    return Execute<kCosts, kChecked, kProfile>(stretch, block, nullptr);
  });
}

const void* const* Handlers(InterpreterMode mode) {
  return WithMode(mode, []<bool kCosts, bool kChecked, bool kProfile>() {
    return Labels<kCosts, kChecked, kProfile>();
  });
}

}  // namespace edgekiln::simfarm::rv32
