// Whole programs of an engine with records: session and naive model.

#include "simfarm/conformance/register_job/record_programs.h"

#include <functional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "base/rng.h"
#include "gtest/gtest.h"
#include "simfarm/conformance/program_suite.h"
#include "simfarm/conformance/register_job/naive_program.h"
#include "target/resolve.h"
#include "tests/support/record_chip.h"

namespace edgekiln::simfarm::conformance::register_job {
namespace {

v1::Machine Chip(const std::vector<tests::ParameterValue>& set) {
  const auto target = target::ResolveTarget(tests::RecordChipText(set));
  EXPECT_TRUE(target.ok()) << target.status();
  return target.ok() ? target->machine() : v1::Machine();
}

std::vector<HandCountedProgram> Programs() {
  return HandCountedOfRecords(Chip(tests::RecordChipUnits()), Chip({}));
}

TEST(RecordProgramsTest, GiveWhatWasCountedByHand) {
  for (const HandCountedProgram& counted : Programs()) {
    SCOPED_TRACE(counted.name);
    ExpectHandCounted(counted, RunNaiveProgram);
  }
}

TEST(RecordProgramsTest, MutantsAreNoticed) {
  Rng rng(1);
  MutationCounts counts;
  for (const HandCountedProgram& counted : Programs()) {
    ExpectNoticesMutations(counted.program, RunNaiveProgram, 300, rng, &counts);
  }
  EXPECT_EQ(counts.mutants, 900);
  EXPECT_GE(counts.refused, 250);
  EXPECT_GE(counts.changed, 60);
}

TEST(RecordProgramsTest, StepsAreOrdered) {
  Rng rng(2);
  OrderCounts counts;
  for (const HandCountedProgram& counted : Programs()) {
    ExpectOrdersAgree(counted.program, RunNaiveProgram, 60, rng, &counts);
  }
  EXPECT_GE(counts.refused, 60);
}

// What is wrong with a program, as the session says it; the naive model refuses
// it, too.
TEST(RecordProgramsTest, SayWhatIsWrong) {
  using Program = v1::Program;
  // Steps: two moves, register writes, a poll, two moves.
  constexpr int kWrites = 2;
  const auto writes = [](Program& p) -> Program::RegisterWrites& {
    return *p.mutable_steps(kWrites)->mutable_register_writes();
  };
  const struct {
    const char* says;
    std::function<void(Program&)> spoil;
  } kRows[] = {
      {"the host stored no record for the job; where: start of a job",
       [&](Program& p) { writes(p).clear_record(); }},
      {"a record of 60 bytes; where: record; limit: 64 bytes",
       [&](Program& p) {
         writes(p).mutable_record()->mutable_words()->RemoveLast();
       }},
      {"the record lies in memory 1; where: record; limit: memory 0",
       [&](Program& p) {
         writes(p).mutable_record()->mutable_location()->set_memory(1);
       }},
      {"the record is not aligned; where: record, l2 0x10202",
       [&](Program& p) {
         writes(p).mutable_record()->mutable_location()->set_address(0x10202);
       }},
      {"record, l2 0x10ffc",
       [&](Program& p) {
         writes(p).mutable_record()->mutable_location()->set_address(0x10ffc);
       }},
      {"the registers tell a record at 0x10204; where: start of a job; limit: "
       "0x10200, where the host stored it",
       [&](Program& p) { writes(p).mutable_writes(0)->set_value(0x10204); }},
      {"a word of the record is 0x80000201, with bits 0x80000000 of no "
       "register",
       [&](Program& p) {
         // DEPTH has the high half.
         writes(p).mutable_record()->set_words(0, 0x201);
         writes(p).mutable_record()->set_words(7, 0x80000201);
       }},
      {"the step stores a record, but starts no job; where: record",
       [&](Program& p) {
         auto& list = *writes(p).mutable_writes();
         list.RemoveLast();
       }},
      {"the engine needs up to 1024 channels (here in_c 3, out_c 1026)",
       [&](Program& p) {
         writes(p).mutable_record()->set_words(5, 1026u << 16 | 3);
       }},
      {"memory weight_mem does not hold what the job stages in it; where: job "
       "CONVOLUTION; limit: 4096 bytes; need: 8192 bytes",
       [&](Program& p) {
         writes(p).mutable_record()->set_words(5, 500u << 16 | 12);
       }},
      // The first word behind the constants.
      {"reads a byte that nothing wrote; where: bias, l2 0x10077",
       [&](Program& p) { writes(p).mutable_writes(1)->set_value(0x10044); }},
      {"an operand leaves its memory; where: weights at l2 0xfff0",
       [&](Program& p) { writes(p).mutable_writes(1)->set_value(0xfff0); }},
      {"engine array, layer conv: the engine is busy; where: record, l2",
       [&](Program& p) { *p.mutable_steps(kWrites + 1) = p.steps(kWrites); }},
      {"the link is part of engine array, of whose job no poll has seen the "
       "end; where: link dma",
       [&](Program& p) { p.mutable_steps()->SwapElements(3, 4); }},
  };
  const ProgramCase good = Programs()[1].program;
  for (const auto& row : kRows) {
    ProgramCase bad = good;
    row.spoil(bad.program);
    const ProgramOutcome outcome = RunSession(bad);
    EXPECT_TRUE(absl::StrContains(outcome.error, row.says))
        << row.says << ": " << outcome.error;
    EXPECT_NE(RunNaiveProgram(bad, nullptr).error, "") << row.says;
  }
}

}  // namespace
}  // namespace edgekiln::simfarm::conformance::register_job
