#include "cache/stage_result_store.h"

#include <memory>
#include <string>

#include "cache/disk_blob_store.h"
#include "cache/testing/crashing_file_system.h"
#include "gtest/gtest.h"

namespace edgekiln::cache {
namespace {

class StageResultStoreTest : public testing::Test {
 protected:
  StageResultStoreTest() {
    Reopen();
    EXPECT_TRUE(blobs_->Put(DigestOf("output"), "output").ok());
    v1::BlobRef& output = *result_.add_outputs();
    output.set_role("graph");
    output.mutable_digest()->set_hash(DigestOf("output").hash);
    output.mutable_digest()->set_size_bytes(6);
    result_.add_warnings("careful");
  }

  void Reopen() {
    blobs_ = *OpenDiskBlobStore(files_, "/s");
    results_ = *OpenDiskStageResultStore(files_, "/r", *blobs_);
  }

  std::string Path() const { return "/r/" + key_.substr(0, 2) + "/" + key_; }

  const std::string key_ = DigestOf("key").hash;
  CrashingFileSystem files_;
  std::unique_ptr<BlobStore> blobs_;
  std::unique_ptr<StageResultStore> results_;
  v1::StageResult result_;
};

TEST_F(StageResultStoreTest, GivesBackWhatWasPut) {
  EXPECT_TRUE(absl::IsNotFound(results_->Get(key_).status()));
  ASSERT_TRUE(results_->Put(key_, result_).ok());
  Reopen();
  EXPECT_EQ(results_->Get(key_)->SerializeAsString(),
            result_.SerializeAsString());
  EXPECT_FALSE(results_->Get("../x").ok());
}

TEST_F(StageResultStoreTest, AbsentWithoutItsBlobs) {
  ASSERT_TRUE(results_->Put(key_, result_).ok());
  const Digest digest = DigestOf("output");
  ASSERT_TRUE(
      files_.Remove("/s/" + digest.hash.substr(0, 2) + "/" + digest.hash + "-6")
          .ok());
  EXPECT_TRUE(absl::IsNotFound(results_->Get(key_).status()));
  // Back with the blob: the result itself is sound.
  ASSERT_TRUE(blobs_->Put(digest, "output").ok());
  EXPECT_TRUE(results_->Get(key_).ok());
}

// Every byte of the file matters.
TEST_F(StageResultStoreTest, WhatIsDamagedIsAbsentAndRemoved) {
  ASSERT_TRUE(results_->Put(key_, result_).ok());
  const std::string sound = *files_.Read(Path(), 1 << 20);
  for (size_t i = 0; i < sound.size(); ++i) {
    std::string flipped = sound;
    flipped[i] = static_cast<char>(flipped[i] ^ 1);
    files_.Overwrite(Path(), flipped);
    EXPECT_TRUE(absl::IsNotFound(results_->Get(key_).status())) << i;
    EXPECT_FALSE(files_.Exists(Path())) << i;
    ASSERT_TRUE(results_->Put(key_, result_).ok());
    files_.Overwrite(Path(), sound.substr(0, i));
    EXPECT_TRUE(absl::IsNotFound(results_->Get(key_).status())) << i;
    ASSERT_TRUE(results_->Put(key_, result_).ok());
  }
}

TEST_F(StageResultStoreTest, RecallsWhatItKnowsWhileTheFilesAreAsTheyWere) {
  const auto recalls = [&] {
    const SharedStageResult result = results_->Recall(key_);
    if (result == nullptr) return false;
    EXPECT_EQ((*result)->SerializeAsString(), result_.SerializeAsString());
    return true;
  };
  EXPECT_FALSE(recalls());
  ASSERT_TRUE(results_->Put(key_, result_).ok());
  EXPECT_TRUE(recalls());
  Reopen();
  EXPECT_FALSE(recalls());  // Nobody has checked it in this life.
  ASSERT_TRUE(results_->Get(key_).ok());
  EXPECT_TRUE(recalls());
  // Not without an output, but with it again.
  const Digest digest = DigestOf("output");
  const std::string output =
      "/s/" + digest.hash.substr(0, 2) + "/" + digest.hash + "-6";
  ASSERT_TRUE(files_.Remove(output).ok());
  EXPECT_FALSE(recalls());
  ASSERT_TRUE(blobs_->Put(digest, "output").ok());
  EXPECT_TRUE(recalls());
  // Not once the file has changed, until it was read again.
  ASSERT_TRUE(
      files_.SetModified(Path(), absl::UnixEpoch() + absl::Hours(1)).ok());
  EXPECT_FALSE(recalls());
  ASSERT_TRUE(results_->Get(key_).ok());
  EXPECT_TRUE(recalls());
  ASSERT_TRUE(files_.Remove(Path()).ok());
  EXPECT_FALSE(recalls());
}

// Results are not synced, and a torn one is absent.
TEST_F(StageResultStoreTest, IsOldOrNewOrAbsentAfterACrash) {
  ASSERT_TRUE(results_->Put(key_, result_).ok());
  v1::StageResult next = result_;
  next.add_warnings("more");
  bool acknowledged = false;
  for (int64_t crash_at = 0; !acknowledged; ++crash_at) {
    files_.FailAfter(crash_at);
    acknowledged = results_->Put(key_, next).ok();
    files_.Crash();
    Reopen();
    const absl::StatusOr<v1::StageResult> got = results_->Get(key_);
    if (got.ok()) {
      const std::string bytes = got->SerializeAsString();
      EXPECT_TRUE(bytes == result_.SerializeAsString() ||
                  bytes == next.SerializeAsString())
          << "crash at " << crash_at;
    } else {
      EXPECT_TRUE(absl::IsNotFound(got.status())) << got.status();
    }
    ASSERT_TRUE(results_->Put(key_, result_).ok());
    ASSERT_LT(crash_at, 100);
  }
}

}  // namespace
}  // namespace edgekiln::cache
