#include "client/watch.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "client/testing/fake_daemon.h"

namespace edgekiln::client {
namespace {

class Sink final : public WatchSink {
 public:
  void OnEvent(const v1::JobEvent& event) override {
    sequences.push_back(event.sequence());
  }
  void OnReconnecting(bool reconnecting) override {
    reconnects += reconnecting ? 1 : 0;
    connected = !reconnecting;
  }
  absl::Status OnTick() override {
    return --ticks_left > 0 ? absl::OkStatus() : absl::CancelledError("stop");
  }

  std::vector<int64_t> sequences;
  int reconnects = 0;
  bool connected = true;
  int ticks_left = 1'000'000;
};

class WatchTest : public testing::Test {
 protected:
  WatchTest() : folder_(NewTempFolder()), daemon_(folder_ + "/s") {
    MutexLock lock(daemon_.jobs.mutex);
    for (int i = 1; i <= 5; ++i) {
      v1::JobEvent event;
      event.set_sequence(i);
      if (i == 5) {
        event.set_state(v1::SUCCEEDED);
      } else {
        event.mutable_stage_started()->set_name("s");
      }
      daemon_.jobs.events.push_back(event);
    }
  }
  ~WatchTest() override { std::filesystem::remove_all(folder_); }

  absl::Status Watch(int64_t after = 0) {
    return WatchJob(daemon_.Channel(), clock_, "job", after, options_, sink_);
  }

  template <typename T>
  void Set(T FakeJobs::*field, std::type_identity_t<T> value) {
    MutexLock lock(daemon_.jobs.mutex);
    daemon_.jobs.*field = std::move(value);
  }
  void DropLastEvent() {
    MutexLock lock(daemon_.jobs.mutex);
    daemon_.jobs.events.pop_back();
  }
  std::vector<int64_t> WatchedAfter() {
    MutexLock lock(daemon_.jobs.mutex);
    return daemon_.jobs.watched_after;
  }

  const std::string folder_;
  FakeDaemon daemon_;
  FakeClock clock_;
  WatchOptions options_;
  Sink sink_;
};

using Sequence = std::vector<int64_t>;

TEST_F(WatchTest, DeliversEverythingInOrder) {
  ASSERT_TRUE(Watch().ok());
  EXPECT_EQ(sink_.sequences, (Sequence{1, 2, 3, 4, 5}));
  EXPECT_EQ(sink_.reconnects, 0);
}

TEST_F(WatchTest, GoesOnAfterTheLastSequence) {
  int revived = 0;
  options_.revive = [&] {
    ++revived;
    return absl::OkStatus();
  };
  Set(&FakeJobs::watch_cuts, {2, 0, 1});
  ASSERT_TRUE(Watch().ok());
  EXPECT_EQ(sink_.sequences, (Sequence{1, 2, 3, 4, 5}));
  EXPECT_EQ(WatchedAfter(), (Sequence{0, 2, 2, 3}));
  EXPECT_EQ(sink_.reconnects, 3);
  EXPECT_EQ(revived, 3);
  EXPECT_TRUE(sink_.connected);
}

TEST_F(WatchTest, BreakAfterTheLastEventIsTheEnd) {
  Set(&FakeJobs::watch_cuts, {5});
  ASSERT_TRUE(Watch().ok());
  EXPECT_EQ(sink_.sequences.size(), 5u);
}

TEST_F(WatchTest, DoesNotNeedTheDaemonToCloseTheStream) {
  Set(&FakeJobs::hang, true);
  ASSERT_TRUE(Watch().ok());
  EXPECT_EQ(sink_.sequences.size(), 5u);
}

TEST_F(WatchTest, GivesUpWhenNothingComes) {
  Set(&FakeJobs::watch_cuts, std::vector<int>(1000, 0));
  const absl::Status status = Watch();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_GT(clock_.Monotonic(), options_.give_up_after);
  EXPECT_LT(clock_.Monotonic(), options_.give_up_after * 2);
}

TEST_F(WatchTest, StreamThatEndsEarlyIsABreak) {
  DropLastEvent();
  EXPECT_TRUE(absl::IsUnavailable(Watch()));
  EXPECT_EQ(sink_.sequences, (Sequence{1, 2, 3, 4}));
}

TEST_F(WatchTest, SinkStopsSilentStreamAndBackoff) {
  DropLastEvent();
  Set(&FakeJobs::hang, true);
  sink_.ticks_left = 8;
  EXPECT_TRUE(absl::IsCancelled(Watch()));
  Set(&FakeJobs::hang, false);
  Set(&FakeJobs::watch_cuts, std::vector<int>(1000, 0));
  sink_.ticks_left = 8;
  EXPECT_TRUE(absl::IsCancelled(Watch()));
}

TEST_F(WatchTest, ReviveErrorEndsIt) {
  options_.revive = [] { return absl::UnavailableError("no daemon"); };
  Set(&FakeJobs::watch_cuts, {1});
  EXPECT_EQ(Watch().message(), "no daemon");
}

}  // namespace
}  // namespace edgekiln::client
