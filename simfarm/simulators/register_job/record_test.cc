// An engine that reads records, on the chip of tests/support.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "simfarm/simulators/register_job/device.h"
#include "target/register_jobs.h"
#include "target/resolve.h"
#include "tests/support/record_chip.h"

namespace edgekiln::simfarm::register_job {
namespace {

using Jobs = v1::RegisterJobs;
using V = target::JobVariable;

constexpr int64_t kBytes = 4096;
constexpr int32_t kL2 = 0;
constexpr int32_t kL1 = 1;
constexpr uint64_t kL2Base = 0x10000;
constexpr uint64_t kL1Base = 0x100;

// An addition of two rows of 4: 1 2 3 4, and 5 6 7 8.
class RecordTest : public testing::Test {
 protected:
  RecordTest()
      : machine_(target::ResolveTarget(
                     tests::RecordChipText(tests::RecordChipUnits()))
                     ->machine()),
        view_(*target::RegisterJobsView::Create(machine_, 0)),
        l2_(kBytes),
        l1_(kBytes) {
    using Kind = ChipMemory::Kind;
    chip_.Add({"l2", Kind::kReadWrite, kL2Base, l2_.data(), kBytes});
    chip_.Add({"l1", Kind::kShared, kL1Base, l1_.data(), kBytes});
    chip_.Add({"weight_mem", Kind::kSharedReadOnly, 0, nullptr, 64});
    device_ = *NewSimulator()->NewDevice(machine_, chip_, {.engine = 0});
    for (int i = 0; i < 4; ++i) {
      l1_[i ^ 3] = static_cast<uint8_t>(i + 1);
      l1_[16 + (i ^ 3)] = static_cast<uint8_t>(i + 5);
    }
    job_[V::kKernel] = 3;
    for (const V one :
         {V::kOutH, V::kOutC, V::kKernelH, V::kKernelW, V::kStrideH,
          V::kStrideW, V::kDilationH, V::kDilationW, V::kDepthMultiplier}) {
      job_[one] = 1;
    }
    job_[V::kOutW] = 4;
    job_[V::kInAddr] = kL1Base;
    job_[V::kIn2Addr] = kL1Base + 16;
    job_[V::kOutAddr] = kL1Base + 32;
    job_[V::kShift] = 1;
    job_[V::kClampMax] = 5;
    job_[V::kRecordAddr] = kL2Base + 64;
    device_->Reset(RunMode::kFast);
  }

  absl::Status Store(const std::vector<uint32_t>& words) {
    v1::Location location;
    location.set_memory(kL2);
    location.set_address(static_cast<uint64_t>(job_[V::kRecordAddr]));
    return device_->StoreRecord(location, words);
  }
  absl::Status Write(const target::JobCode& code) {
    for (const target::RegisterWrite& write : code.writes) {
      const auto written = device_->Write(write.offset, write.value);
      if (!written.ok()) return written.status();
    }
    return absl::OkStatus();
  }
  absl::Status Run() {
    const auto code = view_.Encode(job_);
    if (!code.ok()) return code.status();
    const absl::Status stored = Store(code->record);
    return stored.ok() ? Write(*code) : stored;
  }
  std::string Out() const {
    std::string out;
    for (int i = 0; i < 4; ++i) {
      out.push_back(static_cast<char>('0' + l1_[32 + (i ^ 3)]));
    }
    return out;
  }

  const v1::Machine machine_;
  const target::RegisterJobsView view_;
  std::vector<uint8_t> l2_;
  std::vector<uint8_t> l1_;
  ChipMemory chip_;
  std::unique_ptr<MmioDevice> device_;
  target::JobVariables job_;
};

// 6, 8, 10 and 12, of which a half, at most 5.
TEST_F(RecordTest, AddsAndShifts) {
  const absl::Status status = Run();
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(Out(), "3455");
  // Little-endian, word by word: KERNEL and SHIFT.
  EXPECT_EQ(l2_[64], 3);
  EXPECT_EQ(l2_[65], 1);
  EXPECT_EQ(l2_[64 + 4], 0);  // IN, 0x100.
  EXPECT_EQ(l2_[64 + 5], 1);
}

// Each job has a record of its own, and the window keeps what it holds.
TEST_F(RecordTest, ARecordIsOfOneJob) {
  ASSERT_TRUE(Run().ok());
  EXPECT_TRUE(absl::StrContains(Store(view_.Encode(job_)->record).message(),
                                "the engine is busy"));
  device_->Complete();
  const absl::Status again = device_->Write(0, 1).status();
  EXPECT_TRUE(absl::StrContains(again.message(), "stored no record")) << again;
  ASSERT_TRUE(Store(view_.Encode(job_)->record).ok());
  EXPECT_TRUE(device_->Write(0, 1).ok());
  device_->Complete();
  device_->Reset(RunMode::kFast);
  const absl::Status power_up = Write(*view_.Encode(job_));
  EXPECT_TRUE(absl::StrContains(power_up.message(), "stored no record"));
}

// The engine has read the record when the start is written.
TEST_F(RecordTest, TheHostMayWriteOverARecordThatWasRead) {
  chip_.Track({"array"}, /*concurrent=*/true);
  device_->Reset(RunMode::kChecked);
  AccessFault fault;
  chip_.BeginStep(0);
  ASSERT_TRUE(chip_.WriteIn(kHost, kL1, kL1Base, 32, &fault));
  chip_.Launch(0);
  ASSERT_TRUE(Run().ok());
  EXPECT_TRUE(chip_.WriteIn(kHost, kL2, kL2Base + 64, 64, &fault));
  // What it adds up is another matter.
  EXPECT_FALSE(chip_.WriteIn(kHost, kL1, kL1Base, 4, &fault));
}

// Only the bytes of words that elements lie in are read, wherever they are.
TEST_F(RecordTest, ReadsReversedBytesOnly) {
  chip_.Track({"array"}, /*concurrent=*/true);
  device_->Reset(RunMode::kChecked);
  AccessFault fault;
  job_[V::kOutW] = 3;
  for (const uint64_t at : {kL1Base, kL1Base + 16}) {
    ASSERT_TRUE(chip_.WriteIn(kHost, kL1, at + 1, 3, &fault));
  }
  chip_.Launch(0);
  const absl::Status three = Run();
  EXPECT_TRUE(three.ok()) << three;
  device_->Complete();
  chip_.Wait(0);
  job_[V::kOutW] = 4;
  const absl::Status four = Run();
  EXPECT_TRUE(absl::StrContains(four.message(), "in, l1 0x100")) << four;
}

// In place of `in`: each element lies where that of `out` does.
TEST_F(RecordTest, AdditionsMayWriteOverWhatTheyAdd) {
  job_[V::kOutAddr] = job_[V::kIn2Addr];
  EXPECT_TRUE(Run().ok());
  device_->Complete();
  job_[V::kOutAddr] = job_[V::kInAddr] + 4;
  job_[V::kOutW] = 5;
  const absl::Status overlaps = Run();
  EXPECT_TRUE(absl::StrContains(overlaps.message(), "out overlaps in"))
      << overlaps;
}

// Weights lie in another memory: the same addresses are no overlap.
TEST_F(RecordTest, OperandsInTwoMemoriesDoNotOverlap) {
  job_[V::kKernel] = 2;
  job_[V::kInH] = job_[V::kInW] = job_[V::kInC] = job_[V::kOutW] = 1;
  job_[V::kWeightsAddr] = kL2Base;
  EXPECT_TRUE(Run().ok());
  device_->Complete();
  job_[V::kWeightsAddr] = kL1Base + 32;
  const absl::Status outside = Run();
  EXPECT_TRUE(absl::StrContains(
      outside.message(), "an operand leaves its memory; where: weights at l2"))
      << outside;
}

TEST_F(RecordTest, EnginesWithoutRecordsReadNone) {
  const v1::Machine toy =
      target::ResolveTarget("extends: \"toy-array\"")->machine();
  const auto device = *NewSimulator()->NewDevice(toy, chip_, {.engine = 0});
  device->Reset(RunMode::kFast);
  const absl::Status status = device->StoreRecord(v1::Location(), {});
  EXPECT_TRUE(absl::StrContains(status.message(), "reads no record")) << status;
}

}  // namespace
}  // namespace edgekiln::simfarm::register_job
