#include "server/worker_secret.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "gtest/gtest.h"

namespace edgekiln::server {
namespace {

class WorkerSecretTest : public testing::Test {
 protected:
  WorkerSecretTest() {
    folder_ = testing::TempDir() + "secret_XXXXXX";
    EXPECT_NE(mkdtemp(folder_.data()), nullptr);
    path_ = folder_ + "/worker_secret";
  }
  ~WorkerSecretTest() override { std::filesystem::remove_all(folder_); }

  std::string ReasonOf(const absl::StatusOr<std::string>& secret) {
    const auto detail = GetErrorDetail(secret.status());
    return detail ? detail->reason : "none";
  }
  void Write(const std::string& text) {
    std::ofstream(path_, std::ios::trunc) << text;
  }

  std::string folder_;
  std::string path_;
  const std::unique_ptr<FileSystem> files_ = NewPosixFileSystem();
};

TEST_F(WorkerSecretTest, IsMadeOnceForItsOwnerAlone) {
  EXPECT_EQ(ReasonOf(ReadWorkerSecret(path_)), "SECRET_MISSING");
  const auto secret = ReadOrMakeWorkerSecret(*files_, path_);
  ASSERT_TRUE(secret.ok()) << secret.status();
  EXPECT_EQ(secret->size(), 32u);
  struct stat info = {};
  ASSERT_EQ(stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
  EXPECT_EQ(*ReadOrMakeWorkerSecret(*files_, path_), *secret);
  EXPECT_EQ(*ReadWorkerSecret(path_), *secret);
  std::filesystem::remove(path_);
  EXPECT_NE(*ReadOrMakeWorkerSecret(*files_, path_), *secret);
}

TEST_F(WorkerSecretTest, IsRefusedWhereOthersMayKnowItOrItIsNone) {
  ASSERT_TRUE(ReadOrMakeWorkerSecret(*files_, path_).ok());
  for (const mode_t mode : {0640, 0604, 0666}) {
    ASSERT_EQ(chmod(path_.c_str(), mode), 0);
    EXPECT_EQ(ReasonOf(ReadOrMakeWorkerSecret(*files_, path_)),
              "SECRET_UNSAFE");
  }
  ASSERT_EQ(chmod(path_.c_str(), 0600), 0);
  const std::string link = folder_ + "/link";
  std::filesystem::create_symlink(path_, link);
  EXPECT_EQ(ReasonOf(ReadWorkerSecret(link)), "SECRET_UNSAFE");
  EXPECT_EQ(ReasonOf(ReadWorkerSecret(folder_)), "SECRET_UNSAFE");
  for (const std::string& text :
       {std::string(), std::string(63, 'a'), std::string(65, 'a'),
        std::string(64, 'g'), std::string(64, 'a') + "\n\n"}) {
    Write(text);
    EXPECT_EQ(ReasonOf(ReadOrMakeWorkerSecret(*files_, path_)),
              "SECRET_DAMAGED")
        << text;
  }
  Write(std::string(64, 'a'));
  EXPECT_EQ(*ReadWorkerSecret(path_), std::string(32, '\xaa'));
}

TEST_F(WorkerSecretTest, AProofIsOfOneSideOneSecretAndOnePairOfNonces) {
  const std::string a(kNonceBytes, 'a');
  const std::string b(kNonceBytes, 'b');
  const std::string proof = Proof(Side::kWorker, "secret", a, b);
  EXPECT_TRUE(IsProof(proof, Side::kWorker, "secret", a, b));
  EXPECT_FALSE(IsProof(proof, Side::kDaemon, "secret", a, b));
  EXPECT_FALSE(IsProof(proof, Side::kWorker, "Secret", a, b));
  EXPECT_FALSE(IsProof(proof, Side::kWorker, "secret", b, a));
  EXPECT_FALSE(IsProof("", Side::kWorker, "secret", a, b));
  EXPECT_FALSE(IsProof(proof.substr(0, 31), Side::kWorker, "secret", a, b));
  // Where one nonce ends and the other begins must be sure.
  EXPECT_FALSE(IsProof(Proof(Side::kWorker, "secret", "", a + b), Side::kWorker,
                       "secret", "", a + b));
}

}  // namespace
}  // namespace edgekiln::server
