#include "simfarm/conformance/suite.h"

#include <string>

#include "base/rng.h"
#include "gtest/gtest.h"
#include "simfarm/conformance/naive_dla.h"
#include "simfarm/conformance/random_program.h"

namespace edgekiln::simfarm::conformance {
namespace {

void FlipBit(std::string& bytes, Rng& rng) {
  if (bytes.empty()) return;
  const uint64_t bit = rng.Below(bytes.size() * 8);
  bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << (bit % 8));
}

}  // namespace

void ExpectAgreesWithNaiveModel(const DlaModelFactory& factory,
                                const SuiteOptions& options) {
  Rng rng(options.seed);
  for (int chip_index = 0; chip_index < options.chips; ++chip_index) {
    const DlaChip chip = RandomChip(rng);
    const DlaModel model = factory(chip);
    for (int i = 0; i < options.programs_per_chip; ++i) {
      const DlaCase program = RandomProgram(chip, options.commands, rng);
      const DlaOutcome want = RunNaiveDla(program);
      const DlaOutcome got = model(program);
      EXPECT_EQ(got.error, "") << "chip " << chip_index << ", program " << i;
      EXPECT_EQ(FirstDifference(got, want), "")
          << "chip " << chip_index << ", program " << i;
      if (testing::Test::HasFailure()) return;
    }
  }
}

double ExpectNoticesMutations(const DlaModelFactory& factory,
                              const SuiteOptions& options) {
  Rng rng(options.seed);
  int mutants = 0;
  int noticed = 0;
  for (int chip_index = 0; chip_index < options.chips; ++chip_index) {
    const DlaChip chip = RandomChip(rng);
    const DlaModel model = factory(chip);
    for (int i = 0; i < options.programs_per_chip; ++i) {
      const DlaCase program = RandomProgram(chip, options.commands, rng);
      DlaCase mutant = program;
      FlipBit(rng.Below(4) > 0 ? mutant.code : mutant.flash, rng);
      const DlaOutcome original = model(program);
      const DlaOutcome changed = model(mutant);
      ++mutants;
      if (!changed.error.empty()) {
        ++noticed;
        continue;
      }
      if (!FirstDifference(original, changed).empty()) ++noticed;
      EXPECT_EQ(FirstDifference(changed, RunNaiveDla(mutant)), "")
          << "chip " << chip_index << ", mutant " << i;
      if (testing::Test::HasFailure()) return 0;
    }
  }
  return mutants == 0 ? 0 : 100.0 * noticed / mutants;
}

}  // namespace edgekiln::simfarm::conformance
