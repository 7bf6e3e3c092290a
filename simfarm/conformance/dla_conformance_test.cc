#include "gtest/gtest.h"
#include "simfarm/conformance/dla_under_test.h"
#include "simfarm/conformance/suite.h"
#include "simfarm/simulators/dla/micro_kernel.h"

namespace edgekiln::simfarm::conformance {
namespace {

DlaModelFactory FactoryOf(CpuPath path) {
  return [path](const DlaChip& chip) {
    return [path, machine = MachineOf(chip)](const DlaCase& program) {
      return RunSimulator(program, machine, path);
    };
  };
}

TEST(DlaConformanceTest, AgreesWithNaiveModel) {
  ExpectAgreesWithNaiveModel(
      FactoryOf(CpuPath::kBest),
      {.seed = 1, .chips = 40, .programs_per_chip = 100, .commands = 6});
}

TEST(DlaConformanceTest, LongerProgramsAgree) {
  ExpectAgreesWithNaiveModel(
      FactoryOf(CpuPath::kBest),
      {.seed = 2, .chips = 10, .programs_per_chip = 10, .commands = 60});
}

class DlaCpuPathTest : public testing::TestWithParam<CpuPath> {};

TEST_P(DlaCpuPathTest, Agrees) {
  if (!dla::HasCpuPath(GetParam())) GTEST_SKIP() << "not on this CPU";
  ExpectAgreesWithNaiveModel(
      FactoryOf(GetParam()),
      {.seed = 3, .chips = 10, .programs_per_chip = 50, .commands = 6});
}

INSTANTIATE_TEST_SUITE_P(All, DlaCpuPathTest,
                         testing::Values(CpuPath::kPortable, CpuPath::kSse2,
                                         CpuPath::kAvx2, CpuPath::kAvx512Vnni));

TEST(DlaConformanceTest, MutantsAreNoticed) {
  const double noticed = ExpectNoticesMutations(
      FactoryOf(CpuPath::kBest),
      {.seed = 4, .chips = 20, .programs_per_chip = 150, .commands = 3});
  // The rest flips bytes that nothing reads, or waits that do not matter; the
  // naive model has confirmed each of them.
  EXPECT_GT(noticed, 50);
}

}  // namespace
}  // namespace edgekiln::simfarm::conformance
