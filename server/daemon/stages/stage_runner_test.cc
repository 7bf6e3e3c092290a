#include "server/daemon/stages/stage_runner.h"

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "cache/stage_result_store.h"
#include "gtest/gtest.h"
#include "proto/convert.h"
#include "server/daemon/stages/stage_group.h"
#include "server/daemon/stages/testing/fake_stages.h"
#include "server/daemon/stages/testing/stage_runner_fixture.h"
#include "server/worker_limits.h"

namespace edgekiln::server {
namespace {

TEST_F(StageRunnerTest, IdenticalStagesShareOneLease) {
  const auto first = runner_->Start(Tile(), {});
  const auto second = runner_->Start(Tile("tile again"), {});
  ASSERT_EQ(leases_.requests.size(), 1u);
  EXPECT_EQ(first->Record().name(), "");
  leases_.End(1, Success());
  ASSERT_TRUE(first->Wait().ok());
  ASSERT_TRUE(second->Wait().ok());
  EXPECT_EQ(first->Record().cache(), v1::Report::Stage::MISS);
  EXPECT_EQ(first->Record().seconds(), 2);
  EXPECT_EQ(first->Record().cpu_seconds(), 1.5);
  EXPECT_EQ(second->Record().name(), "tile again");
  EXPECT_EQ(second->Record().cache(), v1::Report::Stage::MERGED);
  EXPECT_EQ(second->Record().cpu_seconds(), 0);
  const auto third = runner_->Start(Tile(), {});
  EXPECT_TRUE(third->Wait().ok());
  EXPECT_EQ(third->Record().cache(), v1::Report::Stage::HIT);
  EXPECT_EQ(leases_.requests.size(), 1u);
}

TEST_F(StageRunnerTest, ALeaseTakesTheBestClassOfThoseWhoWait) {
  const LeaseOwner batch = {.job_class = v1::BATCH, .client = "c", .job = "b"};
  const LeaseOwner ci = {.job_class = v1::CI, .client = "c", .job = "a"};
  const auto first = runner_->Start(Tile(), {}, ci);
  ASSERT_EQ(leases_.requests.size(), 1u);
  EXPECT_EQ(leases_.requests[0].owner.job_class, v1::CI);
  EXPECT_EQ(leases_.requests[0].owner.job, "a");
  const auto second = runner_->Start(Tile(), {}, batch);
  EXPECT_TRUE(leases_.promoted.empty());
  StageGroup group(*runner_, {},
                   {.job_class = v1::INTERACTIVE, .client = "d", .job = "i"});
  const auto third = group.Start(Tile());
  const auto fourth = runner_->Start(Tile(), {}, ci);
  const std::vector<std::pair<uint64_t, v1::JobClass>> wanted = {
      {1, v1::INTERACTIVE}};
  EXPECT_EQ(leases_.promoted, wanted);
}

TEST_F(StageRunnerTest, TheLeaseEndsWithItsLastWaiter) {
  const auto first = runner_->Start(Tile(), {});
  auto second = runner_->Start(Tile(), {});
  first->Cancel(absl::CancelledError("enough"));
  EXPECT_TRUE(absl::IsCancelled(first->Wait().status()));
  EXPECT_EQ(leases_.cancels, 0);
  second.reset();
  EXPECT_EQ(leases_.cancels, 1);
  EXPECT_TRUE(leases_.open.empty());
  // Whoever asks now starts afresh.
  const auto third = runner_->Start(Tile(), {});
  ASSERT_EQ(leases_.requests.size(), 2u);
  leases_.End(2, Success());
  EXPECT_TRUE(third->Wait().ok());
}

TEST_F(StageRunnerTest, OurFailuresAreNotRemembered) {
  const auto first = runner_->Start(Tile(), {});
  leases_.End(1, MakeError(absl::StatusCode::kInternal,
                           {.fault = Fault::kInfra, .what = "broken"}));
  EXPECT_EQ(first->Wait().status().message(), "tile: broken");
  const auto second = runner_->Start(Tile(), {});
  EXPECT_EQ(leases_.requests.size(), 2u);
  LeaseOutcome outcome;
  *outcome.result.mutable_error() = ErrorToProto(MakeError(
      absl::StatusCode::kInternal, {.fault = Fault::kInfra, .what = "bug"}));
  leases_.End(2, outcome);
  EXPECT_FALSE(second->Wait().ok());
  const auto third = runner_->Start(Tile(), {});
  EXPECT_EQ(leases_.requests.size(), 3u);
}

TEST_F(StageRunnerTest, UserErrorsAre) {
  const auto first = runner_->Start(Tile(), {});
  LeaseOutcome outcome;
  *outcome.result.mutable_error() =
      ErrorToProto(MakeError(absl::StatusCode::kInvalidArgument,
                             {.fault = Fault::kUser, .what = "does not fit"}));
  leases_.End(1, outcome);
  EXPECT_EQ(first->Wait().status().message(), "tile: does not fit");
  const auto second = runner_->Start(Tile(), {});
  EXPECT_EQ(second->Wait().status().message(), "tile: does not fit");
  EXPECT_EQ(second->Record().cache(), v1::Report::Stage::HIT);
  EXPECT_EQ(leases_.requests.size(), 1u);
}

// Another worker may have more memory.
TEST_F(StageRunnerTest, LimitsOfAWorkerAreNotRemembered) {
  for (const absl::Status& error :
       {OverMemoryLimit("stage tile", 1 << 20, 2 << 20),
        OverStackLimit("stage tile", 1 << 20)}) {
    leases_.requests.clear();
    const auto first = runner_->Start(Tile(), {});
    LeaseOutcome outcome;
    *outcome.result.mutable_error() = ErrorToProto(error);
    leases_.End(1, outcome);
    const absl::Status status = first->Wait().status();
    EXPECT_EQ(status.message(), absl::StrCat("tile: ", error.message()));
    EXPECT_EQ(GetErrorDetail(status)->fault, Fault::kUser);
    EXPECT_EQ(first->Record().cache(), v1::Report::Stage::MISS);
    const auto second = runner_->Start(Tile(), {});
    EXPECT_EQ(leases_.requests.size(), 2u);
  }
}

TEST_F(StageRunnerTest, AResultWithoutItsBlobsIsNone) {
  const auto stage = runner_->Start(Tile(), {});
  LeaseOutcome outcome = Success();
  outcome.result.mutable_outputs(0)->mutable_digest()->set_hash(
      std::string(64, '7'));
  leases_.End(1, outcome);
  EXPECT_EQ(GetErrorDetail(stage->Wait().status())->reason, "STAGE_OUTPUT");
  const auto again = runner_->Start(Tile(), {});
  EXPECT_EQ(leases_.requests.size(), 2u);
}

TEST_F(StageRunnerTest, SaysWhenAnInputHasVanished) {
  const auto stage = runner_->Start(Tile(), {});
  const Digest digest = DigestOf("partition");
  ASSERT_TRUE(
      files_.Remove("/s/" + digest.hash.substr(0, 2) + "/" + digest.hash + "-9")
          .ok());
  leases_.End(1, absl::InternalError("worker could not read its input"));
  EXPECT_EQ(GetErrorDetail(stage->Wait().status())->reason, kInputLost);
}

TEST_F(StageRunnerTest, AGroupIsCancelledAsAWhole) {
  StageGroup group(*runner_, {});
  const auto before = group.Start(Tile());
  group.Cancel(absl::CancelledError("enough"));
  group.Cancel(absl::UnavailableError("too late to matter"));
  EXPECT_TRUE(absl::IsCancelled(before->Result()->status()));
  const auto after = group.Start(Tile());
  EXPECT_TRUE(absl::IsCancelled(after->Result()->status()));
  EXPECT_TRUE(leases_.open.empty());
}

TEST_F(StageRunnerTest, EventsReachEveryWaiter) {
  int started = 0;
  int progress = 0;
  std::vector<std::string> waiting;
  std::vector<std::string> finished;
  const StageEvents events{
      .started = [&] { ++started; },
      .progress = [&](const v1::StageProgress&) { ++progress; },
      .waiting =
          [&](const v1::JobEvent::Waiting& why) {
            waiting.push_back(why.reason());
          },
      .finished =
          [&](const v1::Report::Stage& record) {
            finished.push_back(record.name());
          }};
  const auto first = runner_->Start(Tile("a"), events);
  v1::JobEvent::Waiting why;
  why.set_reason("busy");
  leases_.open.at(1).waiting(why);
  // Who comes later is told what the others know.
  const auto second = runner_->Start(Tile("b"), events);
  EXPECT_EQ(waiting, (std::vector<std::string>{"busy", "busy"}));
  EXPECT_EQ(started, 0);
  leases_.open.at(1).leased();
  EXPECT_EQ(started, 2);
  const auto third = runner_->Start(Tile("late"), events);
  EXPECT_EQ(started, 3);
  EXPECT_EQ(waiting.size(), 2u);
  leases_.open.at(1).progress({});
  EXPECT_EQ(progress, 3);
  leases_.End(1, Success());
  EXPECT_EQ(finished, (std::vector<std::string>{"a", "b", "late"}));
  const auto found = runner_->Start(Tile("c"), events);
  EXPECT_EQ(started, 3);  // Found in the store: nothing was started.
  EXPECT_EQ(finished.size(), 4u);
}

// The stage ends while somebody who has just joined is still being told how it
// stands: that comes first all the same.
TEST_F(StageRunnerTest, NothingIsToldAfterTheEnd) {
  const auto first = runner_->Start(Tile("a"), {});
  leases_.open.at(1).leased();
  v1::JobEvent::Waiting why;
  why.set_reason("its worker was lost");
  leases_.open.at(1).waiting(why);
  std::vector<std::string> told;
  const auto second = runner_->Start(
      Tile("b"),
      {.started =
           [&] {
             leases_.End(1, Success());
             told.push_back("started");
           },
       .progress = nullptr,
       .waiting =
           [&](const v1::JobEvent::Waiting&) { told.push_back("waits"); },
       .finished =
           [&](const v1::Report::Stage&) { told.push_back("finished"); }});
  EXPECT_EQ(told, (std::vector<std::string>{"started", "waits", "finished"}));
  EXPECT_TRUE(first->Wait().ok());
  EXPECT_TRUE(second->Wait().ok());
}

// The same with threads: whoever learns of the end last learns nothing more.
TEST_F(StageRunnerTest, NothingIsToldAfterTheEndOfWhatThreadsShare) {
  for (int round = 0; round < 200; ++round) {
    const auto first = runner_->Start(Tile("a"), {});
    const uint64_t lease = leases_.requests.size();
    leases_.open.at(lease).leased();
    std::thread worker(
        [&] { leases_.End(lease, absl::InternalError("not remembered")); });
    std::atomic<bool> over = false;
    std::atomic<bool> late = false;
    {
      const auto second = runner_->Start(
          Tile("b"),
          {.started = [&] { late = late || over; },
           .progress = nullptr,
           .waiting = nullptr,
           .finished = [&](const v1::Report::Stage&) { over = true; }});
      worker.join();
      EXPECT_FALSE(late);
    }
  }
}

}  // namespace
}  // namespace edgekiln::server
