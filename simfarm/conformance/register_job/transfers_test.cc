// Transfers that registers of a window start: the simulator against the naive
// model and against what docs/targets/register_job.md says, and with flipped
// bits.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/rng.h"
#include "gtest/gtest.h"
#include "simfarm/conformance/register_job/naive_engine.h"
#include "simfarm/conformance/register_job/simulated.h"
#include "target/register_transfers.h"
#include "target/resolve.h"

namespace edgekiln::simfarm::conformance::register_job {
namespace {

constexpr uint32_t kBytes = 4096;  // Of either memory.

class TransfersTest : public testing::Test {
 protected:
  TransfersTest()
      : machine_(
            target::ResolveTarget("extends: \"diana-digital\"")->machine()),
        transfers_(*target::RegisterTransfers::Create(machine_, 0)),
        rng_(11) {}

  // Random ones, and memories of random bytes.
  JobProgram Program(int transfers) {
    JobProgram program;
    program.memories.resize(machine_.memories_size());
    for (const int32_t m : {0, 1}) {
      for (uint32_t i = 0; i < kBytes; ++i) {
        program.memories[m].push_back(static_cast<char>(rng_.Below(256)));
      }
    }
    expected_ = program.memories;
    for (int i = 0; i < transfers; ++i) Add(program);
    return program;
  }

  void Add(JobProgram& program) {
    const v1::RegisterJobs& jobs = machine_.engines(0).jobs();
    target::Transfer transfer;
    transfer.from_memory = static_cast<int32_t>(rng_.Below(2));
    transfer.to_memory = static_cast<int32_t>(rng_.Below(2));
    transfer.bytes = 1 + rng_.Below(rng_.Below(2) == 0 ? 9 : 600);
    // Apart if both are in one memory.
    constexpr int64_t half = kBytes / 2;
    const int64_t from = rng_.Below(half - transfer.bytes);
    const int64_t to = half + rng_.Below(half - transfer.bytes);
    transfer.from_addr = BaseOf(transfer.from_memory) + from;
    transfer.to_addr = BaseOf(transfer.to_memory) + to;
    const auto told = transfers_.Encode(transfer);
    ASSERT_TRUE(told.ok()) << told.status();
    for (const target::TransferValue& each : *told) {
      program.writes.push_back(
          {jobs.registers(each.position).offset(), each.value});
    }
    program.writes.push_back({jobs.start_offset(), jobs.start_value()});
    // Words are reversed in both memories.
    for (int64_t i = 0; i < transfer.bytes; ++i) {
      expected_[transfer.to_memory][(to + i) ^ 3] =
          expected_[transfer.from_memory][(from + i) ^ 3];
    }
  }

  int64_t BaseOf(int32_t memory) const {
    return static_cast<int64_t>(machine_.memories(memory).base_address());
  }

  const v1::Machine machine_;
  const target::RegisterTransfers transfers_;
  Rng rng_;
  std::vector<std::string> expected_;  // After the program made last.
};

TEST_F(TransfersTest, MoveBytesAsWordsCountThem) {
  for (int i = 0; i < 200; ++i) {
    const JobProgram program = Program(3);
    const JobOutcome naive = RunNaive(machine_, 0, program);
    EXPECT_EQ(naive.error, "");
    EXPECT_EQ(naive.memories, expected_);
    EXPECT_EQ(FirstDifference(naive, RunSimulator(machine_, 0, program)), "");
    if (HasFailure()) return;
  }
}

// Each bit of each register, and of the start.
TEST_F(TransfersTest, EveryFlippedBitIsNoticed) {
  int flipped = 0;
  int refused = 0;
  for (int i = 0; i < 12; ++i) {
    const JobProgram program = Program(1);
    for (size_t w = 0; w < program.writes.size(); ++w) {
      for (int bit = 0; bit < 32; ++bit) {
        JobProgram mutant = program;
        mutant.writes[w].value ^= uint32_t{1} << bit;
        const JobOutcome naive = RunNaive(machine_, 0, mutant);
        EXPECT_EQ(FirstDifference(naive, RunSimulator(machine_, 0, mutant)),
                  "");
        ++flipped;
        refused += naive.error.empty() ? 0 : 1;
        // Equal bytes elsewhere would show nothing.
        if (expected_[0] != program.memories[0] ||
            expected_[1] != program.memories[1]) {
          EXPECT_NE(naive.memories, expected_) << w << " " << bit;
        }
      }
    }
  }
  EXPECT_EQ(flipped, 12 * 5 * 32);
  EXPECT_GT(refused, flipped / 2);
  EXPECT_LT(refused, flipped * 9 / 10);
}

TEST_F(TransfersTest, WildOnesAreRefused) {
  const v1::RegisterJobs& jobs = machine_.engines(0).jobs();
  const uint32_t l2 = static_cast<uint32_t>(BaseOf(0));
  const struct {
    const char* what;
    std::vector<uint32_t> values;
    bool says_so = false;  // Its error says `what`.
  } kRows[] = {
      {"no such transfer", {3, l2, 1, 0}},
      {"nothing", {2, l2, 0, 0}},
      {"less than nothing", {2, l2, 3u << 30, 0}},
      {"beyond L2", {2, l2 + kBytes - 2, 1, 0}},
      {"before L2", {2, l2 - 1, 1, 0}},
      {"beyond L1", {2, l2, 1, kBytes / 16}},
      {"the last byte is beyond L1", {1, l2, 1, (kBytes / 16 - 1) | 13u << 28}},
      {"a transfer of 9223372036854775807 bytes", {2, l2, 7, 0}, true},
      {"over itself", {5, 0x40, 2, 4 | 7u << 28}},
  };
  // 7 words are more bytes than addresses can count.
  v1::Machine wide = machine_;
  for (auto& field : *wide.mutable_engines(0)
                          ->mutable_jobs()
                          ->mutable_transfers()
                          ->mutable_fields()) {
    if (field.variable() != "bytes") continue;
    field.set_value_expr(
        absl::StrCat("select(TRANSFER_WORDS == 7, 9223372036854775807, ",
                     field.value_expr(), ")"));
  }
  for (const auto& row : kRows) {
    JobProgram program = Program(0);
    for (size_t i = 0; i < row.values.size(); ++i) {
      program.writes.push_back(
          {static_cast<uint32_t>(0xa0 + 4 * i), row.values[i]});
    }
    program.writes.push_back({jobs.start_offset(), jobs.start_value()});
    EXPECT_NE(RunNaive(wide, 0, program).error, "") << row.what;
    const std::string error = RunSimulator(wide, 0, program).error;
    EXPECT_NE(error, "") << row.what;
    EXPECT_TRUE(!row.says_so || absl::StrContains(error, row.what)) << error;
  }
}

}  // namespace
}  // namespace edgekiln::simfarm::conformance::register_job
