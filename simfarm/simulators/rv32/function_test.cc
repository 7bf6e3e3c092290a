// Function borders without instrumentation, and counts per function.

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "simfarm/simulators/rv32/testing/test_machine.h"

namespace edgekiln::simfarm::rv32 {
namespace {

using namespace rv32::testing;  // NOLINT: encoders, by the manual's names.

// Writes down "+f 3" for entering function f after 3 instructions, "-f 9" for
// returning from it.
class Recorder : public FunctionObserver {
 public:
  absl::Status OnEnter(int function, const Totals& totals,
                       Machine& /*machine*/) override {
    lines.push_back(absl::StrCat("+", function, " ", totals.instructions));
    return status;
  }
  absl::Status OnReturn(int function, const Totals& totals,
                        Machine& machine) override {
    lines.push_back(absl::StrCat("-", function, " ", totals.instructions));
    result = machine.registers().x[10];
    return absl::OkStatus();
  }

  std::vector<std::string> lines;
  uint32_t result = 0;
  absl::Status status;
};

constexpr uint32_t kMain = kRom;
constexpr uint32_t kTwice = kRom + 0x40;   // Adds 1 and calls itself once.
constexpr uint32_t kHelper = kRom + 0x80;  // Not observed; jumps to kLast.
constexpr uint32_t kLast = kRom + 0xc0;

// main calls twice() and helper(), in a loop.
class FunctionTest : public ::testing::Test {
 protected:
  FunctionTest() : machine_({.isa = {}}) {
    Assembler main(kMain);
    main.Li(2, kRam + 0x800);
    main.JumpTo(1, kTwice).JumpTo(1, kHelper).Word(Jal(0, -8));
    Assembler twice(kTwice);
    twice.Words({Addi(2, 2, -16), Sw(1, 0, 2), Addi(10, 10, 1), Andi(5, 10, 1),
                 Beq(5, 0, 8), Jal(1, -20), Lw(1, 0, 2), Addi(2, 2, 16), kRet});
    Assembler helper(kHelper);
    helper.Word(kNop).JumpTo(0, kLast);
    Assembler last(kLast);
    last.Words({kNop, kRet});
    machine_.LoadCode(main, {{"main", kMain, 0x40},
                             {"twice", kTwice, 0x40},
                             {"helper", kHelper, 0x40},
                             {"last", kLast, 0x40}});
    for (const Assembler* each : {&twice, &helper, &last}) {
      const uint32_t base =
          each->here() - static_cast<uint32_t>(each->bytes().size());
      EXPECT_TRUE(machine_->Write(base, each->bytes()).ok());
    }
  }

  TestMachine machine_;
  Recorder recorder_;
};

// twice: 6 instructions to its own call, 5 in the inner one up to the branch,
// which is taken, then 3 to return; 3 more in the outer one.
const std::vector<std::string> kFirstRound = {"+0 3",  "+0 9",  "-0 17",
                                              "-0 20", "+1 23", "-1 25"};

TEST_F(FunctionTest, EntriesAndReturnsAreTold) {
  machine_->Observe({kTwice, kLast}, &recorder_);
  machine_.Run(26);
  EXPECT_EQ(recorder_.lines, kFirstRound);
  EXPECT_EQ(recorder_.result, 2u);
}

// Observing adds nothing, and a limit anywhere changes nothing.
TEST_F(FunctionTest, StepsTellTheSame) {
  machine_->Observe({kTwice, kLast}, &recorder_);
  for (int i = 0; i < 26; ++i) machine_.Run(1);
  EXPECT_EQ(recorder_.lines, kFirstRound);
  EXPECT_EQ(machine_->totals().instructions, 26);
}

// Code that was decoded before anybody observed it.
TEST_F(FunctionTest, CodeMayHaveRunBefore) {
  machine_.Run(26);
  EXPECT_EQ(machine_->registers().pc, kMain + 8);
  machine_->Observe({kTwice, kLast}, &recorder_);
  machine_.Run(24);
  ASSERT_EQ(recorder_.lines.size(), 6u);
  EXPECT_EQ(recorder_.lines.front(), "+0 27");
}

TEST_F(FunctionTest, AnErrorOfTheObserverEndsTheRun) {
  recorder_.status = absl::DataLossError("differs");
  machine_->Observe({kTwice}, &recorder_);
  const auto result = machine_->Run(100);
  EXPECT_EQ(result.status(), recorder_.status);
  EXPECT_EQ(machine_->totals().instructions, 3);
}

TEST_F(FunctionTest, InstructionsAreCountedPerFunction) {
  machine_.Run(26);
  std::vector<std::string> lines;
  for (const FunctionCount& each : machine_->CountFunctions()) {
    lines.push_back(absl::StrCat(each.name, " ", each.instructions));
  }
  EXPECT_EQ(lines, (std::vector<std::string>{"main 5", "twice 17", "helper 2",
                                             "last 2"}));
  const std::vector<PcCount> addresses = machine_->CountAddresses();
  ASSERT_FALSE(addresses.empty());
  EXPECT_EQ(addresses[3].pc, kMain + 12);
  EXPECT_EQ(addresses[3].executions, 1);
}

}  // namespace
}  // namespace edgekiln::simfarm::rv32
