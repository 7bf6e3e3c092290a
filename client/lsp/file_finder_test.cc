#include "client/lsp/file_finder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "base/mutex.h"

namespace edgekiln::client::lsp {
namespace {

using ::testing::IsEmpty;

class FileFinderTest : public testing::Test {
 protected:
  FileFinderTest() {
    std::string pattern = testing::TempDir() + "edgekiln_finder_XXXXXX";
    folder_ = mkdtemp(pattern.data());
    std::filesystem::create_directories(folder_ + "/models/old.onnx");
    std::ofstream(folder_ + "/models/net.onnx") << "net";
    std::ofstream(folder_ + "/digits.npz") << "data";
  }
  ~FileFinderTest() override { std::filesystem::remove_all(folder_); }

  MissingFiles Missing(std::vector<std::string> paths) {
    return FindMissing(
        {.uri = "u", .folder = folder_, .paths = std::move(paths)}, *files_);
  }
  std::string SuggestionFor(const std::string& path) {
    return Missing({path}).at(path).suggestion;
  }

  std::string folder_;
  const std::unique_ptr<FileSystem> files_ = NewPosixFileSystem();
};

TEST_F(FileFinderTest, FilesThatExistAreNotMissing) {
  EXPECT_THAT(Missing({"digits.npz", "models/net.onnx", "models/../digits.npz",
                       folder_ + "/digits.npz"}),
              IsEmpty());
}

TEST_F(FileFinderTest, SuggestsTheNearestFileThatExists) {
  EXPECT_EQ(SuggestionFor("digit.npz"), "digits.npz");
  EXPECT_EQ(SuggestionFor("models/net.onx"), "models/net.onnx");
  EXPECT_EQ(SuggestionFor("model/net.onnx"), "models/net.onnx");
  EXPECT_EQ(SuggestionFor(folder_ + "/digit.npz"), folder_ + "/digits.npz");
  EXPECT_EQ(SuggestionFor("model/net.onx"), "");   // Two errors.
  EXPECT_EQ(SuggestionFor("models/ol.onnx"), "");  // Near to a folder alone.
  EXPECT_EQ(SuggestionFor("something/else.h5"), "");
}

TEST_F(FileFinderTest, AFolderIsNotAFile) {
  EXPECT_TRUE(Missing({"models"}).at("models").is_folder);
}

// Answers from the disk once it is let go.
class SlowFiles final : public FileSystem {
 public:
  absl::StatusOr<FileInfo> Stat(const std::string& path) override {
    MutexLock lock(mutex_);
    ++asked_;
    changed_.NotifyAll();
    while (!open_) changed_.Wait(lock);
    return absl::NotFoundError(path);
  }
  void WaitUntilAsked() {
    MutexLock lock(mutex_);
    while (asked_ == 0) changed_.Wait(lock);
  }
  void LetGo() {
    MutexLock lock(mutex_);
    open_ = true;
    changed_.NotifyAll();
  }

  absl::StatusOr<std::unique_ptr<WritableFile>> Open(const std::string&,
                                                     OpenMode) override {
    return absl::UnimplementedError("");
  }
  absl::StatusOr<std::string> Read(const std::string&, int64_t) override {
    return absl::UnimplementedError("");
  }
  absl::StatusOr<std::string> ReadRange(const std::string&, int64_t,
                                        int64_t) override {
    return absl::UnimplementedError("");
  }
  absl::Status SetModified(const std::string&, absl::Time) override {
    return absl::UnimplementedError("");
  }
  absl::Status Rename(const std::string&, const std::string&) override {
    return absl::UnimplementedError("");
  }
  absl::Status Remove(const std::string&) override {
    return absl::UnimplementedError("");
  }
  absl::Status CreateDirectories(const std::string&) override {
    return absl::UnimplementedError("");
  }
  absl::Status SyncFile(const std::string&) override {
    return absl::UnimplementedError("");
  }
  absl::Status SyncDirectory(const std::string&) override {
    return absl::UnimplementedError("");
  }
  absl::StatusOr<std::vector<std::string>> List(const std::string&) override {
    return absl::UnimplementedError("");
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  int asked_ ABSL_GUARDED_BY(mutex_) = 0;
  bool open_ ABSL_GUARDED_BY(mutex_) = false;
};

TEST(FileFinderThreadTest, ASlowDiskHoldsNobodyUpAndOnlyTheNewestCounts) {
  SlowFiles files;
  std::vector<std::string> told;
  {
    Mutex mutex;
    CondVar changed;
    const std::unique_ptr<FileFinder> finder =
        NewFileFinder(files, [&](FilesAnswer answer) {
          MutexLock lock(mutex);
          told.push_back(absl::StrCat(answer.uri, " ", answer.paths.at(0), " ",
                                      answer.missing.size()));
          changed.NotifyAll();
        });
    finder->Find({.uri = "a", .folder = "/", .paths = {"1"}});
    files.WaitUntilAsked();
    finder->Find({.uri = "a", .folder = "/", .paths = {"2"}});
    finder->Find({.uri = "a", .folder = "/", .paths = {"3"}});
    finder->Find({.uri = "b", .folder = "/", .paths = {"4"}});
    files.LetGo();
    MutexLock lock(mutex);
    while (told.size() < 3) changed.Wait(lock);
  }
  EXPECT_THAT(told, testing::ElementsAre("a 1 1", "a 3 1", "b 4 1"));
}

}  // namespace
}  // namespace edgekiln::client::lsp
