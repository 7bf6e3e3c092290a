#include "simfarm/conformance/chip_suite.h"

#include <string>

#include "gtest/gtest.h"

namespace edgekiln::simfarm::conformance {
namespace {

void FlipBit(std::string& bytes, Rng& rng) {
  if (bytes.empty()) return;
  const uint64_t bit = rng.Below(bytes.size() * 8);
  bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << (bit % 8));
}

}  // namespace

std::string InstructionsOf(CpuPath path) {
  switch (path) {
    case CpuPath::kSse2:
      return "sse2";
    case CpuPath::kAvx2:
      return "avx2";
    case CpuPath::kAvx512Vnni:
      return "avx512_vnni";
    default:
      return "portable";
  }
}

void ExpectAgreesWithNaiveModel(const ChipSource& source,
                                const SuiteOptions& options) {
  Rng rng(options.seed);
  for (int chip_index = 0; chip_index < options.chips; ++chip_index) {
    const std::unique_ptr<ChipModels> chip = source(rng);
    for (int i = 0; i < options.programs_per_chip; ++i) {
      const StreamProgram program = chip->RandomProgram(options.commands, rng);
      const StreamOutcome want = chip->RunNaive(program);
      const StreamOutcome got = chip->RunSimulator(program, options.path);
      EXPECT_EQ(got.error, "") << "chip " << chip_index << ", program " << i;
      EXPECT_EQ(FirstDifference(got, want), "")
          << "chip " << chip_index << ", program " << i;
      if (testing::Test::HasFailure()) return;
    }
  }
}

double ExpectNoticesMutations(const ChipSource& source,
                              const SuiteOptions& options) {
  Rng rng(options.seed);
  int mutants = 0;
  int noticed = 0;
  for (int chip_index = 0; chip_index < options.chips; ++chip_index) {
    const std::unique_ptr<ChipModels> chip = source(rng);
    for (int i = 0; i < options.programs_per_chip; ++i) {
      const StreamProgram program = chip->RandomProgram(options.commands, rng);
      StreamProgram mutant = program;
      FlipBit(rng.Below(4) > 0 ? mutant.code : mutant.flash, rng);
      const StreamOutcome original = chip->RunSimulator(program, options.path);
      const StreamOutcome changed = chip->RunSimulator(mutant, options.path);
      ++mutants;
      if (!changed.error.empty()) {
        ++noticed;
        continue;
      }
      if (!FirstDifference(original, changed).empty()) ++noticed;
      EXPECT_EQ(FirstDifference(changed, chip->RunNaive(mutant)), "")
          << "chip " << chip_index << ", mutant " << i;
      if (testing::Test::HasFailure()) return 0;
    }
  }
  return mutants == 0 ? 0 : 100.0 * noticed / mutants;
}

void ExpectHandCounted(const HandCounted& counted) {
  const std::unique_ptr<ChipModels> chip = counted.chip();
  for (const StreamOutcome& outcome :
       {chip->RunSimulator(counted.program, CpuPath::kBest),
        chip->RunNaive(counted.program)}) {
    EXPECT_EQ(outcome.error, "");
    EXPECT_EQ(outcome.cycles, counted.cycles);
    EXPECT_EQ(outcome.busy_cycles, counted.busy_cycles);
    EXPECT_EQ(outcome.owned, counted.owned);
  }
}

}  // namespace edgekiln::simfarm::conformance
