#include "server/daemon/farm/carried_blobs.h"

#include <memory>
#include <string>
#include <vector>

#include "cache/disk_blob_store.h"
#include "cache/testing/crashing_file_system.h"
#include "gtest/gtest.h"
#include "proto/convert.h"

namespace edgekiln::server {
namespace {

class CarriedBlobsTest : public testing::Test {
 protected:
  CarriedBlobsTest()
      : blobs_(*cache::OpenDiskBlobStore(files_, "/s")), carried_(*blobs_) {}

  Digest Stored(const std::string& bytes) {
    EXPECT_TRUE(blobs_->Put(DigestOf(bytes), bytes).ok());
    return DigestOf(bytes);
  }

  std::vector<std::string> CarriedWith(const std::vector<Digest>& inputs,
                                       const std::vector<Digest>& next = {}) {
    v1::DaemonMessage::Lease lease;
    for (const Digest& input : inputs) {
      *lease.add_inputs()->mutable_digest() = ToProto(input);
    }
    if (!next.empty()) lease.add_next();
    for (const Digest& input : next) {
      *lease.mutable_next(0)->add_inputs()->mutable_digest() = ToProto(input);
    }
    carried_.AddTo(lease);
    return {lease.carried().begin(), lease.carried().end()};
  }

  cache::CrashingFileSystem files_;
  const std::unique_ptr<cache::BlobStore> blobs_;
  CarriedBlobs carried_;
};

using Blobs = std::vector<std::string>;

TEST_F(CarriedBlobsTest, EachGoesOnce) {
  const Digest chip = Stored("chip");
  const Digest net = Stored("net");
  EXPECT_EQ(CarriedWith({chip}, {chip, net}), (Blobs{"chip", "net"}));
  EXPECT_EQ(CarriedWith({net}, {chip}), Blobs{});
}

TEST_F(CarriedBlobsTest, WhatWasNotThereGoesOnceItIs) {
  EXPECT_EQ(CarriedWith({DigestOf("late")}), Blobs{});
  Stored("late");
  EXPECT_EQ(CarriedWith({DigestOf("late")}), Blobs{"late"});
}

TEST_F(CarriedBlobsTest, WhatTheWorkerHasMadeDoesNot) {
  v1::WorkerMessage::Result result;
  *result.mutable_result()->add_outputs()->mutable_digest() =
      ToProto(Stored("made"));
  *result.add_next()->mutable_result()->add_outputs()->mutable_digest() =
      ToProto(Stored("next"));
  carried_.NoteMade(result);
  EXPECT_EQ(CarriedWith({DigestOf("made"), DigestOf("next"), Stored("other")}),
            Blobs{"other"});
}

TEST_F(CarriedBlobsTest, LargeOnesAndMissingOnesAreLeftToTheWorker) {
  const std::string most(CarriedBlobs::kMaxBlobBytes, 'x');
  EXPECT_EQ(CarriedWith({Stored(most + "x"), DigestOf("nowhere"), Stored("a")}),
            Blobs{"a"});
  EXPECT_EQ(CarriedWith({Stored(most)}), Blobs{most});
}

// An output of the stage before it has a role and nothing else.
TEST_F(CarriedBlobsTest, AnInputWithoutADigestIsNone) {
  v1::DaemonMessage::Lease lease;
  lease.add_next()->add_inputs()->set_role("tiling");
  carried_.AddTo(lease);
  EXPECT_TRUE(lease.carried().empty());
}

// They would not fit a message. The rest goes with a later lease.
TEST_F(CarriedBlobsTest, ALeaseTakesSoMuch) {
  std::vector<Digest> inputs;
  for (char c = 'a'; c < 'z'; ++c) {
    inputs.push_back(Stored(std::string(CarriedBlobs::kMaxBlobBytes, c)));
  }
  constexpr size_t kFit =
      CarriedBlobs::kMaxLeaseBytes / CarriedBlobs::kMaxBlobBytes;
  EXPECT_EQ(CarriedWith(inputs).size(), kFit);
  EXPECT_EQ(CarriedWith(inputs).front()[0], 'a' + static_cast<int>(kFit));
}

}  // namespace
}  // namespace edgekiln::server
