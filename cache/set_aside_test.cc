// Strange things where the stores expect their own, on a real disk.

#include "cache/set_aside.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/error.h"
#include "cache/disk_blob_store.h"
#include "cache/disk_space.h"
#include "cache/stage_result_store.h"
#include "cache/upload_store.h"
#include "gtest/gtest.h"

namespace edgekiln::cache {
namespace {

namespace fs = std::filesystem;

class StrangeStateTest : public testing::Test {
 protected:
  StrangeStateTest()
      : root_(testing::TempDir() + "strange_" +
              testing::UnitTest::GetInstance()->current_test_info()->name()) {
    fs::remove_all(root_);
    fs::create_directories(root_);
  }

  static void Write(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  }

  std::unique_ptr<BlobStore> Open() {
    auto store = OpenDiskBlobStore(*files_, root_ + "/blobs");
    EXPECT_TRUE(store.ok()) << store.status();
    return *std::move(store);
  }

  std::string PathOf(const Digest& digest) const {
    return root_ + "/blobs/" + digest.hash.substr(0, 2) + "/" +
           BlobFileName(digest);
  }

  const std::unique_ptr<FileSystem> files_ = NewPosixFileSystem();
  const std::string root_;
};

TEST_F(StrangeStateTest, NumbersWhatIsSetAside) {
  for (const char* expected : {"/a.damaged-1", "/a.damaged-2"}) {
    Write(root_ + "/a", "bytes");
    std::string aside;
    ASSERT_TRUE(SetAside(*files_, root_ + "/a", &aside).ok());
    EXPECT_EQ(aside, root_ + expected);
    EXPECT_FALSE(fs::exists(root_ + "/a"));
  }
  EXPECT_TRUE(absl::IsNotFound(SetAside(*files_, root_ + "/a")));
}

TEST_F(StrangeStateTest, WhateverIsInTheWayOfABlobGivesWay) {
  for (const std::string& bytes : {std::string("abc"), std::string()}) {
    const Digest digest = DigestOf(bytes);
    const std::string path = PathOf(digest);
    struct {
      const char* name;
      std::function<void()> make;
    } const kThings[] = {
        {"folder with a file",
         [&] {
           fs::create_directories(path);
           Write(path + "/x", "x");
         }},
        {"pipe", [&] { ASSERT_EQ(mkfifo(path.c_str(), 0600), 0); }},
        {"link to nothing", [&] { fs::create_symlink("/nowhere", path); }},
        {"link to a device", [&] { fs::create_symlink("/dev/zero", path); }},
        {"other bytes", [&] { Write(path, bytes.empty() ? "x" : "abd"); }},
    };
    for (const auto& thing : kThings) {
      SCOPED_TRACE(thing.name);
      fs::remove_all(root_);
      fs::create_directories(fs::path(path).parent_path());
      thing.make();
      const auto store = Open();
      EXPECT_FALSE(*store->Contains(digest));
      EXPECT_FALSE(store->Get(digest).ok());
      const absl::Status put = store->Put(digest, bytes);
      EXPECT_TRUE(put.ok()) << put;
      EXPECT_TRUE(*store->Contains(digest));
      EXPECT_EQ(*store->Get(digest), bytes);
      EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(path)));
    }
  }
}

// The digest is checked before what is there is acknowledged.
TEST_F(StrangeStateTest, ACorruptBlobIsTakenAgain) {
  const Digest digest = DigestOf("abc");
  auto store = Open();
  ASSERT_TRUE(store->Put(digest, "abc").ok());
  // While the process runs, and before it starts.
  for (const bool restart : {false, true}) {
    SCOPED_TRACE(restart);
    Write(PathOf(digest), "abd");
    if (restart) store = Open();
    EXPECT_FALSE(*store->Contains(digest));
    Write(PathOf(digest), "abd");
    ASSERT_TRUE(store->Put(digest, "abc").ok());
    store = Open();
    EXPECT_TRUE(*store->Contains(digest));
    EXPECT_EQ(*store->Get(digest), "abc");
  }
  // Even if its time says that it has not changed.
  const auto time = fs::last_write_time(PathOf(digest));
  Write(PathOf(digest), "abd");
  fs::last_write_time(PathOf(digest), time);
  ASSERT_TRUE(store->Put(digest, "abc").ok());
  EXPECT_EQ(*store->Get(digest), "abc");
}

// Folders that somebody removes while the stores run are made again.
TEST_F(StrangeStateTest, ARemovedFolderIsMadeAgain) {
  const Digest digest = DigestOf("abc");
  const std::string key(64, 'a');
  const auto blobs = Open();
  auto results = OpenDiskStageResultStore(*files_, root_ + "/results", *blobs);
  ASSERT_TRUE(results.ok()) << results.status();
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(blobs->Put(digest, "abc").ok());
    EXPECT_EQ(*blobs->Get(digest), "abc");
    ASSERT_TRUE((*results)->Put(key, v1::StageResult()).ok());
    EXPECT_TRUE((*results)->Get(key).ok());
    EXPECT_EQ(fs::remove_all(fs::path(PathOf(digest)).parent_path()), 2u);
    EXPECT_EQ(fs::remove_all(root_ + "/results/aa"), 2u);
    EXPECT_FALSE(*blobs->Contains(digest));
    EXPECT_TRUE(absl::IsNotFound((*results)->Get(key).status()));
  }
}

TEST_F(StrangeStateTest, StoresOpenOnStrangeThings) {
  const Digest digest = DigestOf("abc");
  for (const char* name : {"blobs", "results", "uploads"}) {
    Write(root_ + "/" + name, "a file");
  }
  const auto blobs = Open();
  EXPECT_TRUE(blobs->Put(digest, "abc").ok());
  EXPECT_TRUE(fs::exists(root_ + "/blobs.damaged-1"));
  auto results = OpenDiskStageResultStore(*files_, root_ + "/results", *blobs);
  ASSERT_TRUE(results.ok()) << results.status();
  const std::string key(64, 'a');
  EXPECT_TRUE((*results)->Put(key, v1::StageResult()).ok());
  EXPECT_TRUE((*results)->Get(key).ok());
  const auto clock = NewRealClock();
  const auto space = NewDiskSpace(root_, 0, [] { return int64_t{1} << 40; });
  const auto uploads =
      OpenUploadStore(*files_, root_ + "/uploads", *blobs, *space, {}, *clock);
  EXPECT_TRUE(uploads.ok()) << uploads.status();
}

TEST_F(StrangeStateTest, AShardThatIsAFileIsSetAside) {
  const auto blobs = Open();
  const Digest digest = DigestOf("abc");
  Write(root_ + "/blobs/" + digest.hash.substr(0, 2), "a file");
  EXPECT_FALSE(*blobs->Contains(digest));
  EXPECT_TRUE(blobs->Put(digest, "abc").ok());
  EXPECT_EQ(*blobs->Get(digest), "abc");
  auto results = OpenDiskStageResultStore(*files_, root_ + "/results", *blobs);
  ASSERT_TRUE(results.ok());
  const std::string key(64, 'a');
  Write(root_ + "/results/aa", "a file");
  EXPECT_TRUE(absl::IsNotFound((*results)->Get(key).status()));
  EXPECT_TRUE((*results)->Put(key, v1::StageResult()).ok());
  EXPECT_TRUE((*results)->Get(key).ok());
  // A folder in the place of a result.
  const std::string path = root_ + "/results/aa/" + key;
  fs::remove(path);
  fs::create_directories(path + "/below");
  EXPECT_TRUE(absl::IsNotFound((*results)->Get(key).status()));
  EXPECT_TRUE((*results)->Put(key, v1::StageResult()).ok());
  EXPECT_TRUE((*results)->Get(key).ok());
}

TEST_F(StrangeStateTest, AResultUnderAnothersNameIsNone) {
  const auto blobs = Open();
  auto results = OpenDiskStageResultStore(*files_, root_ + "/results", *blobs);
  ASSERT_TRUE(results.ok());
  const std::string a(64, 'a');
  const std::string b = std::string(63, 'a') + "b";
  v1::StageResult result;
  result.mutable_error()->set_what("of a");
  ASSERT_TRUE((*results)->Put(a, result).ok());
  fs::copy_file(root_ + "/results/aa/" + a, root_ + "/results/aa/" + b);
  EXPECT_TRUE(absl::IsNotFound((*results)->Get(b).status()));
  EXPECT_EQ((*results)->Get(a)->error().what(), "of a");
}

TEST_F(StrangeStateTest, LeftoversOfACrashAreRemoved) {
  fs::create_directories(root_ + "/blobs/tmp/folder/below");
  Write(root_ + "/blobs/tmp/put-3", "half");
  fs::create_directories(root_ + "/results/aa");
  const std::string key(64, 'a');
  Write(root_ + "/results/aa/" + key + ".tmp.123.4", "half");
  const auto blobs = Open();
  EXPECT_FALSE(fs::exists(root_ + "/blobs/tmp/put-3"));
  EXPECT_TRUE(
      OpenDiskStageResultStore(*files_, root_ + "/results", *blobs).ok());
  EXPECT_TRUE(fs::is_empty(root_ + "/results/aa"));
}

// What is in the way of an upload neither blocks it nor counts for a limit.
TEST_F(StrangeStateTest, UploadsMeetStrangeFiles) {
  const auto blobs = Open();
  const auto clock = NewRealClock();
  const auto space = NewDiskSpace(root_, 0, [] { return int64_t{1} << 40; });
  const Digest digest = DigestOf("abc");
  const std::string name = DigestOf(digest.ToString() + "/id").hash;
  fs::create_directories(root_ + "/uploads/" + std::string(64, 'b') + "/x");
  Write(root_ + "/uploads/notes", "x");
  ASSERT_EQ(mkfifo((root_ + "/uploads/" + name).c_str(), 0600), 0);
  UploadLimits limits;
  limits.max_uploads = 2;
  const auto uploads = OpenUploadStore(*files_, root_ + "/uploads", *blobs,
                                       *space, limits, *clock);
  ASSERT_TRUE(uploads.ok());
  auto upload = (*uploads)->Resume("id", digest);
  ASSERT_TRUE(upload.ok()) << upload.status();
  EXPECT_TRUE((*upload)->Append("abc").ok());
  const absl::Status stored = (*upload)->Finish();
  EXPECT_TRUE(stored.ok()) << stored;
  EXPECT_EQ(*blobs->Get(digest), "abc");
}

}  // namespace
}  // namespace edgekiln::cache
