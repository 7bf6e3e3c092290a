#include "gtest/gtest.h"
#include "simfarm/conformance/dla_under_test.h"
#include "simfarm/conformance/suite.h"

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

TEST(DlaConformanceTest, EveryCpuPathAgrees) {
  for (const CpuPath path :
       {CpuPath::kPortable, CpuPath::kSse2, CpuPath::kAvx2}) {
    ExpectAgreesWithNaiveModel(
        FactoryOf(path),
        {.seed = 3, .chips = 10, .programs_per_chip = 50, .commands = 6});
  }
}

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
