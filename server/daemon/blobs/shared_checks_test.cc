#include "server/daemon/blobs/shared_checks.h"

#include <atomic>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "gtest/gtest.h"

namespace edgekiln::server {
namespace {

// Reads bytes until it is told to be done with it.
class SlowStore : public cache::BlobStore {
 public:
  absl::StatusOr<bool> Contains(const Digest&) override {
    MutexLock lock(mutex);
    ++looks;
    changed.NotifyAll();
    while (!may_end) changed.Wait(lock);
    known = true;
    return true;
  }
  absl::StatusOr<std::optional<bool>> ContainsIfKnown(const Digest&) override {
    MutexLock lock(mutex);
    return known ? std::optional<bool>(true) : std::nullopt;
  }
  absl::StatusOr<std::string> Get(const Digest& digest) override {
    return cache::BlobMissing(digest);
  }
  absl::StatusOr<std::unique_ptr<cache::BlobReader>> OpenReader(
      const Digest& digest) override {
    return cache::BlobMissing(digest);
  }
  absl::Status Put(const Digest&, absl::string_view) override {
    return absl::OkStatus();
  }
  absl::Status Adopt(const Digest&, const std::string&) override {
    return absl::OkStatus();
  }

  void End() {
    {
      MutexLock lock(mutex);
      may_end = true;
    }
    changed.NotifyAll();
  }

  Mutex mutex;
  CondVar changed;
  int looks = 0;
  bool known = false;
  bool may_end = false;
};

TEST(SharedChecksTest, ABlobIsReadOnceForAllAndNobodyWaitsWithAThread) {
  auto inner = std::make_unique<SlowStore>();
  SlowStore& slow = *inner;
  const std::atomic<bool> stopping{false};
  const auto store = NewCheckSharingBlobStore(std::move(inner), 1, stopping);
  ASSERT_TRUE(store.ok()) << store.status();
  const Digest digest = DigestOf("large");
  constexpr int kAsking = 50;
  std::vector<std::promise<std::thread::id>> told(kAsking);
  for (auto& one : told) {
    // Returns, though nobody knows the answer yet.
    (*store)->AskContains(digest, [&one](const absl::StatusOr<bool>& present) {
      EXPECT_TRUE(present.ok() && *present);
      one.set_value(std::this_thread::get_id());
    });
  }
  slow.End();
  for (auto& one : told) {
    EXPECT_NE(one.get_future().get(), std::this_thread::get_id());
  }
  EXPECT_EQ(slow.looks, 1);
  // What is known is told at once.
  bool at_once = false;
  (*store)->AskContains(digest,
                        [&](const absl::StatusOr<bool>&) { at_once = true; });
  EXPECT_TRUE(at_once);
  EXPECT_EQ(slow.looks, 1);
}

// While a large blob is read, a small one is; what still waits when the daemon
// stops is not read at all.
TEST(SharedChecksTest, SmallOnesDoNotWaitAndNothingIsReadAtTheEnd) {
  auto inner = std::make_unique<SlowStore>();
  SlowStore& slow = *inner;
  std::atomic<bool> stopping{false};
  const auto store = NewCheckSharingBlobStore(std::move(inner), 1, stopping);
  ASSERT_TRUE(store.ok()) << store.status();
  std::vector<std::promise<absl::StatusOr<bool>>> told(3);
  const auto ask = [&](size_t number, const std::string& name, int64_t size) {
    (*store)->AskContains({DigestOf(name).hash, size},
                          [&told, number](const absl::StatusOr<bool>& present) {
                            told[number].set_value(present);
                          });
  };
  ask(0, "large", int64_t{1} << 30);
  ask(1, "large, too", int64_t{1} << 30);
  ask(2, "small", 500);
  {
    // Both are being read.
    MutexLock lock(slow.mutex);
    while (slow.looks < 2) slow.changed.Wait(lock);
  }
  stopping = true;
  slow.End();
  EXPECT_TRUE(told[0].get_future().get().ok());
  EXPECT_TRUE(absl::IsUnavailable(told[1].get_future().get().status()));
  EXPECT_TRUE(told[2].get_future().get().ok());
  EXPECT_EQ(slow.looks, 2);
}

}  // namespace
}  // namespace edgekiln::server
