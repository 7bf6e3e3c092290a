#include "cache/upload_store.h"

#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "cache/crashing_file_system.h"
#include "cache/disk_blob_store.h"
#include "gtest/gtest.h"

namespace edgekiln::cache {
namespace {

class UploadStoreTest : public testing::Test {
 protected:
  UploadStoreTest() { Reopen(); }

  void Reopen() {
    uploads_.reset();
    blobs_ = *OpenDiskBlobStore(files_, "/s");
    uploads_ = *OpenUploadStore(files_, "/u", *blobs_, absl::UnixEpoch());
  }

  std::unique_ptr<Upload> Resume(const std::string& id = "id") {
    absl::StatusOr<std::unique_ptr<Upload>> upload =
        uploads_->Resume(id, digest_);
    EXPECT_TRUE(upload.ok()) << upload.status();
    return *std::move(upload);
  }

  const std::string bytes_ = "0123456789";
  const Digest digest_ = DigestOf(bytes_);
  CrashingFileSystem files_;
  std::unique_ptr<BlobStore> blobs_;
  std::unique_ptr<UploadStore> uploads_;
};

TEST_F(UploadStoreTest, BecomesABlobOnceComplete) {
  EXPECT_TRUE(
      absl::IsNotFound(uploads_->CommittedBytes("id", digest_).status()));
  const auto upload = Resume();
  ASSERT_TRUE(upload->Append("01234").ok());
  EXPECT_EQ(*uploads_->CommittedBytes("id", digest_), 5);
  EXPECT_EQ(GetErrorDetail(upload->Finish())->reason, "UPLOAD_INCOMPLETE");
  ASSERT_TRUE(upload->Append("56789").ok());
  EXPECT_FALSE(*blobs_->Contains(digest_));
  ASSERT_TRUE(upload->Finish().ok());
  EXPECT_EQ(*blobs_->Get(digest_), bytes_);
  EXPECT_TRUE(
      absl::IsNotFound(uploads_->CommittedBytes("id", digest_).status()));
}

TEST_F(UploadStoreTest, ContinuesAfterARestart) {
  ASSERT_TRUE(Resume()->Append("0123").ok());
  Reopen();
  const auto upload = Resume();
  EXPECT_EQ(upload->committed_bytes(), 4);
  ASSERT_TRUE(upload->Append("456789").ok());
  ASSERT_TRUE(upload->Finish().ok());
  EXPECT_EQ(*blobs_->Get(digest_), bytes_);
}

TEST_F(UploadStoreTest, TheNewestStreamTakesOver) {
  const auto broken = Resume();
  ASSERT_TRUE(broken->Append("0123").ok());
  const auto next = Resume();
  EXPECT_EQ(next->committed_bytes(), 4);
  EXPECT_TRUE(absl::IsAborted(broken->Append("4567")));
  EXPECT_TRUE(absl::IsAborted(broken->Finish()));
  ASSERT_TRUE(next->Append("456789").ok());
  ASSERT_TRUE(next->Finish().ok());
  EXPECT_TRUE(absl::IsAborted(next->Append("x")));
}

TEST_F(UploadStoreTest, DropsWhatIsNotWhatItClaims) {
  auto upload = Resume();
  ASSERT_TRUE(upload->Append("012345678X").ok());
  EXPECT_EQ(GetErrorDetail(upload->Finish())->reason, "DIGEST_MISMATCH");
  EXPECT_FALSE(*blobs_->Contains(digest_));
  upload = Resume();
  EXPECT_EQ(upload->committed_bytes(), 0);
  EXPECT_EQ(GetErrorDetail(upload->Append("01234567890"))->reason,
            "UPLOAD_TOO_LONG");
  ASSERT_TRUE(upload->Append(bytes_).ok());
  EXPECT_TRUE(upload->Finish().ok());
}

TEST_F(UploadStoreTest, KeepsUploadsApartByIdAndDigest) {
  ASSERT_TRUE(Resume("a")->Append("0").ok());
  EXPECT_EQ(Resume("b")->committed_bytes(), 0);
  EXPECT_FALSE(uploads_->Resume("", digest_).ok());
  EXPECT_FALSE(uploads_->Resume(std::string(200, 'x'), digest_).ok());
  // An id cannot reach another folder.
  EXPECT_TRUE(uploads_->Resume("../../x", digest_).ok());
  EXPECT_FALSE(files_.Exists("/x"));
}

TEST_F(UploadStoreTest, SurvivesAFailingDisk) {
  auto upload = Resume();
  ASSERT_TRUE(upload->Append("0123").ok());
  ASSERT_EQ(*uploads_->CommittedBytes("id", digest_), 4);
  files_.FailAfter(0);
  // Taken, but not written: the end tells, and so would another Append().
  EXPECT_TRUE(upload->Append("456789").ok());
  EXPECT_TRUE(absl::IsUnavailable(upload->Finish()));
  EXPECT_TRUE(absl::IsAborted(upload->Append("")));
  files_.FailAfter(1'000'000);
  upload = Resume();
  // Half of the failed write is there, and counted.
  EXPECT_EQ(upload->committed_bytes(), 7);
  ASSERT_TRUE(upload->Append("789").ok());
  ASSERT_TRUE(upload->Finish().ok());
  EXPECT_EQ(*blobs_->Get(digest_), bytes_);
}

// More than the queue holds, so that it fills and empties while streams change.
TEST_F(UploadStoreTest, ManyPiecesArriveInOrderThroughTwoStreams) {
  std::string all;
  for (int i = 0; all.size() < 12'000'000; ++i) {
    all += std::string(i % 70'001, static_cast<char>(i));
  }
  const Digest digest = DigestOf(all);
  size_t at = 0;
  const auto send = [&](Upload& upload, size_t until) {
    for (size_t step = 1; at < until; step = (step * 7 + 1) % 900'001) {
      const std::string piece = all.substr(at, step);
      ASSERT_TRUE(upload.Append(piece).ok());
      at += piece.size();
    }
    EXPECT_EQ(upload.committed_bytes(), static_cast<int64_t>(at));
  };
  const auto broken = *uploads_->Resume("id", digest);
  send(*broken, all.size() / 2);
  EXPECT_EQ(*uploads_->CommittedBytes("id", digest), static_cast<int64_t>(at));
  const auto next = *uploads_->Resume("id", digest);
  EXPECT_EQ(next->committed_bytes(), static_cast<int64_t>(at));
  EXPECT_TRUE(absl::IsAborted(broken->Append("x")));
  send(*next, all.size());
  ASSERT_TRUE(next->Finish().ok());
  EXPECT_EQ(*blobs_->Get(digest), all);
}

TEST_F(UploadStoreTest, APowerFailureCostsUnsyncedBytesOnly) {
  ASSERT_TRUE(Resume()->Append("0123").ok());
  files_.Crash();
  Reopen();
  const auto upload = Resume();
  EXPECT_EQ(upload->committed_bytes(), 0);
  ASSERT_TRUE(upload->Append(bytes_).ok());
  ASSERT_TRUE(upload->Finish().ok());
  files_.Crash();
  Reopen();
  EXPECT_EQ(*blobs_->Get(digest_), bytes_);
}

TEST_F(UploadStoreTest, ForgetsOldPartsWhenOpened) {
  ASSERT_TRUE(Resume()->Append("0123").ok());
  uploads_ = *OpenUploadStore(files_, "/u", *blobs_,
                              absl::UnixEpoch() + absl::Hours(25));
  EXPECT_TRUE(
      absl::IsNotFound(uploads_->CommittedBytes("id", digest_).status()));
}

}  // namespace
}  // namespace edgekiln::cache
