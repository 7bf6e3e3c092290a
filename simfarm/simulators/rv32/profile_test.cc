// Executions, taken branches and cycles by address: counted by hand, and as
// sums of random programs.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "gtest/gtest.h"
#include "simfarm/simulators/rv32/testing/random_program.h"
#include "simfarm/simulators/rv32/testing/test_machine.h"

namespace edgekiln::simfarm::rv32 {
namespace {

using namespace rv32::testing;  // NOLINT: encoders, by the manual's names.

// "offset executions taken cycles" of each address, from the first of the code.
std::vector<std::string> CountsOf(const Machine& machine) {
  std::vector<std::string> lines;
  for (const PcCount& count : machine.CountAddresses()) {
    lines.push_back(absl::StrFormat("%d %d %d %d", count.pc - kRom,
                                    count.executions, count.taken,
                                    count.cycles));
  }
  return lines;
}

void ExpectSums(const Machine& machine) {
  Totals addresses;
  for (const PcCount& count : machine.CountAddresses()) {
    addresses.instructions += count.executions;
    addresses.cycles += count.cycles;
  }
  EXPECT_EQ(addresses, machine.totals());
  Totals functions;
  for (const FunctionCount& count : machine.CountFunctions()) {
    functions.instructions += count.instructions;
    functions.cycles += count.cycles;
  }
  EXPECT_EQ(functions, machine.totals());
}

// Five rounds of a loop that loads a word of ram, or of rom in the last one.
const std::vector<uint32_t> kLoop = {
    Lui(6, 1),        // 0: rom
    Lui(5, 0x20000),  // 4: ram
    Addi(7, 0, 5),    // 8
    Addi(7, 7, -1),   // 12: the loop
    Bne(7, 0, 8),     // 16: to 24, but for the last round
    Add(5, 6, 0),     // 20
    Lw(10, 0, 5),     // 24
    Add(11, 10, 10),  // 28
    Bne(7, 0, -20),   // 32: to 12
    kNop,             // 36
};
constexpr int64_t kLoopInstructions = 3 + 5 * 5 + 1 + 1;

std::vector<MemoryRegion> SlowMemory() {
  return {{.name = "rom",
           .base = kRom,
           .size_bytes = kRomBytes,
           .writable = false,
           .read_wait_cycles = 50,
           .fetch_wait_cycles = 1},
          {.name = "ram",
           .base = kRam,
           .size_bytes = kRamSize,
           .executable = false,
           .read_wait_cycles = 10}};
}

TEST(ProfileTest, WithoutCostsEveryExecutionIsACycle) {
  for (const bool checked : {false, true}) {
    TestMachine machine({.isa = {}, .checked = checked, .profile = true});
    machine.Load(kLoop);
    ASSERT_TRUE(machine->Write(kRam, std::string(8, '\0')).ok());
    machine.Run(kLoopInstructions);
    EXPECT_EQ(CountsOf(*machine),
              (std::vector<std::string>{
                  "0 1 0 1", "4 1 0 1", "8 1 0 1", "12 5 0 5", "16 5 4 5",
                  "20 1 0 1", "24 5 0 5", "28 5 0 5", "32 5 4 5", "36 1 0 1"}));
    ExpectSums(*machine);
  }
}

// The same however the run is cut: costs of classes, wait cycles of the memory
// that an access happens to reach, stalls, branches by where they go.
TEST(ProfileTest, CostsAreThoseOfTheInstructionThatCausesThem) {
  const CycleCosts costs = {.load = 2,
                            .branch_not_taken = 3,
                            .branch_taken = 7,
                            .load_use_stall = 100};
  for (const bool checked : {false, true}) {
    for (const int64_t step : {1, 7, 1000}) {
      TestMachine machine({.isa = {},
                           .memory = SlowMemory(),
                           .costs = costs,
                           .checked = checked,
                           .profile = true});
      machine.Load(kLoop);
      ASSERT_TRUE(machine->Write(kRam, std::string(8, '\0')).ok());
      for (int64_t left = kLoopInstructions; left > 0; left -= step) {
        machine.Run(std::min(step, left));
      }
      EXPECT_EQ(
          CountsOf(*machine),
          (std::vector<std::string>{
              "0 1 0 2", "4 1 0 2", "8 1 0 2", "12 5 0 10",
              absl::StrCat("16 5 4 ", 5 + 4 * 7 + 3), "20 1 0 2",
              absl::StrCat("24 5 0 ", 5 * (1 + 2 + 100) + 4 * 10 + 50),
              "28 5 0 10", absl::StrCat("32 5 4 ", 5 + 4 * 7 + 3), "36 1 0 2"}))
          << "step " << step << " checked " << checked;
      ExpectSums(*machine);
    }
  }
}

TEST(ProfileTest, TrapsBelongToTheAddressThatCausesThem) {
  TestMachine machine(
      {.isa = {}, .costs = CycleCosts{.trap_entry = 1000}, .profile = true});
  Assembler code(kRom);
  code.Li(5, kRom + 16).Words({Csrw(kMtvec, 5), kEcall, kNop});
  machine.LoadCode(code);
  machine.Run(4);
  EXPECT_EQ(CountsOf(*machine),
            (std::vector<std::string>{"0 1 0 1", "4 1 0 1", "8 1 0 1",
                                      "12 0 0 1000", "16 1 0 1"}));
  ExpectSums(*machine);
}

TEST(ProfileTest, TimeAsleepBelongsToTheWfi) {
  TestMachine machine({.isa = {}, .profile = true});
  Assembler code(kRom);
  code.Li(5, kTimer + 0x4000)
      .Li(6, 500)
      .Words({Sw(6, 0, 5), Sw(0, 4, 5), Addi(7, 0, 128), Csrw(kMie, 7), kWfi,
              kNop});
  machine.LoadCode(code);
  machine.Run(10);
  const std::vector<PcCount> counts = machine->CountAddresses();
  ASSERT_EQ(counts.size(), 10u);
  EXPECT_EQ(counts[8].executions, 1);
  EXPECT_EQ(counts[8].cycles, 500 - 8);
  ExpectSums(*machine);
}

TEST(ProfileTest, RandomProgramsSumUp) {
  const Isa isa = *ParseIsa("rv32imfc");
  const std::string elf = RandomPrograms(isa, 7, 100, 150);
  const CycleCosts costs = {
      .load = 3, .branch_taken = 5, .load_use_stall = 1, .trap_entry = 9};
  for (const bool has_costs : {false, true}) {
    for (const bool checked : {false, true}) {
      Totals totals;
      for (const bool profile : {false, true}) {
        MachineConfig config = {.isa = isa, .checked = checked};
        config.profile = profile;
        if (has_costs) config.costs = costs;
        config.memory = {{.name = "ram",
                          .base = kRamBase,
                          .size_bytes = kRamBytes,
                          .read_wait_cycles = 2,
                          .write_wait_cycles = 1,
                          .fetch_wait_cycles = 1}};
        Console console(1 << 24);
        ExitDevice exit;
        config.devices = {
            {.name = "console", .base = kConsoleAddress, .device = &console},
            {.name = "exit", .base = kExitAddress, .device = &exit}};
        const auto machine = NewMachine(std::move(config));
        ASSERT_TRUE(machine.ok()) << machine.status();
        const auto executable = ReadElf(elf);
        ASSERT_TRUE(executable.ok()) << executable.status();
        ASSERT_TRUE((*machine)->Load(*executable).ok());
        const auto result = (*machine)->Run(1 << 25);
        ASSERT_TRUE(result.ok()) << result.status();
        ASSERT_EQ(result->reason, ExitReason::kExited);
        // Profiling changes no count.
        if (profile) {
          ExpectSums(**machine);
          EXPECT_EQ(result->totals, totals);
        }
        totals = result->totals;
      }
    }
  }
}

}  // namespace
}  // namespace edgekiln::simfarm::rv32
