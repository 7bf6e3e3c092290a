// Cycles by table, counted by hand.

#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "simfarm/simulators/rv32/testing/test_machine.h"

namespace edgekiln::simfarm::rv32 {
namespace {

using namespace rv32::testing;  // NOLINT: encoders, by the manual's names.

// Powers of two and neighbours, so that no two sums are the same by chance.
constexpr CycleCosts kCosts = {.alu = 1,
                               .load = 2,
                               .store = 3,
                               .branch_not_taken = 4,
                               .branch_taken = 9,
                               .jump = 16,
                               .jump_register = 20,
                               .multiply = 32,
                               .multiply_high = 40,
                               .divide = 64,
                               .csr = 100,
                               .system = 128,
                               .float_simple = 200,
                               .float_add = 256,
                               .float_multiply = 300,
                               .float_multiply_add = 400,
                               .float_divide = 512,
                               .float_sqrt = 600,
                               .float_convert = 700,
                               .load_use_stall = 1000,
                               .trap_entry = 5000};

struct Case {
  const char* name;
  std::vector<uint32_t> words;
  int64_t instructions;
  int64_t cycles;
};

const Case kCases[] = {
    {"alu", {Addi(5, 0, 1), Lui(5, 1), Auipc(5, 1), Add(5, 5, 5)}, 4, 4},
    {"not_taken", {Bne(0, 0, 8), kNop}, 2, 4 + 1},
    {"taken", {Beq(0, 0, 8), kNop, kNop}, 2, 9 + 1},
    {"jumps",
     {Jal(1, 8), kNop, Auipc(5, 0), Jalr(0, 5, 8), kNop},
     4,
     16 + 1 + 20 + 1},
    {"multiply",
     {MulDiv(0, 5, 5, 5), MulDiv(1, 5, 5, 5), MulDiv(3, 5, 5, 5)},
     3,
     32 + 40 + 40},
    {"divide", {MulDiv(4, 5, 5, 5), MulDiv(7, 5, 5, 5)}, 2, 64 + 64},
    {"csr_sees_before",
     {kNop, Csrr(10, kMcycle), Csrr(11, kMcycle)},
     3,
     1 + 100 + 100},
    {"fence", {0x0ff0000f, kFenceI}, 2, 128 + 128},
    {"load_then_other",
     {Lui(5, 0x20000), Lw(6, 0, 5), kNop, Add(7, 6, 6)},
     4,
     1 + 2 + 1 + 1},
    {"load_then_use",
     {Lui(5, 0x20000), Lw(6, 0, 5), Add(7, 6, 6)},
     3,
     1 + 2 + 1000 + 1},
    {"load_then_store",
     {Lui(5, 0x20000), Lw(6, 0, 5), Sw(6, 0, 5)},
     3,
     1 + 2 + 1000 + 3},
    {"load_then_address",
     {Lui(5, 0x20000), Lw(5, 0, 5), Bne(5, 0, 8)},
     3,
     1 + 2 + 1000 + 4},
    {"load_to_x0", {Lui(5, 0x20000), Lw(0, 0, 5), Add(7, 0, 0)}, 3, 1 + 2 + 1},
    {"load_then_csr_use",
     {Lui(5, 0x20000), Lw(6, 0, 5), Csrw(0x340, 6)},
     3,
     1 + 2 + 1000 + 100},
    {"float",
     {Lui(5, 2), Addi(5, 5, -2048), Slli(5, 5, 2), Csrw(kMstatus, 5),
      0x00c5f553, 0x10c5f553, 0x68c5f543, 0x18c5f553, 0x5805f553, 0xc0059553,
      0x20c58553},
     11,
     3 + 100 + 256 + 300 + 400 + 512 + 600 + 700 + 200},
};

// The same if the run is cut after each instruction, and if it is checked.
TEST(CostsTest, AreCountedByHand) {
  for (const Case& each : kCases) {
    for (const bool stepwise : {false, true}) {
      for (const bool checked : {false, true}) {
        TestMachine machine({.isa = {.m = true, .f = true},
                             .costs = kCosts,
                             .checked = checked});
        machine.Load(each.words);
        ASSERT_TRUE(machine->Write(kRam, std::string(8, '\0')).ok());
        if (stepwise) {
          for (int64_t i = 0; i < each.instructions; ++i) machine.Run(1);
        } else {
          machine.Run(each.instructions);
        }
        EXPECT_EQ(machine->totals().instructions, each.instructions);
        EXPECT_EQ(machine->totals().cycles, each.cycles)
            << each.name << " stepwise " << stepwise;
      }
    }
  }
}

// x10 saw the cycles before its own instruction.
TEST(CostsTest, CountersSeeCyclesBeforeTheInstruction) {
  TestMachine machine({.isa = {}, .costs = kCosts});
  machine.Load({kNop, Csrr(10, kMcycle), Csrr(11, kMcycle)});
  machine.Run(3);
  EXPECT_EQ(machine.x(10), 1u);
  EXPECT_EQ(machine.x(11), 101u);
}

TEST(CostsTest, MemoriesAndDevicesAddWaitStates) {
  const std::vector<MemoryRegion> memory = {{.name = "rom",
                                             .base = kRom,
                                             .size_bytes = kRomBytes,
                                             .writable = false,
                                             .read_wait_cycles = 10,
                                             .fetch_wait_cycles = 1},
                                            {.name = "ram",
                                             .base = kRam,
                                             .size_bytes = kRamSize,
                                             .read_wait_cycles = 100,
                                             .write_wait_cycles = 1000}};
  Console console(16);
  for (const bool costs : {true, false}) {
    TestMachine machine({.isa = {},
                         .memory = memory,
                         .devices = {{.name = "console",
                                      .base = kConsole,
                                      .device = &console,
                                      .wait_cycles = 10'000}},
                         .costs = costs
                                      ? std::optional<CycleCosts>(CycleCosts())
                                      : std::nullopt});
    machine.Load({Lui(5, 0x20000), Lui(6, 1), Lui(7, 0x10000), Lw(10, 0, 6),
                  Lw(11, 0, 5), Sw(11, 4, 5), Sw(0, 0, 7), Lw(10, 0, 6), kNop});
    EXPECT_EQ(machine.Run(9).totals.cycles,
              costs ? 9 * 2 + 10 + 100 + 1000 + 10'000 + 10 : 9);
  }
}

TEST(CostsTest, TrapsTakeCycles) {
  TestMachine machine({.isa = {}, .costs = kCosts});
  Assembler code(kRom);
  code.Li(5, kRom + 16).Words({Csrw(kMtvec, 5), kEcall, kNop});
  machine.LoadCode(code);
  // ecall does not retire.
  const RunResult result = machine.Run(4);
  EXPECT_EQ(result.totals, (Totals{4, 2 + 100 + 5000 + 1}));
}

TEST(CostsTest, CostsOutOfRangeAreRefused) {
  const auto expect = [](CycleCosts costs) {
    const auto machine = NewMachine({.isa = {}, .costs = costs});
    EXPECT_EQ(machine.status().code(), absl::StatusCode::kInvalidArgument);
  };
  expect({.alu = 0});
  expect({.branch_taken = 0});
  expect({.divide = 1'000'000});
  expect({.load_use_stall = -1});
}

}  // namespace
}  // namespace edgekiln::simfarm::rv32
