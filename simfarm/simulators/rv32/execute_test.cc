// What single instructions do, by hand. Random programs are in oracle_test.cc.

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "simfarm/simulators/rv32/testing/test_machine.h"

namespace edgekiln::simfarm::rv32 {
namespace {

using namespace rv32::testing;  // NOLINT: encoders, by the manual's names.

constexpr uint32_t kMin = 0x80000000;
constexpr uint32_t kOnes = 0xffffffff;

// x10 = instruction(x11 = a, x12 = b)
struct Case {
  const char* name;
  uint32_t instruction;
  uint32_t a;
  uint32_t b;
  uint32_t expected;
};

constexpr uint32_t Reg(uint32_t funct3, uint32_t funct7 = 0) {
  return EncodeR(funct7, 12, 11, funct3, 10, 0x33);
}
constexpr uint32_t Imm(uint32_t funct3, int32_t imm) {
  return EncodeI(imm, 11, funct3, 10, 0x13);
}

const Case kCases[] = {
    {"add_wraps", Reg(0), kOnes, 2, 1},
    {"sub_wraps", Reg(0, 0x20), 0, 1, kOnes},
    {"sll_by_33", Reg(1), 1, 33, 2},
    {"slt", Reg(2), kMin, 0, 1},
    {"sltu", Reg(3), kMin, 0, 0},
    {"xor", Reg(4), 0x0ff0, 0x00ff, 0x0f0f},
    {"srl_by_32", Reg(5), kMin, 32, kMin},
    {"srl", Reg(5), kMin, 31, 1},
    {"sra", Reg(5, 0x20), kMin, 31, kOnes},
    {"or", Reg(6), 0x0ff0, 0x00ff, 0x0fff},
    {"and", Reg(7), 0x0ff0, 0x00ff, 0x00f0},
    {"addi", Imm(0, -1), 0, 0, kOnes},
    {"slti", Imm(2, -1), kMin, 0, 1},
    {"sltiu_extends_sign", Imm(3, -1), 5, 0, 1},
    {"xori", Imm(4, -1), 0x0f, 0, 0xfffffff0},
    {"ori", Imm(6, 0x70f), 0x0f0, 0, 0x7ff},
    {"andi", Imm(7, -16), 0xff, 0, 0xf0},
    {"slli", Imm(1, 31), 3, 0, kMin},
    {"srli", Imm(5, 31), kMin, 0, 1},
    {"srai", Imm(5, 0x41f), kMin, 0, kOnes},
    {"lui", Lui(10, 0xfffff), 0, 0, 0xfffff000},
    {"mul", MulDiv(0, 10, 11, 12), kOnes, kOnes, 1},
    {"mulh", MulDiv(1, 10, 11, 12), kMin, kMin, 0x40000000},
    {"mulhsu", MulDiv(2, 10, 11, 12), kOnes, kOnes, kOnes},
    {"mulhu", MulDiv(3, 10, 11, 12), kOnes, kOnes, 0xfffffffe},
    {"div", MulDiv(4, 10, 11, 12), 0xfffffff9, 2, 0xfffffffd},
    {"div_by_zero", MulDiv(4, 10, 11, 12), 7, 0, kOnes},
    {"div_overflows", MulDiv(4, 10, 11, 12), kMin, kOnes, kMin},
    {"divu", MulDiv(5, 10, 11, 12), kOnes, 16, 0x0fffffff},
    {"divu_by_zero", MulDiv(5, 10, 11, 12), 7, 0, kOnes},
    {"rem", MulDiv(6, 10, 11, 12), 0xfffffff9, 2, kOnes},
    {"rem_by_zero", MulDiv(6, 10, 11, 12), 7, 0, 7},
    {"rem_overflows", MulDiv(6, 10, 11, 12), kMin, kOnes, 0},
    {"remu", MulDiv(7, 10, 11, 12), kOnes, 16, 15},
    {"remu_by_zero", MulDiv(7, 10, 11, 12), 7, 0, 7},
};

class ExecuteTest : public ::testing::TestWithParam<Case> {};

TEST_P(ExecuteTest, ComputesByHand) {
  TestMachine machine({.isa = {.m = true}});
  Assembler code(kRom);
  code.Li(11, GetParam().a).Li(12, GetParam().b).Word(GetParam().instruction);
  machine.LoadCode(code);
  const RunResult result = machine.Run(5);
  EXPECT_EQ(result.reason, ExitReason::kInstructionLimit);
  EXPECT_EQ(machine.x(10), GetParam().expected);
  EXPECT_EQ(machine->registers().pc, kRom + 20);
}
INSTANTIATE_TEST_SUITE_P(All, ExecuteTest, ::testing::ValuesIn(kCases),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

TEST(ExecuteTest, X0StaysZero) {
  TestMachine machine({.isa = {.m = true}});
  machine.Load({Addi(0, 0, 5), Lui(0, 1), Auipc(0, 0), MulDiv(4, 0, 0, 0),
                Csrr(0, kMcycle), Jal(0, 4), Add(10, 0, 0)});
  machine.Run(7);
  EXPECT_EQ(machine.x(0), 0u);
  EXPECT_EQ(machine.x(10), 0u);
}

TEST(ExecuteTest, JumpsLinkAndClearTheLowestBit) {
  TestMachine machine({.isa = {}});
  machine.Load({Jal(1, 8), kNop, Auipc(5, 0), Jalr(5, 5, 13), kNop});
  machine.Run(3);
  EXPECT_EQ(machine.x(1), kRom + 4);
  EXPECT_EQ(machine.x(5), kRom + 16);  // rd may be rs1.
  EXPECT_EQ(machine->registers().pc, kRom + 20);
}

TEST(ExecuteTest, LoadsExtendAndStoresCut) {
  TestMachine machine({.isa = {}});
  Assembler code(kRom);
  code.Li(5, kRam).Li(6, 0x8081f2f3);
  code.Words({Sw(6, 0, 5), Sw(0, 4, 5), Sb(6, 4, 5), Sh(6, 6, 5), Lb(10, 0, 5),
              Lbu(11, 0, 5), Lh(12, 2, 5), Lhu(13, 2, 5), Lw(14, 4, 5)});
  machine.LoadCode(code);
  machine.Run(13);
  EXPECT_EQ(machine.x(10), 0xfffffff3);
  EXPECT_EQ(machine.x(11), 0xf3u);
  EXPECT_EQ(machine.x(12), 0xffff8081);
  EXPECT_EQ(machine.x(13), 0x8081u);
  EXPECT_EQ(machine.x(14), 0xf2f300f3);
}

TEST(ExecuteTest, CountersCountWhatRetiredBefore) {
  TestMachine machine({.isa = {}});
  machine.Load({kNop, Csrr(10, 0xc02), Csrr(11, 0xc00), Csrr(12, 0xc82),
                Csrw(kMinstret, 0), Csrr(13, kMinstret), kNop,
                Csrr(14, kMinstret)});
  machine.Run(8);
  EXPECT_EQ(machine.x(10), 1u);
  EXPECT_EQ(machine.x(11), 2u);
  EXPECT_EQ(machine.x(12), 0u);
  EXPECT_EQ(machine.x(13), 0u);
  EXPECT_EQ(machine.x(14), 2u);
  EXPECT_EQ(machine->totals().instructions, 8);
}

TEST(ExecuteTest, StopsAfterExactlyTheLimitAndGoesOn) {
  TestMachine machine({.isa = {}});
  machine.Load(
      {Addi(10, 10, 1), Addi(10, 10, 1), Addi(10, 10, 1), Jal(0, -12)});
  for (int64_t i = 1; i <= 20; ++i) {
    EXPECT_EQ(machine.Run(1).totals.instructions, i);
  }
  EXPECT_EQ(machine.x(10), 15u);
  EXPECT_EQ(machine.Run(1'000'001).totals.instructions, 1'000'021);
  EXPECT_EQ(machine.Run(0).totals.instructions, 1'000'021);
}

// The store changes the second instruction behind it, in the same block.
TEST(ExecuteTest, StoresToCodeCountAtOnce) {
  TestMachine machine(
      {.isa = {},
       .memory = {{.name = "ram", .base = kRom, .size_bytes = kRomBytes}}});
  Assembler code(kRom);
  code.Li(5, kRom + 0x1c).Li(6, Addi(10, 10, 100));
  code.Words({kNop, Sw(6, 0, 5), kNop, Addi(10, 10, 1), Jal(0, -16)});
  machine.LoadCode(code);
  const RunResult result = machine.Run(8);
  EXPECT_EQ(result.totals.instructions, 8);
  EXPECT_EQ(machine.x(10), 100u);
  machine.Run(10);
  EXPECT_EQ(machine.x(10), 300u);
  // Each was counted, whether or not its block was left early.
  int64_t counted = 0;
  for (const PcCount& each : machine->CountAddresses()) {
    counted += each.executions;
  }
  EXPECT_EQ(counted, 18);
}

// Each round adds what the round before wrote into its instruction: 1 + 2 + 3.
TEST(ExecuteTest, StoresToCodeCountWhenItIsReachedAgain) {
  TestMachine machine(
      {.isa = {},
       .memory = {{.name = "ram", .base = kRom, .size_bytes = kRomBytes}}});
  Assembler code(kRom);
  code.Li(5, kRom + 0x18).Li(6, Addi(10, 10, 1)).Li(7, 1 << 20);
  code.Words({Addi(10, 10, 1), Add(6, 6, 7), Sw(6, 0, 5), Jal(0, -12)});
  machine.LoadCode(code);
  machine.Run(6 + 3 * 4);
  EXPECT_EQ(machine.x(10), 6u);
}

// A host, or a device, that writes code does so like the core.
TEST(ExecuteTest, WritesFromOutsideChangeCode) {
  TestMachine machine({.isa = {}});
  machine.Load({Addi(10, 10, 1), Jal(0, -4)});
  machine.Run(10);
  const uint32_t word = Addi(10, 10, 100);
  ASSERT_TRUE(
      machine->Write(kRom, std::string(reinterpret_cast<const char*>(&word), 4))
          .ok());
  machine.Run(2);
  EXPECT_EQ(machine.x(10), 105u);
}

TEST(ExecuteTest, FloatIsOffUntilSwitchedOn) {
  TestMachine machine({.isa = {.f = true}});
  machine.Load({FmvWX(1, 0)});
  RunResult result = machine.Run(1);
  ASSERT_TRUE(result.fault.has_value());
  EXPECT_EQ(result.fault->kind, FaultKind::kIllegalInstruction);
  EXPECT_EQ(result.fault->address, FmvWX(1, 0));

  Assembler code(kRom);
  code.Li(5, 3 << 13).Words({Csrw(kMstatus, 5), FmvWX(1, 5), Fsw(1, 0, 0)});
  machine.LoadCode(code);
  result = machine.Run(4);
  EXPECT_EQ(result.reason, ExitReason::kInstructionLimit);
  EXPECT_EQ(machine->registers().f[1], 3u << 13);
}

TEST(ExecuteTest, ResetForgetsEverything) {
  TestMachine machine({.isa = {}, .checked = true});
  machine.Load({Addi(10, 0, 5), kNop});
  machine.Run(2);
  machine->Reset();
  EXPECT_EQ(machine.x(10), 0u);
  EXPECT_EQ(machine->totals(), Totals());
  EXPECT_TRUE(machine->CountAddresses().empty());
  EXPECT_EQ(machine->FindUndefined(kRom, 4), kRom);
}

}  // namespace
}  // namespace edgekiln::simfarm::rv32
