#include "server/daemon/farm/worker_table.h"

#include <string>

#include "gtest/gtest.h"

namespace edgekiln::server {
namespace {

constexpr int kTile = 10;
constexpr int kEmit = 11;

class WorkerTableTest : public testing::Test {
 protected:
  void Add(uint64_t id, int slots, int64_t memory_budget = 0) {
    v1::WorkerMessage::Hello hello;
    hello.mutable_confinement()->set_memory_limit_bytes(int64_t{4} << 30);
    hello.mutable_confinement()->set_memory_budget_bytes(memory_budget);
    hello.add_roles(v1::COMPILE_ROLE);
    table_.Add(id, hello, slots, nullptr, now_);
  }
  // The worker that gets the next lease.
  uint64_t Next(WorkerWish wish = {}) {
    wish.lease_id = ++lease_;
    const uint64_t id = table_.Choose(wish, now_);
    if (id != kNoWorker) table_.Give(id, wish.lease_id, 1, wish, now_);
    return id;
  }
  void End(uint64_t id, absl::Duration took, int kind = kTile) {
    ConnectedWorker& worker = *table_.Find(id);
    table_.LetGo(worker.leases.begin()->first);
    worker.leases.erase(worker.leases.begin());
    table_.Succeeded(id, kind, took);
  }

  WorkerTable table_{absl::Seconds(1)};
  absl::Duration now_ = absl::Hours(1);
  uint64_t lease_ = 100;
};

TEST_F(WorkerTableTest, TheLargestShareOfFreeSlotsWins) {
  Add(1, 8);
  Add(2, 2);
  int given[3] = {};
  for (int i = 0; i < 5; ++i) ++given[Next()];
  EXPECT_EQ(given[1], 4);
  EXPECT_EQ(given[2], 1);
}

TEST_F(WorkerTableTest, LongLeasesLendTheirSlots) {
  Add(1, 3);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Next(), 1u);
  EXPECT_EQ(Next(), kNoWorker);
  now_ += absl::Milliseconds(999);
  EXPECT_EQ(Next(), kNoWorker);
  now_ += absl::Milliseconds(1);
  EXPECT_EQ(Next({.job_class = v1::BATCH}), kNoWorker);
  EXPECT_EQ(Next({.job_class = v1::INTERACTIVE}), 1u);
  EXPECT_EQ(Next({.job_class = v1::CI}), 1u);
  EXPECT_EQ(Next(), kNoWorker);  // Three slots have two spare ones.
  now_ += absl::Hours(1);
  EXPECT_EQ(Next(), kNoWorker);
  // Who has borrowed one leaves none.
  for (int i = 0; i < 2; ++i) End(1, absl::Seconds(1));
  EXPECT_EQ(Next({.job_class = v1::BATCH}), kNoWorker);
  EXPECT_EQ(Next(), 1u);
}

// Their processes give way to others, so they may last long.
TEST_F(WorkerTableTest, BatchLeasesLendTheirSlotsAtOnce) {
  Add(1, 4);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Next({.job_class = v1::BATCH}), 1u);
  EXPECT_EQ(Next({.job_class = v1::CI}), 1u);
  EXPECT_EQ(Next({.job_class = v1::BATCH}), kNoWorker);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(Next({.job_class = v1::CI}), 1u);
  EXPECT_EQ(Next({.job_class = v1::CI}), kNoWorker);
}

TEST_F(WorkerTableTest, WhoHasAnsweredNothingIsLentLittle) {
  Add(1, 256);
  int given = 0;
  for (int i = 0; i < 10; ++i) {
    while (Next() != kNoWorker) ++given;
    now_ += absl::Hours(1);
  }
  EXPECT_EQ(given, 12);  // Eight and half as many.
}

TEST_F(WorkerTableTest, NoneIsLentThatHasNoMemory) {
  Add(1, 2, int64_t{2} << 30);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(Next(), 1u);
  now_ += absl::Hours(1);
  EXPECT_EQ(Next(), kNoWorker);
  Add(2, 2, int64_t{3} << 30);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(Next(), 2u);
  now_ += absl::Hours(1);
  EXPECT_EQ(Next(), 2u);
}

TEST_F(WorkerTableTest, ShortLeasesLendNone) {
  Add(1, 2);
  EXPECT_EQ(Next(), 1u);
  now_ += absl::Seconds(1);
  EXPECT_EQ(Next(), 1u);
  EXPECT_EQ(Next(), 1u);  // Of the first.
  EXPECT_EQ(Next(), kNoWorker);
}

TEST_F(WorkerTableTest, WhoIsSlowIsNotPreferredHoweverManySlotsItHas) {
  Add(1, 256);
  Add(2, 4);
  for (int i = 0; i < 20; ++i) {
    for (const uint64_t id : {1, 2}) {
      table_.Give(id, ++lease_, 1, {}, now_);
      End(id, id == 1 ? absl::Seconds(20) : absl::Seconds(1));
    }
  }
  int given[3] = {};
  for (int i = 0; i < 4; ++i) ++given[Next()];
  EXPECT_EQ(given[1] + given[2], 4);
  EXPECT_LE(given[1], 2);
  EXPECT_NE(Next(), kNoWorker);
}

TEST_F(WorkerTableTest, SlownessIsMeasuredAgainstOthersByKind) {
  WorkerSpeeds speeds;
  EXPECT_EQ(speeds.SlownessOf(1), 1);
  speeds.Record(1, kTile, absl::Seconds(100));
  EXPECT_EQ(speeds.SlownessOf(1), 1);  // Nothing to compare with.
  speeds.Record(2, kEmit, absl::Seconds(1));
  EXPECT_EQ(speeds.SlownessOf(1), 1);  // Nor this.
  speeds.Record(2, kTile, absl::Seconds(50));
  EXPECT_NEAR(speeds.SlownessOf(1), 2, 0.01);
  EXPECT_NEAR(speeds.SlownessOf(2), 0.5, 0.01);
  for (int i = 0; i < 40; ++i) speeds.Record(1, kTile, absl::Seconds(50));
  EXPECT_NEAR(speeds.SlownessOf(1), 1, 0.01);
  speeds.Forget(2);
  EXPECT_EQ(speeds.SlownessOf(1), 1);
  speeds.Forget(1);
  EXPECT_EQ(speeds.SlownessOf(1), 1);
}

TEST_F(WorkerTableTest, WhoHasFailedLatelyComesLast) {
  Add(1, 8);
  Add(2, 1);
  table_.Failed(1, now_);
  EXPECT_EQ(Next(), 2u);
  EXPECT_EQ(Next(), 1u);  // Better than nobody.
  End(2, absl::Seconds(1));
  EXPECT_EQ(Next({.not_again = 2}), 1u);
  now_ += absl::Minutes(2);
  EXPECT_EQ(Next({.not_again = 2}), 1u);
}

TEST_F(WorkerTableTest, TheWindowGrowsWithAnswersAndShrinksWithFailures) {
  Add(1, 64);
  int given = 0;
  while (Next() != kNoWorker) ++given;
  EXPECT_EQ(given, 8);
  for (int i = 0; i < 8; ++i) End(1, absl::Seconds(1));
  given = 0;
  while (Next() != kNoWorker) ++given;
  EXPECT_EQ(given, 16);
  table_.Failed(1, now_);
  EXPECT_EQ(table_.Find(1)->window, 8);
  EXPECT_EQ(Next(), kNoWorker);
}

TEST_F(WorkerTableTest, AWorkerIsKeptFreeForALeaseThatWantsItAlone) {
  Add(1, 2);
  EXPECT_EQ(Next(), 1u);
  const WorkerWish alone{.lease_id = 7, .alone = true};
  EXPECT_EQ(table_.Choose(alone, now_), kNoWorker);
  EXPECT_TRUE(table_.KeepFree(alone, now_));
  EXPECT_EQ(Next(), kNoWorker);
  End(1, absl::Seconds(1));
  EXPECT_EQ(Next(), kNoWorker);
  ASSERT_EQ(table_.Choose(alone, now_), 1u);
  table_.Give(1, 7, 1, alone, now_);
  EXPECT_EQ(Next(), kNoWorker);
  End(1, absl::Seconds(1));
  EXPECT_EQ(Next(), 1u);
}

TEST_F(WorkerTableTest, AWorkerIsNotKeptFreeForALeaseThatIsGone) {
  Add(1, 2);
  EXPECT_EQ(Next(), 1u);
  EXPECT_TRUE(table_.KeepFree({.lease_id = 7, .alone = true}, now_));
  EXPECT_EQ(Next(), kNoWorker);
  table_.LetGo(7);
  EXPECT_EQ(Next(), 1u);
}

// However many want to be alone, the others keep all workers but one: that
// which is soon idle, and on which it has not failed.
TEST_F(WorkerTableTest, OneWorkerIsKeptFreeAtATime) {
  Add(1, 2);
  Add(2, 2);
  Add(3, 2);
  for (int i = 0; i < 4; ++i) ASSERT_NE(Next(), kNoWorker);
  const WorkerWish first{.lease_id = 7, .not_again = 3, .alone = true};
  const WorkerWish second{.lease_id = 8, .alone = true};
  EXPECT_TRUE(table_.KeepFree(first, now_));
  EXPECT_EQ(table_.kept_for(), 7u);
  EXPECT_NE(table_.Find(3)->alone_with, 7u);
  EXPECT_FALSE(table_.KeepFree(first, now_));
  EXPECT_FALSE(table_.KeepFree(second, now_));
  int given = 0;
  while (Next() != kNoWorker) ++given;
  EXPECT_GE(given, 1);
  const uint64_t kept = table_.Find(1)->alone_with == 7 ? 1 : 2;
  table_.Remove(kept);
  EXPECT_EQ(table_.kept_for(), 0u);
  EXPECT_TRUE(table_.KeepFree(second, now_));
}

}  // namespace
}  // namespace edgekiln::server
