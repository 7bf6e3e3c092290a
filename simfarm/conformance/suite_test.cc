// The suite itself: its programs reach everything, and it does fail.

#include "simfarm/conformance/suite.h"

#include <map>

#include "base/rng.h"
#include "gtest/gtest-spi.h"
#include "gtest/gtest.h"
#include "simfarm/conformance/dla_words.h"
#include "simfarm/conformance/naive_dla.h"
#include "simfarm/conformance/random_program.h"

namespace edgekiln::simfarm::conformance {
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

// A factory for the naive model with `spoil` applied to every outcome.
DlaModelFactory Spoiled(void (*spoil)(DlaOutcome&)) {
  return [spoil](const DlaChip&) {
    return [spoil](const DlaCase& program) {
      DlaOutcome outcome = RunNaiveDla(program);
      spoil(outcome);
      return outcome;
    };
  };
}

const SuiteOptions kSmall = {.chips = 1, .programs_per_chip = 1};

TEST(SuiteTest, PassesTheNaiveModelItself) {
  ExpectAgreesWithNaiveModel(Spoiled([](DlaOutcome&) {}), kSmall);
}

// A chip that rounds half up whatever the command says.
DlaModelFactory WithoutHalfEven() {
  return [](const DlaChip&) {
    return [](const DlaCase& program) {
      DlaCase up = program;
      for (size_t at = 2; at < up.code.size(); at += 8) up.code[at] = 0;
      return RunNaiveDla(up);
    };
  };
}

TEST(SuiteTest, FailsForAnotherRounding) {
  testing::TestPartResultArray results;
  {
    testing::ScopedFakeTestPartResultReporter reporter(
        testing::ScopedFakeTestPartResultReporter::
            INTERCEPT_ONLY_CURRENT_THREAD,
        &results);
    ExpectAgreesWithNaiveModel(WithoutHalfEven(),
                               {.chips = 5, .programs_per_chip = 20});
  }
  EXPECT_GE(results.size(), 1);
}

// A chip whose transfers overlap with computing whatever the descriptor says.
DlaModelFactory WithoutBlocking() {
  return [](const DlaChip&) {
    return [](const DlaCase& program) {
      DlaCase overlapped = program;
      overlapped.chip.blocking_dma = false;
      return RunNaiveDla(overlapped);
    };
  };
}

TEST(SuiteTest, FailsForAnotherContention) {
  testing::TestPartResultArray results;
  {
    testing::ScopedFakeTestPartResultReporter reporter(
        testing::ScopedFakeTestPartResultReporter::
            INTERCEPT_ONLY_CURRENT_THREAD,
        &results);
    ExpectAgreesWithNaiveModel(WithoutBlocking(),
                               {.chips = 10, .programs_per_chip = 5});
  }
  EXPECT_GE(results.size(), 1);
}

TEST(SuiteTest, FailsForEveryKindOfDifference) {
  const auto fails = [](void (*spoil)(DlaOutcome&), const char* what) {
    testing::TestPartResultArray results;
    {
      testing::ScopedFakeTestPartResultReporter reporter(
          testing::ScopedFakeTestPartResultReporter::
              INTERCEPT_ONLY_CURRENT_THREAD,
          &results);
      ExpectAgreesWithNaiveModel(Spoiled(spoil), kSmall);
    }
    EXPECT_GE(results.size(), 1) << what;
  };
  fails([](DlaOutcome& o) { ++o.cycles; }, "cycles");
  fails([](DlaOutcome& o) { --o.busy_cycles; }, "busy");
  fails([](DlaOutcome& o) { ++o.bytes_read; }, "read");
  fails([](DlaOutcome& o) { ++o.bytes_written; }, "written");
  fails([](DlaOutcome& o) { o.ram[17] = static_cast<char>(o.ram[17] + 1); },
        "ram");
  fails(
      [](DlaOutcome& o) {
        o.sram.back() = static_cast<char>(o.sram.back() + 1);
      },
      "sram");
  fails([](DlaOutcome& o) { ++o.owned.begin()->second.stall; }, "owned");
  fails(
      [](DlaOutcome& o) {
        o = {};
        o.error = "refused";
      },
      "refused");
}

}  // namespace
}  // namespace edgekiln::simfarm::conformance
