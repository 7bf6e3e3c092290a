// Jobs that were worked out by hand from docs/targets/register_job.md: both
// models agree with the hand.

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "simfarm/conformance/register_job/naive_engine.h"
#include "simfarm/conformance/register_job/simulated.h"
#include "target/register_jobs.h"
#include "target/resolve.h"

namespace edgekiln::simfarm::conformance::register_job {
namespace {

using Jobs = v1::RegisterJobs;
using V = target::JobVariable;

// Addresses of operands, far enough from one another.
constexpr int64_t kIn = 0;
constexpr int64_t kIn2 = 512;
constexpr int64_t kWeights = 1024;
constexpr int64_t kTable = 2048;
constexpr int64_t kOut = 3072;
constexpr int64_t kMemoryBytes = 4096;

using Values = std::vector<std::pair<V, int64_t>>;

class Golden {
 public:
  Golden(const std::string& chip, Jobs::Kernel kernel, const Values& values)
      : machine_(target::ResolveTarget("extends: \"" + chip + "\"")->machine()),
        memory_(kMemoryBytes, '\0') {
    for (const V one : {V::kInH, V::kInW, V::kInC, V::kOutH, V::kOutW, V::kOutC,
                        V::kKernelH, V::kKernelW, V::kStrideH, V::kStrideW,
                        V::kDilationH, V::kDilationW, V::kDepthMultiplier}) {
      job_[one] = 1;
    }
    job_[V::kInAddr] = kIn;
    job_[V::kIn2Addr] = kIn2;
    job_[V::kWeightsAddr] = kWeights;
    job_[V::kTableAddr] = kTable;
    job_[V::kOutAddr] = kOut;
    job_[V::kClampMin] = -128;
    job_[V::kClampMax] = 127;
    for (const auto& [variable, value] : values) job_[variable] = value;
    for (const Jobs::Job& each : machine_.engines(0).jobs().jobs()) {
      if (each.kernel() == kernel) job_[V::kKernel] = each.code();
    }
  }

  Golden& Bytes(int64_t at, const std::vector<int>& values) {
    for (const int value : values) memory_.at(at++) = static_cast<char>(value);
    return *this;
  }
  Golden& Words(int64_t at, const std::vector<int32_t>& values) {
    std::memcpy(&memory_.at(at), values.data(), 4 * values.size());
    return *this;
  }

  // Cycles, and what lies at `kOut`.
  void Expect(int64_t cycles, const std::string& out) {
    const auto view = target::RegisterJobsView::Create(machine_, 0);
    ASSERT_TRUE(view.ok()) << view.status();
    const auto writes = view->Encode(job_);
    ASSERT_TRUE(writes.ok()) << writes.status();
    JobProgram program;
    const int32_t own = OwnMemory(machine_, 0);
    program.memories.resize(machine_.memories_size());
    program.memories[own] = memory_;
    for (const auto& write : writes->writes) {
      program.writes.push_back({write.offset, write.value});
    }
    for (const JobOutcome& outcome :
         {RunNaive(machine_, 0, program), RunSimulator(machine_, 0, program)}) {
      ASSERT_EQ(outcome.error, "");
      EXPECT_EQ(outcome.cycles, std::vector<int64_t>{cycles});
      const std::string& after = outcome.memories[own];
      EXPECT_EQ(after.substr(kOut, out.size()), out);
      // Nothing else was touched.
      EXPECT_EQ(after.substr(0, kOut), memory_.substr(0, kOut));
    }
  }
  void ExpectBytes(int64_t cycles, const std::vector<int>& values) {
    std::string out;
    for (const int value : values) out.push_back(static_cast<char>(value));
    Expect(cycles, out);
  }
  void ExpectWords(int64_t cycles, const std::vector<int32_t>& values) {
    Expect(cycles, std::string(reinterpret_cast<const char*>(values.data()),
                               4 * values.size()));
  }

 private:
  v1::Machine machine_;
  std::string memory_;
  target::JobVariables job_;
};

// (4 - 1, 6 - 1, 7 - 1) . (1, 2, 3) = 3 + 10 + 18 = 31, and (.., -1, ..): bias
// 100 + 3 - 5 + 6 = 104. A cycle per product.
TEST(HandCountedTest, SumsOfOnePixel) {
  Golden("toy-array-unit", Jobs::CONVOLUTION,
         {{V::kInC, 3}, {V::kOutC, 2}, {V::kInZeroPoint, 1}, {V::kOutInt32, 1}})
      .Bytes(kIn, {4, 6, 7})
      .Bytes(kWeights, {1, 2, 3, 1, -1, 1})
      .Words(kTable, {0, -1, 99, 100, -1, 99})
      .ExpectWords(6, {31, 104});
}

// Rows of 1 2 3, a window of 2 with a column of padding before: 0 + 1, 1 + 2,
// 2 + 3, times a half: 0.5, 1.5, 2.5. 3 outputs of 2 products.
TEST(HandCountedTest, HalvesOfAWindow) {
  const Values values = {{V::kInW, 3},
                         {V::kOutW, 3},
                         {V::kKernelW, 2},
                         {V::kPadLeft, 1},
                         {V::kOutZeroPoint, 10}};
  Values even = values;
  even.push_back({V::kRounding, 1});
  Golden("toy-array-unit", Jobs::CONVOLUTION, values)
      .Bytes(kIn, {1, 2, 3})
      .Bytes(kWeights, {1, 1})
      .Words(kTable, {0, 1 << 30, 0})
      .ExpectBytes(6, {11, 12, 13});
  Golden("toy-array-unit", Jobs::CONVOLUTION, even)
      .Bytes(kIn, {1, 2, 3})
      .Bytes(kWeights, {1, 1})
      .Words(kTable, {0, 1 << 30, 0})
      .ExpectBytes(6, {10, 12, 12});
}

// Two outputs of each of 2 channels, the third not asked for.
TEST(HandCountedTest, DepthMultiplier) {
  Golden("toy-array-unit", Jobs::DEPTHWISE_CONVOLUTION,
         {{V::kInC, 2},
          {V::kOutC, 3},
          {V::kDepthMultiplier, 2},
          {V::kOutInt32, 1}})
      .Bytes(kIn, {5, 7})
      .Bytes(kWeights, {1, 2, 3})
      .Words(kTable, {0, 0, 0, 0, 0, 0, 1, 0, 0})
      .ExpectWords(3, {5, 10, 22});
}

// a = (4 - 1) * 2^1 * 2^30 >> 31 = 3; b = (2 - 2) = 0, (9 - 2) * 2 / 2 = 7;
// (3 + 7) / 2 + 1 = 6. 3 / 2 is 1.5.
TEST(HandCountedTest, Addition) {
  Golden("toy-array-unit", Jobs::ADDITION,
         {{V::kOutW, 2},
          {V::kInZeroPoint, 1},
          {V::kIn2ZeroPoint, 2},
          {V::kOutZeroPoint, 1},
          {V::kInMultiplier, 1 << 30},
          {V::kIn2Multiplier, 1 << 30},
          {V::kOutMultiplier, 1 << 30},
          {V::kLeftShift, 1}})
      .Bytes(kIn, {4, 4})
      .Bytes(kIn2, {2, 9})
      .ExpectBytes(2, {3, 6});
}

// 1 + 4 = 5 of 2 is 2.5: away from zero 3, to even 2. With a column of padding
// that counts as 6: 11 of 3 is 3.67.
TEST(HandCountedTest, Averages) {
  const auto average = [](Values more, int64_t cycles, int out) {
    Values values = {{V::kInW, 2}, {V::kKernelW, 2}};
    values.insert(values.end(), more.begin(), more.end());
    Golden("toy-array-unit", Jobs::AVERAGE_POOLING, values)
        .Bytes(kIn, {1, 4})
        .ExpectBytes(cycles, {out});
  };
  average({}, 2, 3);
  average({{V::kRounding, 1}}, 2, 2);
  // Around 1: 1.5 is 2, and 1.
  average({{V::kRounding, 1}, {V::kInZeroPoint, 1}}, 2, 3);
  average({{V::kKernelW, 3}, {V::kPadLeft, 1}}, 3, 3);
  average({{V::kKernelW, 3},
           {V::kPadLeft, 1},
           {V::kInZeroPoint, 6},
           {V::kCountPad, 1}},
          3, 4);
  average({{V::kClampMax, 1}}, 2, 1);
}

TEST(HandCountedTest, MaximumOfNegativesBesidePadding) {
  Golden("toy-array-unit", Jobs::MAXIMUM_POOLING,
         {{V::kInH, 2}, {V::kKernelH, 3}, {V::kPadTop, 1}})
      .Bytes(kIn, {-9, -4})
      .ExpectBytes(3, {-4});
}

// 5 / 2 + 10, and -5 / 2 + 10 = 7.5.
TEST(HandCountedTest, Requantization) {
  Golden("toy-array-unit", Jobs::REQUANTIZATION,
         {{V::kOutW, 2}, {V::kOutZeroPoint, 10}})
      .Words(kIn, {2, -8})
      .Words(kTable, {3, 1 << 30, 0})
      .ExpectBytes(2, {13, 8});
}

// 5 / 2 + 10 and -5 / 2 + 10 = 7.5, both down.
TEST(HandCountedTest, RequantizationByTheFloor) {
  Golden("toy-ternary-unit", Jobs::REQUANTIZATION,
         {{V::kOutW, 2}, {V::kOutZeroPoint, 10}, {V::kRounding, 2}})
      .Words(kIn, {2, -8})
      .Words(kTable, {3, 1 << 30, 0})
      .ExpectBytes(2, {12, 7});
}

// (3 + 2) / 2 and (-3 - 2) / 2, down, and limited to 1.
TEST(HandCountedTest, AdditionDown) {
  const Values values = {{V::kOutW, 2},
                         {V::kInMultiplier, 1 << 30},
                         {V::kIn2Multiplier, 1 << 30},
                         {V::kOutMultiplier, 1 << 30},
                         {V::kInShift, 1},
                         {V::kIn2Shift, 1},
                         {V::kRounding, 2},
                         {V::kClampMax, 1}};
  Golden("toy-shift-unit", Jobs::ADDITION, values)
      .Bytes(kIn, {3, -3})
      .Bytes(kIn2, {2, -2})
      .ExpectBytes(2, {1, -3});
}

// With the bias, sums of 100, -100, 9 and -9. Of gain 10: 10, -10, 0 and -1;
// limited: 7, -10, 0 and -1. Times 5000, less 1: 34999, -50001, -1 and -5001,
// which are -30537, 15535, -1 and -5001 in 16 bits. Of which 2^-8, down: -120,
// 60, -1 and -20; the zero point of the output has no say.
TEST(HandCountedTest, ConvertedSums) {
  Golden("toy-ternary-unit", Jobs::REQUANTIZATION,
         {{V::kOutW, 4},
          {V::kConverts, 1},
          {V::kGain, 10},
          {V::kCodeMin, -10},
          {V::kCodeMax, 7},
          {V::kCodeShift, 8},
          {V::kOutZeroPoint, 10}})
      .Words(kIn, {99, -101, 8, -10})
      .Words(kTable, {1, 5000, -1})
      .ExpectBytes(4, {-120, 60, -1, -20});
}

// toy-array: blocks of 16, 64 products a cycle, 8 cycles for the start.
TEST(HandCountedTest, CyclesOfBlocks) {
  // 6 pixels of ceil(3 * 32 / 64) = 2, but 120 outputs are 8 blocks.
  const auto cycles = [](Jobs::Kernel kernel, Values values) {
    const auto target = target::ResolveTarget("extends: \"toy-array\"");
    const auto view = *target::RegisterJobsView::Create(target->machine(), 0);
    target::JobVariables job;
    for (const auto& [variable, value] : values) job[variable] = value;
    return view.OccupancyCycles(view.FindJob(kernel), job).value_or(-1);
  };
  const Values pixels = {
      {V::kOutH, 2}, {V::kOutW, 3}, {V::kKernelH, 1}, {V::kKernelW, 1}};
  const auto with = [&pixels](Values more) {
    more.insert(more.end(), pixels.begin(), pixels.end());
    return more;
  };
  EXPECT_EQ(cycles(Jobs::CONVOLUTION, with({{V::kInC, 3}, {V::kOutC, 20}})),
            8 + 12);
  // 6 pixels of 1, but 384 outputs are 24 blocks, where they are rescaled.
  EXPECT_EQ(cycles(Jobs::CONVOLUTION, with({{V::kInC, 1}, {V::kOutC, 64}})),
            8 + 24);
  EXPECT_EQ(cycles(Jobs::CONVOLUTION,
                   with({{V::kInC, 1}, {V::kOutC, 64}, {V::kOutInt32, 1}})),
            8 + 6);
  // 6 pixels of 2 blocks.
  EXPECT_EQ(cycles(Jobs::DEPTHWISE_CONVOLUTION, with({{V::kOutC, 17}})),
            8 + 12);
  EXPECT_EQ(cycles(Jobs::ADDITION, with({{V::kOutC, 17}})), 8 + 12);
  EXPECT_EQ(cycles(Jobs::MAXIMUM_POOLING, with({{V::kOutC, 17}})), 8 + 12);
  EXPECT_EQ(cycles(Jobs::AVERAGE_POOLING, with({{V::kOutC, 16}})), 8 + 6);
  EXPECT_EQ(cycles(Jobs::REQUANTIZATION, with({{V::kOutC, 33}})), 8 + 18);
}

}  // namespace
}  // namespace edgekiln::simfarm::conformance::register_job
