// The suite itself: the programs it is given reach everything, and it does
// fail.

#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "base/rng.h"
#include "gtest/gtest-spi.h"
#include "gtest/gtest.h"
#include "simfarm/conformance/chip_suite.h"
#include "simfarm/conformance/dla/dla_models.h"
#include "simfarm/conformance/dla/dla_words.h"
#include "simfarm/conformance/dla/random_program.h"

namespace edgekiln::simfarm::conformance::dla {
namespace {

TEST(SuiteTest, ProgramsReachEveryCommandAndRegister) {
  Rng rng(7);
  std::map<int, int> opcodes;
  std::map<int, int> registers;
  int int32_outputs = 0;
  int waits = 0;
  std::map<int, int> even;
  for (int i = 0; i < 300; ++i) {
    const DlaCase program = RandomProgram(RandomChip(rng), 6, rng);
    for (size_t at = 0; at < program.code.size(); at += 8) {
      const int opcode = static_cast<uint8_t>(program.code[at]);
      ++opcodes[opcode];
      if (opcode == kRegWrite) ++registers[program.code[at + 1]];
      if (program.code[at + 2] != 0) ++even[opcode];
      const bool set = program.code[at + 4] != 0;
      int32_outputs +=
          opcode == kRegWrite && program.code[at + 1] == kFlags && set;
      waits += opcode != kRegWrite && set;
    }
  }
  for (const int opcode :
       {kRegWrite, kEnd, kConv, kConvRelu, kDepthConv, kMatMul, kRelu,
        kLeakyRelu, kPool, kAbs, kMin, kMax, kAdd, kAdd32, kShift32, kRequant,
        kDmaRead, kDmaWrite}) {
    EXPECT_GE(opcodes[opcode], 20) << opcode;
  }
  for (const int opcode : {kConv, kConvRelu, kDepthConv, kMatMul, kLeakyRelu,
                           kPool, kAdd, kRequant}) {
    EXPECT_GE(even[opcode], 10) << opcode;
  }
  EXPECT_EQ(even.size(), 8u);
  EXPECT_EQ(opcodes.size(), 18u);
  EXPECT_EQ(registers.size(), static_cast<size_t>(kRegisters));
  EXPECT_GE(int32_outputs, 50);
  EXPECT_GE(waits, 500);
}

// What a chip makes of a program, instead of what it should.
using Fault = std::function<StreamOutcome(const ChipModels&, StreamProgram)>;

class FaultyChip : public ChipModels {
 public:
  FaultyChip(std::unique_ptr<ChipModels> right, Fault fault)
      : right_(std::move(right)), fault_(std::move(fault)) {}

  const v1::Machine& machine() const override { return right_->machine(); }
  StreamProgram RandomProgram(int commands, Rng& rng) const override {
    return right_->RandomProgram(commands, rng);
  }
  StreamOutcome RunNaive(const StreamProgram& program) const override {
    return right_->RunNaive(program);
  }
  StreamOutcome RunSimulator(const StreamProgram& program,
                             CpuPath) const override {
    return fault_(*right_, program);
  }

 private:
  std::unique_ptr<ChipModels> right_;
  Fault fault_;
};

ChipSource Faulty(Fault fault) {
  return [fault](Rng& rng) {
    return std::make_unique<FaultyChip>(NewRandomDlaModels(rng), fault);
  };
}

// The naive model with `spoil` applied to every outcome.
ChipSource Spoiled(void (*spoil)(StreamOutcome&)) {
  return Faulty([spoil](const ChipModels& right, const StreamProgram& program) {
    StreamOutcome outcome = right.RunNaive(program);
    spoil(outcome);
    return outcome;
  });
}

const SuiteOptions kSmall = {.chips = 1, .programs_per_chip = 1};

TEST(SuiteTest, PassesTheNaiveModelItself) {
  ExpectAgreesWithNaiveModel(Spoiled([](StreamOutcome&) {}), kSmall);
}

// A chip that rounds half up whatever the command says.
ChipSource WithoutHalfEven() {
  return Faulty([](const ChipModels& right, StreamProgram program) {
    for (size_t at = 2; at < program.code.size(); at += 8) program.code[at] = 0;
    return right.RunNaive(program);
  });
}

// How often the suite fails for such chips.
int FailuresOf(const ChipSource& source, const SuiteOptions& options) {
  testing::TestPartResultArray results;
  testing::ScopedFakeTestPartResultReporter reporter(
      testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD,
      &results);
  ExpectAgreesWithNaiveModel(source, options);
  return results.size();
}

TEST(SuiteTest, FailsForAnotherRounding) {
  EXPECT_GE(
      FailuresOf(WithoutHalfEven(), {.chips = 5, .programs_per_chip = 20}), 1);
}

// Chips whose transfers overlap with computing whatever the descriptor says.
ChipSource WithoutBlocking() {
  return [](Rng& rng) {
    const DlaChip chip = RandomChip(rng);
    DlaChip overlapped = chip;
    overlapped.blocking_dma = false;
    std::shared_ptr<ChipModels> other = NewDlaModels(overlapped);
    return std::make_unique<FaultyChip>(
        NewDlaModels(chip),
        [other](const ChipModels&, const StreamProgram& program) {
          return other->RunNaive(program);
        });
  };
}

TEST(SuiteTest, FailsForAnotherContention) {
  EXPECT_GE(
      FailuresOf(WithoutBlocking(), {.chips = 10, .programs_per_chip = 5}), 1);
}

TEST(SuiteTest, FailsForEveryKindOfDifference) {
  const auto fails = [](void (*spoil)(StreamOutcome&), const char* what) {
    EXPECT_GE(FailuresOf(Spoiled(spoil), kSmall), 1) << what;
  };
  fails([](StreamOutcome& o) { ++o.cycles; }, "cycles");
  fails([](StreamOutcome& o) { --o.busy_cycles; }, "busy");
  fails([](StreamOutcome& o) { ++o.bytes_read; }, "read");
  fails([](StreamOutcome& o) { ++o.bytes_written; }, "written");
  fails([](StreamOutcome& o) { o.ram[17] = static_cast<char>(o.ram[17] + 1); },
        "ram");
  fails(
      [](StreamOutcome& o) {
        o.scratchpad.back() = static_cast<char>(o.scratchpad.back() + 1);
      },
      "sram");
  fails([](StreamOutcome& o) { ++o.owned.begin()->second.stall; }, "owned");
  fails(
      [](StreamOutcome& o) {
        o = {};
        o.error = "refused";
      },
      "refused");
}

}  // namespace
}  // namespace edgekiln::simfarm::conformance::dla
