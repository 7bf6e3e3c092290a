// Traps, interrupts, faults and what is checked of accesses.

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "simfarm/simulators/rv32/testing/test_machine.h"

namespace edgekiln::simfarm::rv32 {
namespace {

using namespace rv32::testing;  // NOLINT: encoders, by the manual's names.

// x5 points to ram when the case's instruction runs.
struct Case {
  const char* name;
  uint32_t instruction;
  FaultKind kind;
  uint32_t address;
  uint32_t cause;  // As a handler sees it.
  const char* text;
};

const Case kCases[] = {
    {"unmapped_load", Lw(10, 0, 0), FaultKind::kLoadAccess, 0, 5,
     "load from 0x00000000 is not possible"},
    {"misaligned_load", Lw(10, 2, 5), FaultKind::kLoadMisaligned, kRam + 2, 4,
     "misaligned load from ram 0x20000002"},
    {"misaligned_half", Lh(10, 1, 5), FaultKind::kLoadMisaligned, kRam + 1, 4,
     "misaligned load"},
    {"below_ram", Lw(10, -4, 5), FaultKind::kLoadAccess, kRam - 4, 5, "load"},
    {"behind_ram", Lw(10, 0, 6), FaultKind::kLoadAccess, kRam + kRamSize, 5,
     "load from 0x20001000"},
    {"store_behind_ram", Sb(10, 0, 6), FaultKind::kStoreAccess, kRam + kRamSize,
     7, "store to 0x20001000"},
    {"rom_store", Sw(10, 0, 7), FaultKind::kStoreAccess, kRom, 7,
     "store to rom 0x00001000 is not possible"},
    {"misaligned_store", Sh(10, 1, 5), FaultKind::kStoreMisaligned, kRam + 1, 6,
     "misaligned store to ram"},
    {"device_byte", Sb(10, 0, 8), FaultKind::kStoreAccess, kConsole, 7,
     "store to 0x10000000"},
    {"jump_to_ram", Jalr(0, 5, 0), FaultKind::kFetchAccess, kRam, 1,
     "executes ram 0x20000000, which holds no code"},
    {"jump_nowhere", Jalr(0, 0, 0), FaultKind::kFetchAccess, 0, 1, "executes"},
    {"misaligned_jump", Jalr(0, 7, 2), FaultKind::kFetchMisaligned, kRom + 2, 0,
     "jumps to the misaligned address 0x00001002"},
    {"misaligned_jal", Jal(0, 6), FaultKind::kFetchMisaligned, kRom + 0x26, 0,
     "jumps"},
    {"misaligned_branch", Beq(0, 0, 6), FaultKind::kFetchMisaligned,
     kRom + 0x26, 0, "jumps"},
    {"illegal", 0xffffffff, FaultKind::kIllegalInstruction, 0xffffffff, 2,
     "illegal instruction 0xffffffff"},
    {"no_extension", MulDiv(0, 1, 1, 1), FaultKind::kIllegalInstruction,
     MulDiv(0, 1, 1, 1), 2, "illegal instruction"},
    {"unknown_csr", Csrr(10, 0x7c0), FaultKind::kIllegalInstruction,
     Csrr(10, 0x7c0), 2, "illegal instruction"},
    {"read_only_csr", Csrw(0xc00, 10), FaultKind::kIllegalInstruction,
     Csrw(0xc00, 10), 2, "illegal instruction"},
    {"ecall", kEcall, FaultKind::kEcall, 0, 11, "ecall"},
    {"ebreak", kEbreak, FaultKind::kBreakpoint, kRom + 0x20, 3, "ebreak"},
};

class TrapTest : public ::testing::TestWithParam<Case> {};

// Where the case's instruction is.
constexpr uint32_t kAt = kRom + 0x20;

Assembler Prologue() {
  Assembler code(kRom);
  code.Li(5, kRam).Li(6, kRam + kRamSize).Li(7, kRom).Li(8, kConsole);
  return code;
}

TEST_P(TrapTest, WithoutAHandlerItIsAFault) {
  TestMachine machine({.isa = {}});
  Assembler code = Prologue();
  code.Word(GetParam().instruction);
  machine.LoadCode(code, {{"main", kRom, 0x40}});
  const RunResult result = machine.Run(100);
  ASSERT_EQ(result.reason, ExitReason::kFault);
  EXPECT_EQ(result.fault->kind, GetParam().kind);
  EXPECT_EQ(result.fault->address, GetParam().address);
  const bool jumped = GetParam().kind == FaultKind::kFetchAccess;
  EXPECT_EQ(result.fault->pc, jumped ? GetParam().address : kAt);
  EXPECT_EQ(result.fault->function, jumped ? "" : "main");
  EXPECT_EQ(result.totals.instructions, jumped ? 9 : 8);
  const std::string message(FaultError(*result.fault).message());
  EXPECT_NE(message.find(GetParam().text), std::string::npos) << message;
}

TEST_P(TrapTest, AHandlerLearnsCauseAddressAndPc) {
  TestMachine machine({.isa = {}});
  Assembler code = Prologue();
  code.Word(GetParam().instruction);
  code.Words({kNop, kNop});
  const uint32_t handler = code.here();
  code.Words({Csrr(20, kMcause), Csrr(21, kMepc), Csrr(22, kMtval)});
  // mtvec is set before the prologue runs, from outside of it.
  Assembler start(kRom + 0x400);
  start.Li(30, handler).Word(Csrw(kMtvec, 30)).JumpTo(0, kRom);
  machine.LoadCode(code);
  ASSERT_TRUE(machine->Write(kRom + 0x400, start.bytes()).ok());
  machine->set_pc(kRom + 0x400);
  const bool jumped = GetParam().kind == FaultKind::kFetchAccess;
  const RunResult result = machine.Run(4 + 8 + (jumped ? 1 : 0) + 3);
  EXPECT_EQ(result.reason, ExitReason::kInstructionLimit);
  EXPECT_EQ(machine.x(20), GetParam().cause);
  EXPECT_EQ(machine.x(21), jumped ? GetParam().address : kAt);
  EXPECT_EQ(machine.x(22), GetParam().address);
}
INSTANTIATE_TEST_SUITE_P(All, TrapTest, ::testing::ValuesIn(kCases),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

TEST(TrapTest, ABranchNotTakenMayHaveAnyTarget) {
  TestMachine machine({.isa = {}});
  machine.Load({Bne(0, 0, 6), kNop});
  EXPECT_EQ(machine.Run(2).reason, ExitReason::kInstructionLimit);
}

TEST(TrapTest, AHandlerThatCannotRunEndsTheRun) {
  TestMachine machine({.isa = {}});
  Assembler code(kRom);
  code.Li(5, kRam).Words({Csrw(kMtvec, 5), kEcall});
  machine.LoadCode(code);
  const RunResult result = machine.Run(1000);
  ASSERT_EQ(result.reason, ExitReason::kFault);
  EXPECT_EQ(result.fault->kind, FaultKind::kFetchAccess);
  EXPECT_EQ(result.fault->pc, kRam);
}

// mtimecmp = 40, then a loop of two instructions; the handler puts mepc, the
// cycle and mcause away and moves mtimecmp by 100.
Assembler TimerProgram(bool sleeps) {
  Assembler code(kRom);
  const uint32_t first = code.here();
  code.Word(0);
  const uint32_t handler = code.here();
  code.Words({Csrr(20, kMcycle), Csrr(21, kMepc), Csrr(22, kMcause),
              Addi(23, 23, 1), Lw(24, 0, 9), Addi(24, 24, 100), Sw(24, 0, 9),
              kMret});
  code.Patch(first, Jal(0, static_cast<int32_t>(code.here() - first)));
  code.Li(5, handler).Word(Csrw(kMtvec, 5));
  code.Li(9, kTimer + 0x4000);
  code.Words({Addi(6, 0, 40), Sw(6, 0, 9), Sw(0, 4, 9)});
  code.Li(6, 1 << 7).Word(Csrw(kMie, 6));
  code.Words({Addi(6, 0, 8), Csrw(kMstatus, 6)});
  code.Words({sleeps ? kWfi : Addi(10, 10, 1), Jal(0, -4)});
  return code;
}

TEST(InterruptTest, TheTimerInterruptsAtItsCycle) {
  for (const bool costs : {false, true}) {
    TestMachine machine({.isa = {},
                         .costs = costs
                                      ? std::optional<CycleCosts>(CycleCosts())
                                      : std::nullopt});
    machine.LoadCode(TimerProgram(false));
    // In a long run as well as step by step.
    machine.Run(46);
    EXPECT_EQ(machine.x(23), 1u);
    EXPECT_EQ(machine.x(20), 40u);
    EXPECT_EQ(machine.x(22), 0x80000007);
    machine.Run(1000);
    EXPECT_EQ((machine.x(20) - 40) % 100, 0u);
    EXPECT_EQ(machine.x(23), (machine.x(20) - 40) / 100 + 1);
  }
}

TEST(InterruptTest, WfiSleepsUntilTheTimer) {
  TestMachine machine({.isa = {}});
  machine.LoadCode(TimerProgram(true));
  const RunResult result = machine.Run(300);
  EXPECT_EQ((machine.x(20) - 40) % 100, 0u);
  EXPECT_GT(result.totals.cycles, 2000);  // 10 instructions per 100 cycles.
  EXPECT_EQ(result.totals.instructions, 300);
}

TEST(InterruptTest, WfiWithoutAnEventIsAFault) {
  TestMachine machine({.isa = {}});
  machine.Load({kWfi});
  const RunResult result = machine.Run(10);
  ASSERT_EQ(result.reason, ExitReason::kFault);
  EXPECT_EQ(result.fault->kind, FaultKind::kSleepsForever);
}

TEST(CheckedTest, ReadingWhatNothingWroteIsAFault) {
  for (const bool checked : {false, true}) {
    TestMachine machine({.isa = {}, .checked = checked});
    Assembler code(kRom);
    code.Li(5, kRam).Words({Sw(0, 8, 5), Sh(0, 12, 5), Lw(10, 8, 5),
                            Lhu(10, 12, 5), Lw(10, 12, 5), kNop});
    machine.LoadCode(code, {{"reader", kRom, 64}});
    const RunResult result = machine.Run(8);
    EXPECT_EQ(result.fault.has_value(), checked);
    if (!checked) continue;
    EXPECT_EQ(result.fault->kind, FaultKind::kUndefinedRead);
    EXPECT_EQ(result.fault->address, kRam + 14);
    EXPECT_EQ(result.fault->pc, kRom + 0x18);
    EXPECT_EQ(FaultError(*result.fault).message(),
              "reads ram 0x2000000e, which nothing wrote; "
              "where: function reader, pc 0x00001018");
  }
}

TEST(CheckedTest, ExecutingWhatNothingWroteIsAFault) {
  TestMachine machine({.isa = {}, .checked = true});
  machine.Load({kNop});
  const RunResult result = machine.Run(8);
  ASSERT_TRUE(result.fault.has_value());
  EXPECT_EQ(result.fault->kind, FaultKind::kUndefinedRead);
  EXPECT_EQ(result.fault->pc, kRom + 4);
}

// A trap handler does not hide it.
TEST(StackTest, AnOverflowEndsTheRun) {
  struct Case {
    const char* name;
    uint32_t instruction;
    uint32_t address;
  };
  const Case kStackCases[] = {
      {"addi", Addi(2, 2, -1040), kRam + 0x3f0},
      {"move", Sub(2, 2, 6), kRam + 0x400 - 4},
      {"guard", Sw(0, -1028, 2), kRam + 0x3fc},
  };
  for (const Case& each : kStackCases) {
    TestMachine machine(
        {.isa = {},
         .stack = StackLimit{.low = kRam + 0x400, .guard_bytes = 64}});
    Assembler code(kRom);
    code.Li(5, kRom).Li(6, 0x404).Word(Csrw(kMtvec, 5)).Li(2, kRam + 0x800);
    code.Words({Addi(2, 2, -1024), Addi(2, 2, 1024), Sw(0, -1024, 2)});
    const uint32_t at = code.here();
    code.Words({each.instruction, kNop});
    machine.LoadCode(code, {{"deep", kRom, 128}});
    const RunResult result = machine.Run(100);
    ASSERT_TRUE(result.fault.has_value()) << each.name;
    EXPECT_EQ(result.fault->kind, FaultKind::kStackOverflow) << each.name;
    EXPECT_EQ(result.fault->address, each.address) << each.name;
    EXPECT_EQ(result.fault->pc, at) << each.name;
    EXPECT_EQ(result.fault->function, "deep") << each.name;
  }
}

TEST(DeviceTest, ConsoleAndExit) {
  TestMachine machine({.isa = {}});
  Assembler code(kRom);
  code.Li(5, kConsole).Li(6, 'o').Li(7, 'k').Words({Sw(6, 0, 5), Sw(7, 0, 5)});
  for (int i = 0; i < 20; ++i) code.Word(Sw(7, 0, 5));
  code.Li(5, kExit).Li(6, 42 << 16 | 0x3333).Word(Sw(6, 0, 5)).Word(kNop);
  machine.LoadCode(code);
  const RunResult result = machine.Run(1000);
  EXPECT_EQ(result.reason, ExitReason::kExited);
  EXPECT_EQ(result.exit_code, 42);
  EXPECT_EQ(result.totals.instructions, 33);
  // It keeps 16 bytes.
  EXPECT_EQ(machine.console().text(), "okkkkkkkkkkkkkkk");
  EXPECT_EQ(machine.console().dropped_bytes(), 6);
}

TEST(DeviceTest, ARefusedAccessEndsTheRun) {
  TestMachine machine({.isa = {}});
  Assembler code(kRom);
  code.Li(5, kTimer).Word(Lw(10, 8, 5));
  machine.LoadCode(code);
  const RunResult result = machine.Run(1000);
  ASSERT_TRUE(result.fault.has_value());
  EXPECT_EQ(result.fault->kind, FaultKind::kDevice);
  EXPECT_EQ(FaultError(*result.fault).message(),
            "device access at timer 0x02000008 failed: no register of the "
            "timer; where: register 0x8; where: pc 0x00001008");
}

// Ten cycles of its own per job.
class FakeEngine : public MmioDevice {
 public:
  void Reset(RunMode) override {}
  absl::StatusOr<std::optional<int64_t>> Write(uint32_t, uint32_t) override {
    done_ = 0;
    return std::optional<int64_t>(10);
  }
  absl::StatusOr<uint32_t> Read(uint32_t) override { return done_; }
  void Complete() override { done_ = 1; }

 private:
  uint32_t done_ = 0;
};

// Polls until the status is 1, then sleeps until the line is high.
TEST(DeviceTest, AnEngineIsBusyAsLongAsItSays) {
  constexpr uint32_t kEngine = 0x70000000;
  FakeEngine engine;
  const auto device = NewEngineDevice(&engine, 3);
  TestMachine machine({.isa = {},
                       .devices = {{.name = "engine",
                                    .base = kEngine,
                                    .size_bytes = 8,
                                    .device = device.get(),
                                    .line = InterruptLine::kExternal}}});
  Assembler code(kRom);
  code.Li(5, kEngine).Li(7, 1 << 11).Word(Csrw(kMie, 7));
  code.Words({Csrr(20, kMcycle), Sw(7, 0, 5), Lw(10, 4, 5), Beq(10, 0, -4),
              Csrr(21, kMcycle)});
  code.Words({Csrr(22, kMcycle), Sw(7, 0, 5), kWfi, Csrr(23, kMcycle), kNop});
  machine.LoadCode(code);
  machine.Run(45);
  // The job begins with the store, one cycle after the counter was read. Polls
  // read at every second cycle.
  EXPECT_EQ(machine.x(21) - machine.x(20), 1u + 30u + 1u + 2u);
  EXPECT_EQ(machine.x(23) - machine.x(22), 1u + 30u);
}

}  // namespace
}  // namespace edgekiln::simfarm::rv32
