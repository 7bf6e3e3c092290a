#include "simfarm/simulators/rv32/machine.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "simfarm/simulators/rv32/block_cache.h"
#include "simfarm/simulators/rv32/bus.h"
#include "simfarm/simulators/rv32/call_tracker.h"
#include "simfarm/simulators/rv32/core.h"
#include "simfarm/simulators/rv32/interpreter.h"
#include "simfarm/simulators/rv32/symbols.h"

namespace edgekiln::simfarm::rv32 {
namespace {

constexpr int kReturnAddress = 1;
constexpr int kStackPointer = 2;

absl::Status ConfigError(std::string what, std::string where) {
  return MakeError(absl::StatusCode::kInvalidArgument,
                   {.reason = "RV32_CONFIG",
                    .what = std::move(what),
                    .where = std::move(where)});
}

absl::Status CheckCosts(const CycleCosts& costs) {
  constexpr int32_t kMaxCycles = 10'000;
  for (int i = 0; i <= static_cast<int>(CostClass::kFloatConvert); ++i) {
    const int32_t cycles = CostOf(costs, static_cast<CostClass>(i));
    if (cycles < 1 || cycles > kMaxCycles) {
      return ConfigError(
          absl::StrCat("an instruction takes ", cycles,
                       " cycles; the range is 1 to ", kMaxCycles),
          "costs");
    }
  }
  if (costs.branch_taken < 1 || costs.branch_taken > kMaxCycles ||
      costs.load_use_stall < 0 || costs.load_use_stall > kMaxCycles ||
      costs.trap_entry < 0 || costs.trap_entry > kMaxCycles) {
    return ConfigError(absl::StrCat("a cost is negative or above ", kMaxCycles),
                       "costs");
  }
  return absl::OkStatus();
}

absl::Status CheckStack(const StackLimit& stack) {
  if (stack.low % 4 != 0 || stack.guard_bytes % 4 != 0 ||
      stack.guard_bytes > stack.low) {
    return ConfigError(
        "low end and guard must be multiples of 4, the guard "
        "above address 0",
        "stack");
  }
  return absl::OkStatus();
}

std::optional<uint32_t> CauseOf(FaultKind kind) {
  switch (kind) {
    case FaultKind::kFetchMisaligned:
      return kCauseFetchMisaligned;
    case FaultKind::kFetchAccess:
      return kCauseFetchAccess;
    case FaultKind::kIllegalInstruction:
      return kCauseIllegal;
    case FaultKind::kBreakpoint:
      return kCauseBreakpoint;
    case FaultKind::kEcall:
      return kCauseEcall;
    case FaultKind::kLoadMisaligned:
      return kCauseLoadMisaligned;
    case FaultKind::kLoadAccess:
      return kCauseLoadAccess;
    case FaultKind::kStoreMisaligned:
      return kCauseStoreMisaligned;
    case FaultKind::kStoreAccess:
      return kCauseStoreAccess;
    default:
      return std::nullopt;
  }
}

bool BranchTaken(Op op, uint32_t a, uint32_t b) {
  const auto signed_a = static_cast<int32_t>(a);
  const auto signed_b = static_cast<int32_t>(b);
  switch (op) {
    case Op::kBeq:
      return a == b;
    case Op::kBne:
      return a != b;
    case Op::kBlt:
      return signed_a < signed_b;
    case Op::kBge:
      return signed_a >= signed_b;
    case Op::kBltu:
      return a < b;
    default:
      return a >= b;
  }
}

class MachineImpl : public Machine {
 public:
  MachineImpl(MachineConfig config, std::unique_ptr<Memory> memory, Bus bus)
      : config_(std::move(config)),
        mode_{config_.costs.has_value(), config_.checked, config_.profile},
        memory_(std::move(memory)),
        bus_(std::move(bus)),
        cache_(memory_.get(), &core_,
               {.handlers = Handlers(mode_),
                .costs = config_.costs,
                .max_wait_cycles = config_.costs.has_value()
                                       ? std::max(memory_->max_wait_cycles(),
                                                  bus_.max_wait_cycles())
                                       : 0,
                .check_stack = config_.stack.has_value(),
                .profile = config_.profile}) {
    core_.isa = config_.isa;
    stretch_.core = &core_;
    stretch_.memory = memory_.get();
    stretch_.bus = &bus_;
    stretch_.cache = &cache_;
    stretch_.checked = config_.checked;
    stretch_.misaligned_jump = config_.isa.c ? 0 : 2;
    if (config_.costs.has_value()) {
      stretch_.taken_cycles =
          config_.costs->branch_taken - config_.costs->branch_not_taken;
    }
    ApplyStack();
  }

  absl::Status Load(const Executable& executable) override;
  absl::StatusOr<RunResult> Run(int64_t max_instructions) override;
  void Reset() override;

  Registers registers() const override {
    Registers registers;
    std::copy_n(core_.x.begin(), 32, registers.x);
    std::copy_n(core_.f.begin(), 32, registers.f);
    registers.pc = core_.pc;
    registers.fcsr = core_.frm << 5 | core_.fflags;
    return registers;
  }
  void set_x(int index, uint32_t value) override {
    if (index > 0 && index < 32) core_.x[static_cast<size_t>(index)] = value;
  }
  void set_pc(uint32_t pc) override {
    core_.pc = pc & (config_.isa.c ? ~1u : ~3u);
    hook_done_ = false;
    tracker_.Clear();
  }
  Totals totals() const override { return {core_.instructions, core_.cycles}; }

  absl::StatusOr<absl::string_view> Read(uint32_t address,
                                         int64_t size_bytes) const override {
    return memory_->Read(address, size_bytes);
  }
  absl::Status Write(uint32_t address, absl::string_view bytes) override {
    EK_ASSIGN_OR_RETURN(const bool code, memory_->Write(address, bytes));
    if (code) stretch_.code_changed = true;
    return absl::OkStatus();
  }
  std::optional<uint32_t> FindUndefined(uint32_t address,
                                        int64_t size_bytes) const override {
    return memory_->FindUndefined(address, size_bytes);
  }

  void Observe(std::vector<uint32_t> entries,
               FunctionObserver* observer) override {
    observer_ = observer;
    tracker_.Observe(entries);
    cache_.ClearHooks();
    for (const uint32_t entry : entries) cache_.Hook(entry);
  }

  std::vector<FunctionCount> CountFunctions() const override;
  std::vector<PcCount> CountAddresses() const override;

 private:
  void ApplyStack() {
    if (!config_.stack.has_value()) return;
    stretch_.stack_low = config_.stack->low;
    memory_->SetGuard(config_.stack->low - config_.stack->guard_bytes,
                      config_.stack->low);
  }

  // One block and those that follow it, or one instruction.
  std::optional<Fault> ExecuteSome(int64_t limit);
  // The instruction at pc, which no block executes.
  std::optional<Fault> ExecuteHere();
  std::optional<Fault> ExecuteCsr(const Instruction& instruction,
                                  uint32_t bits);
  // Time passes in the wfi at `pc`.
  std::optional<Fault> Sleep(uint32_t pc);
  void Retire(const Instruction& instruction, uint32_t next_pc);
  // Enters the trap handler; a fault if there is none, or if it cannot even
  // execute its first instruction.
  std::optional<Fault> Raise(FaultKind kind, uint32_t address,
                             std::string detail = "");
  void Interrupt(uint32_t cause);
  void CountTrap(uint32_t pc);
  // Cycles that pass outside of blocks, charged to `pc`.
  void AddDriverCycles(uint32_t pc, int64_t cycles);
  absl::Status CallObserver();
  Fault MakeFault(FaultKind kind, uint32_t address, std::string detail) const;
  PcCounts Counts() const;

  const MachineConfig config_;
  const InterpreterMode mode_;
  Core core_;
  std::unique_ptr<Memory> memory_;
  Bus bus_;
  BlockCache cache_;
  Stretch stretch_;
  SymbolTable symbols_;
  CallTracker tracker_;
  FunctionObserver* observer_ = nullptr;
  bool hook_done_ = false;   // The observer knows that pc was reached.
  int64_t trapped_at_ = -1;  // Instructions when the last trap was taken.
  PcCounts driver_counts_;   // Of what no block executed.
};

absl::Status MachineImpl::Load(const Executable& executable) {
  int index = 0;
  for (const Segment& segment : executable.segments) {
    const std::string where = absl::StrCat("segment ", index++);
    const auto place = memory_->Read(segment.address, segment.size_bytes);
    if (!place.ok()) {
      return MakeError(
          absl::StatusCode::kInvalidArgument,
          {.reason = "ELF_DOES_NOT_FIT",
           .what = absl::StrFormat("%d bytes at 0x%08x lie in no memory",
                                   segment.size_bytes, segment.address),
           .where = where});
    }
    EK_RETURN_IF_ERROR(Write(segment.address, segment.bytes), where);
  }
  const MemoryRegion* region = memory_->FindRegion(executable.entry);
  const bool aligned = executable.entry % (config_.isa.c ? 2 : 4) == 0;
  if (region == nullptr || !region->executable || !aligned) {
    return MakeError(
        absl::StatusCode::kInvalidArgument,
        {.reason = "ELF_DOES_NOT_FIT",
         .what = absl::StrFormat("the entry 0x%08x is not an address of code",
                                 executable.entry),
         .where = "ELF header"});
  }
  set_pc(executable.entry);
  symbols_ = SymbolTable(executable.functions);
  return absl::OkStatus();
}

void MachineImpl::Reset() {
  cache_.Flush();
  cache_.ClearCounts();
  driver_counts_.clear();
  memory_->Clear();
  core_ = {};
  core_.isa = config_.isa;
  tracker_.Clear();
  hook_done_ = false;
  trapped_at_ = -1;
  stretch_.code_changed = false;
}

absl::StatusOr<RunResult> MachineImpl::Run(int64_t max_instructions) {
  const int64_t limit =
      core_.instructions + std::min(max_instructions, kNever / 2);
  RunResult result;
  stretch_.exit_code.reset();
  while (true) {
    if (stretch_.code_changed || cache_.IsFull()) {
      cache_.Flush();
      stretch_.code_changed = false;
    }
    if (stretch_.exit_code.has_value()) {
      result.reason = ExitReason::kExited;
      result.exit_code = *stretch_.exit_code;
      break;
    }
    if (core_.instructions >= limit) {
      result.reason = ExitReason::kInstructionLimit;
      break;
    }
    const std::optional<uint32_t> cause =
        core_.InterruptToTake(bus_.Pending(core_.cycles));
    if (cause.has_value()) Interrupt(*cause);
    if (!hook_done_ && cache_.IsHooked(core_.pc)) {
      EK_RETURN_IF_ERROR(CallObserver());
      hook_done_ = true;
      continue;
    }
    const int64_t before = core_.instructions;
    result.fault = ExecuteSome(limit);
    if (core_.instructions != before) hook_done_ = false;
    if (result.fault.has_value()) {
      result.reason = ExitReason::kFault;
      break;
    }
  }
  result.totals = totals();
  return result;
}

std::optional<Fault> MachineImpl::ExecuteSome(int64_t limit) {
  const int64_t next_event = bus_.NextEvent(core_.cycles);
  stretch_.max_instructions = limit - core_.instructions;
  stretch_.deadline_cycles = next_event;
  if (!mode_.costs && next_event != kNever) {
    stretch_.max_instructions =
        std::min(stretch_.max_instructions, next_event - core_.cycles);
  }
  Block* block = cache_.Find(core_.pc);
  const bool fits =
      block->instructions <= stretch_.max_instructions &&
      (!mode_.costs || core_.cycles + block->max_cycles < next_event);
  if (!fits) {
    // The last instructions before an event, one by one.
    block = cache_.FindStep(core_.pc);
    stretch_.max_instructions = block->instructions;
    if (mode_.costs) stretch_.deadline_cycles = kNever;
  }
  const int64_t before = core_.instructions;
  switch (Interpret(mode_, &stretch_, block)) {
    case BlockExit::kLook:
      return std::nullopt;
    case BlockExit::kStop:
      // Time may have come for something else.
      if (core_.instructions != before) return std::nullopt;
      return ExecuteHere();
    case BlockExit::kProblem:
      break;
  }
  const Problem& problem = stretch_.problem;
  return Raise(problem.kind, problem.address, problem.detail);
}

std::optional<Fault> MachineImpl::ExecuteHere() {
  const uint32_t pc = core_.pc;
  const BlockCache::Fetched fetched = cache_.Fetch(pc);
  if (fetched.problem == AccessProblem::kUndefined) {
    return Raise(FaultKind::kUndefinedRead, fetched.problem_address);
  }
  if (fetched.problem != AccessProblem::kNone) {
    return Raise(FaultKind::kFetchAccess, fetched.problem_address);
  }
  if (!fetched.instruction.has_value()) {
    return Raise(FaultKind::kIllegalInstruction, fetched.bits);
  }
  const Instruction& instruction = *fetched.instruction;
  const uint32_t next_pc = pc + instruction.length_bytes;
  const uint32_t a = core_.x[instruction.rs1];
  uint32_t target = pc + static_cast<uint32_t>(instruction.imm);
  switch (instruction.op) {
    case Op::kEcall:
      return Raise(FaultKind::kEcall, 0);
    case Op::kEbreak:
      return Raise(FaultKind::kBreakpoint, pc);
    case Op::kMret:
      Retire(instruction, next_pc);
      ReturnFromTrap(&core_);
      return std::nullopt;
    case Op::kWfi:
      Retire(instruction, next_pc);
      return Sleep(pc);
    case Op::kJalr:
      target = (a + static_cast<uint32_t>(instruction.imm)) & ~1u;
      break;
    default:
      break;
  }
  switch (TraitsOf(instruction.op).format) {
    case Format::kCsr:
    case Format::kCsrImm:
      return ExecuteCsr(instruction, fetched.bits);
    case Format::kBranch:
      if (!BranchTaken(instruction.op, a, core_.x[instruction.rs2])) {
        Retire(instruction, next_pc);
        return std::nullopt;
      }
      break;
    case Format::kJump:
    case Format::kJumpReg:
      break;
    default:
      // Blocks execute it: what was decoded here is out of date.
      cache_.Flush();
      return std::nullopt;
  }
  if (config_.isa.c || target % 4 == 0) {
    cache_.Flush();
    return std::nullopt;
  }
  return Raise(FaultKind::kFetchMisaligned, target);
}

std::optional<Fault> MachineImpl::ExecuteCsr(const Instruction& instruction,
                                             uint32_t bits) {
  const auto csr = static_cast<uint32_t>(instruction.imm);
  const bool immediate = TraitsOf(instruction.op).format == Format::kCsrImm;
  const uint32_t operand =
      immediate ? instruction.rs1 : core_.x[instruction.rs1];
  const std::optional<uint32_t> old =
      ReadCsr(core_, csr, bus_.Pending(core_.cycles));
  if (!old.has_value()) return Raise(FaultKind::kIllegalInstruction, bits);
  uint32_t value = operand;
  bool writes = instruction.rs1 != 0;
  switch (instruction.op) {
    case Op::kCsrrs:
    case Op::kCsrrsi:
      value = *old | operand;
      break;
    case Op::kCsrrc:
    case Op::kCsrrci:
      value = *old & ~operand;
      break;
    default:
      writes = true;
      break;
  }
  const bool float_before = core_.float_enabled();
  const bool rounding_before = core_.rounding_valid();
  const int64_t cycles = cache_.CyclesOf(instruction, core_.pc);
  if (writes && !WriteCsr(&core_, csr, value, cycles)) {
    return Raise(FaultKind::kIllegalInstruction, bits);
  }
  if (instruction.rd != 0) core_.x[instruction.rd] = *old;
  Retire(instruction, core_.pc + instruction.length_bytes);
  // Blocks are decoded for these two.
  if (core_.float_enabled() != float_before ||
      core_.rounding_valid() != rounding_before) {
    cache_.Flush();
  }
  return std::nullopt;
}

std::optional<Fault> MachineImpl::Sleep(uint32_t pc) {
  while ((bus_.Pending(core_.cycles) & core_.mie) == 0) {
    const int64_t next = bus_.NextEvent(core_.cycles);
    if (next == kNever) return MakeFault(FaultKind::kSleepsForever, 0, "");
    AddDriverCycles(pc, next - core_.cycles);
  }
  return std::nullopt;
}

void MachineImpl::Retire(const Instruction& instruction, uint32_t next_pc) {
  ++driver_counts_[core_.pc].executions;
  ++core_.instructions;
  AddDriverCycles(core_.pc, cache_.CyclesOf(instruction, core_.pc));
  core_.pc = next_pc;
}

void MachineImpl::CountTrap(uint32_t pc) {
  trapped_at_ = core_.instructions;
  if (config_.costs.has_value()) AddDriverCycles(pc, config_.costs->trap_entry);
}

void MachineImpl::AddDriverCycles(uint32_t pc, int64_t cycles) {
  core_.cycles += cycles;
  if (config_.profile && cycles != 0) driver_counts_[pc].cycles += cycles;
}

std::optional<Fault> MachineImpl::Raise(FaultKind kind, uint32_t address,
                                        std::string detail) {
  const std::optional<uint32_t> cause = CauseOf(kind);
  const bool handler_fails = trapped_at_ == core_.instructions;
  if (!cause.has_value() || core_.mtvec == 0 || handler_fails) {
    return MakeFault(kind, address, std::move(detail));
  }
  const uint32_t pc = core_.pc;
  EnterTrap(&core_, *cause, address);
  CountTrap(pc);
  return std::nullopt;
}

void MachineImpl::Interrupt(uint32_t cause) {
  const uint32_t pc = core_.pc;
  EnterTrap(&core_, cause, 0);
  CountTrap(pc);
}

absl::Status MachineImpl::CallObserver() {
  const uint32_t sp = core_.x[kStackPointer];
  while (const std::optional<int> left = tracker_.Return(core_.pc, sp)) {
    EK_RETURN_IF_ERROR(observer_->OnReturn(*left, totals(), *this));
  }
  const std::optional<int> entered = tracker_.FunctionAt(core_.pc);
  if (!entered.has_value()) return absl::OkStatus();
  if (tracker_.depth() == kMaxObservedDepth) {
    return MakeError(absl::StatusCode::kFailedPrecondition,
                     {.reason = "FIRMWARE_FAULT",
                      .what = "observed functions are nested too deeply",
                      .where = absl::StrFormat("pc 0x%08x", core_.pc),
                      .limit = absl::StrCat(kMaxObservedDepth, " calls")});
  }
  const uint32_t return_address = core_.x[kReturnAddress];
  tracker_.Enter(*entered, return_address, sp);
  cache_.Hook(return_address);
  return observer_->OnEnter(*entered, totals(), *this);
}

Fault MachineImpl::MakeFault(FaultKind kind, uint32_t address,
                             std::string detail) const {
  Fault fault{.kind = kind,
              .pc = core_.pc,
              .address = address,
              .place = memory_->Name(address),
              .detail = std::move(detail)};
  if (kind == FaultKind::kDevice) {
    const DeviceWindow* window = bus_.Find(address);
    if (window != nullptr) {
      fault.place = absl::StrFormat("%s 0x%08x", window->name, address);
    }
  }
  const Function* function = symbols_.Find(core_.pc);
  if (function != nullptr) fault.function = function->name;
  return fault;
}

PcCounts MachineImpl::Counts() const {
  PcCounts counts = cache_.Counts();
  for (const auto& [pc, count] : driver_counts_) {
    PcTally& tally = counts[pc];
    tally.executions += count.executions;
    tally.cycles += count.cycles;
  }
  return counts;
}

std::vector<FunctionCount> MachineImpl::CountFunctions() const {
  std::map<uint32_t, FunctionCount> functions;
  FunctionCount unnamed;
  for (const auto& [pc, count] : Counts()) {
    const Function* function = symbols_.Find(pc);
    FunctionCount& entry =
        function == nullptr ? unnamed : functions[function->address];
    if (function != nullptr) {
      entry.name = function->name;
      entry.address = function->address;
    }
    entry.instructions += count.executions;
    entry.cycles += count.cycles;
  }
  std::vector<FunctionCount> result;
  if (unnamed.instructions != 0 || unnamed.cycles != 0) {
    result.push_back(unnamed);
  }
  for (auto& [address, entry] : functions) result.push_back(std::move(entry));
  return result;
}

std::vector<PcCount> MachineImpl::CountAddresses() const {
  std::vector<PcCount> result;
  for (const auto& [pc, count] : Counts()) {
    result.push_back({.pc = pc,
                      .executions = count.executions,
                      .taken = count.taken,
                      .cycles = count.cycles});
  }
  return result;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Machine>> NewMachine(MachineConfig config) {
  if (config.costs.has_value()) EK_RETURN_IF_ERROR(CheckCosts(*config.costs));
  if (config.stack.has_value()) EK_RETURN_IF_ERROR(CheckStack(*config.stack));
  EK_ASSIGN_OR_RETURN(Bus bus, Bus::Create(config.devices, config.memory));
  EK_ASSIGN_OR_RETURN(std::unique_ptr<Memory> memory,
                      Memory::Create(config.memory, config.checked));
  return std::make_unique<MachineImpl>(std::move(config), std::move(memory),
                                       std::move(bus));
}

}  // namespace edgekiln::simfarm::rv32
