// What follows when leases fail, workers are lost and results are large.

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "base/digest.h"
#include "base/error.h"
#include "gtest/gtest.h"
#include "proto/convert.h"
#include "server/daemon/farm/dispatcher.h"

namespace edgekiln::server {
namespace {

class FakeLink : public WorkerLink {
 public:
  void Send(const v1::DaemonMessage& message) override {
    if (message.has_lease()) leases.push_back(message.lease());
  }
  void Close(const absl::Status& why) override { closed = why; }

  std::vector<v1::DaemonMessage::Lease> leases;
  absl::Status closed;
};

struct Outcome {
  std::optional<absl::StatusOr<LeaseOutcome>> done;
  std::vector<v1::JobEvent::Waiting> waiting;
  int progress = 0;

  std::string reason() const {
    if (!done.has_value()) return "unfinished";
    if (done->ok()) return "ok";
    const auto detail = GetErrorDetail(done->status());
    return detail ? detail->reason : "no detail";
  }
};

class DispatcherRetryTest : public testing::Test {
 protected:
  DispatcherRetryTest() {
    folder_ = testing::TempDir() + "retry_" +
              testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
    OpenQuarantine();
    options_.build_digest = "build";
    options_.max_worker_slots = 20;
    options_.take_result = [this](const v1::WorkerMessage::Result& sent)
        -> absl::StatusOr<v1::StageResult> {
      const auto found = stored_.find(sent.stored_result().hash());
      if (found == stored_.end()) return absl::NotFoundError("no such blob");
      return found->second;
    };
    Restart();
  }
  ~DispatcherRetryTest() override {
    dispatcher_->Shutdown();
    std::filesystem::remove_all(folder_);
  }

  void OpenQuarantine() {
    auto opened = Quarantine::Open(*files_, folder_, *log_);
    ASSERT_TRUE(opened.ok()) << opened.status();
    quarantine_ = *std::move(opened);
    options_.quarantine = quarantine_.get();
  }
  void Restart() {
    if (dispatcher_) dispatcher_->Shutdown();
    dispatcher_ = std::make_unique<Dispatcher>(options_, clock_, *log_);
  }

  struct Worker {
    uint64_t id = 0;
    FakeLink* link = nullptr;
    const v1::DaemonMessage::Lease& last() const { return link->leases.back(); }
  };
  Worker Connect(int slots = 1) {
    links_.push_back(std::make_unique<FakeLink>());
    v1::WorkerMessage::Hello hello;
    hello.set_build_digest("build");
    hello.add_roles(v1::COMPILE_ROLE);
    hello.set_slots(slots);
    const auto id = dispatcher_->Connect(hello, links_.back().get());
    EXPECT_TRUE(id.ok()) << id.status();
    return {id.value_or(0), links_.back().get()};
  }

  // `name` makes the key.
  Outcome& Submit(const std::string& name, size_t inputs = 1) {
    outcomes_.push_back(std::make_unique<Outcome>());
    Outcome& outcome = *outcomes_.back();
    LeaseRequest request;
    request.key = DigestOf(name).hash;
    request.stage = "tile";
    request.options.mutable_tile();
    request.inputs.resize(inputs);
    for (v1::BlobRef& input : request.inputs) {
      input.set_role("partition");
      *input.mutable_digest() = ToProto(DigestOf(name));
    }
    LeaseCallbacks callbacks;
    callbacks.done = [&](absl::StatusOr<LeaseOutcome> done) {
      EXPECT_FALSE(outcome.done.has_value());
      outcome.done = std::move(done);
    };
    callbacks.progress = [&](const v1::StageProgress&) { ++outcome.progress; };
    callbacks.waiting = [&](const v1::JobEvent::Waiting& why) {
      outcome.waiting.push_back(why);
    };
    last_id_ = dispatcher_->Submit(std::move(request), std::move(callbacks));
    return outcome;
  }

  v1::WorkerMessage Answer(const v1::DaemonMessage::Lease& lease) {
    v1::WorkerMessage message;
    message.mutable_result()->set_lease_id(lease.lease_id());
    message.mutable_result()->set_fencing_token(lease.fencing_token());
    return message;
  }
  void Succeed(const Worker& worker) {
    v1::WorkerMessage message = Answer(worker.last());
    message.mutable_result()->mutable_result();
    dispatcher_->Receive(worker.id, message);
  }
  void Fail(const Worker& worker, const std::string& reason,
            const std::string& what = "it broke",
            absl::StatusCode code = absl::StatusCode::kInternal) {
    v1::WorkerMessage message = Answer(worker.last());
    v1::ErrorDetail& error = *message.mutable_result()->mutable_infra_error();
    error.set_code(static_cast<int>(code));
    error.set_fault(v1::ErrorDetail::INFRA);
    error.set_reason(reason);
    error.set_what(what);
    dispatcher_->Receive(worker.id, message);
  }
  // How many leases all workers got together.
  size_t Given() const {
    size_t given = 0;
    for (const auto& link : links_) given += link->leases.size();
    return given;
  }

  std::string folder_;
  const std::unique_ptr<FileSystem> files_ = NewPosixFileSystem();
  FakeClock clock_;
  const std::unique_ptr<Logger> log_ = NewNullLogger();
  std::map<std::string, v1::StageResult> stored_;
  std::unique_ptr<Quarantine> quarantine_;
  std::vector<std::unique_ptr<FakeLink>> links_;
  std::vector<std::unique_ptr<Outcome>> outcomes_;
  uint64_t last_id_ = 0;
  DispatcherOptions options_;
  std::unique_ptr<Dispatcher> dispatcher_;
};

TEST_F(DispatcherRetryTest, TheSecondIdenticalCrashQuarantines) {
  const Worker worker = Connect();
  Outcome& outcome = Submit("bad");
  Fail(worker, "STAGE_CRASHED", "signal 11");
  EXPECT_EQ(outcome.reason(), "unfinished");
  Fail(worker, "STAGE_CRASHED", "signal 11");
  EXPECT_EQ(outcome.reason(), "INPUT_QUARANTINED");
  const auto detail = GetErrorDetail(outcome.done->status());
  EXPECT_EQ(detail->fault, Fault::kInfra);
  EXPECT_TRUE(absl::StrContains(detail->what, "signal 11")) << detail->what;
  EXPECT_TRUE(absl::StrContains(
      detail->fix,
      "edgekiln quarantine release " + DigestOf("bad").hash.substr(0, 12)))
      << detail->fix;

  // Nobody gets a slot for it any more; others go on.
  EXPECT_EQ(Submit("bad").reason(), "INPUT_QUARANTINED");
  EXPECT_EQ(Given(), 2u);
  Outcome& good = Submit("good");
  Succeed(worker);
  EXPECT_EQ(good.reason(), "ok");

  // Also after a restart, until it is released.
  OpenQuarantine();
  Restart();
  const Worker next = Connect();
  EXPECT_EQ(Submit("bad").reason(), "INPUT_QUARANTINED");
  ASSERT_TRUE(quarantine_->Release(DigestOf("bad").hash.substr(0, 12)).ok());
  Outcome& again = Submit("bad");
  Succeed(next);
  EXPECT_EQ(again.reason(), "ok");
}

TEST_F(DispatcherRetryTest, WhatIsQuarantinedGoesWithNoChain) {
  const Worker worker = Connect();
  Submit("bad");
  Fail(worker, "STAGE_CRASHED", "signal 11");
  Fail(worker, "STAGE_CRASHED", "signal 11");
  LeaseRequest request;
  request.key = DigestOf("good").hash;
  request.stage = "tile";
  request.options.mutable_tile();
  for (const std::string name : {"good too", "", "bad", "behind it"}) {
    LeaseRequest::Next& next = request.next.emplace_back();
    if (!name.empty()) next.key = DigestOf(name).hash;
    next.stage = "tile";
    next.options.mutable_tile();
  }
  LeaseCallbacks callbacks;
  callbacks.done = [](const absl::StatusOr<LeaseOutcome>&) {};
  dispatcher_->Submit(std::move(request), std::move(callbacks));
  EXPECT_EQ(worker.last().next_size(), 2);
}

TEST_F(DispatcherRetryTest, DifferentCrashesAreCountedApart) {
  const Worker worker = Connect();
  Outcome& outcome = Submit("bad");
  Fail(worker, "STAGE_CRASHED", "signal 11");
  Fail(worker, "STAGE_CRASHED", "signal 6");
  EXPECT_EQ(outcome.reason(), "unfinished");
  Fail(worker, "STAGE_CRASHED", "signal 11");
  EXPECT_EQ(outcome.reason(), "INPUT_QUARANTINED");
}

TEST_F(DispatcherRetryTest, ATimeOutIsTriedTwiceAndSaysHowLongItTook) {
  const Worker worker = Connect();
  Outcome& outcome = Submit("slow");
  clock_.Advance(absl::Minutes(10));
  Fail(worker, "STAGE_TIMEOUT", "a stage took too long");
  clock_.Advance(absl::Minutes(10) + absl::Milliseconds(7));
  Fail(worker, "STAGE_TIMEOUT", "a stage took too long");
  EXPECT_EQ(outcome.reason(), "INPUT_QUARANTINED");
  EXPECT_TRUE(absl::StrContains(outcome.done->status().message(),
                                "took too long after 10m0.007s"))
      << outcome.done->status();
}

TEST_F(DispatcherRetryTest, AStageWithoutAProcessorIsNotQuarantined) {
  const Worker worker = Connect();
  Outcome& outcome = Submit("slow");
  for (int i = 0; i < 5; ++i) {
    Fail(worker, "STAGE_STARVED", "it waited for a processor");
    EXPECT_EQ(outcome.reason(), "unfinished");
  }
  Fail(worker, "STAGE_STARVED", "it waited for a processor");
  EXPECT_EQ(outcome.reason(), "STAGE_STARVED");
}

TEST_F(DispatcherRetryTest, ACompilerThatHangsIsTriedTwice) {
  const Worker worker = Connect();
  Outcome& outcome = Submit("slow");
  Fail(worker, "COMPILER_TIMEOUT", "gcc took too long");
  EXPECT_EQ(outcome.reason(), "unfinished");
  Fail(worker, "COMPILER_TIMEOUT", "gcc took too long");
  EXPECT_EQ(outcome.reason(), "INPUT_QUARANTINED");
}

TEST_F(DispatcherRetryTest, TheNextAttemptIsForAnotherWorker) {
  const Worker broken = Connect(4);
  const Worker sound = Connect(4);
  Outcome& outcome = Submit("net");
  ASSERT_EQ(broken.link->leases.size(), 1u);
  Fail(broken, "STAGE_CRASHED", "signal 11");
  ASSERT_EQ(sound.link->leases.size(), 1u);
  Succeed(sound);
  EXPECT_EQ(outcome.reason(), "ok");
  // It was the worker: it comes last for a while.
  for (int i = 0; i < 4; ++i) Submit("other" + std::to_string(i));
  EXPECT_EQ(broken.link->leases.size(), 1u);
}

TEST_F(DispatcherRetryTest, WhatComesFromOutsideIsTriedSixTimes) {
  for (const char* reason : {"STAGE_KILLED", "WORKER_OUT_OF_MEMORY"}) {
    const Worker worker = Connect();
    Outcome& outcome = Submit(reason);
    int attempts = 0;
    while (outcome.reason() == "unfinished" && attempts < 20) {
      Fail(worker, reason);
      ++attempts;
    }
    EXPECT_EQ(attempts, 6);
    EXPECT_EQ(outcome.reason(), reason);
    dispatcher_->Disconnect(worker.id);
  }
}

TEST_F(DispatcherRetryTest, AFullDiskIsWaitedForAndNotCounted) {
  const Worker worker = Connect();
  Outcome& outcome = Submit("net");
  for (int i = 0; i < 12; ++i) {
    ASSERT_EQ(worker.link->leases.size(), static_cast<size_t>(i) + 1);
    Fail(worker, "WORKER_BLOBS", "storing outputs: disk full",
         absl::StatusCode::kResourceExhausted);
    ASSERT_EQ(outcome.reason(), "unfinished");
    ASSERT_EQ(outcome.waiting.size(), static_cast<size_t>(i) + 1);
    EXPECT_EQ(outcome.waiting.back().cause(), v1::JobEvent::Waiting::DISK_FULL);
    dispatcher_->Tick();
    ASSERT_EQ(worker.link->leases.size(), static_cast<size_t>(i) + 1);
    clock_.Advance(absl::Seconds(30));
    dispatcher_->Tick();
  }
  Succeed(worker);
  EXPECT_EQ(outcome.reason(), "ok");
  // A cancelled one does not come back.
  Outcome& cancelled = Submit("other");
  Fail(worker, "DISK_FULL");
  dispatcher_->Cancel(last_id_);
  EXPECT_TRUE(absl::IsCancelled(cancelled.done->status()));
  clock_.Advance(absl::Minutes(2));
  dispatcher_->Tick();
  EXPECT_EQ(worker.link->leases.size(), 14u);
}

TEST_F(DispatcherRetryTest, OneThatEndsEveryWorkerAloneIsQuarantined) {
  Outcome& outcome = Submit("killer");
  int workers = 0;
  while (outcome.reason() == "unfinished" && workers < 20) {
    const Worker worker = Connect();
    clock_.Advance(absl::Seconds(3));
    dispatcher_->Disconnect(worker.id);
    ++workers;
  }
  EXPECT_EQ(workers, 3);
  EXPECT_EQ(outcome.reason(), "INPUT_QUARANTINED");
}

TEST_F(DispatcherRetryTest, WorkersThatDieAtRandomAreNotItsFault) {
  // Each after another time.
  Outcome& outcome = Submit("net");
  int workers = 0;
  while (outcome.reason() == "unfinished" && workers < 20) {
    const Worker worker = Connect();
    clock_.Advance(absl::Seconds(1 << workers));
    dispatcher_->Disconnect(worker.id);
    ++workers;
  }
  EXPECT_EQ(workers, 6);
  EXPECT_EQ(outcome.reason(), "STAGE_FAILED");

  // After as long each time, but others die, too.
  Outcome& one = Submit("one");
  Outcome& two = Submit("two");
  for (int i = 0; i < 5; ++i) {
    const Worker a = Connect();
    const Worker b = Connect();
    dispatcher_->Disconnect(a.id);
    dispatcher_->Disconnect(b.id);
  }
  EXPECT_EQ(one.reason(), "unfinished");
  EXPECT_EQ(two.reason(), "unfinished");
}

// One lease breaks every session that it is part of.
TEST_F(DispatcherRetryTest, InnocentLeasesOutliveTheOneThatEndsTheirWorker) {
  Outcome& killer = Submit("killer");
  const uint64_t killer_id = last_id_;
  std::vector<Outcome*> innocent;
  for (int i = 0; i < 7; ++i) {
    innocent.push_back(&Submit("good" + std::to_string(i)));
  }
  int deaths = 0;
  for (int round = 0; round < 60; ++round) {
    const Worker worker = Connect(8);
    // Answers what it holds until the killer is among it.
    for (size_t at = 0; at < worker.link->leases.size(); ++at) {
      bool dies = false;
      for (size_t i = at; i < worker.link->leases.size(); ++i) {
        dies = dies || worker.link->leases[i].lease_id() == killer_id;
      }
      if (dies) {
        ++deaths;
        break;
      }
      v1::WorkerMessage message = Answer(worker.link->leases[at]);
      message.mutable_result()->mutable_result();
      dispatcher_->Receive(worker.id, message);
    }
    dispatcher_->Disconnect(worker.id);
  }
  EXPECT_EQ(killer.reason(), "INPUT_QUARANTINED");
  EXPECT_LE(deaths, 5);
  for (const Outcome* outcome : innocent) EXPECT_EQ(outcome->reason(), "ok");
}

TEST_F(DispatcherRetryTest, AnOverdueLeaseTakesItsWorkerButBlamesNoOther) {
  const Worker worker = Connect(2);
  Outcome& stuck = Submit("stuck");
  const v1::DaemonMessage::Lease late = worker.last();
  clock_.Advance(absl::Minutes(5));
  Outcome& good = Submit("good");
  for (int i = 0; i < 80; ++i) {
    v1::WorkerMessage alive;
    alive.mutable_progress()->set_lease_id(late.lease_id());
    alive.mutable_progress()->set_fencing_token(late.fencing_token());
    dispatcher_->Receive(worker.id, alive);
    clock_.Advance(absl::Seconds(5));
    dispatcher_->Tick();
  }
  EXPECT_FALSE(worker.link->closed.ok());
  const Worker next = Connect(2);
  EXPECT_EQ(next.link->leases.size(), 2u);
  EXPECT_EQ(stuck.reason(), "unfinished");
  EXPECT_EQ(good.reason(), "unfinished");
}

TEST_F(DispatcherRetryTest, LargeResultsAreReadFromBlobs) {
  const Worker worker = Connect();
  Outcome& outcome = Submit("net");
  stored_["there"].add_warnings("long");
  v1::WorkerMessage message = Answer(worker.last());
  message.mutable_result()->mutable_stored_result()->set_hash("there");
  dispatcher_->Receive(worker.id, message);
  ASSERT_EQ(outcome.reason(), "ok");
  EXPECT_EQ((*outcome.done)->result.warnings(0), "long");

  // One that is not there is a failure of that lease alone.
  Outcome& lost = Submit("lost");
  for (int i = 0; i < 3; ++i) {
    message = Answer(worker.last());
    message.mutable_result()->mutable_stored_result()->set_hash("nowhere");
    dispatcher_->Receive(worker.id, message);
  }
  EXPECT_TRUE(absl::StrContains(lost.done->status().message(), "no such blob"))
      << lost.done->status();
  EXPECT_TRUE(worker.link->closed.ok());
}

TEST_F(DispatcherRetryTest, AnOversizedLeaseIsRefusedUpFront) {
  Connect();
  EXPECT_EQ(Submit("huge", 200'000).reason(), "LEASE_TOO_LARGE");
  EXPECT_EQ(Given(), 0u);
}

TEST_F(DispatcherRetryTest, SlotsAndWorkersAreBounded) {
  options_.max_workers = 2;
  Restart();
  const Worker greedy = Connect(1000);
  std::vector<Outcome*> all;
  for (int i = 0; i < 100; ++i) all.push_back(&Submit("n" + std::to_string(i)));
  // Until it has answered some, it gets few.
  EXPECT_EQ(greedy.link->leases.size(), 8u);
  for (size_t i = 0; i < 30; ++i) {
    v1::WorkerMessage message = Answer(greedy.link->leases[i]);
    message.mutable_result()->mutable_result();
    dispatcher_->Receive(greedy.id, message);
  }
  EXPECT_EQ(greedy.link->leases.size(), 30u + 20u);
  const Worker other = Connect(8);
  EXPECT_EQ(other.link->leases.size(), 8u);
  v1::WorkerMessage::Hello hello;
  hello.set_build_digest("build");
  hello.add_roles(v1::COMPILE_ROLE);
  hello.set_slots(1);
  FakeLink third;
  const absl::Status refused = dispatcher_->Connect(hello, &third).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  dispatcher_->Disconnect(other.id);
  const auto again = dispatcher_->Connect(hello, &third);
  EXPECT_TRUE(again.ok());
  dispatcher_->Disconnect(*again);
}

TEST_F(DispatcherRetryTest, ProgressIsPassedOnAtIntervals) {
  const Worker worker = Connect();
  Outcome& outcome = Submit("net");
  v1::WorkerMessage message;
  message.mutable_progress()->set_lease_id(worker.last().lease_id());
  message.mutable_progress()->set_fencing_token(worker.last().fencing_token());
  for (int i = 0; i < 100; ++i) dispatcher_->Receive(worker.id, message);
  EXPECT_EQ(outcome.progress, 1);
  clock_.Advance(absl::Seconds(1));
  dispatcher_->Receive(worker.id, message);
  EXPECT_EQ(outcome.progress, 2);
}

// A result whose reader or caller waits does not keep the stream waiting.
TEST_F(DispatcherRetryTest, TheStreamDoesNotWaitForWhatAResultCauses) {
  options_.callback_threads = 2;
  Mutex gate;
  gate.Lock();
  options_.take_result =
      [&](const v1::WorkerMessage::Result&) -> absl::StatusOr<v1::StageResult> {
    const MutexLock wait(gate);
    return v1::StageResult();
  };
  Restart();
  const Worker worker = Connect(2);
  Outcome& slow = Submit("slow");
  v1::WorkerMessage message = Answer(worker.last());
  message.mutable_result()->mutable_stored_result()->set_hash("x");
  dispatcher_->Receive(worker.id, message);  // Returns.
  EXPECT_EQ(slow.reason(), "unfinished");
  Submit("next");
  Succeed(worker);
  gate.Unlock();
  dispatcher_->Shutdown();  // Has called them all.
  EXPECT_TRUE(slow.reason() == "ok" || slow.reason() == "SHUTTING_DOWN")
      << slow.reason();
}

}  // namespace
}  // namespace edgekiln::server
