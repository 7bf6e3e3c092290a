#include "base/parallel.h"

#include <atomic>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/support/thread_limit.h"

namespace edgekiln {
namespace {

TEST(ParallelForTest, RunsEachIndexOnce) {
  for (const int threads : {-3, 0, 1, 2, 8, 100}) {
    for (const int64_t n : {-1, 0, 1, 7, 1000}) {
      std::vector<std::atomic<int>> runs(static_cast<size_t>(n < 0 ? 0 : n));
      ParallelFor(n, threads, [&](int64_t i) { ++runs[i]; });
      for (const auto& count : runs) EXPECT_EQ(count, 1);
    }
  }
}

TEST(ParallelForTest, MakesDoWithTheThreadsThereAre) {
  for (const int there_are : {0, 1, 5}) {
    const tests::ThreadLimit limit(there_are);
    std::atomic<int> runs = 0;
    ParallelFor(5000, 100, [&](int64_t) { ++runs; });
    EXPECT_EQ(runs, 5000) << there_are;
    EXPECT_GT(limit.refused(), 0) << there_are;
  }
}

TEST(ParallelForStatusTest, ReportsTheSmallestFailingIndex) {
  for (const int threads : {1, 2, 8}) {
    for (int round = 0; round < 200; ++round) {
      const absl::Status status =
          ParallelForStatus(100, threads, [](int64_t i) {
            if (i % 10 != 7) return absl::OkStatus();
            return absl::InternalError(absl::StrCat(i));
          });
      ASSERT_EQ(status, absl::InternalError("7")) << threads;
    }
  }
}

TEST(ParallelForStatusTest, RunsAllIfNoneFails) {
  std::atomic<int64_t> sum{0};
  const absl::Status status = ParallelForStatus(1000, 4, [&](int64_t i) {
    sum += i;
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(sum, 499500);
  EXPECT_TRUE(ParallelForStatus(0, 4, [](int64_t) {
                return absl::InternalError("called");
              }).ok());
}

}  // namespace
}  // namespace edgekiln
