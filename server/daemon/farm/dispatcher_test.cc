#include "server/daemon/farm/dispatcher.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "base/error.h"
#include "gtest/gtest.h"

namespace edgekiln::server {
namespace {

class FakeLink : public WorkerLink {
 public:
  void Send(const v1::DaemonMessage& message) override {
    if (message.has_lease()) leases.push_back(message.lease());
    if (message.has_cancel()) cancelled.push_back(message.cancel().lease_id());
  }
  void Close(const absl::Status& why) override { closed = why; }

  std::vector<v1::DaemonMessage::Lease> leases;
  std::vector<uint64_t> cancelled;
  absl::Status closed;
};

// What became of one lease.
struct Outcome {
  std::optional<absl::StatusOr<LeaseOutcome>> done;
  int done_calls = 0;
  std::vector<v1::JobEvent::Waiting> waiting;
  int leased = 0;
  int progress = 0;
};

class DispatcherTest : public testing::Test {
 protected:
  DispatcherTest() {
    DispatcherOptions options;
    options.build_digest = "build";
    options.long_lease = absl::InfiniteDuration();
    options.workers_address = "host:7434";
    dispatcher_ = std::make_unique<Dispatcher>(options, clock_, *log_);
  }
  ~DispatcherTest() override { dispatcher_->Shutdown(); }

  // Links outlive the dispatcher's use of them.
  FakeLink& NewLink() {
    links_.push_back(std::make_unique<FakeLink>());
    return *links_.back();
  }

  Outcome& NewOutcome() {
    outcomes_.push_back(std::make_unique<Outcome>());
    return *outcomes_.back();
  }

  uint64_t Connect(FakeLink& link, int slots = 1,
                   v1::WorkerRole role = v1::COMPILE_ROLE) {
    v1::WorkerMessage::Hello hello;
    hello.set_build_digest("build");
    hello.set_name("w");
    hello.add_roles(role);
    hello.set_slots(slots);
    const absl::StatusOr<uint64_t> worker = dispatcher_->Connect(hello, &link);
    EXPECT_TRUE(worker.ok()) << worker.status();
    return worker.value_or(0);
  }

  uint64_t Submit(Outcome& outcome, v1::WorkerRole role = v1::COMPILE_ROLE) {
    LeaseRequest request;
    request.stage = "tile";
    request.role = role;
    request.options.mutable_tile();
    LeaseCallbacks callbacks;
    callbacks.done = [&](absl::StatusOr<LeaseOutcome> done) {
      outcome.done = std::move(done);
      ++outcome.done_calls;
    };
    callbacks.leased = [&] { ++outcome.leased; };
    callbacks.waiting = [&](const v1::JobEvent::Waiting& why) {
      outcome.waiting.push_back(why);
    };
    callbacks.progress = [&](const v1::StageProgress&) { ++outcome.progress; };
    return dispatcher_->Submit(std::move(request), std::move(callbacks));
  }

  void Answer(uint64_t worker, const v1::DaemonMessage::Lease& lease,
              bool infra_error = false) {
    v1::WorkerMessage message;
    v1::WorkerMessage::Result& result = *message.mutable_result();
    result.set_lease_id(lease.lease_id());
    result.set_fencing_token(lease.fencing_token());
    if (infra_error) {
      result.mutable_infra_error()->set_code(13);
      result.mutable_infra_error()->set_what("signal 11");
    } else {
      result.mutable_result()->add_warnings("done");
    }
    dispatcher_->Receive(worker, message);
  }

  std::vector<std::unique_ptr<FakeLink>> links_;
  std::vector<std::unique_ptr<Outcome>> outcomes_;
  FakeClock clock_;
  const std::unique_ptr<Logger> log_ = NewNullLogger();
  std::unique_ptr<Dispatcher> dispatcher_;
};

TEST_F(DispatcherTest, GivesALeaseAndItsResultBack) {
  FakeLink& link = NewLink();
  const uint64_t worker = Connect(link);
  Outcome& outcome = NewOutcome();
  Submit(outcome);
  ASSERT_EQ(link.leases.size(), 1u);
  EXPECT_TRUE(link.leases[0].options().has_tile());
  clock_.Advance(absl::Seconds(3));
  Answer(worker, link.leases[0]);
  ASSERT_TRUE(outcome.done.has_value());
  ASSERT_TRUE(outcome.done->ok()) << outcome.done->status();
  EXPECT_EQ((*outcome.done)->elapsed, absl::Seconds(3));
}

TEST_F(DispatcherTest, DescribesWorkersAndWhatTheyDo) {
  FakeLink& link = NewLink();
  const uint64_t worker = Connect(link, /*slots=*/2);
  for (int i = 0; i < 4; ++i) Submit(NewOutcome());
  ASSERT_EQ(link.leases.size(), 2u);
  clock_.Advance(absl::Seconds(3));
  Answer(worker, link.leases[0]);
  ASSERT_EQ(link.leases.size(), 3u);
  clock_.Advance(absl::Seconds(2));
  v1::DaemonStatus status;
  dispatcher_->Describe(status);
  EXPECT_EQ(status.waiting_leases(), 1);
  ASSERT_EQ(status.workers_size(), 1);
  EXPECT_EQ(status.workers(0).ShortDebugString(),
            "name: \"w\" roles: COMPILE_ROLE slots: 2 used_slots: 2 "
            "silent_seconds: 2 connected_seconds: 5 succeeded: 1 "
            "leases { stage: \"tile\" seconds: 5 } "
            "leases { stage: \"tile\" seconds: 2 }");
}

TEST_F(DispatcherTest, RespectsSlotsAndRoles) {
  FakeLink& compiler = NewLink();
  FakeLink& simulator = NewLink();
  const uint64_t worker = Connect(compiler, 1, v1::COMPILE_ROLE);
  Connect(simulator, 2, v1::SIMULATE_ROLE);
  Outcome& a = NewOutcome();
  Outcome& b = NewOutcome();
  Outcome& c = NewOutcome();
  Submit(a);
  Submit(b);
  Submit(c, v1::SIMULATE_ROLE);
  EXPECT_EQ(compiler.leases.size(), 1u);
  EXPECT_EQ(simulator.leases.size(), 1u);
  Answer(worker, compiler.leases[0]);
  EXPECT_EQ(compiler.leases.size(), 2u);
  EXPECT_EQ(a.done_calls, 1);
  EXPECT_EQ(b.done_calls, 0);
}

TEST_F(DispatcherTest, CompilesBeforeItSimulates) {
  Outcome& simulate = NewOutcome();
  Outcome& compile = NewOutcome();
  Submit(simulate, v1::SIMULATE_ROLE);
  Submit(compile, v1::COMPILE_ROLE);
  v1::WorkerMessage::Hello hello;
  hello.set_build_digest("build");
  hello.add_roles(v1::SIMULATE_ROLE);
  hello.add_roles(v1::COMPILE_ROLE);
  hello.set_slots(1);
  FakeLink& link = NewLink();
  const absl::StatusOr<uint64_t> worker = dispatcher_->Connect(hello, &link);
  ASSERT_TRUE(worker.ok());
  Answer(*worker, link.leases[0]);
  EXPECT_EQ(compile.done_calls, 1);
  EXPECT_EQ(simulate.done_calls, 0);
  EXPECT_EQ(link.leases.size(), 2u);
}

TEST_F(DispatcherTest, RefusesAnotherBuildNamingBoth) {
  FakeLink& link = NewLink();
  v1::WorkerMessage::Hello hello;
  hello.set_build_digest("other");
  hello.add_roles(v1::COMPILE_ROLE);
  hello.set_slots(1);
  const absl::Status status = dispatcher_->Connect(hello, &link).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(absl::StrContains(status.message(), "other"));
  EXPECT_TRUE(absl::StrContains(status.message(), "build build"));
  hello.set_build_digest("build");
  hello.set_slots(0);
  EXPECT_EQ(dispatcher_->Connect(hello, &link).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(DispatcherTest, LostWorkersLeaseMovesUnderANewToken) {
  FakeLink& lost = NewLink();
  FakeLink& next = NewLink();
  const uint64_t first = Connect(lost);
  Outcome& outcome = NewOutcome();
  Submit(outcome);
  dispatcher_->Disconnect(first);
  const uint64_t second = Connect(next);
  ASSERT_EQ(next.leases.size(), 1u);
  EXPECT_EQ(next.leases[0].lease_id(), lost.leases[0].lease_id());
  EXPECT_GT(next.leases[0].fencing_token(), lost.leases[0].fencing_token());

  // The lost one answers after all, then the new one under the old token.
  Answer(first, lost.leases[0]);
  Answer(second, lost.leases[0]);
  EXPECT_EQ(outcome.done_calls, 0);
  EXPECT_EQ(dispatcher_->refused_results(), 2);
  Answer(second, next.leases[0]);
  EXPECT_EQ(outcome.done_calls, 1);
  Answer(second, next.leases[0]);
  EXPECT_EQ(outcome.done_calls, 1);
  EXPECT_EQ(dispatcher_->refused_results(), 3);
}

TEST_F(DispatcherTest, SilenceLosesAWorkerThatHoldsALease) {
  FakeLink& idle = NewLink();
  FakeLink& silent = NewLink();
  Connect(idle, 1, v1::SIMULATE_ROLE);
  const uint64_t worker = Connect(silent);
  clock_.Advance(absl::Hours(1));  // Idle workers owe nothing.
  dispatcher_->Tick();
  EXPECT_TRUE(silent.closed.ok());
  Outcome& outcome = NewOutcome();
  Submit(outcome);
  clock_.Advance(absl::Seconds(9));
  v1::WorkerMessage progress;
  progress.mutable_progress()->set_lease_id(silent.leases[0].lease_id());
  progress.mutable_progress()->set_fencing_token(
      silent.leases[0].fencing_token());
  dispatcher_->Receive(worker, progress);
  EXPECT_EQ(outcome.progress, 1);
  clock_.Advance(absl::Seconds(9));
  dispatcher_->Tick();
  EXPECT_TRUE(silent.closed.ok());
  clock_.Advance(absl::Seconds(2));
  dispatcher_->Tick();
  EXPECT_FALSE(silent.closed.ok());
  EXPECT_TRUE(idle.closed.ok());
  FakeLink& next = NewLink();
  Connect(next);
  EXPECT_EQ(next.leases.size(), 1u);
}

TEST_F(DispatcherTest, GivesUpAfterThreeInfraErrorsNamingTheStage) {
  FakeLink& link = NewLink();
  const uint64_t worker = Connect(link);
  Outcome& outcome = NewOutcome();
  Submit(outcome);
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(link.leases.size(), static_cast<size_t>(i) + 1);
    EXPECT_EQ(outcome.done_calls, 0);
    Answer(worker, link.leases.back(), /*infra_error=*/true);
  }
  ASSERT_EQ(outcome.done_calls, 1);
  const std::optional<ErrorDetail> detail =
      GetErrorDetail(outcome.done->status());
  ASSERT_TRUE(detail.has_value());
  EXPECT_EQ(detail->fault, Fault::kInfra);
  EXPECT_EQ(detail->where, "stage tile");
  EXPECT_TRUE(absl::StrContains(detail->what, "signal 11"));
  // The worker itself is fine.
  Outcome& other = NewOutcome();
  Submit(other);
  EXPECT_EQ(link.leases.size(), 4u);
}

TEST_F(DispatcherTest, CancelReachesTheWorkerAndFreesTheSlotOnItsAnswer) {
  FakeLink& link = NewLink();
  const uint64_t worker = Connect(link);
  Outcome& running = NewOutcome();
  Outcome& queued = NewOutcome();
  const uint64_t id = Submit(running);
  const uint64_t queued_id = Submit(queued);
  dispatcher_->Cancel(queued_id);
  dispatcher_->Cancel(id);
  EXPECT_TRUE(absl::IsCancelled(running.done->status()));
  EXPECT_TRUE(absl::IsCancelled(queued.done->status()));
  EXPECT_EQ(link.cancelled, std::vector<uint64_t>{id});
  Outcome& next = NewOutcome();
  Submit(next);
  EXPECT_EQ(link.leases.size(), 1u);  // Still busy with the cancelled one.
  Answer(worker, link.leases[0]);
  EXPECT_EQ(running.done_calls, 1);
  EXPECT_EQ(link.leases.size(), 2u);
  dispatcher_->Cancel(id);  // Over: no effect.
  EXPECT_EQ(link.cancelled.size(), 1u);
}

TEST_F(DispatcherTest, ASlotWithoutAnswerIsUsedAgainAfterAWhile) {
  FakeLink& link = NewLink();
  Connect(link);
  Outcome& first = NewOutcome();
  dispatcher_->Cancel(Submit(first));
  Outcome& next = NewOutcome();
  Submit(next);
  clock_.Advance(absl::Seconds(4));
  dispatcher_->Tick();
  EXPECT_EQ(link.leases.size(), 2u);
}

TEST_F(DispatcherTest, SaysOnceWhyNothingMoves) {
  Outcome& outcome = NewOutcome();
  Submit(outcome, v1::SIMULATE_ROLE);
  FakeLink& compiler = NewLink();
  Connect(compiler);
  dispatcher_->Tick();
  EXPECT_TRUE(outcome.waiting.empty());
  clock_.Advance(absl::Seconds(2));
  dispatcher_->Tick();
  dispatcher_->Tick();
  ASSERT_EQ(outcome.waiting.size(), 1u);
  EXPECT_EQ(outcome.waiting[0].cause(), v1::JobEvent::Waiting::NO_WORKER);
  EXPECT_EQ(outcome.waiting[0].reason(),
            "no worker with role SIMULATE is connected; start one with "
            "edgekiln-worker --connect host:7434");
}

TEST_F(DispatcherTest, NamesTheWorkerOfAnotherBuildUntilOneOfTheSameComes) {
  Outcome& outcome = NewOutcome();
  Submit(outcome);
  v1::WorkerMessage::Hello hello;
  hello.set_build_digest("0123456789abcdef");
  hello.set_name("old-host");
  hello.add_roles(v1::COMPILE_ROLE);
  hello.set_slots(1);
  ASSERT_FALSE(dispatcher_->Connect(hello, &NewLink()).ok());
  clock_.Advance(absl::Seconds(2));
  dispatcher_->Tick();
  ASSERT_EQ(outcome.waiting.size(), 1u);
  EXPECT_EQ(outcome.waiting[0].cause(), v1::JobEvent::Waiting::OTHER_BUILD);
  EXPECT_EQ(outcome.waiting[0].reason(),
            "the only worker with role COMPILE, old-host, is of build "
            "0123456789ab, this daemon of build build; install the same "
            "edgekiln on both");
  FakeLink& link = NewLink();
  dispatcher_->Disconnect(Connect(link));
  EXPECT_EQ(outcome.leased, 1);
  clock_.Advance(absl::Seconds(2));
  dispatcher_->Tick();
  ASSERT_EQ(outcome.waiting.size(), 2u);
  EXPECT_EQ(outcome.waiting[1].cause(), v1::JobEvent::Waiting::NO_WORKER);
}

TEST_F(DispatcherTest, SaysItsPlaceInTheQueueButNotAtEveryStep) {
  FakeLink& link = NewLink();
  const uint64_t worker = Connect(link);
  Submit(NewOutcome());
  Submit(NewOutcome());
  Submit(NewOutcome());
  Outcome& last = NewOutcome();
  Submit(last);
  EXPECT_EQ(last.leased, 0);
  clock_.Advance(absl::Seconds(2));
  dispatcher_->Tick();
  ASSERT_EQ(last.waiting.size(), 1u);
  EXPECT_EQ(last.waiting[0].cause(), v1::JobEvent::Waiting::ALL_BUSY);
  EXPECT_EQ(last.waiting[0].position(), 3);
  Answer(worker, link.leases.back());
  dispatcher_->Tick();
  EXPECT_EQ(last.waiting.size(), 1u);  // Told a moment ago.
  clock_.Advance(absl::Seconds(6));
  dispatcher_->Tick();
  ASSERT_EQ(last.waiting.size(), 2u);
  EXPECT_EQ(last.waiting[1].position(), 2);
  Answer(worker, link.leases.back());
  Answer(worker, link.leases.back());
  EXPECT_EQ(last.leased, 1);
}

TEST_F(DispatcherTest, ShutdownEndsEverything) {
  FakeLink& link = NewLink();
  Connect(link);
  Outcome& running = NewOutcome();
  Outcome& queued = NewOutcome();
  Submit(running);
  Submit(queued);
  dispatcher_->Shutdown();
  EXPECT_TRUE(absl::IsUnavailable(running.done->status()));
  EXPECT_TRUE(absl::IsUnavailable(queued.done->status()));
  EXPECT_FALSE(link.closed.ok());
  Outcome& late = NewOutcome();
  Submit(late);
  EXPECT_EQ(late.done_calls, 1);
}

TEST_F(DispatcherTest, DrainingLetsLeasesEndAndGivesNoMore) {
  FakeLink& link = NewLink();
  const uint64_t worker = Connect(link);
  Outcome& running = NewOutcome();
  Submit(running);
  Outcome& queued = NewOutcome();
  Submit(queued);
  EXPECT_EQ(dispatcher_->LeasesOut(), 1);
  dispatcher_->Drain();
  EXPECT_EQ(dispatcher_->LeasesOut(), 1);
  Answer(worker, link.leases[0]);
  ASSERT_TRUE(running.done.has_value());
  EXPECT_TRUE(running.done->ok()) << running.done->status();
  EXPECT_EQ(dispatcher_->LeasesOut(), 0);
  dispatcher_->Tick();
  Connect(NewLink());
  EXPECT_EQ(link.leases.size(), 1u);
  EXPECT_EQ(links_[1]->leases.size(), 0u);
  EXPECT_EQ(queued.done_calls, 0);
}

}  // namespace
}  // namespace edgekiln::server
