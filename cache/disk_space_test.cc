#include "cache/disk_space.h"

#include <string>

#include "base/error.h"
#include "cache/disk_blob_store.h"
#include "cache/testing/crashing_file_system.h"
#include "gtest/gtest.h"

namespace edgekiln::cache {
namespace {

class DiskSpaceTest : public testing::Test {
 protected:
  absl::StatusOr<int64_t> free_ = 1000;
  const std::unique_ptr<DiskSpace> space_ =
      NewDiskSpace("/state", 100, [this] { return free_; });
};

TEST_F(DiskSpaceTest, KeepsTheReserveFree) {
  EXPECT_TRUE(space_->Admit(900, "a blob").ok());
  const absl::Status refused = space_->Admit(901, "a blob");
  EXPECT_TRUE(absl::IsResourceExhausted(refused));
  const auto detail = GetErrorDetail(refused);
  EXPECT_EQ(detail->reason, "DISK_FULL");
  EXPECT_EQ(detail->fault, Fault::kInfra);
  EXPECT_EQ(detail->where, "/state");
  EXPECT_EQ(detail->limit, "900 B free beyond a reserve of 100 B");
  EXPECT_EQ(detail->need, "901 B");
}

TEST_F(DiskSpaceTest, AdmitsAgainOnceThereIsRoom) {
  free_ = 50;
  EXPECT_FALSE(space_->Admit(1, "a blob").ok());
  free_ = 101;
  EXPECT_TRUE(space_->Admit(1, "a blob").ok());
}

TEST_F(DiskSpaceTest, LeavesItToTheWriteWhereTheDiskDoesNotTell) {
  free_ = absl::UnavailableError("?");
  EXPECT_TRUE(space_->Admit(int64_t{1} << 60, "a blob").ok());
}

TEST_F(DiskSpaceTest, TheMachineTellsItsRoom) {
  EXPECT_GT(*FreeBytes(testing::TempDir()), 0);
  EXPECT_TRUE(absl::IsUnavailable(FreeBytes("/no/such/folder").status()));
}

TEST_F(DiskSpaceTest, BlobsAreRefusedAndReadsGoOn) {
  CrashingFileSystem files;
  const auto blobs =
      NewSpaceCheckingBlobStore(*OpenDiskBlobStore(files, "/s"), *space_);
  const std::string bytes = "0123456789";
  ASSERT_TRUE(blobs->Put(DigestOf(bytes), bytes).ok());
  free_ = 0;
  EXPECT_EQ(GetErrorDetail(blobs->Put(DigestOf("more"), "more"))->reason,
            "DISK_FULL");
  EXPECT_TRUE(blobs->Put(DigestOf(bytes), bytes).ok());
  EXPECT_EQ(*blobs->Get(DigestOf(bytes)), bytes);
  EXPECT_TRUE(*blobs->Contains(DigestOf(bytes)));
  EXPECT_TRUE(blobs->OpenReader(DigestOf(bytes)).ok());
}

}  // namespace
}  // namespace edgekiln::cache
