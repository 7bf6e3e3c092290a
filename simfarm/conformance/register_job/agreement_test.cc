// The simulator against the naive model: programs that keep the rules, and
// programs with a flipped bit.

#include <map>
#include <string>

#include "base/rng.h"
#include "gtest/gtest.h"
#include "simfarm/conformance/register_job/naive_engine.h"
#include "simfarm/conformance/register_job/random_jobs.h"
#include "simfarm/conformance/register_job/simulated.h"

namespace edgekiln::simfarm::conformance::register_job {
namespace {

constexpr int kMachines = 16;
constexpr int kPrograms = 12;

// Calls visit(machine, engine, program, rng) for random ones.
template <typename Visit>
void ForRandomPrograms(uint64_t seed, int programs, int jobs,
                       const Visit& visit) {
  Rng rng(seed);
  for (int i = 0; i < kMachines; ++i) {
    const v1::Machine machine = RandomMachine(rng);
    for (int p = 0; p < programs; ++p) {
      const int32_t engine = p % machine.engines_size();
      visit(machine, engine, RandomProgram(machine, engine, jobs, rng), rng);
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST(AgreementTest, LegalProgramsGiveTheSameValuesAndCycles) {
  std::map<int64_t, int> codes;
  ForRandomPrograms(
      1, kPrograms, 3,
      [&](const v1::Machine& machine, int32_t engine, const JobProgram& program,
          Rng&) {
        for (const RegisterWrite& write : program.writes) {
          if (write.offset == 0) ++codes[write.value];
        }
        const JobOutcome naive = RunNaive(machine, engine, program);
        EXPECT_EQ(naive.error, "");
        EXPECT_EQ(naive.cycles.size(), 3u);
        EXPECT_NE(naive.memory, program.memory);
        EXPECT_EQ(
            FirstDifference(naive, RunSimulator(machine, engine, program)), "");
      });
  EXPECT_EQ(codes.size(), 6u);
  for (const auto& [code, count] : codes) EXPECT_GE(count, 20) << code;
}

TEST(AgreementTest, SoDoProgramsWithAFlippedBit) {
  int mutants = 0;
  int noticed = 0;
  int refused = 0;
  ForRandomPrograms(
      2, kPrograms, 1,
      [&](const v1::Machine& machine, int32_t engine, const JobProgram& program,
          Rng& rng) {
        const JobOutcome original = RunNaive(machine, engine, program);
        for (int i = 0; i < 12; ++i) {
          JobProgram mutant = program;
          RegisterWrite& write = mutant.writes[rng.Below(mutant.writes.size())];
          // Small bits matter most; of offsets few are legal.
          const auto bit = uint32_t{1} << rng.Below(rng.Below(2) == 0 ? 32 : 8);
          (rng.Below(8) == 0 ? write.offset : write.value) ^= bit;
          const JobOutcome naive = RunNaive(machine, engine, mutant);
          EXPECT_EQ(
              FirstDifference(naive, RunSimulator(machine, engine, mutant)), "")
              << "offset " << write.offset << ", value " << write.value;
          ++mutants;
          noticed += FirstDifference(naive, original).empty() ? 0 : 1;
          refused += naive.error.empty() ? 0 : 1;
        }
      });
  EXPECT_GE(100 * noticed, 50 * mutants);
  EXPECT_GE(100 * (noticed - refused), 10 * mutants);
}

TEST(AgreementTest, SoDoProgramsWithFlippedBitsInMemory) {
  int noticed = 0;
  ForRandomPrograms(
      3, kPrograms, 1,
      [&](const v1::Machine& machine, int32_t engine, JobProgram program,
          Rng& rng) {
        // Operands lie at the beginning.
        for (int i = 0; i < 64; ++i) {
          char& byte = program.memory[rng.Below(2048)];
          byte = static_cast<char>(byte ^ (1 << rng.Below(8)));
        }
        const JobOutcome naive = RunNaive(machine, engine, program);
        EXPECT_EQ(
            FirstDifference(naive, RunSimulator(machine, engine, program)), "");
        noticed += naive.error.empty() ? 0 : 1;
      });
  EXPECT_GE(noticed, 10);  // Tables with illegal numbers.
}

TEST(AgreementTest, EveryKindOfDifferenceIsSeen) {
  const JobOutcome right = {
      .error = "", .cycles = {7}, .too_long = false, .memory = "abc"};
  EXPECT_EQ(FirstDifference(right, right), "");
  JobOutcome wrong = right;
  wrong.cycles = {8};
  EXPECT_NE(FirstDifference(right, wrong), "");
  wrong = right;
  wrong.memory = "abd";
  EXPECT_NE(FirstDifference(right, wrong), "");
  wrong = right;
  wrong.too_long = true;
  EXPECT_NE(FirstDifference(right, wrong), "");
  wrong = {};
  wrong.error = "refused";
  EXPECT_NE(FirstDifference(right, wrong), "");
}

}  // namespace
}  // namespace edgekiln::simfarm::conformance::register_job
