#include "server/daemon/jobs/check_options.h"

#include <cstdint>
#include <limits>
#include <optional>

#include "base/error.h"
#include "gtest/gtest.h"

namespace edgekiln::server {
namespace {

constexpr int64_t kTenYears = int64_t{10} * 365 * 24 * 3600;

TEST(CheckOptionsTest, DeadlinesAreFromAMillisecondToTenYears) {
  struct {
    const char* name;
    int64_t seconds;
    int32_t nanos;
    bool good;
  } const kCases[] = {
      {"zero", 0, 0, false},
      {"negative", -1, 0, false},
      {"negative nanos", 0, -1, false},
      {"tiny", 0, 999'999, false},
      {"a millisecond", 0, 1'000'000, true},
      {"usual", 30, 500'000'000, true},
      {"ten years", kTenYears, 0, true},
      {"more", kTenYears, 1, false},
      {"overflows", std::numeric_limits<int64_t>::max(), 999'999'999, false},
      {"underflows", std::numeric_limits<int64_t>::min(), -999'999'999, false},
      {"nanos are a second", 1, 1'000'000'000, false},
      {"largest nanos", 1, std::numeric_limits<int32_t>::max(), false},
      {"other sign", 5, -1, false},
      {"other sign below zero", -5, 1, false},
  };
  for (const auto& test : kCases) {
    for (const bool run : {false, true}) {
      v1::JobOptions options;
      google::protobuf::Duration& deadline =
          run ? *options.mutable_run_deadline()
              : *options.mutable_queue_deadline();
      deadline.set_seconds(test.seconds);
      deadline.set_nanos(test.nanos);
      const absl::Status status = CheckJobOptions(options);
      EXPECT_EQ(status.ok(), test.good) << test.name << ": " << status;
      if (test.good) continue;
      EXPECT_TRUE(absl::IsInvalidArgument(status)) << test.name;
      const std::optional<ErrorDetail> detail = GetErrorDetail(status);
      ASSERT_TRUE(detail.has_value()) << test.name;
      EXPECT_EQ(detail->reason, "BAD_DEADLINE") << test.name;
      EXPECT_EQ(detail->where, run ? "CreateJobRequest.options.run_deadline"
                                   : "CreateJobRequest.options.queue_deadline");
      EXPECT_FALSE(detail->limit.empty());
      EXPECT_FALSE(detail->need.empty());
      EXPECT_FALSE(detail->fix.empty());
    }
  }
  EXPECT_TRUE(CheckJobOptions(v1::JobOptions()).ok());
}

TEST(CheckOptionsTest, ClassesMustExist) {
  v1::JobOptions options;
  options.set_job_class(v1::BATCH);
  EXPECT_TRUE(CheckJobOptions(options).ok());
  options.set_job_class(static_cast<v1::JobClass>(9));
  EXPECT_EQ(GetErrorDetail(CheckJobOptions(options))->reason, "BAD_CLASS");
}

}  // namespace
}  // namespace edgekiln::server
