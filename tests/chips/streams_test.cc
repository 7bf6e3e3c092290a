// Command streams on every chip: the simulator against the naive model and
// against cycles counted by hand.

#include <string>
#include <tuple>

#include "gtest/gtest.h"
#include "simfarm/conformance/chip_suite.h"
#include "tests/chips/chip_cases.h"
#include "tests/support/skip.h"

namespace edgekiln::tests {
namespace {

using simfarm::CpuPath;
using namespace simfarm::conformance;  // NOLINT: the suites.

class StreamsTest : public testing::TestWithParam<const ChipCase*> {};

TEST_P(StreamsTest, AgreeWithTheNaiveModel) {
  ExpectAgreesWithNaiveModel(
      GetParam()->random_models,
      {.seed = 1, .chips = 40, .programs_per_chip = 100, .commands = 6});
}

TEST_P(StreamsTest, LongerOnesAgree) {
  ExpectAgreesWithNaiveModel(
      GetParam()->random_models,
      {.seed = 2, .chips = 10, .programs_per_chip = 10, .commands = 60});
}

TEST_P(StreamsTest, FlippedBitsAreNoticed) {
  const double noticed = ExpectNoticesMutations(
      GetParam()->random_models,
      {.seed = 4, .chips = 20, .programs_per_chip = 150, .commands = 3});
  EXPECT_GT(noticed, GetParam()->least_noticed_percent);
}

TEST_P(StreamsTest, TakeTheCyclesCountedByHand) {
  EXPECT_FALSE(GetParam()->hand_counted.empty());
  for (const HandCounted& counted : GetParam()->hand_counted) {
    SCOPED_TRACE(counted.name);
    ExpectHandCounted(counted);
  }
}

std::string ChipName(const testing::TestParamInfo<const ChipCase*>& info) {
  return info.param->name;
}

INSTANTIATE_TEST_SUITE_P(Chips, StreamsTest,
                         testing::ValuesIn(ChipsWithStreams()), ChipName);

class CpuPathTest
    : public testing::TestWithParam<std::tuple<const ChipCase*, CpuPath>> {};

TEST_P(CpuPathTest, Agrees) {
  const auto& [chip, path] = GetParam();
  if (!chip->has_cpu_path(path)) {
    GTEST_SKIP() << NoInstructionsText(InstructionsOf(path));
  }
  ExpectAgreesWithNaiveModel(chip->random_models, {.seed = 3,
                                                   .chips = 10,
                                                   .programs_per_chip = 50,
                                                   .commands = 6,
                                                   .path = path});
}

INSTANTIATE_TEST_SUITE_P(
    Chips, CpuPathTest,
    testing::Combine(testing::ValuesIn(ChipsWithStreams()),
                     testing::Values(CpuPath::kPortable, CpuPath::kSse2,
                                     CpuPath::kAvx2, CpuPath::kAvx512Vnni)),
    [](const auto& info) {
      return std::get<0>(info.param)->name + "_" +
             InstructionsOf(std::get<1>(info.param));
    });

}  // namespace
}  // namespace edgekiln::tests
