#include "server/daemon/farm/sent_result.h"

#include <memory>
#include <string>

#include "base/digest.h"
#include "base/error.h"
#include "cache/disk_blob_store.h"
#include "cache/disk_space.h"
#include "cache/testing/crashing_file_system.h"
#include "gtest/gtest.h"
#include "proto/convert.h"
#include "server/daemon/farm/retry_policy.h"

namespace edgekiln::server {
namespace {

class SentResultTest : public testing::Test {
 protected:
  SentResultTest() : blobs_(*cache::OpenDiskBlobStore(files_, "/s")) {}

  static v1::WorkerMessage::Result With(const std::string& output) {
    v1::WorkerMessage::Result sent;
    v1::BlobRef& ref = *sent.mutable_result()->add_outputs();
    ref.set_role("graph");
    *ref.mutable_digest() = ToProto(DigestOf(output));
    sent.add_outputs(output);
    return sent;
  }

  std::string ReasonOf(const v1::WorkerMessage::Result& sent) {
    const auto taken = TakeSentResult(*blobs_, sent);
    return taken.ok() ? "" : GetErrorDetail(taken.status())->reason;
  }

  cache::CrashingFileSystem files_;
  const std::unique_ptr<cache::BlobStore> blobs_;
};

TEST_F(SentResultTest, StoresTheOutputsThatCameWithIt) {
  const auto taken = TakeSentResult(*blobs_, With("net"));
  ASSERT_TRUE(taken.ok()) << taken.status();
  EXPECT_EQ(taken->outputs(0).role(), "graph");
  EXPECT_EQ(*blobs_->Get(DigestOf("net")), "net");
}

TEST_F(SentResultTest, OtherOutputsThanItNamesAreRefused) {
  v1::WorkerMessage::Result sent = With("net");
  sent.set_outputs(0, "other");
  EXPECT_EQ(ReasonOf(sent), "BAD_RESULT");
  sent = With("net");
  sent.add_outputs("one more");
  EXPECT_EQ(ReasonOf(sent), "BAD_RESULT");
  sent = With("net");
  sent.mutable_result()->mutable_outputs(0)->mutable_digest()->set_hash("../x");
  EXPECT_NE(ReasonOf(sent), "");
  EXPECT_FALSE(*blobs_->Contains(DigestOf("net")));
}

// A lease waits for room.
TEST_F(SentResultTest, AFullDiskIsOurs) {
  const auto space =
      cache::NewDiskSpace("/s", 1000, [] { return int64_t{100}; });
  const auto full = cache::NewSpaceCheckingBlobStore(
      *cache::OpenDiskBlobStore(files_, "/full"), *space);
  const auto taken = TakeSentResult(*full, With("net"));
  ASSERT_FALSE(taken.ok());
  EXPECT_EQ(KindOf(ErrorToProto(taken.status())), FailureKind::kDiskFull);
}

TEST_F(SentResultTest, ALargeOneIsReadFromItsBlob) {
  v1::StageResult large;
  large.add_warnings("long");
  const std::string bytes = large.SerializeAsString();
  ASSERT_TRUE(blobs_->Put(DigestOf(bytes), bytes).ok());
  v1::WorkerMessage::Result sent;
  *sent.mutable_stored_result() = ToProto(DigestOf(bytes));
  const auto taken = TakeSentResult(*blobs_, sent);
  ASSERT_TRUE(taken.ok()) << taken.status();
  EXPECT_EQ(taken->warnings(0), "long");
  ASSERT_TRUE(blobs_->Put(DigestOf("\xff"), "\xff").ok());
  *sent.mutable_stored_result() = ToProto(DigestOf("\xff"));
  EXPECT_EQ(ReasonOf(sent), "BAD_RESULT");
}

}  // namespace
}  // namespace edgekiln::server
