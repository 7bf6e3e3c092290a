// Leases with stages that follow (docs/design/0032-chains-of-stages.md).

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "gtest/gtest.h"
#include "server/daemon/farm/dispatcher.h"

namespace edgekiln::server {
namespace {

class FakeLink : public WorkerLink {
 public:
  void Send(const v1::DaemonMessage& message) override {
    if (message.has_lease()) leases.push_back(message.lease());
  }
  void Close(const absl::Status&) override { closed = true; }

  std::vector<v1::DaemonMessage::Lease> leases;
  bool closed = false;
};

class DispatcherChainsTest : public testing::Test {
 protected:
  DispatcherChainsTest() {
    DispatcherOptions options;
    options.build_digest = "build";
    options.take_result = [](const v1::WorkerMessage::Result& sent)
        -> absl::StatusOr<v1::StageResult> {
      if (sent.outputs(0) == "forged") return absl::DataLossError("forged");
      return sent.result();
    };
    dispatcher_ = std::make_unique<Dispatcher>(options, clock_, *log_);
  }
  ~DispatcherChainsTest() override { dispatcher_->Shutdown(); }

  uint64_t Connect(FakeLink& link, const std::vector<v1::WorkerRole>& roles) {
    v1::WorkerMessage::Hello hello;
    hello.set_build_digest("build");
    for (const v1::WorkerRole role : roles) hello.add_roles(role);
    hello.set_slots(1);
    return *dispatcher_->Connect(hello, &link);
  }

  // tile, emit, count_cycles; if `simulates`, simulate as well.
  uint64_t Submit(bool simulates = false, v1::JobClass job_class = v1::BATCH) {
    LeaseRequest request;
    request.owner.job_class = job_class;
    request.stage = "tile";
    request.options.mutable_tile();
    LeaseRequest::Next& emit = request.next.emplace_back();
    emit.stage = "emit";
    emit.options.mutable_emit();
    emit.inputs.emplace_back().set_role("tiling");
    LeaseRequest::Next& count = request.next.emplace_back();
    count.stage = "count_cycles";
    count.role = v1::SIMULATE_ROLE;
    count.options.mutable_count_cycles();
    if (simulates) {
      LeaseRequest::Next& simulate = request.next.emplace_back();
      simulate.stage = "simulate";
      simulate.role = v1::SIMULATE_ROLE;
      simulate.options.mutable_simulate();
      simulate.goes_along = [this] { return is_short_; };
    }
    LeaseCallbacks callbacks;
    callbacks.done = [this](absl::StatusOr<LeaseOutcome> done) {
      done_ = std::move(done);
    };
    return dispatcher_->Submit(std::move(request), std::move(callbacks));
  }

  static v1::WorkerMessage Answer(const v1::DaemonMessage::Lease& lease,
                                  const std::vector<std::string>& next) {
    v1::WorkerMessage message;
    v1::WorkerMessage::Result& result = *message.mutable_result();
    result.set_lease_id(lease.lease_id());
    result.set_fencing_token(lease.fencing_token());
    result.mutable_result()->add_warnings("tile");
    for (const std::string& bytes : next) {
      v1::WorkerMessage::Result& more = *result.add_next();
      more.mutable_result()->add_warnings(bytes);
      more.add_outputs(bytes);
      more.set_cpu_seconds(0.25);
      more.set_seconds(2);
    }
    return message;
  }

  // A worker that only says that it is alive.
  int MinutesUntilGivenUp(const std::vector<v1::WorkerRole>& roles) {
    const uint64_t worker = Connect(link_, roles);
    Submit();
    v1::WorkerMessage alive;
    alive.mutable_progress()->set_lease_id(link_.leases[0].lease_id());
    int minutes = 0;
    while (!link_.closed && minutes < 100) {
      clock_.Advance(absl::Minutes(1));
      dispatcher_->Receive(worker, alive);
      dispatcher_->Tick();
      ++minutes;
    }
    return minutes;
  }

  FakeClock clock_;
  const std::unique_ptr<Logger> log_ = NewNullLogger();
  FakeLink link_;
  FakeLink other_;
  std::unique_ptr<Dispatcher> dispatcher_;
  std::optional<absl::StatusOr<LeaseOutcome>> done_;
  bool is_short_ = false;
};

TEST_F(DispatcherChainsTest, EachStageHasItsResultAndItsTime) {
  const uint64_t worker = Connect(link_, {v1::COMPILE_ROLE, v1::SIMULATE_ROLE});
  Submit();
  ASSERT_EQ(link_.leases.size(), 1u);
  ASSERT_EQ(link_.leases[0].next_size(), 2);
  EXPECT_TRUE(link_.leases[0].next(0).options().has_emit());
  EXPECT_EQ(link_.leases[0].next(0).inputs(0).role(), "tiling");
  clock_.Advance(absl::Seconds(5));
  dispatcher_->Receive(worker, Answer(link_.leases[0], {"emit", "count"}));
  ASSERT_TRUE(done_.has_value() && done_->ok());
  const LeaseOutcome& outcome = **done_;
  EXPECT_EQ(outcome.elapsed, absl::Seconds(1));
  ASSERT_EQ(outcome.next.size(), 2u);
  EXPECT_EQ(outcome.next[1].elapsed, absl::Seconds(2));
  EXPECT_EQ(outcome.next[1].cpu_seconds, 0.25);
  EXPECT_EQ(outcome.next[1].result.warnings(0), "count");
}

TEST_F(DispatcherChainsTest, AWorkerGetsWhatItHasRolesFor) {
  Connect(link_, {v1::COMPILE_ROLE});
  Submit();
  ASSERT_EQ(link_.leases.size(), 1u);
  EXPECT_EQ(link_.leases[0].next_size(), 1);
}

TEST_F(DispatcherChainsTest, WhatMayTakeLongIsDecidedWhenAWorkerTakesTheLease) {
  Submit(/*simulates=*/true);
  is_short_ = true;
  Connect(link_, {v1::COMPILE_ROLE, v1::SIMULATE_ROLE});
  ASSERT_EQ(link_.leases.size(), 1u);
  EXPECT_EQ(link_.leases[0].next_size(), 3);
  Submit(/*simulates=*/true);
  is_short_ = false;
  Connect(other_, {v1::COMPILE_ROLE, v1::SIMULATE_ROLE});
  ASSERT_EQ(other_.leases.size(), 1u);
  EXPECT_EQ(other_.leases[0].next_size(), 2);
}

TEST_F(DispatcherChainsTest, WhatDoesNotMatchItsDigestsIsLeftOut) {
  const uint64_t worker = Connect(link_, {v1::COMPILE_ROLE, v1::SIMULATE_ROLE});
  Submit();
  dispatcher_->Receive(worker, Answer(link_.leases[0], {"forged", "count"}));
  ASSERT_TRUE(done_.has_value() && done_->ok());
  EXPECT_TRUE((*done_)->next.empty());
}

TEST_F(DispatcherChainsTest, MoreThanWasAskedForIsLeftOut) {
  const uint64_t worker = Connect(link_, {v1::COMPILE_ROLE, v1::SIMULATE_ROLE});
  Submit();
  dispatcher_->Receive(worker,
                       Answer(link_.leases[0], {"emit", "count", "more"}));
  ASSERT_TRUE(done_.has_value() && done_->ok());
  EXPECT_EQ((*done_)->next.size(), 2u);
}

TEST_F(DispatcherChainsTest, AfterALossTheStageGoesAlone) {
  const uint64_t worker = Connect(link_, {v1::COMPILE_ROLE, v1::SIMULATE_ROLE});
  Submit();
  Connect(other_, {v1::COMPILE_ROLE, v1::SIMULATE_ROLE});
  dispatcher_->Disconnect(worker);
  ASSERT_EQ(other_.leases.size(), 1u);
  EXPECT_EQ(other_.leases[0].next_size(), 0);
}

TEST_F(DispatcherChainsTest, AfterAFailureTheStageGoesAlone) {
  const uint64_t worker = Connect(link_, {v1::COMPILE_ROLE, v1::SIMULATE_ROLE});
  Submit();
  v1::WorkerMessage message = Answer(link_.leases[0], {});
  message.mutable_result()->mutable_infra_error()->set_code(13);
  message.mutable_result()->mutable_infra_error()->set_what("signal 11");
  dispatcher_->Receive(worker, message);
  ASSERT_EQ(link_.leases.size(), 2u);
  EXPECT_EQ(link_.leases[1].next_size(), 0);
}

// Each of its stages has the time of a lease.
TEST_F(DispatcherChainsTest, AWorkerIsGivenUpAfterTheTimeOfAllStages) {
  EXPECT_EQ(MinutesUntilGivenUp({v1::COMPILE_ROLE, v1::SIMULATE_ROLE}), 31);
}

TEST_F(DispatcherChainsTest, WhatWasNotSentHasNoTime) {
  EXPECT_EQ(MinutesUntilGivenUp({v1::COMPILE_ROLE}), 21);
}

}  // namespace
}  // namespace edgekiln::server
