#include "server/daemon/stages/stage_chains.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "gtest/gtest.h"
#include "proto/convert.h"
#include "server/daemon/stages/stage_group.h"
#include "server/daemon/stages/testing/fake_stages.h"
#include "server/daemon/stages/testing/stage_runner_fixture.h"
#include "server/worker_limits.h"

namespace edgekiln::server {
namespace {

TEST(UnclaimedStagesTest, TellsACostOnceAndForgetsTheOldest) {
  UnclaimedStages stages(2);
  stages.Add("a", {.cpu_seconds = 1});
  stages.Add("b", {.cpu_seconds = 2});
  EXPECT_EQ(stages.Take("b")->cpu_seconds, 2);
  EXPECT_FALSE(stages.Take("b").has_value());
  // It is the youngest again.
  stages.Add("b", {.cpu_seconds = 3});
  stages.Add("c", {});
  EXPECT_FALSE(stages.Take("a").has_value());
  EXPECT_EQ(stages.Take("b")->cpu_seconds, 3);
  EXPECT_TRUE(stages.Take("c").has_value());
}

TEST(UnclaimedStagesTest, WhatIsAddedAgainAfterItWasTakenIsYoung) {
  UnclaimedStages stages(2);
  stages.Add("a", {});
  stages.Add("b", {});
  EXPECT_TRUE(stages.Take("a").has_value());
  stages.Add("a", {});
  stages.Add("c", {});
  EXPECT_FALSE(stages.Take("b").has_value());
  EXPECT_TRUE(stages.Take("a").has_value());
}

TEST(KnownWorkTest, WhatTookLittleLastIsShort) {
  KnownWork works(2);
  EXPECT_FALSE(works.IsShort("a"));
  works.Note("a", 1);
  EXPECT_FALSE(works.IsShort("a"));
  works.Note("a", KnownWork::kShortCpuSeconds);
  EXPECT_TRUE(works.IsShort("a"));
  works.Note("b", 0);
  works.Note("c", 0);
  EXPECT_FALSE(works.IsShort("a"));
}

class StageChainTest : public StageRunnerTest {
 protected:
  v1::BlobRef Blob(const std::string& role, const std::string& text) {
    v1::BlobRef blob;
    blob.set_role(role);
    *blob.mutable_digest() = PutText(*blobs_, text);
    return blob;
  }

  // Empty text: what the stage before it makes.
  StageCall Emit(const std::string& tiling, const std::string& machine = "m") {
    StageCall call = {.name = "emit"};
    call.options.mutable_emit();
    call.inputs = {Blob("partition", "partition"), Blob("tiling", tiling),
                   Blob("machine", machine)};
    if (tiling.empty()) call.inputs[1].clear_digest();
    return call;
  }

  StageCall Count(const std::string& program,
                  const std::string& machine = "m") {
    StageCall call = {.name = "count_cycles"};
    call.options.mutable_count_cycles();
    call.inputs = {Blob("program", program), Blob("machine", machine)};
    if (program.empty()) call.inputs[0].clear_digest();
    return call;
  }

  StageCall Chain(const std::string& machine = "m") {
    StageCall call = Tile();
    call.inputs.push_back(Blob("machine", machine));
    call.next = {Emit("", machine), Count("", machine)};
    return call;
  }

  StageCall Resolve(const std::string& target) {
    StageCall call = {.name = "resolve_target"};
    call.options.mutable_resolve_target();
    call.inputs = {Blob("target", target)};
    return call;
  }

  LeaseOutcome Made(const std::string& role, const std::string& text,
                    double cpu_seconds) {
    LeaseOutcome outcome;
    *outcome.result.add_outputs() = Blob(role, text);
    outcome.cpu_seconds = cpu_seconds;
    return outcome;
  }

  static LeaseOwner Of(v1::JobClass job_class) {
    LeaseOwner owner;
    owner.job_class = job_class;
    return owner;
  }

  // Of Chain().
  LeaseOutcome AllMade() {
    LeaseOutcome outcome = Made("tiling", "tiling", 1);
    outcome.next = {Made("program", "program", 2), Made("report", "report", 3)};
    return outcome;
  }

  int64_t Executed(const std::string& name) {
    v1::DaemonStatus status;
    runner_->counts().AppendTo(status);
    for (const v1::DaemonStatus::Stage& stage : status.stages()) {
      if (stage.name() == name) return stage.executed();
    }
    return 0;
  }
};

TEST_F(StageChainTest, EachStageOfAChainIsExecutedForTheFirstWhoAsks) {
  const auto tile = runner_->Start(Chain(), {});
  ASSERT_EQ(leases_.requests.size(), 1u);
  ASSERT_EQ(leases_.requests[0].next.size(), 2u);
  EXPECT_EQ(leases_.requests[0].next[0].role, v1::COMPILE_ROLE);
  EXPECT_EQ(leases_.requests[0].next[1].role, v1::SIMULATE_ROLE);
  EXPECT_FALSE(leases_.requests[0].next[0].inputs[1].has_digest());
  leases_.End(1, AllMade());
  ASSERT_TRUE(tile->Wait().ok());
  int started = 0;
  StageEvents events;
  events.started = [&] { ++started; };
  const auto emit = runner_->Start(Emit("tiling"), events);
  ASSERT_TRUE(emit->Wait().ok());
  EXPECT_EQ(started, 1);
  EXPECT_EQ(emit->Record().cache(), v1::Report::Stage::MISS);
  EXPECT_EQ(emit->Record().cpu_seconds(), 2);
  const auto count = runner_->Start(Count("program"), {});
  ASSERT_TRUE(count->Wait().ok());
  EXPECT_EQ(count->Record().cpu_seconds(), 3);
  const auto again = runner_->Start(Emit("tiling"), {});
  ASSERT_TRUE(again->Wait().ok());
  EXPECT_EQ(again->Record().cache(), v1::Report::Stage::HIT);
  EXPECT_EQ(leases_.requests.size(), 1u);
  EXPECT_EQ(Executed("emit"), 1);
  EXPECT_EQ(Executed("count_cycles"), 1);
}

TEST_F(StageChainTest, WhatAChainLeftOutGetsALease) {
  const auto tile = runner_->Start(Chain(), {});
  LeaseOutcome outcome = AllMade();
  outcome.next.pop_back();
  leases_.End(1, outcome);
  ASSERT_TRUE(tile->Wait().ok());
  ASSERT_TRUE(runner_->Start(Emit("tiling"), {})->Wait().ok());
  const auto count = runner_->Start(Count("program"), {});
  ASSERT_EQ(leases_.requests.size(), 2u);
  leases_.End(2, Made("report", "report", 3));
  EXPECT_TRUE(count->Wait().ok());
}

// The same tiling may come of both: their emit would run twice.
TEST_F(StageChainTest, OnlyOneOfTheStagesThatMayBeTheSameGoesWithAChain) {
  const auto first = runner_->Start(Chain(), {});
  StageCall other = Chain();
  other.options.mutable_tile()->mutable_recipe()->add_engines()->set_engine(1);
  const auto second = runner_->Start(other, {});
  const auto third = runner_->Start(Chain("another machine"), {});
  ASSERT_EQ(leases_.requests.size(), 3u);
  EXPECT_EQ(leases_.requests[0].next.size(), 2u);
  EXPECT_TRUE(leases_.requests[1].next.empty());
  EXPECT_EQ(leases_.requests[2].next.size(), 2u);
}

// What the first stage without a key is made of tells networks apart.
TEST_F(StageChainTest, TwoNetworksOfOneMachineHaveWholeChains) {
  StageCall other = Chain();
  other.inputs[0] = other.next[0].inputs[0] = Blob("partition", "another");
  const auto first = runner_->Start(Chain(), {});
  const auto second = runner_->Start(other, {});
  ASSERT_EQ(leases_.requests.size(), 2u);
  EXPECT_EQ(leases_.requests[0].next.size(), 2u);
  EXPECT_EQ(leases_.requests[1].next.size(), 2u);
}

// A stage that may take long goes along where such work is known to be short
// when a worker takes the lease, and nobody of another class, or another job,
// waits for the rest.
class LongWorkTest : public StageChainTest {
 protected:
  static StageCall Working(StageCall call) {
    call.work = "work";
    return call;
  }

  std::shared_ptr<StageTicket> StartChain(const std::string& machine,
                                          v1::JobClass job_class = v1::BATCH) {
    StageCall call = Chain(machine);
    call.next[1] = Working(Count("", machine));
    return runner_->Start(std::move(call), {}, Of(job_class));
  }

  // It took a lease of its own.
  void Execute(double cpu_seconds) {
    const std::string program = std::to_string(cpu_seconds);
    const auto alone =
        runner_->Start(Working(Count(program)), {}, Of(v1::BATCH));
    leases_.End(leases_.requests.size(), Made("report", "report", cpu_seconds));
    EXPECT_TRUE(alone->Wait().ok());
  }

  // How many stages a worker gets that takes the lease now.
  size_t Next(const LeaseRequest& request) {
    size_t next = 0;
    for (const LeaseRequest::Next& stage : request.next) {
      if (stage.goes_along && !stage.goes_along()) break;
      ++next;
    }
    return next;
  }
};

TEST_F(LongWorkTest, GoesAlongOnceItIsKnownToBeShort) {
  const auto queued = StartChain("a");
  const LeaseRequest first = leases_.requests.back();
  EXPECT_EQ(Next(first), 1u);
  Execute(0.01);
  EXPECT_EQ(Next(first), 2u);
  const auto later = StartChain("b");
  EXPECT_EQ(Next(leases_.requests.back()), 2u);
  // What a chain tells of it counts as well: here it took three seconds.
  leases_.End(leases_.requests.size(), AllMade());
  ASSERT_TRUE(later->Wait().ok());
  EXPECT_EQ(Next(first), 1u);
}

TEST_F(LongWorkTest, IsNotWaitedForByOthers) {
  Execute(0.01);
  const auto watched = StartChain("a", v1::INTERACTIVE);
  EXPECT_EQ(Next(leases_.requests.back()), 1u);
  const auto alone = StartChain("b");
  const LeaseRequest joined = leases_.requests.back();
  EXPECT_EQ(Next(joined), 2u);
  const auto other = StartChain("b");
  EXPECT_EQ(Next(joined), 1u);
  other->Cancel(absl::CancelledError("gone"));
  EXPECT_EQ(Next(joined), 2u);
  // Its class is the best of all who ever waited for it.
  StartChain("b", v1::INTERACTIVE)->Cancel(absl::CancelledError("gone"));
  EXPECT_EQ(Next(joined), 1u);
}

TEST_F(StageChainTest, AResultThatIsThereIsNotReplaced) {
  const auto before = runner_->Start(Emit("tiling"), {});
  leases_.End(1, Made("program", "program", 7));
  ASSERT_TRUE(before->Wait().ok());
  const auto tile = runner_->Start(Chain(), {});
  leases_.End(2, AllMade());
  ASSERT_TRUE(tile->Wait().ok());
  const auto emit = runner_->Start(Emit("tiling"), {});
  ASSERT_TRUE(emit->Wait().ok());
  EXPECT_EQ(emit->Record().cache(), v1::Report::Stage::HIT);
  EXPECT_EQ(Executed("emit"), 1);
}

TEST_F(StageChainTest, OthersJoinAStageOfAChainThatHasAKey) {
  StageCall check = Resolve("a");
  check.next = {Tile()};
  const auto first = runner_->Start(check, {});
  const auto joined = runner_->Start(Tile(), {}, Of(v1::BATCH));
  const auto later = runner_->Start(Tile("tile again"), {});
  ASSERT_EQ(leases_.requests.size(), 1u);
  EXPECT_EQ(joined->Result(), nullptr);
  LeaseOutcome outcome = Made("machine", "m", 1);
  outcome.next = {Made("tiling", "tiling", 2)};
  leases_.End(1, outcome);
  ASSERT_TRUE(joined->Wait().ok());
  ASSERT_TRUE(later->Wait().ok());
  EXPECT_EQ(joined->Record().cache(), v1::Report::Stage::MISS);
  EXPECT_EQ(joined->Record().cpu_seconds(), 2);
  EXPECT_EQ(later->Record().cache(), v1::Report::Stage::MERGED);
  const auto after = runner_->Start(Tile(), {});
  ASSERT_TRUE(after->Wait().ok());
  EXPECT_EQ(after->Record().cache(), v1::Report::Stage::HIT);
}

TEST_F(StageChainTest, WhoJoinedIsNotLostWithTheChain) {
  StageCall check = Resolve("a");
  check.next = {Tile()};
  auto first = runner_->Start(check, {}, Of(v1::BATCH));
  const auto joined = runner_->Start(Tile(), {}, Of(v1::CI));
  const std::vector<std::pair<uint64_t, v1::JobClass>> wanted = {{1, v1::CI}};
  EXPECT_EQ(leases_.promoted, wanted);
  first.reset();
  EXPECT_EQ(leases_.cancels, 1);
  ASSERT_EQ(leases_.requests.size(), 2u);
  EXPECT_EQ(leases_.requests[1].stage, "tile");
  leases_.End(2, Made("tiling", "tiling", 2));
  EXPECT_TRUE(joined->Wait().ok());
}

// What was executed with it holds all the same.
TEST_F(StageChainTest, WhoCancelsAStageOfAChainLeavesTheOthersAlone) {
  StageCall check = Resolve("a");
  check.next = {Tile()};
  const auto first = runner_->Start(check, {});
  runner_->Start(Tile(), {})->Cancel(absl::CancelledError("enough"));
  EXPECT_EQ(leases_.cancels, 0);
  LeaseOutcome outcome = Made("machine", "m", 1);
  outcome.next = {Made("tiling", "tiling", 2)};
  leases_.End(1, outcome);
  const auto tile = runner_->Start(Tile(), {});
  ASSERT_TRUE(tile->Wait().ok());
  EXPECT_EQ(tile->Record().cpu_seconds(), 2);
  EXPECT_EQ(leases_.requests.size(), 1u);
}

TEST_F(StageChainTest, AChainEndsWithWhatNoStoreHas) {
  const auto tile = runner_->Start(Chain(), {});
  LeaseOutcome outcome = AllMade();
  outcome.next[0].result.mutable_outputs(0)->mutable_digest()->set_hash(
      std::string(64, 'a'));
  leases_.End(1, outcome);
  ASSERT_TRUE(tile->Wait().ok());
  const auto emit = runner_->Start(Emit("tiling"), {});
  const auto count = runner_->Start(Count("program"), {});
  EXPECT_EQ(leases_.requests.size(), 3u);
}

TEST_F(StageChainTest, LimitsOfAWorkerEndAChain) {
  const auto tile = runner_->Start(Chain(), {});
  LeaseOutcome outcome = AllMade();
  *outcome.next[0].result.mutable_error() =
      ErrorToProto(OverMemoryLimit("stage emit", 1 << 20, 2 << 20));
  leases_.End(1, outcome);
  ASSERT_TRUE(tile->Wait().ok());
  const auto emit = runner_->Start(Emit("tiling"), {});
  EXPECT_EQ(leases_.requests.size(), 2u);
}

TEST_F(StageChainTest, WhoJoinsAChainThatIsLeasedIsNotToldThatItWaits) {
  StageCall check = Resolve("a");
  check.next = {Tile()};
  const auto first = runner_->Start(check, {});
  v1::JobEvent::Waiting why;
  why.set_reason("busy");
  leases_.open.at(1).waiting(why);
  int told = 0;
  StageEvents events;
  events.waiting = [&](const v1::JobEvent::Waiting&) { ++told; };
  const auto early = runner_->Start(Tile(), events);
  EXPECT_EQ(told, 1);
  leases_.open.at(1).leased();
  const auto late = runner_->Start(Tile(), events);
  EXPECT_EQ(told, 1);
  leases_.open.at(1).waiting(why);
  EXPECT_EQ(told, 3);
}

TEST_F(StageChainTest, APrefetchOutlivesThoseWhoJoinAndLeave) {
  const auto prefetched =
      runner_->Prefetch({Resolve("a"), Resolve("b")}, Of(v1::BATCH));
  runner_->Start(Resolve("a"), {})->Cancel(absl::CancelledError("enough"));
  runner_->Start(Resolve("b"), {})->Cancel(absl::CancelledError("enough"));
  EXPECT_EQ(leases_.cancels, 0);
  EXPECT_EQ(leases_.open.size(), 1u);
  runner_->Drop(prefetched);
  EXPECT_EQ(leases_.cancels, 1);
  const auto anew = runner_->Start(Resolve("b"), {});
  ASSERT_EQ(leases_.requests.size(), 2u);
  runner_->Drop(prefetched);
  EXPECT_EQ(leases_.cancels, 1);
}

TEST_F(StageChainTest, ADroppedPrefetchLivesAsLongAsSomebodyWaits) {
  for (const std::string joined : {"a", "b"}) {
    leases_.requests.clear();
    leases_.cancels = 0;
    const auto prefetched =
        runner_->Prefetch({Resolve("a"), Resolve("b")}, Of(v1::BATCH));
    const auto ticket = runner_->Start(Resolve(joined), {});
    runner_->Drop(prefetched);
    EXPECT_EQ(leases_.cancels, 0) << joined;
    ticket->Cancel(absl::CancelledError("enough"));
    EXPECT_EQ(leases_.cancels, 1) << joined;
    EXPECT_TRUE(leases_.open.empty()) << joined;
    EXPECT_EQ(leases_.requests.size(), 1u) << joined;
  }
}

TEST_F(StageChainTest, WhatAGroupPrefetchedEndsWithIt) {
  {
    StageGroup group(*runner_, {});
    group.Prefetch({Resolve("a")});
    EXPECT_EQ(leases_.open.size(), 1u);
    group.Cancel(absl::CancelledError("enough"));
    EXPECT_TRUE(leases_.open.empty());
    group.Prefetch({Resolve("a")});
    EXPECT_TRUE(leases_.open.empty());
  }
  std::shared_ptr<StageTicket> joined;
  {
    StageGroup group(*runner_, {});
    group.Prefetch({Resolve("a")});
    group.Prefetch({Resolve("b")});
    joined = runner_->Start(Resolve("b"), {});
    EXPECT_EQ(leases_.open.size(), 2u);
  }
  EXPECT_EQ(leases_.open.size(), 1u);
  leases_.End(leases_.open.begin()->first, Made("machine", "b", 1));
  EXPECT_TRUE(joined->Wait().ok());
}

TEST_F(StageChainTest, PrefetchedStagesAreExecutedForTheFirstWhoAsks) {
  const auto known = runner_->Start(Resolve("b"), {});
  leases_.End(1, Made("machine", "b", 1));
  runner_->Prefetch({Resolve("a"), Resolve("b"), Resolve("c")}, Of(v1::BATCH));
  ASSERT_EQ(leases_.requests.size(), 2u);
  ASSERT_EQ(leases_.requests[1].next.size(), 1u);
  const auto early = runner_->Start(Resolve("c"), {});
  LeaseOutcome outcome = Made("machine", "a", 4);
  outcome.next = {Made("machine", "c", 5)};
  leases_.End(2, outcome);
  ASSERT_TRUE(early->Wait().ok());
  EXPECT_EQ(early->Record().cpu_seconds(), 5);
  const auto late = runner_->Start(Resolve("a"), {});
  ASSERT_TRUE(late->Wait().ok());
  EXPECT_EQ(late->Record().cache(), v1::Report::Stage::MISS);
  EXPECT_EQ(late->Record().cpu_seconds(), 4);
  runner_->Prefetch({Resolve("a"), Resolve("b"), Resolve("c")}, {});
  EXPECT_EQ(leases_.requests.size(), 2u);
  EXPECT_EQ(Executed("resolve_target"), 3);
}

}  // namespace
}  // namespace edgekiln::server
