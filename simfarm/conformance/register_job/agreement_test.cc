// The simulator against the naive model: programs that keep the rules, and
// programs with a flipped bit.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "gtest/gtest.h"
#include "simfarm/conformance/register_job/naive_engine.h"
#include "simfarm/conformance/register_job/random_jobs.h"
#include "simfarm/conformance/register_job/simulated.h"
#include "target/resolve.h"
#include "tests/support/record_chip.h"

namespace edgekiln::simfarm::conformance::register_job {
namespace {

constexpr int kMachines = 16;
constexpr int kPrograms = 12;

// The chip with records.
v1::Machine RandomRecordMachine(Rng& rng) {
  const auto target = target::ResolveTarget(tests::RecordChipText(
      {{"l1_bytes", kRandomMemoryBytes},
       {"l2_bytes", kRandomMemoryBytes},
       {"weight_bytes", rng.InRange(2048, kRandomMemoryBytes)},
       {"fill_cycles", rng.InRange(0, 9)}}));
  EXPECT_TRUE(target.ok()) << target.status();
  return target.ok() ? target->machine() : v1::Machine();
}

using MakeMachine = v1::Machine (*)(Rng& rng);

// Calls visit(machine, engine, program, rng) for random ones.
template <typename Visit>
void ForRandomPrograms(MakeMachine make, uint64_t seed, int programs, int jobs,
                       const Visit& visit) {
  Rng rng(seed);
  for (int i = 0; i < kMachines; ++i) {
    const v1::Machine machine = make(rng);
    for (int p = 0; p < programs; ++p) {
      const int32_t engine = p % machine.engines_size();
      visit(machine, engine, RandomProgram(machine, engine, jobs, rng), rng);
      if (testing::Test::HasFailure()) return;
    }
  }
}

// Codes of the jobs' kernels, how often each; all chips have register KERNEL
// at offset 0.
std::map<int64_t, int> ExpectAgreement(MakeMachine make) {
  std::map<int64_t, int> codes;
  ForRandomPrograms(
      make, 1, kPrograms, 3,
      [&](const v1::Machine& machine, int32_t engine, const JobProgram& program,
          Rng&) {
        for (const RecordStore& record : program.records) {
          ++codes[record.words[0] & 15];
        }
        for (const RegisterWrite& write : program.writes) {
          if (program.records.empty() && write.offset == 0) {
            ++codes[write.value];
          }
        }
        const JobOutcome naive = RunNaive(machine, engine, program);
        EXPECT_EQ(naive.error, "");
        EXPECT_EQ(naive.cycles.size(), 3u);
        EXPECT_NE(naive.memories, program.memories);
        EXPECT_EQ(
            FirstDifference(naive, RunSimulator(machine, engine, program)), "");
      });
  return codes;
}

TEST(AgreementTest, LegalProgramsGiveTheSameValuesAndCycles) {
  const std::map<int64_t, int> codes = ExpectAgreement(RandomMachine);
  EXPECT_EQ(codes.size(), 6u);
  for (const auto& [code, count] : codes) EXPECT_GE(count, 20) << code;
}

TEST(AgreementTest, SoDoProgramsWithRecords) {
  const std::map<int64_t, int> codes = ExpectAgreement(RandomRecordMachine);
  EXPECT_EQ(codes.size(), 4u);
  for (const auto& [code, count] : codes) EXPECT_GE(count, 60) << code;
}

// Flips a bit of a write, or of a record: its address or one of its words.
void FlipOne(JobProgram& program, Rng& rng) {
  // Small bits matter most; of offsets few are legal.
  const auto bit = uint32_t{1} << rng.Below(rng.Below(2) == 0 ? 32 : 8);
  if (!program.records.empty() && rng.Below(4) != 0) {
    RecordStore& record = program.records[rng.Below(program.records.size())];
    if (rng.Below(12) == 0) {
      record.address ^= bit;
    } else if (rng.Below(12) == 0) {
      record.memory ^= 1;
    } else {
      record.words[rng.Below(record.words.size())] ^= bit;
    }
    return;
  }
  RegisterWrite& write = program.writes[rng.Below(program.writes.size())];
  (rng.Below(8) == 0 ? write.offset : write.value) ^= bit;
}

void ExpectMutantsAgree(MakeMachine make) {
  int mutants = 0;
  int noticed = 0;
  int refused = 0;
  ForRandomPrograms(
      make, 2, kPrograms, 1,
      [&](const v1::Machine& machine, int32_t engine, const JobProgram& program,
          Rng& rng) {
        const JobOutcome original = RunNaive(machine, engine, program);
        for (int i = 0; i < 12; ++i) {
          JobProgram mutant = program;
          FlipOne(mutant, rng);
          const JobOutcome naive = RunNaive(machine, engine, mutant);
          EXPECT_EQ(
              FirstDifference(naive, RunSimulator(machine, engine, mutant)),
              "");
          ++mutants;
          noticed += FirstDifference(naive, original).empty() ? 0 : 1;
          refused += naive.error.empty() ? 0 : 1;
        }
      });
  EXPECT_GE(100 * noticed, 50 * mutants);
  EXPECT_GE(100 * (noticed - refused), 10 * mutants);
}

TEST(AgreementTest, SoDoProgramsWithAFlippedBit) {
  ExpectMutantsAgree(RandomMachine);
}

TEST(AgreementTest, SoDoRecordsWithAFlippedBit) {
  ExpectMutantsAgree(RandomRecordMachine);
}

// Returns in how many programs it was an error, and in how many it changed what
// a job makes.
std::pair<int, int> ExpectFlippedMemoriesAgree(MakeMachine make) {
  int refused = 0;
  int changed = 0;
  ForRandomPrograms(
      make, 3, kPrograms, 1,
      [&](const v1::Machine& machine, int32_t engine, JobProgram program,
          Rng& rng) {
        const JobOutcome original = RunNaive(machine, engine, program);
        // Operands lie at the beginning.
        const std::vector<std::string> before = program.memories;
        for (int i = 0; i < 64; ++i) {
          std::string& memory =
              program.memories[rng.Below(program.memories.size())];
          if (memory.empty()) continue;
          char& byte = memory[rng.Below(2048)];
          byte = static_cast<char>(byte ^ (1 << rng.Below(8)));
        }
        const JobOutcome naive = RunNaive(machine, engine, program);
        EXPECT_EQ(
            FirstDifference(naive, RunSimulator(machine, engine, program)), "");
        refused += naive.error.empty() ? 0 : 1;
        for (size_t m = 0; m < naive.memories.size(); ++m) {
          for (size_t i = 0; i < naive.memories[m].size(); ++i) {
            if (before[m][i] == program.memories[m][i] &&
                naive.memories[m][i] != original.memories[m][i]) {
              ++changed;
              return;
            }
          }
        }
      });
  return {refused, changed};
}

TEST(AgreementTest, SoDoProgramsWithFlippedBitsInMemory) {
  // Tables with illegal numbers.
  EXPECT_GE(ExpectFlippedMemoriesAgree(RandomMachine).first, 10);
}

TEST(AgreementTest, SoDoWeightsAndBiasesWithFlippedBits) {
  EXPECT_GE(ExpectFlippedMemoriesAgree(RandomRecordMachine).second, 40);
}

TEST(AgreementTest, EveryKindOfDifferenceIsSeen) {
  const JobOutcome right = {
      .error = "", .cycles = {7}, .too_long = false, .memories = {"abc"}};
  EXPECT_EQ(FirstDifference(right, right), "");
  JobOutcome wrong = right;
  wrong.cycles = {8};
  EXPECT_NE(FirstDifference(right, wrong), "");
  wrong = right;
  wrong.memories = {"abd"};
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
