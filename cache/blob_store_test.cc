#include "cache/blob_store.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "base/clock.h"
#include "base/error.h"
#include "cache/disk_blob_store.h"
#include "cache/evictor.h"
#include "cache/testing/crashing_file_system.h"
#include "gtest/gtest.h"

namespace edgekiln::cache {
namespace {

std::string PathOf(const Digest& digest) {
  return "/s/" + digest.hash.substr(0, 2) + "/" + digest.hash + "-" +
         std::to_string(digest.size_bytes);
}

std::unique_ptr<BlobStore> OpenStore(FileSystem& files) {
  absl::StatusOr<std::unique_ptr<BlobStore>> store =
      OpenDiskBlobStore(files, "/s");
  EXPECT_TRUE(store.ok()) << store.status();
  return *std::move(store);
}

TEST(DiskBlobStoreTest, GivesBackWhatWasPut) {
  CrashingFileSystem files;
  const auto store = OpenStore(files);
  for (const std::string& bytes :
       {std::string("abc"), std::string(), std::string(3'000'000, 'z')}) {
    const Digest digest = DigestOf(bytes);
    EXPECT_FALSE(*store->Contains(digest));
    ASSERT_TRUE(store->Put(digest, bytes).ok());
    ASSERT_TRUE(store->Put(digest, bytes).ok());
    EXPECT_TRUE(*store->Contains(digest));
    EXPECT_EQ(*store->Get(digest), bytes);
    const auto reader = store->OpenReader(digest);
    ASSERT_TRUE(reader.ok()) << reader.status();
    EXPECT_EQ(*(*reader)->Read(1, 2), bytes.substr(bytes.empty() ? 0 : 1, 2));
    EXPECT_EQ(*(*reader)->Read(digest.size_bytes, 5), "");
  }
}

TEST(DiskBlobStoreTest, RefusesOtherBytesAndBadDigests) {
  CrashingFileSystem files;
  const auto store = OpenStore(files);
  const absl::Status status = store->Put(DigestOf("abc"), "abd");
  EXPECT_EQ(GetErrorDetail(status)->reason, "DIGEST_MISMATCH");
  EXPECT_TRUE(absl::IsNotFound(store->Get(DigestOf("abc")).status()));
  Digest wrong_size = DigestOf("abc");
  wrong_size.size_bytes = 4;
  ASSERT_TRUE(store->Put(DigestOf("abc"), "abc").ok());
  EXPECT_TRUE(absl::IsNotFound(store->Get(wrong_size).status()));
  // Asking with a wrong size does no harm.
  EXPECT_EQ(*store->Get(DigestOf("abc")), "abc");
  for (const std::string& hash :
       {std::string("../../etc/passwd"), std::string(64, 'G'), std::string()}) {
    EXPECT_EQ(store->Get({hash, 3}).status().code(),
              absl::StatusCode::kInvalidArgument)
        << hash;
  }
}

TEST(DiskBlobStoreTest, WhatIsDamagedIsAbsentAndRemoved) {
  const std::pair<const char*, const char*> kDamages[] = {
      {"torn", "ab"}, {"longer", "abcd"}, {"flipped", "abd"}, {"empty", ""}};
  for (const auto& [name, contents] : kDamages) {
    CrashingFileSystem files;
    const auto store = OpenStore(files);
    const Digest digest = DigestOf("abc");
    ASSERT_TRUE(store->Put(digest, "abc").ok());
    files.Overwrite(PathOf(digest), contents);
    EXPECT_TRUE(absl::IsNotFound(store->Get(digest).status())) << name;
    EXPECT_FALSE(files.Exists(PathOf(digest))) << name;
    ASSERT_TRUE(store->Put(digest, "abc").ok());
    files.Overwrite(PathOf(digest), contents);
    EXPECT_TRUE(absl::IsNotFound(store->OpenReader(digest).status())) << name;
    EXPECT_FALSE(files.Exists(PathOf(digest))) << name;
    ASSERT_TRUE(store->Put(digest, "abc").ok());
    EXPECT_EQ(*store->Get(digest), "abc") << name;
  }
}

// Power fails at every single change to the disk in turn.
TEST(DiskBlobStoreTest, LosesNothingAcknowledgedAndServesNothingTorn) {
  const std::vector<std::string> blobs = {"one", "two", "three", "two"};
  int64_t crash_at = 0;
  for (bool finished = false; !finished; ++crash_at) {
    CrashingFileSystem files;
    auto store = OpenStore(files);
    files.FailAfter(crash_at);
    std::vector<bool> acknowledged;
    for (const std::string& blob : blobs) {
      acknowledged.push_back(store->Put(DigestOf(blob), blob).ok());
    }
    finished = acknowledged == std::vector<bool>(blobs.size(), true);
    files.Crash();
    store = OpenStore(files);
    for (size_t i = 0; i < blobs.size(); ++i) {
      const absl::StatusOr<std::string> got = store->Get(DigestOf(blobs[i]));
      if (got.ok()) {
        EXPECT_EQ(*got, blobs[i]);
      } else {
        EXPECT_TRUE(absl::IsNotFound(got.status())) << got.status();
        EXPECT_FALSE(acknowledged[i]) << blobs[i] << ", crash at " << crash_at;
      }
      EXPECT_TRUE(store->Put(DigestOf(blobs[i]), blobs[i]).ok());
    }
    EXPECT_TRUE(files.List("/s/tmp")->empty());
  }
  EXPECT_GT(crash_at, 10);
}

// A power failure at any change leaves a buffered blob or none; what was
// synced, put again or told to be there stays.
TEST(DiskBlobStoreTest, BufferedBlobsAreDurableOnceSynced) {
  enum { kNothing, kSync, kPut, kReopenedSync };
  const Digest digest = DigestOf("abc");
  for (const int then : {kNothing, kSync, kPut, kReopenedSync}) {
    bool finished = false;
    for (int64_t crash_at = 0; !finished; ++crash_at) {
      CrashingFileSystem files;
      auto store = OpenStore(files);
      files.FailAfter(crash_at);
      finished = store->PutBuffered(digest, "abc").ok();
      EXPECT_TRUE(!finished || *store->Get(digest) == "abc");
      if (finished && then == kReopenedSync) {
        files.FailAfter(INT64_MAX / 2);
        store = OpenStore(files);  // Killed; the machine was not.
        files.FailAfter(crash_at);
      }
      if (finished && (then == kSync || then == kReopenedSync)) {
        finished = store->Sync(digest).ok();
      }
      if (then == kPut) finished = store->Put(digest, "abc").ok();
      files.Crash();
      store = OpenStore(files);
      const absl::StatusOr<std::string> got = store->Get(digest);
      if (got.ok()) {
        EXPECT_EQ(*got, "abc");
      } else {
        EXPECT_TRUE(absl::IsNotFound(got.status())) << got.status();
        EXPECT_FALSE(finished && then != kNothing) << then << ", " << crash_at;
      }
    }
  }
}

TEST(DiskBlobStoreTest, WhatIsDurableIsNotSyncedAgain) {
  CrashingFileSystem files;
  const auto store = OpenStore(files);
  const Digest digest = DigestOf("abc");
  ASSERT_TRUE(store->Put(digest, "abc").ok());
  const int64_t changes = files.changes();
  EXPECT_TRUE(store->Sync(digest).ok());
  EXPECT_TRUE(store->Put(digest, "abc").ok());
  EXPECT_TRUE(store->PutBuffered(digest, "abc").ok());
  EXPECT_TRUE(absl::IsNotFound(store->Sync(DigestOf("none"))));
  EXPECT_FALSE(*ContainsDurably(*store, DigestOf("none")));
  EXPECT_TRUE(*ContainsDurably(*store, digest));
  EXPECT_EQ(files.changes(), changes);
  // A buffered one costs as much as writing it.
  ASSERT_TRUE(store->PutBuffered(DigestOf("b"), "b").ok());
  const int64_t before = files.changes();
  EXPECT_TRUE(store->Sync(DigestOf("b")).ok());
  EXPECT_GT(files.changes(), before);
  const int64_t after = files.changes();
  EXPECT_TRUE(store->Sync(DigestOf("b")).ok());
  EXPECT_EQ(files.changes(), after);
}

// What stages make is often there: it is not read again to be compared. What
// somebody changes has another time, and is replaced.
// Of another file of the same name it is not known.
TEST(DiskBlobStoreTest, WhatWasReplacedIsSyncedAgain) {
  CrashingFileSystem files;
  const auto store = OpenStore(files);
  const Digest digest = DigestOf("abc");
  ASSERT_TRUE(store->Put(digest, "abc").ok());
  ASSERT_TRUE(store->Sync(digest).ok());
  ASSERT_TRUE(files.SetModified(PathOf(digest), absl::Now()).ok());
  int64_t changes = files.changes();
  ASSERT_TRUE(store->Sync(digest).ok());
  EXPECT_GT(files.changes(), changes);
  ASSERT_TRUE(files.Remove(PathOf(digest)).ok());
  EXPECT_TRUE(absl::IsNotFound(store->Sync(digest)));
}

TEST(DiskBlobStoreTest, WhatIsBufferedAgainIsNotRead) {
  class CountsReads : public CrashingFileSystem {
   public:
    absl::StatusOr<std::string> ReadRange(const std::string& path,
                                          int64_t offset,
                                          int64_t max_bytes) override {
      ++reads;
      return CrashingFileSystem::ReadRange(path, offset, max_bytes);
    }
    int reads = 0;
  } files;
  const auto store = OpenStore(files);
  const Digest digest = DigestOf("abc");
  ASSERT_TRUE(store->PutBuffered(digest, "abc").ok());
  EXPECT_TRUE(store->PutBuffered(digest, "abc").ok());
  EXPECT_EQ(files.reads, 0);
  EXPECT_TRUE(store->Put(digest, "abc").ok());
  EXPECT_EQ(files.reads, 1) << "whoever uploads it may have a reason";
}

// The system tells of a failed write once; the next sync would say OK.
class FailsOnce : public CrashingFileSystem {
 public:
  absl::Status SyncFile(const std::string& path) override {
    if (syncs++ == 0) return absl::UnavailableError("the disk failed");
    return CrashingFileSystem::SyncFile(path);
  }
  int syncs = 0;
};

TEST(DiskBlobStoreTest, WhatTheDiskDoesNotTakeIsGone) {
  FailsOnce files;
  const auto store = OpenStore(files);
  const Digest digest = DigestOf("abc");
  ASSERT_TRUE(store->PutBuffered(digest, "abc").ok());
  EXPECT_TRUE(absl::IsUnavailable(ContainsDurably(*store, digest).status()));
  EXPECT_FALSE(*ContainsDurably(*store, digest));
  EXPECT_TRUE(absl::IsNotFound(store->Sync(digest)));
  // Whoever has it sends it again.
  EXPECT_TRUE(store->Put(digest, "abc").ok());
  EXPECT_TRUE(*ContainsDurably(*store, digest));
}

// Counts what is read, and holds up the first reader.
class HeldFiles : public CrashingFileSystem {
 public:
  absl::StatusOr<std::string> ReadRange(const std::string& path, int64_t offset,
                                        int64_t max_bytes) override {
    if (reads++ == 0 && hold) hold();
    return CrashingFileSystem::ReadRange(path, offset, max_bytes);
  }
  std::atomic<int> reads{0};
  std::function<void()> hold;
};

TEST(DiskBlobStoreTest, WhoOpensABlobAgainAndAgainHasItReadOnce) {
  HeldFiles files;
  const auto store = OpenStore(files);
  const Digest digest = DigestOf("abc");
  ASSERT_TRUE(store->Put(digest, "abc").ok());
  // What was written is read all the same.
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(store->OpenReader(digest).ok());
  EXPECT_EQ(files.reads, 1);
  // What somebody changes has another time.
  files.Overwrite(PathOf(digest), "abd");
  ASSERT_TRUE(files.SetModified(PathOf(digest), absl::Now()).ok());
  EXPECT_TRUE(absl::IsNotFound(store->OpenReader(digest).status()));
  EXPECT_EQ(files.reads, 2);
}

TEST(DiskBlobStoreTest, WhatChangesWhileItIsReadIsNotSent) {
  HeldFiles files;
  const auto store = OpenStore(files);
  const Digest digest = DigestOf("abc");
  ASSERT_TRUE(store->Put(digest, "abc").ok());
  const auto reader = store->OpenReader(digest);
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ(*(*reader)->Read(0, 1), "a");
  // As the evictor does: it is read once more.
  ASSERT_TRUE(files.SetModified(PathOf(digest), absl::Now()).ok());
  files.reads = 0;
  EXPECT_EQ(*(*reader)->Read(1, 1), "b");
  EXPECT_EQ(*(*reader)->Read(2, 1), "c");
  EXPECT_EQ(files.reads, 3);
  files.Overwrite(PathOf(digest), "xyz");
  ASSERT_TRUE(
      files.SetModified(PathOf(digest), absl::Now() + absl::Seconds(1)).ok());
  EXPECT_TRUE(absl::IsNotFound((*reader)->Read(1, 1).status()));
}

// What the evictor writes hides what was changed just before.
TEST(DiskBlobStoreTest, WhatChangesUnderTheEvictorIsNotSent) {
  class Files : public CrashingFileSystem {
   public:
    absl::Status SetModified(const std::string& path,
                             absl::Time modified) override {
      if (damages) Overwrite(path, "abd");
      return CrashingFileSystem::SetModified(path, modified);
    }
    bool damages = false;
  };
  Files files;
  FakeClock clock;
  Evictor evictor(files, clock);
  const auto store = *OpenDiskBlobStore(files, "/s", &evictor);
  const Digest digest = DigestOf("abc");
  ASSERT_TRUE(store->Put(digest, "abc").ok());
  ASSERT_TRUE(store->OpenReader(digest).ok());
  clock.Advance(absl::Hours(1));
  files.damages = true;
  EXPECT_TRUE(absl::IsNotFound(store->OpenReader(digest).status()));
}

// After a restart everybody asks for the same model.
TEST(DiskBlobStoreTest, ManyWhoAskForABlobReadItOnce) {
  HeldFiles files;
  const std::string bytes(3'000'000, 'z');
  const Digest digest = DigestOf(bytes);
  ASSERT_TRUE(OpenStore(files)->Put(digest, bytes).ok());
  const auto store = OpenStore(files);
  EXPECT_FALSE(store->ContainsIfKnown(digest)->has_value());
  constexpr int kAsking = 8;
  std::atomic<int> asking{0};
  files.reads = 0;
  files.hold = [&] {
    while (asking < kAsking) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < kAsking; ++i) {
    threads.emplace_back([&] {
      ++asking;
      EXPECT_TRUE(*store->Contains(digest));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(files.reads, 3);  // Pieces of a mebibyte.
  EXPECT_EQ(*store->ContainsIfKnown(digest), true);
  EXPECT_EQ(*store->ContainsIfKnown(DigestOf("none")), false);
}

// A store that returns whatever it was told to.
class LyingStore : public BlobStore {
 public:
  std::string answer;
  int gets = 0;

  absl::StatusOr<bool> Contains(const Digest&) override { return true; }
  absl::StatusOr<std::string> Get(const Digest&) override {
    ++gets;
    return answer;
  }
  absl::StatusOr<std::unique_ptr<BlobReader>> OpenReader(
      const Digest&) override {
    class Reader : public BlobReader {
     public:
      explicit Reader(std::string bytes) : bytes_(std::move(bytes)) {}
      absl::StatusOr<std::string> Read(int64_t offset, int64_t max) override {
        if (offset >= static_cast<int64_t>(bytes_.size())) return "";
        return bytes_.substr(offset, max);
      }

     private:
      const std::string bytes_;
    };
    return std::make_unique<Reader>(answer);
  }
  absl::Status Put(const Digest&, absl::string_view bytes) override {
    answer = std::string(bytes);
    return absl::OkStatus();
  }
  absl::Status Adopt(const Digest&, const std::string&) override {
    return absl::OkStatus();
  }
};

TEST(VerifyingBlobStoreTest, TurnsLiesIntoAbsence) {
  auto inner = std::make_unique<LyingStore>();
  LyingStore& liar = *inner;
  const auto store = NewVerifyingBlobStore(std::move(inner));
  liar.answer = "abc";
  EXPECT_EQ(*store->Get(DigestOf("abc")), "abc");
  EXPECT_TRUE(store->OpenReader(DigestOf("abc")).ok());
  liar.answer = "abd";
  EXPECT_TRUE(absl::IsNotFound(store->Get(DigestOf("abc")).status()));
  EXPECT_TRUE(absl::IsNotFound(store->OpenReader(DigestOf("abc")).status()));
  liar.answer = "ab";
  EXPECT_TRUE(absl::IsNotFound(store->OpenReader(DigestOf("abc")).status()));
  EXPECT_FALSE(store->Put(DigestOf("abc"), "abd").ok());
  EXPECT_EQ(liar.answer, "ab");
}

TEST(MemoryCachedBlobStoreTest, KeepsSmallBlobsUntilThereAreTooMany) {
  auto inner = std::make_unique<LyingStore>();
  LyingStore& below = *inner;
  const auto store = NewMemoryCachedBlobStore(
      std::move(inner),
      {.total_bytes = 2 * kKeptBlobBytes + 10, .max_blob_bytes = 5});
  const auto get = [&](const std::string& bytes) {
    below.answer = bytes;
    below.gets = 0;
    EXPECT_EQ(*store->Get(DigestOf(bytes)), bytes);
    return below.gets;
  };
  EXPECT_EQ(get("aaaa"), 1);
  EXPECT_EQ(get("aaaa"), 0);
  EXPECT_EQ(get("bbbb"), 1);
  EXPECT_EQ(get("aaaa"), 0);
  EXPECT_EQ(get("cccc"), 1);  // Pushes out b, the longest unused.
  EXPECT_EQ(get("aaaa"), 0);
  EXPECT_EQ(get("bbbb"), 1);
  EXPECT_EQ(get("too long"), 1);
  EXPECT_EQ(get("too long"), 1);
  EXPECT_EQ(get(""), 1);  // Takes its place, too.
  EXPECT_EQ(get("aaaa"), 1);
  ASSERT_TRUE(store->Put(DigestOf("dd"), "dd").ok());
  EXPECT_EQ(get("dd"), 0);
  EXPECT_EQ(*(*store->OpenReader(DigestOf("dd")))->Read(1, 9), "d");
}

TEST(MemoryCachedBlobStoreTest, HalfStaysOfWhatMayBeKept) {
  auto inner = std::make_unique<LyingStore>();
  LyingStore& below = *inner;
  const auto store = NewMemoryCachedBlobStore(
      std::move(inner),
      {.total_bytes = 4 * (kKeptBlobBytes + 1), .max_blob_bytes = 5});
  for (const char* bytes : {"a", "b", "c", "d"}) {
    ASSERT_TRUE(store->Put(DigestOf(bytes), bytes).ok());
  }
  ASSERT_TRUE(store->Get(DigestOf("a")).ok());
  for (int time = 0; time < 2; ++time) {
    store->HalveMemory();
    for (const char* bytes : {"a", "d"}) {
      below.answer = bytes;
      below.gets = 0;
      EXPECT_TRUE(store->Get(DigestOf(bytes)).ok());
      EXPECT_EQ(below.gets, 0) << bytes;
    }
  }
  below.answer = "b";
  EXPECT_TRUE(store->Get(DigestOf("b")).ok());
  EXPECT_EQ(below.gets, 1);
}

}  // namespace
}  // namespace edgekiln::cache
