#include "base/file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/rng.h"
#include "gtest/gtest.h"

namespace edgekiln {
namespace {

class FileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = JoinPath(testing::TempDir(), "edgekiln_file_XXXXXX");
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string Path(const std::string& name) { return JoinPath(folder_, name); }
  void Write(const std::string& name, const std::string& bytes) {
    const absl::Status status = WriteAtomically(*files_, Path(name), bytes);
    ASSERT_TRUE(status.ok()) << status;
  }

  const std::unique_ptr<FileSystem> files_ = NewPosixFileSystem();
  std::string folder_;
};

TEST_F(FileTest, WritesAndReplacesWithoutLeftovers) {
  Write("a", "one");
  Write("a", "two!");
  EXPECT_EQ(*files_->Read(Path("a"), 4), "two!");
  EXPECT_EQ(*files_->List(folder_), std::vector<std::string>{"a"});
  const auto info = files_->Stat(Path("a"));
  ASSERT_TRUE(info.ok());
  EXPECT_EQ(info->size_bytes, 4);
  EXPECT_FALSE(info->is_directory);
}

TEST_F(FileTest, WritesBufferedAndSyncsLater) {
  ASSERT_TRUE(WriteBuffered(*files_, Path("a"), "one").ok());
  ASSERT_TRUE(WriteBuffered(*files_, Path("a"), "two!").ok());
  EXPECT_TRUE(files_->SyncFile(Path("a")).ok());
  EXPECT_EQ(*files_->Read(Path("a"), 4), "two!");
  EXPECT_EQ(*files_->List(folder_), std::vector<std::string>{"a"});
  EXPECT_TRUE(absl::IsNotFound(files_->SyncFile(Path("b"))));
}

TEST_F(FileTest, StepsOverTheLeftoversOfACrash) {
  // Whatever the counter is, the next hundred names are taken.
  for (int i = 0; i < 100; ++i) {
    const std::string name = absl::StrCat("a.tmp.", getpid(), ".", i);
    ASSERT_TRUE(files_->Open(Path(name), OpenMode::kCreateNew).ok());
    EXPECT_TRUE(IsTemporaryName(name));
  }
  Write("a", "new");
  EXPECT_EQ(*files_->Read(Path("a"), 3), "new");
  EXPECT_EQ(files_->List(folder_)->size(), 101u);
}

TEST_F(FileTest, RefusesMoreThanTheLimit) {
  Write("a", "12345");
  const auto bytes = files_->Read(Path("a"), 4);
  EXPECT_EQ(bytes.status().code(), absl::StatusCode::kInvalidArgument);
  const auto detail = GetErrorDetail(bytes.status());
  ASSERT_TRUE(detail.has_value());
  EXPECT_EQ(detail->reason, "FILE_TOO_LARGE");
  EXPECT_EQ(detail->limit, "4 bytes");
  EXPECT_EQ(detail->need, "5 bytes");
}

TEST_F(FileTest, RefusesWhatIsNotARegularFile) {
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  const auto pipe = files_->Read(Path("pipe"), 100);
  ASSERT_FALSE(pipe.ok());
  EXPECT_EQ(GetErrorDetail(pipe.status())->reason, "FILE_NOT_REGULAR");
  const auto folder = files_->Read(folder_, 100);
  ASSERT_FALSE(folder.ok());
  EXPECT_EQ(GetErrorDetail(folder.status())->reason, "FILE_IS_FOLDER");
}

TEST_F(FileTest, SetsTheTimeOfModification) {
  Write("a", "1");
  const absl::Time time = absl::FromUnixSeconds(1'000'000'000);
  EXPECT_TRUE(files_->SetModified(Path("a"), time).ok());
  EXPECT_EQ(files_->Stat(Path("a"))->modified, time);
}

TEST_F(FileTest, ReadsRanges) {
  Write("a", "0123456789");
  EXPECT_EQ(*files_->ReadRange(Path("a"), 2, 3), "234");
  EXPECT_EQ(*files_->ReadRange(Path("a"), 8, 100), "89");
  EXPECT_EQ(*files_->ReadRange(Path("a"), 50, 1), "");
  EXPECT_FALSE(files_->ReadRange(Path("a"), -1, 1).ok());
  EXPECT_FALSE(files_->ReadRange(Path("a"), 0, -1).ok());
}

TEST_F(FileTest, OpenModes) {
  const auto write = [&](OpenMode mode, const char* bytes) {
    auto file = files_->Open(Path("a"), mode);
    if (!file.ok()) return file.status();
    EXPECT_TRUE((*file)->Append(bytes).ok());
    EXPECT_TRUE((*file)->Sync().ok());
    return (*file)->Close();
  };
  EXPECT_TRUE(write(OpenMode::kCreateNew, "a").ok());
  EXPECT_TRUE(absl::IsAlreadyExists(write(OpenMode::kCreateNew, "b")));
  EXPECT_TRUE(write(OpenMode::kAppend, "c").ok());
  EXPECT_EQ(*files_->Read(Path("a"), 10), "ac");
  EXPECT_TRUE(write(OpenMode::kTruncate, "d").ok());
  EXPECT_EQ(*files_->Read(Path("a"), 10), "d");
}

// Blocks go past the page cache, the rest does not; readers see one file,
// wherever the file was closed in between.
TEST_F(FileTest, AppendingUncachedWritesTheSame) {
  std::string all;
  Rng rng(1);
  for (const size_t size : {1u, 4095u, 4096u, 100'000u, 8192u, 7u, 3u << 20, 0u,
                            1u << 20, 4089u, 5000u, 1u << 19, 1u << 19, 11u}) {
    std::string bytes(size, '\0');
    for (char& byte : bytes) byte = static_cast<char>(rng.Next());
    auto file = files_->Open(Path("large"), OpenMode::kAppendUncached);
    ASSERT_TRUE(file.ok()) << file.status();
    const size_t half = size / 3;
    ASSERT_TRUE((*file)->Append(absl::string_view(bytes).substr(0, half)).ok());
    ASSERT_TRUE((*file)->Append(absl::string_view(bytes).substr(half)).ok());
    all += bytes;
    EXPECT_EQ(files_->Stat(Path("large"))->size_bytes,
              static_cast<int64_t>(all.size()));
    // Unlike EXPECT_EQ, prints no megabytes.
    EXPECT_TRUE(*files_->Read(Path("large"), 1 << 30) == all) << size;
    EXPECT_TRUE((*file)->Sync().ok());
    EXPECT_TRUE((*file)->Close().ok());
  }
}

TEST_F(FileTest, Folders) {
  EXPECT_TRUE(files_->CreateDirectories(Path("x/y/z")).ok());
  EXPECT_TRUE(files_->CreateDirectories(Path("x/y/z")).ok());
  EXPECT_TRUE(files_->Stat(Path("x/y"))->is_directory);
  EXPECT_TRUE(files_->SyncDirectory(Path("x")).ok());
  EXPECT_FALSE(files_->Remove(Path("x")).ok());
  EXPECT_TRUE(files_->Remove(Path("x/y/z")).ok());
  Write("f", "");
  EXPECT_FALSE(files_->CreateDirectories(Path("f/g")).ok());
  EXPECT_TRUE(files_->Rename(Path("f"), Path("x/f")).ok());
  EXPECT_EQ(*files_->List(Path("x")), (std::vector<std::string>{"f", "y"}));
}

TEST_F(FileTest, AbsentIsNotFoundAndNamesThePath) {
  const std::string path = Path("absent");
  const absl::Status all[] = {files_->Read(path, 1).status(),
                              files_->ReadRange(path, 0, 1).status(),
                              files_->Stat(path).status(),
                              files_->SetModified(path, absl::UnixEpoch()),
                              files_->Remove(path),
                              files_->Rename(path, Path("b")),
                              files_->List(path).status(),
                              files_->SyncDirectory(path),
                              WriteAtomically(*files_, Path("no/folder"), "")};
  for (const absl::Status& status : all) {
    EXPECT_TRUE(absl::IsNotFound(status)) << status;
    EXPECT_NE(GetErrorDetail(status)->where, "");
  }
}

TEST(PathTest, JoinsAndSplits) {
  EXPECT_EQ(JoinPath("a/b", "c"), "a/b/c");
  EXPECT_EQ(JoinPath("a/", "c"), "a/c");
  EXPECT_EQ(JoinPath("", "c"), "c");
  EXPECT_EQ(ParentPath("a/b/c"), "a/b");
  EXPECT_EQ(ParentPath("c"), ".");
  EXPECT_EQ(ParentPath("/c"), "/");
}

}  // namespace
}  // namespace edgekiln
