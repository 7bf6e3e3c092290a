#include "cache/upload_store.h"

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/error.h"
#include "cache/disk_blob_store.h"
#include "cache/partial_upload.h"
#include "cache/testing/crashing_file_system.h"
#include "gtest/gtest.h"

namespace edgekiln::cache {
namespace {

class UploadStoreTest : public testing::Test {
 protected:
  UploadStoreTest() { Reopen(); }

  void Reopen() {
    uploads_.reset();
    blobs_ = *OpenDiskBlobStore(files_, "/s");
    uploads_ =
        *OpenUploadStore(files_, "/u", *blobs_, *space_, limits_, clock_);
  }

  // The reason of the refusal, or "".
  std::string Refusal(const std::string& id, const std::string& bytes) {
    const absl::Status status = uploads_->Resume(id, DigestOf(bytes)).status();
    return status.ok() ? "" : GetErrorDetail(status)->reason;
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
  FakeClock clock_;
  UploadLimits limits_;
  int64_t free_bytes_ = 1 << 30;
  const std::unique_ptr<DiskSpace> space_ =
      NewDiskSpace("/u", 0, [this] { return free_bytes_; });
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

// Half of the upload is in a stream that breaks; the other goes on.
void SendThroughTwoStreams(UploadStore& uploads, BlobStore& blobs,
                           size_t size) {
  std::string all;
  for (int i = 0; all.size() < size; ++i) {
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
  const auto broken = *uploads.Resume("id", digest);
  send(*broken, all.size() / 2);
  EXPECT_EQ(*uploads.CommittedBytes("id", digest), static_cast<int64_t>(at));
  const auto next = *uploads.Resume("id", digest);
  EXPECT_EQ(next->committed_bytes(), static_cast<int64_t>(at));
  EXPECT_TRUE(absl::IsAborted(broken->Append("x")));
  send(*next, all.size());
  ASSERT_TRUE(next->Finish().ok());
  EXPECT_TRUE(*blobs.Get(digest) == all);
}

// More than the queue holds, so that it fills and empties while streams change.
TEST_F(UploadStoreTest, ManyPiecesArriveInOrderThroughTwoStreams) {
  SendThroughTwoStreams(*uploads_, *blobs_, 12'000'000);
}

// Hashed and written by a thread each.
TEST_F(UploadStoreTest, LargeOnesArriveInOrderThroughTwoStreams) {
  SendThroughTwoStreams(*uploads_, *blobs_, kLargeUploadBytes + 12'000'000);
}

// What was hashed and could not be written is hashed again.
TEST_F(UploadStoreTest, ALargeOneSurvivesAFailingDisk) {
  std::string all(static_cast<size_t>(kLargeUploadBytes) + 10, 'x');
  all += "not an x";
  const Digest digest = DigestOf(all);
  auto upload = *uploads_->Resume("id", digest);
  constexpr size_t kPiece = 1'000'000;
  ASSERT_TRUE(upload->Append(all.substr(0, kPiece)).ok());
  ASSERT_EQ(*uploads_->CommittedBytes("id", digest), int64_t{kPiece});
  files_.FailAfter(0);
  absl::Status status;
  for (size_t at = kPiece; status.ok() && at < all.size(); at += kPiece) {
    status = upload->Append(all.substr(at, kPiece));
  }
  if (status.ok()) status = upload->Finish();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  files_.FailAfter(1'000'000);
  upload = *uploads_->Resume("id", digest);
  const auto at = static_cast<size_t>(upload->committed_bytes());
  EXPECT_LT(at, 2 * kPiece);
  ASSERT_TRUE(upload->Append(all.substr(at)).ok());
  ASSERT_TRUE(upload->Finish().ok());
  EXPECT_TRUE(*blobs_->Get(digest) == all);
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

TEST_F(UploadStoreTest, RemovesExpiredUploadsWhileRunningAndWhenOpened) {
  for (const bool reopens : {false, true}) {
    SCOPED_TRACE(reopens);
    ASSERT_TRUE(Resume()->Append("0123").ok());
    clock_.Advance(limits_.expiry);
    uploads_->RemoveExpired();
    EXPECT_EQ(*uploads_->CommittedBytes("id", digest_), 4);
    clock_.Advance(absl::Seconds(1));
    if (reopens) {
      Reopen();
    } else {
      uploads_->RemoveExpired();
    }
    EXPECT_TRUE(
        absl::IsNotFound(uploads_->CommittedBytes("id", digest_).status()));
  }
}

TEST_F(UploadStoreTest, AnExpiredStreamIsTold) {
  const auto idle = Resume();
  clock_.Advance(limits_.expiry + absl::Seconds(1));
  uploads_->RemoveExpired();
  EXPECT_EQ(GetErrorDetail(idle->Append(bytes_))->reason, "UPLOAD_EXPIRED");
  EXPECT_EQ(GetErrorDetail(idle->Finish())->reason, "UPLOAD_EXPIRED");
  const auto again = Resume();
  EXPECT_EQ(again->committed_bytes(), 0);
  ASSERT_TRUE(again->Append(bytes_).ok());
  EXPECT_TRUE(again->Finish().ok());
}

TEST_F(UploadStoreTest, BoundsTheNumberOfUploads) {
  limits_.max_uploads = 2;
  Reopen();
  const auto a = Resume("a");
  auto b = Resume("b");
  ASSERT_TRUE(a->Append("0").ok());
  EXPECT_EQ(Refusal("c", bytes_), "UPLOADS_FULL");
  // Those that are there may go on.
  b = Resume("b");
  ASSERT_TRUE(b->Append(bytes_).ok());
  ASSERT_TRUE(b->Finish().ok());
  EXPECT_EQ(Refusal("c", bytes_), "");
}

TEST_F(UploadStoreTest, AnAbandonedOneGivesWayWhereABoundIsReached) {
  limits_.max_uploads = 2;
  Reopen();
  ASSERT_TRUE(Resume("large")->Append("0123").ok());
  ASSERT_TRUE(Resume("small")->Append("0").ok());
  Reopen();  // Those of the process before are nobody's, too.
  // The one that is begun again most easily.
  const auto c = Resume("c");
  EXPECT_TRUE(
      absl::IsNotFound(uploads_->CommittedBytes("small", digest_).status()));
  const auto large = Resume("large");
  EXPECT_EQ(large->committed_bytes(), 4);
  EXPECT_EQ(Refusal("d", bytes_), "UPLOADS_FULL");
}

TEST_F(UploadStoreTest, AStreamThatTricklesGivesWayWhereABoundIsReached) {
  limits_.max_uploads = 2;
  Reopen();
  const std::string bytes(4 * kMinPaceBytes, 'x');
  const auto resume = [&](const std::string& id) {
    return *uploads_->Resume(id, DigestOf(bytes));
  };
  const auto fast = resume("fast");
  const auto slow = resume("slow");
  for (int window = 0; window < 3; ++window) {
    EXPECT_EQ(Refusal("c", bytes_), window == 0 ? "UPLOADS_FULL" : "");
    clock_.Advance(kPaceWindow);
    EXPECT_TRUE(fast->Append(std::string(kMinPaceBytes, 'x')).ok());
    EXPECT_EQ(slow->Append("x").ok(), window == 0);
  }
  EXPECT_EQ(GetErrorDetail(slow->Append("x"))->reason, "UPLOAD_EXPIRED");
  ASSERT_TRUE(fast->Append(std::string(kMinPaceBytes, 'x')).ok());
  EXPECT_TRUE(fast->Finish().ok());
}

// No stream lasts for a whole window.
TEST_F(UploadStoreTest, AStreamThatIsBegunAgainAndAgainGivesWay) {
  limits_.max_uploads = 2;
  Reopen();
  const std::string bytes(4 * kMinPaceBytes, 'x');
  const auto resume = [&](const std::string& id) {
    return *uploads_->Resume(id, DigestOf(bytes));
  };
  const auto fast = resume("fast");
  ASSERT_TRUE(fast->Append(std::string(kMinPaceBytes, 'x')).ok());
  std::unique_ptr<Upload> slow;
  for (int again = 0; again < 3; ++again) {
    slow = resume("slow");
    EXPECT_EQ(Refusal("c", bytes_), "UPLOADS_FULL") << again;
    ASSERT_TRUE(slow->Append("x").ok()) << again;
    clock_.Advance(kPaceWindow / 4);
  }
  EXPECT_EQ(Refusal("c", bytes_), "");
  ASSERT_TRUE(fast->Append(std::string(3 * kMinPaceBytes, 'x')).ok());
  EXPECT_TRUE(fast->Finish().ok());
}

TEST_F(UploadStoreTest, BoundsTheirBytesTogether) {
  limits_.max_bytes = 25;
  Reopen();
  const auto first = Resume("a");
  const auto second = Resume("b");
  EXPECT_EQ(Refusal("c", bytes_), "UPLOADS_FULL");
  EXPECT_EQ(Refusal("c", "01234"), "");
  ASSERT_TRUE(first->Append(bytes_).ok());
  ASSERT_TRUE(first->Finish().ok());
  EXPECT_EQ(Refusal("d", bytes_), "");
}

TEST_F(UploadStoreTest, RefusesWhatTheDiskCannotTake) {
  free_bytes_ = 15;
  const auto upload = Resume("a");
  // What was announced but has not come yet takes room as well.
  EXPECT_EQ(Refusal("b", bytes_), "DISK_FULL");
  ASSERT_TRUE(upload->Append("012345678").ok());
  free_bytes_ = 15 - 9;
  EXPECT_EQ(Refusal("b", bytes_), "DISK_FULL");
  free_bytes_ = 11;
  EXPECT_EQ(Refusal("b", bytes_), "");
}

TEST_F(UploadStoreTest, WhatTheLastProcessGotTakesNoMoreRoom) {
  ASSERT_TRUE(Resume("a")->Append("012345678").ok());
  Reopen();
  free_bytes_ = 10;
  EXPECT_EQ(Refusal("b", bytes_), "");
}

// Its path is already that of the upload that came after it.
TEST_F(UploadStoreTest, AStreamThatExpiresWhileItEndsTakesNoOthersBytes) {
  const auto slow = Resume();
  ASSERT_TRUE(slow->Append(bytes_).ok());
  std::unique_ptr<Upload> next;
  files_.OnSync([&] {
    clock_.Advance(limits_.expiry + absl::Seconds(1));
    uploads_->RemoveExpired();
    next = Resume();
    EXPECT_TRUE(next->Append("01234").ok());
    EXPECT_EQ(*uploads_->CommittedBytes("id", digest_), 5);
  });
  EXPECT_EQ(GetErrorDetail(slow->Finish())->reason, "UPLOAD_EXPIRED");
  files_.OnSync({});
  EXPECT_FALSE(*blobs_->Contains(digest_));
  ASSERT_TRUE(next->Append("56789").ok());
  ASSERT_TRUE(next->Finish().ok());
  EXPECT_EQ(*blobs_->Get(digest_), bytes_);
}

TEST_F(UploadStoreTest, AsksForRoomAgainAfterARestart) {
  ASSERT_TRUE(Resume("a")->Append("012").ok());
  Reopen();
  free_bytes_ = 6;
  EXPECT_EQ(Refusal("a", bytes_), "DISK_FULL");
  free_bytes_ = 7;
  EXPECT_EQ(Refusal("a", bytes_), "");
}

TEST_F(UploadStoreTest, OnlyHeldUploadsKeepTheirFileOpen) {
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(Resume(absl::StrCat("id", i))->Append("0").ok());
  }
  EXPECT_EQ(files_.open_files(), 0);
  const auto held = Resume("id7");
  EXPECT_EQ(held->committed_bytes(), 1);
  EXPECT_EQ(files_.open_files(), 1);
}

class HookedFileSystem : public CrashingFileSystem {
 public:
  // Called once, before the next file is renamed.
  std::function<void()> before_rename;

  absl::Status Rename(const std::string& from, const std::string& to) override {
    if (const auto hook = std::exchange(before_rename, nullptr)) hook();
    return CrashingFileSystem::Rename(from, to);
  }
};

// Else it would continue a file that goes, and might store an empty one.
TEST(UploadStoreRaceTest, NobodyContinuesWhatIsBecomingABlob) {
  const std::string bytes = "0123456789";
  const Digest digest = DigestOf(bytes);
  HookedFileSystem files;
  FakeClock clock;
  const auto space = NewDiskSpace("/u", 0, [] { return 1 << 30; });
  const auto blobs = *OpenDiskBlobStore(files, "/s");
  const auto uploads = *OpenUploadStore(files, "/u", *blobs, *space, {}, clock);
  const auto upload = *uploads->Resume("id", digest);
  ASSERT_TRUE(upload->Append(bytes).ok());
  absl::StatusOr<std::unique_ptr<Upload>> second;
  std::thread other;
  files.before_rename = [&] {
    std::promise<void> resumed;
    std::future<void> done = resumed.get_future();
    other = std::thread(
        [&second, &uploads, &digest, resumed = std::move(resumed)]() mutable {
          second = uploads->Resume("id", digest);
          resumed.set_value();
        });
    // It waits for us, or is wrong by then.
    done.wait_for(std::chrono::milliseconds(100));
  };
  EXPECT_TRUE(upload->Finish().ok());
  ASSERT_TRUE(other.joinable());
  other.join();
  if (second.ok()) {
    EXPECT_EQ((*second)->committed_bytes(), 0);
  } else {
    EXPECT_TRUE(absl::IsAborted(second.status())) << second.status();
  }
  EXPECT_EQ(*blobs->Get(digest), bytes);
}

}  // namespace
}  // namespace edgekiln::cache
