#include "simfarm/simulators/rv32/block_cache.h"

#include <algorithm>
#include <new>
#include <utility>

namespace edgekiln::simfarm::rv32 {
namespace {

// Long enough for straight code, short enough that a timer's last stretch,
// which is executed instruction by instruction, is short.
constexpr int kMaxBlockInstructions = 64;

// Contains nothing: the first access of each load and store looks for its own.
Window* NoWindow() {
  static Window* const window = new Window();
  return window;
}

bool EndsBlock(Op op) {
  switch (TraitsOf(op).format) {
    case Format::kJump:
    case Format::kJumpReg:
    case Format::kBranch:
      return true;
    default:
      return false;
  }
}

constexpr int kStackPointer = 2;

// Whether a change of sp by this instruction is checked. lui and auipc load
// the upper part of an address; the addi behind them completes it.
bool ChangesStack(const Instruction& instruction) {
  return (UseOf(instruction).x_written & 1u << kStackPointer) != 0 &&
         instruction.op != Op::kLui && instruction.op != Op::kAuipc;
}

}  // namespace

BlockCache::BlockCache(Memory* memory, const Core* core, Options options)
    : memory_(memory), core_(core), options_(std::move(options)) {}

void BlockCache::AddCounts(const Block& block, PcCounts* counts) const {
  int64_t executed = block.entries;
  for (size_t i = 0; i < block.code.size(); ++i) {
    if (!block.left_early.empty()) executed -= block.left_early[i];
    if (executed == 0) continue;
    PcTally& tally = (*counts)[block.code[i].pc];
    tally.executions += executed;
    if (!options_.profile) continue;
    const bool is_last = i + 1 == block.code.size();
    const int64_t end =
        is_last ? block.cycles : block.code[i + 1].cycles_before;
    tally.cycles +=
        executed * (end - block.code[i].cycles_before) + block.waits[i];
    if (!is_last) continue;
    tally.taken += block.taken;
    if (options_.costs.has_value()) {
      tally.cycles += block.taken * (options_.costs->branch_taken -
                                     options_.costs->branch_not_taken);
    }
  }
}

void BlockCache::Free::operator()(Block* block) const {
  block->~Block();
  ::operator delete(block);
}

BlockCache::Fetched BlockCache::Fetch(uint32_t pc) const {
  Fetched fetched;
  uint32_t half = 0;
  fetched.problem_address = pc;
  fetched.problem = memory_->FetchHalf(pc, &half);
  if (fetched.problem != AccessProblem::kNone) return fetched;
  fetched.bits = half;
  if ((half & 3) == 3) {
    fetched.problem_address = pc + 2;
    fetched.problem = memory_->FetchHalf(pc + 2, &half);
    if (fetched.problem != AccessProblem::kNone) return fetched;
    fetched.bits |= half << 16;
  }
  Isa isa = core_->isa;
  isa.f = core_->float_enabled();
  fetched.instruction = Decode(fetched.bits, isa);
  // Float arithmetic that rounds by frm is illegal while frm is.
  if (fetched.instruction.has_value() && fetched.instruction->rm == 7 &&
      !core_->rounding_valid()) {
    fetched.instruction.reset();
  }
  return fetched;
}

bool BlockCache::NeedsDriver(const Instruction& instruction,
                             uint32_t pc) const {
  switch (instruction.op) {
    case Op::kEcall:
    case Op::kEbreak:
    case Op::kMret:
    case Op::kWfi:
      return true;
    default:
      break;
  }
  switch (TraitsOf(instruction.op).format) {
    case Format::kCsr:
    case Format::kCsrImm:
      return true;
    case Format::kJump:
    case Format::kBranch:  // To where no instruction can begin.
      return !core_->isa.c &&
             (pc + static_cast<uint32_t>(instruction.imm)) % 4 != 0;
    default:
      return false;
  }
}

int32_t BlockCache::CyclesOf(const Instruction& instruction,
                             uint32_t pc) const {
  if (!options_.costs.has_value()) return 1;
  return CostOf(*options_.costs, TraitsOf(instruction.op).cost) +
         memory_->fetch_wait_cycles(pc);
}

int32_t BlockCache::LoadUseStall(const Instruction& load,
                                 const Fetched& next) const {
  if (!options_.costs.has_value() || !next.instruction.has_value() ||
      TraitsOf(load.op).cost != CostClass::kLoad) {
    return 0;
  }
  const RegisterUse loaded = UseOf(load);
  const RegisterUse used = UseOf(*next.instruction);
  const bool stalls = (loaded.x_written & used.x_read) != 0 ||
                      (loaded.f_written & used.f_read) != 0;
  return stalls ? options_.costs->load_use_stall : 0;
}

BlockCache::BlockPointer BlockCache::Build(uint32_t pc, int max_instructions) {
  std::vector<BlockInstruction> code;
  const uint32_t begin = pc;
  int32_t cycles = 0;
  bool stops = false;
  Fetched fetched = Fetch(pc);
  uint32_t looked_at = pc;  // Behind all bytes that the block depends on.
  while (true) {
    if (fetched.problem != AccessProblem::kNone ||
        !fetched.instruction.has_value() ||
        NeedsDriver(*fetched.instruction, pc)) {
      stops = true;
      break;
    }
    const Instruction instruction = *fetched.instruction;
    code.push_back({pc, cycles, instruction});
    pc += instruction.length_bytes;
    cycles += CyclesOf(instruction, code.back().pc);
    if (EndsBlock(instruction.op)) break;
    fetched = Fetch(pc);
    if (fetched.problem == AccessProblem::kNone) {
      looked_at = pc + ((fetched.bits & 3) == 3 ? 4 : 2);
    }
    cycles += LoadUseStall(instruction, fetched);
    if (static_cast<int>(code.size()) == max_instructions || IsHooked(pc) ||
        (options_.check_stack && ChangesStack(instruction) &&
         instruction.op != Op::kAddi)) {
      break;
    }
  }
  // Each instruction has a slot; exits follow the last.
  const size_t slots = code.size() + 2;
  void* place = ::operator new(sizeof(Block) + slots * sizeof(Slot));
  BlockPointer block(new (place) Block());
  for (size_t i = 0; i < slots; ++i) new (block->slots() + i) Slot();
  block->instructions = static_cast<int32_t>(code.size());
  block->cycles = cycles;
  block->pc = begin;
  block->end = pc;
  block->code = std::move(code);
  if (options_.profile) block->waits.resize(block->code.size());
  block->max_cycles =
      cycles + block->instructions * options_.max_wait_cycles +
      (options_.costs.has_value() ? options_.costs->branch_taken : 0);
  looked_at = std::max(looked_at, pc);
  // What could not be fetched cannot be written either, but for undefined
  // bytes: the driver flushes when it finds an instruction there after all.
  if (looked_at > begin && memory_->Read(begin, looked_at - begin).ok()) {
    memory_->NoteCode(begin, looked_at);
  } else if (pc > begin) {
    memory_->NoteCode(begin, pc);
  }
  FillSlots(block.get(), stops);
  cached_instructions_ += static_cast<int64_t>(slots);
  return block;
}

Slot BlockCache::MakeSlot(const BlockInstruction& at) const {
  const Instruction& instruction = at.instruction;
  const Format format = TraitsOf(instruction.op).format;
  const uint32_t target = at.pc + static_cast<uint32_t>(instruction.imm);
  auto handler = static_cast<Handler>(instruction.op);
  if (options_.check_stack && instruction.op == Op::kAddi &&
      ChangesStack(instruction)) {
    handler = kAddiStack;
  }
  Slot slot;
  slot.handler = options_.handlers[handler];
  slot.rd = instruction.rd;
  slot.rs1 = instruction.rs1;
  slot.rs2 = instruction.rs2;
  slot.extra = instruction.rs3;
  slot.imm = instruction.imm;
  const bool float_rd = (UseOf(instruction).f_written) != 0;
  if (slot.rd == 0 && !float_rd) slot.rd = kDiscard;
  switch (format) {
    case Format::kLoad:
    case Format::kStore:
    case Format::kFLoad:
    case Format::kFStore:
      slot.window = NoWindow();
      break;
    case Format::kUpper:
      if (instruction.op == Op::kAuipc) {
        slot.imm = static_cast<int32_t>(target);
      }
      break;
    case Format::kJump:
    case Format::kBranch:
      slot.imm = static_cast<int32_t>(target);
      break;
    case Format::kF3:
    case Format::kF2:
    case Format::kF1:
    case Format::kFToX:
    case Format::kXToF:
      slot.imm = instruction.rm;
      break;
    default:
      break;
  }
  return slot;
}

void BlockCache::FillSlots(Block* block, bool stops) {
  Slot* slots = block->slots();
  const size_t count = block->code.size();
  for (size_t i = 0; i < count; ++i) slots[i] = MakeSlot(block->code[i]);
  for (size_t i = 0; i + 1 < count; ++i) {
    const Op op = block->code[i].instruction.op;
    if (slots[i].handler != options_.handlers[static_cast<size_t>(op)])
      continue;
    const Handler pair = FindPair(op, block->code[i + 1].instruction.op);
    if (pair == static_cast<Handler>(op)) continue;
    const bool stack_check =
        slots[i + 1].handler == options_.handlers[kAddiStack];
    if (stack_check) continue;
    slots[i].handler = options_.handlers[pair];
    ++i;
  }
  Slot& exit = slots[count];
  exit.imm = static_cast<int32_t>(block->end);
  exit.handler = options_.handlers[stops ? kStop : kFallThrough];
  if (count == 0) return;
  const Instruction& last = block->code.back().instruction;
  if (last.op == Op::kJal) {
    // The slot keeps the address behind, the exit has the target.
    std::swap(exit.imm, slots[count - 1].imm);
  } else if (options_.check_stack && ChangesStack(last) &&
             last.op != Op::kAddi && !EndsBlock(last.op)) {
    exit.handler = options_.handlers[kCheckStack];
  }
}

Block* BlockCache::FindIn(BlockMap* blocks, uint32_t pc, int max_instructions) {
  BlockPointer& block = (*blocks)[pc];
  if (block == nullptr) block = Build(pc, max_instructions);
  return block.get();
}

Block* BlockCache::Find(uint32_t pc) {
  return FindIn(&blocks_, pc, kMaxBlockInstructions);
}

Block* BlockCache::FindStep(uint32_t pc) { return FindIn(&steps_, pc, 1); }

Block* BlockCache::FindForJump(uint32_t pc) {
  if (IsHooked(pc) || IsFull()) return nullptr;
  Block* block = Find(pc);
  jumps_[JumpEntry(pc)] = block;
  return block;
}

void BlockCache::Hook(uint32_t pc) {
  if (!hooks_.insert(pc).second) return;
  const bool in_use =
      std::any_of(blocks_.begin(), blocks_.end(), [pc](const auto& entry) {
        const Block& block = *entry.second;
        return block.pc == pc || (block.pc < pc && pc < block.end);
      });
  if (in_use) Flush();
}

void BlockCache::ClearHooks() {
  hooks_.clear();
  Flush();
}

void BlockCache::Flush() {
  for (const BlockMap* blocks : {&blocks_, &steps_}) {
    for (const auto& [pc, block] : *blocks) AddCounts(*block, &flushed_counts_);
  }
  blocks_.clear();
  steps_.clear();
  jumps_.fill(nullptr);
  cached_instructions_ = 0;
  memory_->ForgetCode();
}

void BlockCache::NoteLeftEarly(Block* block, int64_t done) {
  const auto index = static_cast<size_t>(done);
  if (index >= block->code.size()) return;
  if (block->left_early.empty()) block->left_early.resize(block->code.size());
  ++block->left_early[index];
}

PcCounts BlockCache::Counts() const {
  PcCounts counts = flushed_counts_;
  for (const BlockMap* blocks : {&blocks_, &steps_}) {
    for (const auto& [pc, block] : *blocks) AddCounts(*block, &counts);
  }
  return counts;
}

void BlockCache::ClearCounts() {
  flushed_counts_.clear();
  for (const BlockMap* blocks : {&blocks_, &steps_}) {
    for (const auto& [pc, block] : *blocks) {
      block->entries = 0;
      block->left_early.clear();
      block->taken = 0;
      block->waits.assign(block->waits.size(), 0);
    }
  }
}

}  // namespace edgekiln::simfarm::rv32
