#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "google/protobuf/util/time_util.h"
#include "gtest/gtest.h"
#include "server/daemon/farm/dispatcher.h"
#include "server/daemon/farm/lease_queue.h"

namespace edgekiln::server {
namespace {

using google::protobuf::util::TimeUtil;

class FakeLink : public WorkerLink {
 public:
  void Send(const v1::DaemonMessage& message) override {
    if (message.has_lease()) leases.push_back(message.lease());
  }
  void Close(const absl::Status&) override {}

  std::vector<v1::DaemonMessage::Lease> leases;
};

// Workers that do everything, and whose leases end when the test says so.
class DispatcherFairnessTest : public testing::Test {
 protected:
  explicit DispatcherFairnessTest(
      absl::Duration long_lease = absl::InfiniteDuration())
      : dispatcher_(Options(long_lease), clock_, *log_) {}
  ~DispatcherFairnessTest() override { dispatcher_.Shutdown(); }

  static DispatcherOptions Options(absl::Duration long_lease) {
    DispatcherOptions options;
    options.long_lease = long_lease;
    options.build_digest = "build";
    return options;
  }

  void Connect(int slots) {
    v1::WorkerMessage::Hello hello;
    hello.set_build_digest("build");
    hello.set_name("w");
    hello.add_roles(v1::COMPILE_ROLE);
    hello.add_roles(v1::SIMULATE_ROLE);
    hello.set_slots(slots);
    const absl::StatusOr<uint64_t> worker = dispatcher_.Connect(hello, &link_);
    ASSERT_TRUE(worker.ok()) << worker.status();
    worker_ = *worker;
  }

  uint64_t Submit(v1::JobClass job_class, const std::string& client,
                  const std::string& job, const std::string& stage = "simulate",
                  std::vector<v1::JobEvent::Waiting>* told = nullptr) {
    LeaseRequest request;
    request.owner = {.job_class = job_class, .client = client, .job = job};
    request.stage = stage;
    request.role = stage == "simulate" ? v1::SIMULATE_ROLE : v1::COMPILE_ROLE;
    LeaseCallbacks callbacks;
    callbacks.done = [](const absl::StatusOr<LeaseOutcome>&) {};
    callbacks.waiting = [told](const v1::JobEvent::Waiting& why) {
      if (told != nullptr) told->push_back(why);
    };
    return dispatcher_.Submit(std::move(request), std::move(callbacks));
  }

  std::vector<uint64_t> SubmitMany(int count, v1::JobClass job_class,
                                   const std::string& client,
                                   const std::string& job) {
    std::vector<uint64_t> ids;
    for (int i = 0; i < count; ++i) {
      ids.push_back(Submit(job_class, client, job));
    }
    return ids;
  }

  // With all leases that wait: afterwards they want a worker to themselves.
  void LoseTwoWorkers() {
    for (int lost = 0; lost < 2; ++lost) {
      Connect(2);
      dispatcher_.Disconnect(worker_);
    }
    link_.leases.clear();
  }
  // Ends the `index`-th lease ever given.
  void End(size_t index) {
    ASSERT_LT(index, link_.leases.size());
    v1::WorkerMessage message;
    message.mutable_result()->set_lease_id(link_.leases[index].lease_id());
    message.mutable_result()->set_fencing_token(
        link_.leases[index].fencing_token());
    message.mutable_result()->mutable_result();
    dispatcher_.Receive(worker_, message);
  }

  uint64_t Given(size_t index) {
    return index < link_.leases.size() ? link_.leases[index].lease_id() : 0;
  }

  FakeClock clock_;
  const std::unique_ptr<Logger> log_ = NewNullLogger();
  FakeLink link_;
  uint64_t worker_ = 0;
  Dispatcher dispatcher_;
};

class LongLeaseTest : public DispatcherFairnessTest {
 protected:
  LongLeaseTest() : DispatcherFairnessTest(absl::Seconds(1)) {}
};

TEST_F(LongLeaseTest, WhoIsShortWaitsASecondForWhoIsLong) {
  Connect(1);
  Submit(v1::CI, "ci", "validation");
  Submit(v1::BATCH, "sweeps", "cell");
  const uint64_t import = Submit(v1::INTERACTIVE, "me", "inspect", "import");
  dispatcher_.Tick();
  EXPECT_EQ(Given(1), 0u);
  clock_.Advance(absl::Seconds(1));
  dispatcher_.Tick();
  EXPECT_EQ(Given(1), import);
  EXPECT_EQ(Given(2), 0u);
  End(1);
  EXPECT_EQ(Given(2), 0u);  // BATCH waits for a slot of its own.
  End(0);
  clock_.Advance(absl::Seconds(1));  // No stage of either job follows.
  dispatcher_.Tick();
  EXPECT_NE(Given(2), 0u);
}

TEST_F(LongLeaseTest, CiDoesNotWaitForBatch) {
  Connect(2);
  SubmitMany(9, v1::BATCH, "sweeps", "cell");
  EXPECT_NE(Given(1), 0u);
  const uint64_t check = Submit(v1::CI, "ci", "check", "check_fit");
  EXPECT_EQ(Given(2), check);
  Submit(v1::CI, "ci", "other", "check_fit");
  EXPECT_EQ(Given(3), 0u);  // Two slots lend one.
}

// What is reserved for INTERACTIVE is no reason to lend nothing.
TEST_F(LongLeaseTest, CiBorrowsAfterInteractive) {
  Connect(1);
  Submit(v1::CI, "ci", "validation");
  const uint64_t import = Submit(v1::INTERACTIVE, "me", "inspect", "import");
  clock_.Advance(absl::Seconds(1));
  dispatcher_.Tick();
  ASSERT_EQ(Given(1), import);
  End(1);
  const uint64_t check = Submit(v1::CI, "ci", "check", "check_fit");
  EXPECT_EQ(Given(2), check);
}

TEST_F(DispatcherFairnessTest, AnInspectGoesBefore500Chunks) {
  Connect(1);
  SubmitMany(500, v1::CI, "ci", "validation");
  clock_.Advance(absl::Minutes(5));  // All of them are overdue.
  const uint64_t import = Submit(v1::INTERACTIVE, "me", "inspect", "import");
  End(0);
  EXPECT_EQ(Given(1), import);
  const uint64_t describe =
      Submit(v1::INTERACTIVE, "me", "inspect", "describe");
  End(1);
  EXPECT_EQ(Given(2), describe);
}

TEST_F(DispatcherFairnessTest, JobsOfAClassTakeTurns) {
  Connect(1);
  const std::vector<uint64_t> a = SubmitMany(100, v1::CI, "ci", "a");
  const std::vector<uint64_t> b = SubmitMany(3, v1::CI, "ci", "b");
  const uint64_t c = Submit(v1::CI, "other", "c");
  const std::vector<uint64_t> wanted = {a[0], a[1], c, b[0], a[2], b[1], a[3]};
  for (size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_EQ(Given(i), wanted[i]) << i;
    End(i);
  }
}

TEST_F(DispatcherFairnessTest, APromotedLeaseLeavesTheOthersBehind) {
  Connect(1);
  SubmitMany(5, v1::CI, "ci", "a");
  const uint64_t shared = Submit(v1::BATCH, "night", "b");
  dispatcher_.Promote(shared, v1::INTERACTIVE);
  dispatcher_.Promote(shared, v1::CI);  // No way back.
  dispatcher_.Promote(12345, v1::INTERACTIVE);
  End(0);
  EXPECT_EQ(Given(1), shared);
}

// As others see it: a stage that somebody joined is no longer BATCH.
TEST_F(DispatcherFairnessTest, OnlyBatchLeasesGiveWayToOtherProcesses) {
  Connect(4);
  Submit(v1::BATCH, "night", "b");
  Submit(v1::CI, "ci", "a");
  Submit(v1::INTERACTIVE, "me", "i");
  ASSERT_EQ(link_.leases.size(), 3u);
  EXPECT_TRUE(link_.leases[0].background());
  EXPECT_FALSE(link_.leases[1].background());
  EXPECT_FALSE(link_.leases[2].background());
}

// An INTERACTIVE lease finds a slot though long ones of CI hold the others.
TEST_F(DispatcherFairnessTest, ASlotIsReservedWhileSomebodyIsThere) {
  Connect(2);
  Submit(v1::INTERACTIVE, "me", "i", "import");
  const std::vector<uint64_t> ci = SubmitMany(9, v1::CI, "ci", "validation");
  EXPECT_EQ(Given(1), ci[0]);
  End(0);
  // The slot is left alone, also once it is not held for a next stage.
  clock_.Advance(absl::Milliseconds(100));
  dispatcher_.Tick();
  EXPECT_EQ(link_.leases.size(), 2u);
  const uint64_t next = Submit(v1::INTERACTIVE, "me", "j", "import");
  EXPECT_EQ(Given(2), next);
  End(2);
  EXPECT_EQ(link_.leases.size(), 3u);
  // A minute later nobody is.
  clock_.Advance(absl::Seconds(61));
  v1::WorkerMessage alive;
  alive.mutable_progress()->set_lease_id(Given(1));
  dispatcher_.Receive(worker_, alive);
  dispatcher_.Tick();
  EXPECT_EQ(Given(3), ci[1]);
  EXPECT_EQ(link_.leases.size(), 4u);
}

TEST_F(DispatcherFairnessTest, OneSlotIsNotReserved) {
  Connect(1);
  Submit(v1::INTERACTIVE, "me", "i", "import");
  const uint64_t ci = Submit(v1::CI, "ci", "c");
  End(0);
  clock_.Advance(absl::Milliseconds(100));
  dispatcher_.Tick();
  EXPECT_EQ(Given(1), ci);
}

// Else each stage of a job would wait for the end of a long lease that was
// given out between two of them.
TEST(LeaseQueueTest, ALeaseThatIsPutBackEndsNoReserve) {
  const LeaseOwner owner{
      .job_class = v1::INTERACTIVE, .client = "a", .job = "j"};
  const absl::Duration now = absl::Minutes(5);
  LeaseQueue queue;
  queue.Push(2, owner, v1::COMPILE_ROLE, now);
  queue.Push(1, owner, v1::COMPILE_ROLE, now - absl::Minutes(2));
  EXPECT_TRUE(queue.Reserves(now));
}

TEST_F(DispatcherFairnessTest, ASlotIsHeldForTheNextStage) {
  Connect(1);
  for (size_t i = 0; i < 20; ++i) {  // Nobody waited meanwhile.
    Submit(v1::CI, "ci", "before", "import");
    End(i);
  }
  link_.leases.clear();
  Submit(v1::CI, "ci", "job", "import");
  const std::vector<uint64_t> batch = SubmitMany(3, v1::BATCH, "night", "b");
  End(0);
  EXPECT_EQ(link_.leases.size(), 1u);
  clock_.Advance(absl::Milliseconds(50));
  const uint64_t next = Submit(v1::CI, "ci", "job", "simplify");
  EXPECT_EQ(Given(1), next);
  End(1);
  clock_.Advance(absl::Milliseconds(100));
  dispatcher_.Tick();  // Nothing came.
  EXPECT_EQ(Given(2), batch[0]);
  End(2);
  EXPECT_EQ(Given(3), batch[1]);
}

// What has just ended on a worker holds its own slot, not those beside it.
TEST_F(DispatcherFairnessTest, AFreeSlotBesideTheHeldOneIsForEverybody) {
  Connect(2);
  Submit(v1::CI, "ci", "job", "import");
  End(0);
  const std::vector<uint64_t> batch = SubmitMany(2, v1::BATCH, "batch", "job");
  EXPECT_EQ(Given(1), batch[0]);
  EXPECT_EQ(link_.leases.size(), 2u);
  clock_.Advance(absl::Milliseconds(100));
  dispatcher_.Tick();
  EXPECT_EQ(Given(2), batch[1]);
}

// Two that lost two workers in company want the next to themselves. They are
// served one after the other on the only worker, in their clients' turns.
TEST_F(DispatcherFairnessTest, LeasesThatWantToBeAloneTakeTurnsLikeOthers) {
  const uint64_t a = Submit(v1::CI, "a", "x");
  const uint64_t b = Submit(v1::CI, "b", "y");
  LoseTwoWorkers();
  Connect(1);
  ASSERT_EQ(Given(0), a);
  const uint64_t c = Submit(v1::CI, "c", "z");
  const uint64_t a2 = Submit(v1::CI, "a", "x");
  End(0);
  EXPECT_EQ(Given(1), b);
  End(1);
  EXPECT_EQ(Given(2), c);
  End(2);
  EXPECT_EQ(Given(3), a2);
}

TEST_F(DispatcherFairnessTest, AnIdleWorkerThatWasKeptFreeIsGivenTheLease) {
  const uint64_t a = Submit(v1::CI, "a", "x");
  const uint64_t b = Submit(v1::CI, "b", "y");
  LoseTwoWorkers();
  Connect(2);
  ASSERT_EQ(Given(0), a);  // Alone.
  EXPECT_EQ(link_.leases.size(), 1u);
  const uint64_t c = Submit(v1::CI, "c", "z");
  const uint64_t c2 = Submit(v1::CI, "c", "z");
  End(0);
  // The worker is idle, and b is next.
  EXPECT_EQ(Given(1), b);
  EXPECT_EQ(link_.leases.size(), 2u);
  End(1);
  EXPECT_EQ(Given(2), c);
  EXPECT_EQ(Given(3), c2);
}

// The only worker is busy with others when the turn of one comes that wants to
// be alone: it gets no more leases until it is idle, and then that one.
TEST_F(DispatcherFairnessTest, ABusyWorkerIsKeptFreeAndThenGiven) {
  const uint64_t a = Submit(v1::CI, "a", "x");
  const uint64_t b = Submit(v1::CI, "b", "y");
  for (int lost = 0; lost < 2; ++lost) {
    Connect(2);
    dispatcher_.Disconnect(worker_);
  }
  dispatcher_.Cancel(b);
  link_.leases.clear();
  const uint64_t shown = Submit(v1::INTERACTIVE, "me", "inspect");
  Connect(2);
  ASSERT_EQ(Given(0), shown);
  EXPECT_EQ(link_.leases.size(), 1u);
  const uint64_t later = Submit(v1::CI, "c", "z");
  EXPECT_EQ(link_.leases.size(), 1u);
  End(0);
  clock_.Advance(absl::Milliseconds(100));
  dispatcher_.Tick();
  ASSERT_EQ(Given(1), a);
  EXPECT_EQ(link_.leases.size(), 2u);
  End(1);
  EXPECT_EQ(Given(2), later);
}

TEST_F(DispatcherFairnessTest, HoldingASlotKeepsNobodyWaitingForEver) {
  Connect(1);
  Submit(v1::INTERACTIVE, "me", "0", "import");
  const uint64_t ci = Submit(v1::CI, "ci", "job", "import");
  size_t ended = 0;
  while (ended < 100 && Given(ended) != ci) {
    End(ended++);
    // Always just after the last one has ended.
    if (link_.leases.size() == ended) {
      Submit(v1::INTERACTIVE, "me", std::to_string(ended), "import");
    }
  }
  EXPECT_EQ(ended, 17u);
}

TEST_F(DispatcherFairnessTest, ALostWorkersLeaseIsTheNextOfItsJob) {
  Connect(1);
  const std::vector<uint64_t> a = SubmitMany(3, v1::CI, "ci", "a");
  dispatcher_.Disconnect(worker_);
  link_.leases.clear();
  Connect(1);
  EXPECT_EQ(Given(0), a[0]);
}

// A slot idles for a round trip, not until a result is checked and written.
TEST_F(DispatcherFairnessTest, TheNextLeaseLeavesBeforeTheResultIsDealtWith) {
  Connect(1);
  LeaseRequest request;
  request.role = v1::SIMULATE_ROLE;
  request.owner.job_class = v1::CI;
  size_t given_at_done = 0;
  LeaseCallbacks callbacks;
  callbacks.done = [&](const absl::StatusOr<LeaseOutcome>&) {
    given_at_done = link_.leases.size();
  };
  dispatcher_.Submit(std::move(request), std::move(callbacks));
  Submit(v1::CI, "ci", "next");
  End(0);
  EXPECT_EQ(given_at_done, 2u);
}

TEST_F(DispatcherFairnessTest, TellsPlaceAndTimeFromWhatEndedLately) {
  Connect(2);
  SubmitMany(2, v1::CI, "ci", "first");
  clock_.Advance(absl::Seconds(10));
  End(0);
  End(1);
  SubmitMany(4, v1::CI, "ci", "second");
  std::vector<v1::JobEvent::Waiting> told;
  Submit(v1::CI, "ci", "second", "simulate", &told);
  clock_.Advance(absl::Seconds(4));
  dispatcher_.Tick();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].cause(), v1::JobEvent::Waiting::ALL_BUSY);
  EXPECT_EQ(told[0].position(), 3);
  // Two have 6 s left, two take 10 s, on two slots.
  EXPECT_EQ(TimeUtil::DurationToSeconds(told[0].eta()), 16);
}

TEST_F(DispatcherFairnessTest, TellsNoTimeUntilSomethingHasEnded) {
  Connect(1);
  Submit(v1::CI, "ci", "first");
  std::vector<v1::JobEvent::Waiting> told;
  Submit(v1::CI, "ci", "first", "simulate", &told);
  clock_.Advance(absl::Seconds(2));
  dispatcher_.Tick();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_FALSE(told[0].has_eta());
}

}  // namespace
}  // namespace edgekiln::server
