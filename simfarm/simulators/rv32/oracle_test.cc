// Random programs, executed by this simulator and by QEMU, which must agree on
// everything that a program leaves behind.

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "simfarm/simulators/rv32/devices.h"
#include "simfarm/simulators/rv32/machine.h"
#include "simfarm/simulators/rv32/testing/random_program.h"
#include "tests/support/shared_data.h"
#include "tests/support/skip.h"

namespace edgekiln::simfarm::rv32 {
namespace {

constexpr char kQemu[] = "/usr/bin/qemu-system-riscv32";
constexpr char kAbsent[] =
    "no /usr/bin/qemu-system-riscv32; tools/install_packages oracle";

bool HasQemu() { return std::ifstream(kQemu).good(); }

// What the firmware in `elf` prints. Cores of QEMU have more than ours unless
// told otherwise.
std::string RunQemu(const std::string& elf, const Isa& isa) {
  const std::string path =
      absl::StrCat(::testing::TempDir(), "/rv32_oracle_",
                   ::testing::UnitTest::GetInstance()->random_seed(), "_",
                   reinterpret_cast<uintptr_t>(&elf));
  const std::string elf_path = path + ".elf";
  const std::string out_path = path + ".out";
  std::ofstream(elf_path, std::ios::binary) << elf;
  const std::string command = absl::StrCat(
      "timeout 60 ", kQemu, " -machine virt -cpu rv32,a=off,d=off,s=off,u=off,",
      "h=off,zba=off,zbb=off,zbc=off,zbs=off,m=", isa.m ? "on" : "off",
      ",f=", isa.f ? "on" : "off", ",c=", isa.c ? "on" : "off",
      " -icount shift=0 -display none -monitor none -bios none -serial file:",
      out_path, " -kernel ", elf_path, " </dev/null");
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  std::string output = tests::ReadWholeFile(out_path);
  std::remove(elf_path.c_str());
  std::remove(out_path.c_str());
  return output;
}

std::string RunOurs(const std::string& elf, MachineConfig config) {
  Console console(1 << 24);
  ExitDevice exit;
  config.memory = {{.name = "ram",
                    .base = rv32::testing::kRamBase,
                    .size_bytes = rv32::testing::kRamBytes}};
  config.devices = {
      {.name = "console",
       .base = rv32::testing::kConsoleAddress,
       .device = &console},
      {.name = "exit", .base = rv32::testing::kExitAddress, .device = &exit}};
  const auto machine = NewMachine(std::move(config));
  EXPECT_TRUE(machine.ok()) << machine.status();
  const auto executable = ReadElf(elf);
  EXPECT_TRUE(executable.ok()) << executable.status();
  EXPECT_TRUE((*machine)->Load(*executable).ok());
  const auto result = (*machine)->Run(1 << 25);
  EXPECT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->reason, ExitReason::kExited);
  if (result->fault.has_value()) ADD_FAILURE() << FaultError(*result->fault);
  int64_t counted = 0;
  for (const PcCount& each : (*machine)->CountAddresses()) {
    counted += each.executions;
  }
  EXPECT_EQ(counted, result->totals.instructions);
  return console.text();
}

std::vector<rv32::testing::ProgramRecord> Records(const std::string& output) {
  std::vector<rv32::testing::ProgramRecord> records(
      output.size() / sizeof(rv32::testing::ProgramRecord));
  std::memcpy(records.data(), output.data(),
              records.size() * sizeof(rv32::testing::ProgramRecord));
  return records;
}

// Compares the first program that differs.
void ExpectEqual(const std::string& ours, const std::string& qemu) {
  ASSERT_EQ(ours.size(), qemu.size());
  const auto our_records = Records(ours);
  const auto qemu_records = Records(qemu);
  for (size_t i = 0; i < our_records.size(); ++i) {
    rv32::testing::ProgramRecord expected = qemu_records[i];
    // QEMU counts most instructions that trap, which do not retire.
    const uint32_t excess = expected.instret - our_records[i].instret;
    ASSERT_LE(excess, expected.traps) << "program " << i;
    expected.instret = our_records[i].instret;
    ASSERT_TRUE(our_records[i] == expected)
        << "program " << i << "\nours " << Describe(our_records[i]) << "\nqemu "
        << Describe(qemu_records[i]);
  }
}

struct Case {
  const char* isa;
  uint64_t seed;
};

class OracleTest : public ::testing::TestWithParam<Case> {};

TEST_P(OracleTest, RandomProgramsLeaveTheSame) {
  if (!HasQemu()) EK_SKIP(kAbsent);
  const Isa isa = *ParseIsa(GetParam().isa);
  const std::string elf =
      rv32::testing::RandomPrograms(isa, GetParam().seed, 200, 150);
  const std::string ours = RunOurs(elf, {.isa = isa});
  ASSERT_EQ(Records(ours).size(), 200u);
  int exact = 0;
  for (const auto& record : Records(ours)) exact += record.traps == 0 ? 1 : 0;
  EXPECT_GE(exact, 100);
  ExpectEqual(ours, RunQemu(elf, isa));
  // However cycles are counted and memory is checked, values are the same.
  const CycleCosts costs = {.load = 3, .branch_taken = 5, .load_use_stall = 1};
  EXPECT_TRUE(ours == RunOurs(elf, {.isa = isa, .costs = costs}));
  EXPECT_TRUE(ours == RunOurs(elf, {.isa = isa, .checked = true}));
}

const Case kCases[] = {
    {"rv32i", 1},   {"rv32im", 1},   {"rv32imc", 1}, {"rv32imc", 2},
    {"rv32imf", 1}, {"rv32imfc", 1}, {"rv32imf", 2}, {"rv32imfc", 2},
};
INSTANTIATE_TEST_SUITE_P(All, OracleTest, ::testing::ValuesIn(kCases),
                         [](const auto& info) {
                           return absl::StrCat(info.param.isa, "_",
                                               info.param.seed);
                         });

TEST(CompressedOracleTest, EveryHalfwordDoesTheSame) {
  if (!HasQemu()) EK_SKIP(kAbsent);
  for (const char* name : {"rv32imc", "rv32imfc"}) {
    const Isa isa = *ParseIsa(name);
    const std::string elf = rv32::testing::AllHalfwords(isa, 0, 1);
    ExpectEqual(RunOurs(elf, {.isa = isa}), RunQemu(elf, isa));
  }
}

}  // namespace
}  // namespace edgekiln::simfarm::rv32
