#include "client/upload.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/mutex.h"
#include "client/testing/fake_daemon.h"

namespace edgekiln::client {
namespace {

class UploadTest : public testing::Test {
 protected:
  UploadTest()
      : folder_(NewTempFolder()),
        daemon_(folder_ + "/s"),
        files_(NewPosixFileSystem()) {
    options_.batch_blob_bytes = 1000;
    options_.batch_total_bytes = 3000;
    options_.chunk_bytes = 1000;
  }
  ~UploadTest() override { std::filesystem::remove_all(folder_); }

  // A file of `size` bytes that are unlike others'.
  LocalBlob NewFile(int size) {
    std::string bytes;
    for (int i = 0; i < size; ++i) {
      bytes += static_cast<char>((i * 31 + made_ * 7 + i / 256) & 0xFF);
    }
    const std::string path = folder_ + "/f" + std::to_string(made_++);
    std::ofstream(path, std::ios::binary) << bytes;
    return LocalBlob{.path = path, .digest = DigestOf(bytes)};
  }

  absl::Status Upload(const std::vector<LocalBlob>& blobs) {
    return UploadMissing(daemon_.Channel(), *files_, clock_, blobs, options_,
                         [this](const TransferState& state) {
                           EXPECT_GE(state.total_bytes, state.done_bytes);
                           last_done_ = state.done_bytes;
                           if (state.reconnecting) ++reconnects_;
                         });
  }

  bool Has(const LocalBlob& blob) {
    MutexLock lock(daemon_.store.mutex);
    return daemon_.store.blobs.count(blob.digest.ToString()) > 0;
  }

  template <typename T>
  T Seen(T FakeStore::*field) {
    MutexLock lock(daemon_.store.mutex);
    return daemon_.store.*field;
  }
  template <typename T>
  void Set(T FakeStore::*field, std::type_identity_t<T> value) {
    MutexLock lock(daemon_.store.mutex);
    daemon_.store.*field = std::move(value);
  }

  const std::string folder_;
  FakeDaemon daemon_;
  const std::unique_ptr<FileSystem> files_;
  FakeClock clock_;
  TransferOptions options_;
  int made_ = 0;
  int64_t last_done_ = 0;
  int reconnects_ = 0;
};

TEST_F(UploadTest, SendsSmallOnesTogetherAndOnlyWhatIsMissing) {
  const std::vector<LocalBlob> blobs = {NewFile(900), NewFile(900), NewFile(0),
                                        NewFile(900)};
  ASSERT_TRUE(Upload(blobs).ok());
  for (const LocalBlob& blob : blobs) EXPECT_TRUE(Has(blob));
  // Three do not fit into one batch because of what surrounds them.
  EXPECT_EQ(Seen(&FakeStore::batches), 2);
  EXPECT_EQ(last_done_, 2700);
  ASSERT_TRUE(Upload(blobs).ok());
  EXPECT_EQ(Seen(&FakeStore::batches), 2);
}

TEST_F(UploadTest, HeedsTheDaemonsBatchLimit) {
  Set(&FakeStore::max_batch_bytes, 500);
  ASSERT_TRUE(Upload({NewFile(200), NewFile(200), NewFile(900)}).ok());
  EXPECT_EQ(Seen(&FakeStore::batches), 2);
  EXPECT_EQ(Seen(&FakeStore::writes), 1);
}

TEST_F(UploadTest, SameFileTwiceTravelsOnce) {
  const LocalBlob blob = NewFile(5000);
  ASSERT_TRUE(Upload({blob, blob}).ok());
  EXPECT_EQ(Seen(&FakeStore::written_bytes), 5000);
}

TEST_F(UploadTest, StreamsBigOnesInChunks) {
  const std::vector<LocalBlob> blobs = {NewFile(10'500), NewFile(3000)};
  ASSERT_TRUE(Upload(blobs).ok());
  for (const LocalBlob& blob : blobs) EXPECT_TRUE(Has(blob));
  EXPECT_EQ(last_done_, 13'500);
}

struct CutCase {
  std::string name;
  std::vector<int64_t> cuts;  // Bytes after which each stream breaks.
};

TEST_F(UploadTest, GoesOnWhereTheStreamWasCut) {
  const CutCase cases[] = {
      {"at once", {0}},
      {"within a chunk", {2500}},
      {"between chunks", {3000}},
      {"twice", {1500, 4000}},
      {"after the last byte", {10'000}},
      // More often than patience without any progress would allow.
      {"slow but steady", std::vector<int64_t>(60, 1)},
  };
  for (const CutCase& c : cases) {
    Set(&FakeStore::cuts, c.cuts);
    Set(&FakeStore::written_bytes, 0);
    const LocalBlob blob = NewFile(10'000);
    const absl::Status status = Upload({blob});
    ASSERT_TRUE(status.ok()) << c.name << ": " << status;
    EXPECT_TRUE(Has(blob)) << c.name;
    EXPECT_EQ(Seen(&FakeStore::written_bytes), 10'000) << c.name;
  }
}

TEST_F(UploadTest, StartsOverIfTheDaemonForgot) {
  Set(&FakeStore::cuts, {2500});
  Set(&FakeStore::forget_on_cut, true);
  const LocalBlob blob = NewFile(10'000);
  ASSERT_TRUE(Upload({blob}).ok());
  EXPECT_EQ(Seen(&FakeStore::written_bytes), 12'500);
}

TEST_F(UploadTest, GivesUpWhenNothingGetsThrough) {
  Set(&FakeStore::cuts, std::vector<int64_t>(100, 0));
  const absl::Status status = Upload({NewFile(10'000)});
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  // 100, 200, 400, 800, 1600 and then 2000 ms each.
  EXPECT_EQ(clock_.Monotonic(), absl::Milliseconds(3100 + 28 * 2000));
  EXPECT_EQ(Seen(&FakeStore::cuts).size(), 100u - 34u);
  EXPECT_EQ(reconnects_, 34);
}

TEST_F(UploadTest, OutlastsManyCutsInARow) {
  Set(&FakeStore::cuts, std::vector<int64_t>(20, 0));
  const LocalBlob blob = NewFile(10'000);
  const absl::Status status = Upload({blob});
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_TRUE(Has(blob));
}

TEST_F(UploadTest, NoticesFilesThatChange) {
  for (const int size : {500, 10'000}) {
    const LocalBlob blob = NewFile(size);
    std::filesystem::resize_file(blob.path, size - 1);
    const absl::Status status = Upload({blob});
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_NE(status.message().find("changed"), absl::string_view::npos)
        << status;
  }
  // Same length, other bytes: the daemon's check.
  const LocalBlob blob = NewFile(10'000);
  std::ofstream(blob.path, std::ios::binary) << std::string(10'000, 'x');
  const absl::Status status = Upload({blob});
  ASSERT_TRUE(GetErrorDetail(status).has_value()) << status;
  EXPECT_EQ(GetErrorDetail(status)->reason, "FILE_CHANGED") << status;
  EXPECT_EQ(GetErrorDetail(status)->where, blob.path) << status;
}

TEST_F(UploadTest, DownloadsAndResumes) {
  const LocalBlob blob = NewFile(5000);
  ASSERT_TRUE(Upload({blob}).ok());
  Set(&FakeStore::read_cuts, {0, 1200, 1});
  std::string got;
  const absl::Status status = Download(daemon_.Channel(), clock_, blob.digest,
                                       options_, [&](absl::string_view bytes) {
                                         got.append(bytes.data(), bytes.size());
                                         return absl::OkStatus();
                                       });
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(DigestOf(got), blob.digest);
}

TEST_F(UploadTest, DownloadRefusesWrongBytesAndPassesErrorsOn) {
  const LocalBlob blob = NewFile(5000);
  const auto ignore = [](absl::string_view) { return absl::OkStatus(); };
  EXPECT_TRUE(absl::IsNotFound(
      Download(daemon_.Channel(), clock_, blob.digest, options_, ignore)));
  ASSERT_TRUE(Upload({blob}).ok());
  const auto full = [](absl::string_view) {
    return absl::ResourceExhaustedError("disk full");
  };
  EXPECT_TRUE(absl::IsResourceExhausted(
      Download(daemon_.Channel(), clock_, blob.digest, options_, full)));
  Set(&FakeStore::corrupt_reads, true);
  EXPECT_TRUE(absl::IsDataLoss(
      Download(daemon_.Channel(), clock_, blob.digest, options_, ignore)));
  EXPECT_FALSE(Download(daemon_.Channel(), clock_,
                        Digest{.hash = "../x", .size_bytes = 1}, options_,
                        ignore)
                   .ok());
}

}  // namespace
}  // namespace edgekiln::client
