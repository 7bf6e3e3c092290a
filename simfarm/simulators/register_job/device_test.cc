#include "simfarm/simulators/register_job/device.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "simfarm/simulators/arithmetic.h"
#include "target/register_jobs.h"
#include "target/resolve.h"

namespace edgekiln::simfarm::register_job {
namespace {

using Jobs = v1::RegisterJobs;
using V = target::JobVariable;

constexpr int64_t kMemoryBytes = 4096;
constexpr int32_t kMemory = 2;  // Behind flash and ram.

// A chip of one engine with one job: a maximum over 2x2 of 2x2x16.
class DeviceTest : public testing::Test {
 protected:
  explicit DeviceTest(const std::string& chip = "toy-array")
      : machine_(target::ResolveTarget(absl::StrCat("extends: \"", chip, "\""))
                     ->machine()),
        view_(*target::RegisterJobsView::Create(machine_, 0)),
        bytes_(kMemoryBytes, 3) {
    using Kind = ChipMemory::Kind;
    chip_.Add({"flash", Kind::kReadOnly, 0, nullptr, 64});
    chip_.Add({"ram", Kind::kReadWrite, 0x80000000, nullptr, 64});
    chip_.Add({"tile_mem", Kind::kShared, 0, bytes_.data(), kMemoryBytes});
    device_ = *NewSimulator()->NewDevice(machine_, chip_, {.engine = 0});
    device_->Reset(RunMode::kFast);
    for (const V one : {V::kOutH, V::kOutW, V::kInC, V::kStrideH, V::kStrideW,
                        V::kDilationH, V::kDilationW, V::kDepthMultiplier}) {
      job_[one] = 1;
    }
    for (const V two : {V::kInH, V::kInW, V::kKernelH, V::kKernelW}) {
      job_[two] = 2;
    }
    Use(Jobs::MAXIMUM_POOLING);
    job_[V::kOutC] = 16;
    job_[V::kOutAddr] = 1024;
    job_[V::kTableAddr] = 2048;
    job_[V::kWeightsAddr] = 512;
    job_[V::kClampMax] = 100;
  }

  void Use(Jobs::Kernel kernel) {
    job_[V::kKernel] = view_.jobs().jobs(view_.FindJob(kernel)).code();
  }

  // Of the start: its cycles, or what is wrong.
  absl::StatusOr<std::optional<int64_t>> Start() {
    const auto writes = view_.Encode(job_);
    EXPECT_TRUE(writes.ok()) << writes.status();
    absl::StatusOr<std::optional<int64_t>> last = std::nullopt;
    for (const auto& write : writes->writes) {
      last = device_->Write(write.offset, write.value);
      if (!last.ok()) break;
    }
    return last;
  }

  void ExpectRefused(const std::string& what) {
    const auto started = Start();
    ASSERT_FALSE(started.ok()) << what;
    EXPECT_EQ(started.status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_NE(started.status().message().find(what), std::string::npos)
        << started.status();
  }
  void ExpectRefused(uint32_t offset, uint32_t value, const std::string& what) {
    const auto written = device_->Write(offset, value);
    ASSERT_FALSE(written.ok()) << what;
    EXPECT_NE(written.status().message().find(what), std::string::npos)
        << written.status();
  }

  const v1::Machine machine_;
  const target::RegisterJobsView view_;
  std::vector<uint8_t> bytes_;
  ChipMemory chip_;
  std::unique_ptr<MmioDevice> device_;
  target::JobVariables job_;
};

TEST_F(DeviceTest, IsBusyUntilItsTimeIsOver) {
  const auto started = Start();
  ASSERT_TRUE(started.ok()) << started.status();
  EXPECT_EQ(*started, 8 + 4);
  EXPECT_EQ(bytes_[1024 + 15], 3);
  EXPECT_EQ(*device_->Read(view_.jobs().status_offset()), 0u);
  ExpectRefused(0, 1, "busy");
  device_->Complete();
  EXPECT_EQ(*device_->Read(view_.jobs().status_offset()), 1u);
  EXPECT_TRUE(device_->Write(0, 1).ok());
}

TEST_F(DeviceTest, RegistersAreNamed) {
  ExpectRefused(0, 256, "register KERNEL");
  ExpectRefused(0x70, 1, "register 0x70");
  ExpectRefused(2, 1, "register 0x2");
  ExpectRefused(view_.jobs().status_offset(), 1, "register 0x84");
  ExpectRefused(view_.jobs().start_offset(), 2, "starts nothing");
  EXPECT_FALSE(device_->Read(0).ok());
}

TEST_F(DeviceTest, StartsWithNothingWrittenAreRefused) {
  ExpectRefused(view_.jobs().start_offset(), 1, "no kernel 0");
}

TEST_F(DeviceTest, VariablesAreNamed) {
  job_[V::kInH] = 0;
  ExpectRefused("in_h is 0");
  job_[V::kInH] = 2;
  job_[V::kClampMin] = 101;
  ExpectRefused("clamp_min is above clamp_max");
}

TEST_F(DeviceTest, OperandsThatLeaveTheMemoryAreNamed) {
  job_[V::kInAddr] = kMemoryBytes - 4 * 16 + 1;
  ExpectRefused("in at tile_mem 0xfc1, 64 bytes");
  job_[V::kInAddr] = 0;
  job_[V::kOutAddr] = 0xffffffff;
  ExpectRefused("out at tile_mem 0xffffffff");
}

// Of a last block only the channels that there are.
TEST_F(DeviceTest, OperandsEndWithTheirLastElement) {
  job_[V::kOutC] = 3;
  job_[V::kOutAddr] = kMemoryBytes - 3;
  EXPECT_TRUE(Start().ok());
  device_->Complete();
  job_[V::kOutAddr] = kMemoryBytes - 2;
  ExpectRefused("an operand leaves the engine's memory");
}

TEST_F(DeviceTest, OutMayNotOverlapWhatIsRead) {
  job_[V::kOutAddr] = 63;
  ExpectRefused("out overlaps in");
  job_[V::kOutAddr] = 64;
  EXPECT_TRUE(Start().ok());
}

// 65535 rows, columns and channels, whatever the kernel.
TEST_F(DeviceTest, HugeExtentsAreRefusedAtOnce) {
  for (const Jobs::Job& each : view_.jobs().jobs()) {
    Use(each.kernel());
    for (const V axis : {V::kInH, V::kInW, V::kInC, V::kOutH, V::kOutW,
                         V::kOutC, V::kKernelH, V::kKernelW}) {
      job_[axis] = 65535;
    }
    EXPECT_FALSE(Start().ok()) << each.kernel();
  }
}

// Nearly 2^32 places, of which four are inside.
TEST_F(DeviceTest, HugeWindowsOfPadding) {
  Use(Jobs::AVERAGE_POOLING);
  job_[V::kKernelH] = 65535;
  job_[V::kKernelW] = 65535;
  job_[V::kCountPad] = 1;
  job_[V::kInZeroPoint] = -7;
  job_[V::kClampMin] = -128;
  ASSERT_TRUE(Start().ok());
  EXPECT_EQ(static_cast<int8_t>(bytes_[1024]), -7);
}

TEST_F(DeviceTest, TablesAreChecked) {
  Use(Jobs::REQUANTIZATION);
  job_[V::kOutC] = 1;
  bytes_.assign(kMemoryBytes, 0);
  EXPECT_TRUE(Start().ok());
  device_->Complete();
  bytes_[2048 + 8] = 31;
  ExpectRefused("shift 31");
  bytes_[2048 + 8] = 0;
  StoreInt32(-1, &bytes_[2048 + 4]);
  ExpectRefused("multiplier -1");
  job_[V::kTableAddr] = 2050;
  ExpectRefused("an operand is not aligned; where: table at tile_mem 0x802");
}

// An engine with a converter, ternary weights, and bits for every rounding.
class ConverterDeviceTest : public DeviceTest {
 protected:
  ConverterDeviceTest() : DeviceTest("toy-ternary") {
    bytes_.assign(kMemoryBytes, 0);
    Use(Jobs::CONVOLUTION);
    for (const V one : {V::kInH, V::kInW, V::kKernelH, V::kKernelW}) {
      job_[one] = 1;
    }
    job_[V::kInC] = 16;
    job_[V::kConverts] = 1;
    job_[V::kGain] = 1;
  }
};

TEST_F(ConverterDeviceTest, NumbersOfTheConverterAreChecked) {
  EXPECT_TRUE(Start().ok());
  device_->Complete();
  job_[V::kGain] = 0;
  ExpectRefused("gain is below 1");
  job_[V::kConverts] = 0;
  EXPECT_TRUE(Start().ok());
  device_->Complete();
  job_[V::kConverts] = 1;
  job_[V::kGain] = 1;
  job_[V::kCodeMin] = 1;
  ExpectRefused("code_min is above code_max");
}

TEST_F(ConverterDeviceTest, TablesAreChecked) {
  StoreInt32(-32768, &bytes_[2048 + 4]);
  StoreInt32(32767, &bytes_[2048 + 8]);
  EXPECT_TRUE(Start().ok());
  device_->Complete();
  StoreInt32(-32769, &bytes_[2048 + 4]);
  ExpectRefused("scale -32769 and offset 32767");
  StoreInt32(0, &bytes_[2048 + 4]);
  StoreInt32(32768, &bytes_[2048 + 8]);
  ExpectRefused("scale 0 and offset 32768");
}

TEST_F(ConverterDeviceTest, WeightsAreChecked) {
  bytes_[512] = 1;
  bytes_[513] = 0xff;
  EXPECT_TRUE(Start().ok());
  device_->Complete();
  bytes_[513] = 2;
  ExpectRefused("a weight is 2; where: weights, element");
  bytes_[513] = 0xfe;
  ExpectRefused("a weight is -2");
}

TEST(FloorDeviceTest, AnAverageIsNotRoundedDown) {
  const v1::Machine machine =
      target::ResolveTarget("extends: \"toy-shift\"")->machine();
  const auto view = *target::RegisterJobsView::Create(machine, 0);
  target::JobVariables job;
  for (int i = 0; i < target::kNumJobVariables; ++i) {
    job[static_cast<V>(i)] = 1;
  }
  for (const V variable : target::ConverterVariables()) job[variable] = 0;
  std::vector<uint8_t> bytes(kMemoryBytes, 3);
  ChipMemory chip;
  using Kind = ChipMemory::Kind;
  chip.Add({"flash", Kind::kReadOnly, 0, nullptr, 64});
  chip.Add({"ram", Kind::kReadWrite, 0x80000000, nullptr, 64});
  chip.Add({"tile_mem", Kind::kShared, 0, bytes.data(), kMemoryBytes});
  for (const int64_t rounding : {0, 1, 2}) {
    job[V::kKernel] =
        view.jobs().jobs(view.FindJob(Jobs::AVERAGE_POOLING)).code();
    job[V::kOutAddr] = 1024;
    job[V::kPadTop] = job[V::kPadLeft] = 0;
    job[V::kRounding] = rounding;
    const auto device =
        *NewSimulator()->NewDevice(machine, chip, {.engine = 0});
    device->Reset(RunMode::kFast);
    absl::Status last;
    const auto writes = view.Encode(job);
    ASSERT_TRUE(writes.ok()) << writes.status();
    for (const auto& write : writes->writes) {
      last = device->Write(write.offset, write.value).status();
    }
    EXPECT_EQ(last.ok(), rounding < 2) << last;
  }
}

TEST_F(DeviceTest, BytesThatNothingWroteAreNamed) {
  chip_.Track({"array"}, /*concurrent=*/true);
  device_->Reset(RunMode::kChecked);
  AccessFault fault;
  // All of `in` but its last byte.
  ASSERT_TRUE(chip_.WriteIn(kHost, kMemory, 0, 63, &fault));
  chip_.Launch(0);
  ExpectRefused("in, tile_mem 0x3f");
}

// Gaps of a last block are not read.
TEST_F(DeviceTest, GapsNeedNoBytes) {
  job_[V::kOutC] = 3;
  chip_.Track({"array"}, /*concurrent=*/true);
  device_->Reset(RunMode::kChecked);
  AccessFault fault;
  for (const uint64_t pixel : {0, 16, 32, 48}) {
    ASSERT_TRUE(chip_.WriteIn(kHost, kMemory, pixel, 3, &fault));
  }
  chip_.Launch(0);
  EXPECT_TRUE(Start().ok());
}

}  // namespace
}  // namespace edgekiln::simfarm::register_job
