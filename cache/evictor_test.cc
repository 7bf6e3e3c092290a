#include "cache/evictor.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "base/error.h"
#include "base/mutex.h"
#include "cache/blob_store.h"
#include "cache/disk_blob_store.h"
#include "cache/stage_result_store.h"
#include "cache/testing/crashing_file_system.h"
#include "gtest/gtest.h"

namespace edgekiln::cache {
namespace {

const absl::Duration kLong = 2 * Evictor::kGrace;
// As the disk counts it.
constexpr int64_t kBlock = 4096;

class EvictorTest : public testing::Test {
 protected:
  EvictorTest() { Open(); }

  void Open() {
    results_.reset();
    blobs_.reset();
    evictor_ = std::make_unique<Evictor>(files_, clock_);
    blobs_ = *OpenDiskBlobStore(files_, "/s", evictor_.get());
    results_ = *OpenDiskStageResultStore(files_, "/r", *blobs_, evictor_.get());
  }

  // Stores a blob of one block, as time goes by.
  Digest Put(const std::string& bytes) {
    const Digest digest = DigestOf(bytes);
    files_.SetTime(clock_.Now());
    EXPECT_TRUE(blobs_->Put(digest, bytes).ok());
    clock_.Advance(kLong);
    return digest;
  }

  Evicted Run(int64_t blocks) {
    const absl::StatusOr<Evicted> evicted =
        evictor_->Run({.limit_bytes = blocks * kBlock,
                       .folders = {"/s", "/r"},
                       .needed = [this] { return needed_; }});
    EXPECT_TRUE(evicted.ok()) << evicted.status();
    return evicted.ok() ? *evicted : Evicted();
  }

  bool Has(const Digest& digest) {
    return files_.Exists("/s/" + digest.hash.substr(0, 2) + "/" +
                         BlobFileName(digest));
  }

  CrashingFileSystem files_;
  FakeClock clock_{absl::FromUnixSeconds(1'800'000'000)};
  StillNeeded needed_;
  std::unique_ptr<Evictor> evictor_;
  std::unique_ptr<BlobStore> blobs_;
  std::unique_ptr<StageResultStore> results_;
};

TEST_F(EvictorTest, WhatWasUsedLongestAgoGoesFirst) {
  const Digest a = Put("a");
  const Digest b = Put("b");
  const Digest c = Put("c");
  EXPECT_EQ(Run(3).files, 0);
  // As FindMissingBlobs asks.
  EXPECT_TRUE(*blobs_->Contains(a));
  clock_.Advance(kLong);
  const Evicted evicted = Run(2);
  EXPECT_EQ(evicted.files, 2);  // Down to an eighth below the limit.
  EXPECT_EQ(evicted.bytes, 2 * kBlock);
  EXPECT_EQ(evicted.left_bytes, kBlock);
  EXPECT_TRUE(Has(a));
  EXPECT_FALSE(Has(b));
  EXPECT_FALSE(Has(c));
  EXPECT_TRUE(absl::IsNotFound(blobs_->Get(b).status()));
}

TEST_F(EvictorTest, TheOrderSurvivesARestart) {
  const Digest a = Put("a");
  const Digest b = Put("b");
  EXPECT_TRUE(blobs_->Get(a).ok());
  clock_.Advance(kLong);
  Open();
  Run(1);
  EXPECT_FALSE(Has(b));
}

TEST_F(EvictorTest, WhatIsNeededStays) {
  const Digest artifact = Put("a");
  const Digest old = Put("b");
  needed_.names = {BlobFileName(artifact)};
  needed_.since = clock_.Now();
  const Digest of_running_job = Put("c");
  const Digest of_it_too = Put("d");
  clock_.Advance(absl::Hours(100));
  const Evicted evicted = Run(1);
  EXPECT_EQ(evicted.files, 1);
  EXPECT_EQ(evicted.left_bytes, 3 * kBlock);
  EXPECT_FALSE(Has(old));
  EXPECT_TRUE(Has(artifact));
  EXPECT_TRUE(Has(of_running_job));
  EXPECT_TRUE(Has(of_it_too));
}

TEST_F(EvictorTest, WhatWasUsedJustNowStays) {
  const Digest a = Put("a");
  EXPECT_TRUE(*blobs_->Contains(a));
  clock_.Advance(Evictor::kGrace / 2);
  EXPECT_EQ(Run(0).files, 0);
  clock_.Advance(kLong);
  EXPECT_EQ(Run(0).files, 1);
}

TEST_F(EvictorTest, NothingGoesIfNobodyKnowsWhatIsNeeded) {
  const Digest a = Put("a");
  const absl::StatusOr<Evicted> evicted = evictor_->Run(
      {.limit_bytes = 0, .folders = {"/s"}, .needed = [] {
         return absl::StatusOr<StillNeeded>(absl::UnavailableError("no"));
       }});
  EXPECT_TRUE(absl::IsUnavailable(evicted.status()));
  EXPECT_TRUE(Has(a));
}

TEST_F(EvictorTest, AResultWhoseBlobIsGoneIsAbsent) {
  const Digest blob = Put("output");
  const std::string key(64, 'a');
  v1::StageResult result;
  result.add_outputs()->mutable_digest()->set_hash(blob.hash);
  result.mutable_outputs(0)->mutable_digest()->set_size_bytes(blob.size_bytes);
  ASSERT_TRUE(results_->Put(key, result).ok());
  // A use of a result is a use of its blobs.
  EXPECT_TRUE(results_->Get(key).ok());
  clock_.Advance(Evictor::kGrace / 2);
  EXPECT_EQ(Run(0).files, 0);
  clock_.Advance(kLong);
  needed_.names = {key};
  EXPECT_EQ(Run(0).files, 1);
  EXPECT_TRUE(absl::IsNotFound(results_->Get(key).status()));
  // And is made again.
  Put("output");
  EXPECT_TRUE(results_->Get(key).ok());
}

// Power fails at every single change to the disk in turn.
TEST_F(EvictorTest, ACrashInTheMiddleLosesNothingThatIsNeeded) {
  std::vector<std::string> all;
  for (char c = 'a'; c <= 'z'; ++c) all.emplace_back(1, c);
  for (int64_t crash_at = 0; crash_at < 30; ++crash_at) {
    for (const std::string& bytes : all) Put(bytes);
    needed_.names = {BlobFileName(DigestOf("a")), BlobFileName(DigestOf("q"))};
    files_.FailAfter(crash_at);
    const Evicted evicted = Run(4);
    EXPECT_EQ(evicted.files, std::min<int64_t>(crash_at, 23));
    files_.Crash();
    Open();
    for (const std::string& bytes : all) {
      const absl::StatusOr<std::string> got = blobs_->Get(DigestOf(bytes));
      if (got.ok()) {
        EXPECT_EQ(*got, bytes);
      } else {
        EXPECT_TRUE(absl::IsNotFound(got.status())) << got.status();
        EXPECT_NE(bytes, "a");
        EXPECT_NE(bytes, "q");
      }
    }
    clock_.Advance(kLong);
  }
}

TEST_F(EvictorTest, RunsByItselfWhenTheLimitIsPassed) {
  const Digest a = Put("a");
  Mutex mutex;
  CondVar changed;
  int64_t removed = 0;
  evictor_->Start({.limit_bytes = 2 * kBlock,
                   .folders = {"/s"},
                   .needed = [this] { return needed_; }},
                  [&](const absl::StatusOr<Evicted>& evicted) {
                    MutexLock lock(mutex);
                    removed += evicted.ok() ? evicted->files : 0;
                    changed.NotifyAll();
                  });
  Put("b");
  Put("c");
  MutexLock lock(mutex);
  while (removed == 0) changed.Wait(lock);
  EXPECT_FALSE(Has(a));
  const CacheUsage usage = evictor_->Usage();
  EXPECT_EQ(usage.evicted_files, removed);
  EXPECT_EQ(usage.evicted_bytes, removed * kBlock);
}

TEST_F(EvictorTest, CountsWhatIsThereOnceItIsAsked) {
  const Digest a = Put("a");
  Put("b");
  evictor_->Start({.folders = {"/s", "/r"},
                   .needed = [this] { return needed_; },
                   .on_demand = true},
                  [](const absl::StatusOr<Evicted>&) {});
  CacheUsage usage = evictor_->Usage();
  while (!usage.bytes.has_value()) {
    absl::SleepFor(absl::Milliseconds(1));
    usage = evictor_->Usage();
  }
  EXPECT_EQ(*usage.bytes, 2 * kBlock);
  Put("c");
  EXPECT_EQ(*evictor_->Usage().bytes, 3 * kBlock);
  // What somebody else removed is noticed within an hour or so.
  ASSERT_TRUE(
      files_.Remove("/s/" + a.hash.substr(0, 2) + "/" + BlobFileName(a)).ok());
  clock_.Advance(absl::Hours(2));
  while (*evictor_->Usage().bytes != 2 * kBlock) {
    absl::SleepFor(absl::Milliseconds(1));
  }
  evictor_->Stop();
}

TEST_F(EvictorTest, EndsWithoutHavingBeenAsked) {
  evictor_->Start({.folders = {"/s"}, .needed = nullptr, .on_demand = true},
                  [](const absl::StatusOr<Evicted>&) {});
  evictor_->Stop();
  EXPECT_FALSE(evictor_->Usage().bytes.has_value());
}

}  // namespace
}  // namespace edgekiln::cache
