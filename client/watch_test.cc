#include "client/watch.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

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
  daemon_.jobs.watch_cuts = {2, 0, 1};
  ASSERT_TRUE(Watch().ok());
  EXPECT_EQ(sink_.sequences, (Sequence{1, 2, 3, 4, 5}));
  EXPECT_EQ(daemon_.jobs.watched_after, (Sequence{0, 2, 2, 3}));
  EXPECT_EQ(sink_.reconnects, 3);
  EXPECT_EQ(revived, 3);
  EXPECT_TRUE(sink_.connected);
}

TEST_F(WatchTest, BreakAfterTheLastEventIsTheEnd) {
  daemon_.jobs.watch_cuts = {5};
  ASSERT_TRUE(Watch().ok());
  EXPECT_EQ(sink_.sequences.size(), 5u);
}

TEST_F(WatchTest, DoesNotNeedTheDaemonToCloseTheStream) {
  daemon_.jobs.hang = true;
  ASSERT_TRUE(Watch().ok());
  EXPECT_EQ(sink_.sequences.size(), 5u);
}

TEST_F(WatchTest, GivesUpWhenNothingComes) {
  daemon_.jobs.watch_cuts = std::vector<int>(1000, 0);
  const absl::Status status = Watch();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_GT(clock_.Monotonic(), options_.give_up_after);
  EXPECT_LT(clock_.Monotonic(), options_.give_up_after * 2);
}

TEST_F(WatchTest, StreamThatEndsEarlyIsABreak) {
  daemon_.jobs.events.pop_back();
  EXPECT_TRUE(absl::IsUnavailable(Watch()));
  EXPECT_EQ(sink_.sequences, (Sequence{1, 2, 3, 4}));
}

TEST_F(WatchTest, SinkStopsSilentStreamAndBackoff) {
  daemon_.jobs.events.pop_back();
  daemon_.jobs.hang = true;
  sink_.ticks_left = 8;
  EXPECT_TRUE(absl::IsCancelled(Watch()));
  daemon_.jobs.hang = false;
  daemon_.jobs.watch_cuts = std::vector<int>(1000, 0);
  sink_.ticks_left = 8;
  EXPECT_TRUE(absl::IsCancelled(Watch()));
}

TEST_F(WatchTest, ReviveErrorEndsIt) {
  options_.revive = [] { return absl::UnavailableError("no daemon"); };
  daemon_.jobs.watch_cuts = {1};
  EXPECT_EQ(Watch().message(), "no daemon");
}

}  // namespace
}  // namespace edgekiln::client
