#include "server/worker/memory_budget.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "gtest/gtest.h"
#include "server/worker/child_main.h"
#include "server/worker/slot_child.h"
#include "server/worker/testing/test_child.h"

namespace edgekiln::server {
namespace {

constexpr int64_t kMebibyte = int64_t{1} << 20;
constexpr int64_t kGibibyte = int64_t{1} << 30;

struct MachineCase {
  std::string name;
  std::vector<std::pair<std::string, std::string>> files;
  int64_t budget;
};

class DefaultMemoryBudgetTest : public testing::TestWithParam<MachineCase> {};

TEST_P(DefaultMemoryBudgetTest, IsMostOfWhatThereIs) {
  namespace fs = std::filesystem;
  const fs::path root =
      fs::path(testing::TempDir()) /
      absl::StrCat("machine-", getpid(), "-", GetParam().name);
  for (const auto& [path, text] : GetParam().files) {
    fs::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text;
  }
  EXPECT_EQ(DefaultMemoryBudget(root.string()), GetParam().budget);
  fs::remove_all(root);
}

constexpr char kTenMega[] = "MemTotal:  10000 kB\nMemFree: 7 kB\n";

INSTANTIATE_TEST_SUITE_P(
    All, DefaultMemoryBudgetTest,
    testing::Values(
        MachineCase{"Unknown", {}, 0},
        MachineCase{"Machine", {{"proc/meminfo", kTenMega}}, 8'192'000},
        MachineCase{"UnifiedGroup",
                    {{"proc/meminfo", kTenMega},
                     {"proc/self/cgroup", "0::/a/b\n"},
                     {"sys/fs/cgroup/a/b/memory.max", "max\n"},
                     {"sys/fs/cgroup/a/memory.max", "5000\n"}},
                    4'000},
        MachineCase{"MemoryGroup",
                    {{"proc/meminfo", kTenMega},
                     {"proc/self/cgroup", "4:memory:/x\n3:cpu:/x\n0::/\n"},
                     {"sys/fs/cgroup/memory/x/memory.limit_in_bytes", "50"}},
                    40},
        MachineCase{"GroupThatIsShownAsTheOutermost",
                    {{"proc/meminfo", kTenMega},
                     {"proc/self/cgroup", "0::/docker/1\n"},
                     {"sys/fs/cgroup/memory.max", "1000"}},
                    800},
        MachineCase{"GroupWithoutALimit",
                    {{"proc/meminfo", kTenMega},
                     {"proc/self/cgroup", "4:memory:/\n"},
                     {"sys/fs/cgroup/memory/memory.limit_in_bytes",
                      "9223372036854771712"}},
                    8'192'000}),
    [](const auto& info) { return info.param.name; });

TEST(ShareMemoryTest, NeverPromisesMoreThanThereIs) {
  const auto text = [](int64_t budget, int64_t limit, int slots) {
    const MemoryShares s = ShareMemory(budget, limit, slots);
    return absl::StrCat(s.share >> 20, " ", s.whole >> 20, " ", s.budget >> 20);
  };
  EXPECT_EQ(text(16 * kGibibyte, 4 * kGibibyte, 2), "4096 4096 16384");
  EXPECT_EQ(text(6 * kGibibyte, 4 * kGibibyte, 2), "3072 4096 6144");
  EXPECT_EQ(text(16 * kGibibyte, 4 * kGibibyte, 64), "1024 4096 16384");
  EXPECT_EQ(text(kGibibyte / 2, 4 * kGibibyte, 4), "1024 1024 1024");
  EXPECT_EQ(text(6 * kGibibyte, kGibibyte / 2, 4), "512 512 6144");
  EXPECT_EQ(text(0, kGibibyte, 4), "1024 1024 0");
  EXPECT_EQ(text(kGibibyte, 0, 4), "0 0 0");
}

TEST(MemoryBudgetTest, WaitsForWhatIsReserved) {
  std::atomic<int> wanted{0};
  MemoryBudget budget(10, [&] { ++wanted; });
  ASSERT_TRUE(budget.Reserve(6, -1));
  ASSERT_TRUE(budget.Reserve(4, -1));
  EXPECT_FALSE(budget.wanted());
  std::atomic<bool> got{false};
  std::thread waiter([&] {
    EXPECT_TRUE(budget.Reserve(10, -1));
    got = true;
  });
  while (!budget.wanted()) std::this_thread::yield();
  budget.Release(6);
  EXPECT_TRUE(budget.wanted());
  EXPECT_FALSE(got);
  // There is enough, but not for who comes later.
  if (budget.Reserve(5, -1, absl::ZeroDuration())) {
    ADD_FAILURE() << "overtook the one that waits";
    budget.Release(5);
  }
  budget.Release(4);
  waiter.join();
  EXPECT_EQ(wanted, 2);
  EXPECT_FALSE(budget.wanted());
}

TEST(MemoryBudgetTest, WhoIsCancelledMakesRoomForThoseBehind) {
  std::atomic<int> waiting{0};
  MemoryBudget budget(10, [&] { ++waiting; });
  ASSERT_TRUE(budget.Reserve(5, -1));
  const int cancel = eventfd(0, EFD_CLOEXEC);
  std::thread large([&] { EXPECT_FALSE(budget.Reserve(10, cancel)); });
  while (waiting < 1) std::this_thread::yield();
  std::thread small([&] {
    EXPECT_TRUE(budget.Reserve(5, -1));
    ++waiting;  // It may not have had to.
  });
  while (waiting < 2) std::this_thread::yield();
  eventfd_write(cancel, 1);
  large.join();
  EXPECT_FALSE(budget.wanted());
  budget.Release(5);
  small.join();
  close(cancel);
}

TEST(MemoryBudgetTest, NoBudgetNoWaiting) {
  MemoryBudget budget(0, [] { ADD_FAILURE(); });
  EXPECT_TRUE(budget.Reserve(kGibibyte, -1));
  EXPECT_TRUE(budget.Reserve(kGibibyte, -1));
  budget.Release(kGibibyte);
}

// The stage convert_data that asks for 8 GiB at once, or one that succeeds.
v1::ChildRequest Ask(bool for_much) {
  v1::ChildRequest request;
  request.mutable_options()->mutable_convert_data()->set_limit(
      for_much ? static_cast<int64_t>(RunOut::kAtOnce)
               : static_cast<int64_t>(Attempt::kEnvironment));
  return request;
}

// The error names the limit of the last try.
TEST(SlotChildTest, TooLittleIsTriedAgainWithAll) {
  if (!kLimitsAddressSpace) GTEST_SKIP() << kNothingRunsOut;
  const MemoryShares shares = {512 * kMebibyte, 1024 * kMebibyte,
                               1100 * kMebibyte};
  MemoryBudget budget(shares.budget, [] {});
  SlotChild child(TestChild(), shares, budget);
  const auto result = child.Execute(Ask(true), "convert_data",
                                    absl::InfiniteDuration(), -1, {});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->result().error().reason(), "STAGE_OUT_OF_MEMORY");
  EXPECT_EQ(result->result().error().limit(),
            "1024 MiB (edgekiln-worker --memory-limit)");
  EXPECT_TRUE(budget.Reserve(shares.budget, -1)) << "all was to be released";
}

TEST(SlotChildTest, AnIdleChildGivesWay) {
  const MemoryShares shares = {600 * kMebibyte, 600 * kMebibyte,
                               1000 * kMebibyte};
  MemoryBudget budget(shares.budget, [] {});
  SlotChild idle(TestChild(), shares, budget);
  ASSERT_TRUE(
      idle.Execute(Ask(false), "x", absl::InfiniteDuration(), -1, {}).ok());
  idle.YieldIfWanted();  // By nobody.
  std::thread other([&] {
    SlotChild child(TestChild(), shares, budget);
    EXPECT_TRUE(
        child.Execute(Ask(false), "x", absl::InfiniteDuration(), -1, {}).ok());
  });
  while (!budget.wanted()) std::this_thread::yield();
  idle.YieldIfWanted();
  other.join();
}

TEST(SlotChildTest, WaitingCanBeCancelled) {
  const MemoryShares shares = {kMebibyte, kMebibyte, kMebibyte};
  MemoryBudget budget(shares.budget, [] {});
  ASSERT_TRUE(budget.Reserve(kMebibyte, -1));
  const int cancel = eventfd(1, EFD_CLOEXEC);
  SlotChild child(TestChild(), shares, budget);
  EXPECT_EQ(child.Execute(Ask(false), "x", absl::InfiniteDuration(), cancel, {})
                .status()
                .code(),
            absl::StatusCode::kCancelled);
  close(cancel);
}

// The daemon gives up the whole worker for an overdue lease.
TEST(SlotChildTest, WaitingEndsWithTheLeasesTime) {
  const MemoryShares shares = {kMebibyte, kMebibyte, kMebibyte};
  MemoryBudget budget(shares.budget, [] {});
  ASSERT_TRUE(budget.Reserve(kMebibyte, -1));
  SlotChild child(TestChild(), shares, budget);
  const auto result =
      child.Execute(Ask(false), "x", absl::Milliseconds(20), -1, {});
  EXPECT_EQ(result.status().code(), absl::StatusCode::kUnavailable);
  const auto detail = GetErrorDetail(result.status());
  ASSERT_TRUE(detail.has_value());
  EXPECT_EQ(detail->reason, "WORKER_OUT_OF_MEMORY");
  EXPECT_FALSE(budget.wanted());
}

}  // namespace
}  // namespace edgekiln::server
