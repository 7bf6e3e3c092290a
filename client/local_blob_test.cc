#include "client/local_blob.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "base/error.h"
#include "client/exit_code.h"
#include "client/testing/fake_daemon.h"

namespace edgekiln::client {
namespace {

const std::string kIdx("\0\0\x08\x03 and so on", 13);
const std::string kGzip("\x1f\x8b\x08 and so on");
const std::string kNpz("PK\x03\x04 and so on");

class LocalBlobTest : public testing::Test {
 protected:
  LocalBlobTest() : folder_(NewTempFolder()), files_(NewPosixFileSystem()) {}
  ~LocalBlobTest() override { std::filesystem::remove_all(folder_); }

  std::string Put(const std::string& name, const std::string& bytes) {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }

  const std::string folder_;
  const std::unique_ptr<FileSystem> files_;
};

TEST_F(LocalBlobTest, Digests) {
  const std::string path = Put("model", std::string(3'000'000, 'm'));
  const auto blob = OpenLocalBlob(*files_, path, "MODEL");
  ASSERT_TRUE(blob.ok()) << blob.status();
  EXPECT_EQ(blob->digest, DigestOf(std::string(3'000'000, 'm')));
}

TEST_F(LocalBlobTest, WhatIsNotThereIsAUsageError) {
  for (const std::string& path :
       {folder_ + "/absent", folder_, std::string("/dev/zero")}) {
    const auto blob = OpenLocalBlob(*files_, path, "--data");
    EXPECT_EQ(ExitCodeFor(blob.status()), ExitCode::kUsage) << path;
    const auto detail = GetErrorDetail(blob.status());
    ASSERT_TRUE(detail.has_value()) << path;
    EXPECT_NE(detail->what.find(path), std::string::npos);
    EXPECT_EQ(detail->where, "--data");
  }
}

// Nobody hashes them for a minute first.
TEST_F(LocalBlobTest, ModelsBeyondTheirFormatsAreNotRead) {
  const std::string path = Put("model", "");
  constexpr int64_t kMost = (int64_t{1} << 31) - 1;
  std::filesystem::resize_file(path, kMost + 1);  // A hole.
  const auto model = OpenModel(*files_, path, "MODEL");
  EXPECT_EQ(ExitCodeFor(model.status()), ExitCode::kUsage) << model.status();
  const auto detail = GetErrorDetail(model.status());
  ASSERT_TRUE(detail.has_value());
  EXPECT_NE(detail->what.find("is larger than"), std::string::npos);
  EXPECT_EQ(detail->need, "2147483648 bytes");
  EXPECT_NE(detail->fix.find("--external-data"), std::string::npos);
  EXPECT_TRUE(OpenModel(*files_, Put("small", "m"), "MODEL").ok());
}

TEST_F(LocalBlobTest, APipeIsCalledOne) {
  const std::string path = folder_ + "/pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const auto detail =
      GetErrorDetail(OpenLocalBlob(*files_, path, "MODEL").status());
  ASSERT_TRUE(detail.has_value());
  EXPECT_EQ(detail->what, "'" + path + "' is a pipe or a device");
  EXPECT_EQ(detail->fix, "write it to a file first");
}

TEST_F(LocalBlobTest, AFolderIsCalledOne) {
  const auto detail =
      GetErrorDetail(OpenLocalBlob(*files_, folder_, "MODEL").status());
  ASSERT_TRUE(detail.has_value());
  EXPECT_EQ(detail->what, "'" + folder_ + "' is a folder");
  EXPECT_EQ(detail->fix, "name the file in it");
}

TEST_F(LocalBlobTest, DataSets) {
  const struct {
    std::string images;
    std::string bytes;
    std::string labels;    // Empty: none.
    std::string argument;  // Relative to the folder.
    size_t want;           // Files; 0: refused.
  } cases[] = {
      {"a.npz", kNpz, "", "a.npz", 1},
      {"t10k-images-idx3-ubyte", kIdx, "t10k-labels-idx1-ubyte",
       "t10k-images-idx3-ubyte", 2},
      {"t10k-images-idx3-ubyte.gz", kGzip, "t10k-labels-idx1-ubyte.gz",
       "t10k-images-idx3-ubyte.gz", 2},
      {"images.idx.gz", kGzip, "labels.idx", "images.idx.gz", 2},
      {"images.idx", kIdx, "labels.idx.gz", "images.idx", 2},
      {"pictures.idx", kIdx, "names.idx", "pictures.idx", 0},
      {"images.idx", kIdx, "", "images.idx", 0},
      {"a.npz", kNpz, "", "absent.npz", 0},
  };
  for (const auto& c : cases) {
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      std::filesystem::remove(entry.path());
    }
    Put(c.images, c.bytes);
    if (!c.labels.empty()) Put(c.labels, "labels");
    const auto blobs =
        OpenDataSet(*files_, folder_ + "/" + c.argument, "--data", true);
    if (c.want == 0) {
      EXPECT_EQ(ExitCodeFor(blobs.status()), ExitCode::kUsage) << c.argument;
      continue;
    }
    ASSERT_TRUE(blobs.ok()) << c.argument << ": " << blobs.status();
    ASSERT_EQ(blobs->size(), c.want) << c.argument;
    EXPECT_EQ((*blobs)[0].path, folder_ + "/" + c.images);
    if (c.want == 2) {
      EXPECT_EQ((*blobs)[1].path, folder_ + "/" + c.labels);
    }
  }
}

TEST_F(LocalBlobTest, ExplicitPairAndLabelsNotNeeded) {
  const std::string images = Put("i.idx", kIdx);
  const std::string labels = Put("l.idx", "labels");
  const auto pair = OpenDataSet(*files_, images + "," + labels, "--data", true);
  ASSERT_TRUE(pair.ok()) << pair.status();
  EXPECT_EQ((*pair)[1].path, labels);
  const auto alone = OpenDataSet(*files_, images, "--calibration", false);
  ASSERT_TRUE(alone.ok()) << alone.status();
  EXPECT_EQ(alone->size(), 1u);
  // A file whose name holds a comma is that file.
  const std::string odd = Put("a,b.npz", kNpz);
  EXPECT_TRUE(OpenDataSet(*files_, odd, "--data", true).ok());
}

}  // namespace
}  // namespace edgekiln::client
