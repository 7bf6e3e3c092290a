#include "client/unreadable_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "base/error.h"
#include "base/file.h"
#include "client/exit_code.h"

namespace edgekiln::client {
namespace {

class UnreadableFileTest : public testing::Test {
 protected:
  UnreadableFileTest() { std::filesystem::create_directory(folder_); }
  ~UnreadableFileTest() override { std::filesystem::remove_all(folder_); }

  // Of a file of that name, of which 5 bytes may be read.
  std::string Text(const std::string& name, const std::string& fix) {
    const auto bytes = files_->Read(folder_ + "/" + name, 5);
    EXPECT_FALSE(bytes.ok());
    const absl::Status error =
        UnreadableError(name, "--x " + name, bytes.status(), fix);
    EXPECT_EQ(ExitCodeFor(error), ExitCode::kUsage) << error;
    return std::string(error.message());
  }

  const std::string folder_ =
      testing::TempDir() + "/unreadable_file_test." + std::to_string(getpid());
  const std::unique_ptr<FileSystem> files_ = NewPosixFileSystem();
};

TEST_F(UnreadableFileTest, TheCauseIsTold) {
  ASSERT_EQ(mkfifo((folder_ + "/pipe").c_str(), 0600), 0);
  std::filesystem::create_directory(folder_ + "/folder");
  std::ofstream(folder_ + "/large") << "123456";
  EXPECT_EQ(Text("pipe", "name another"),
            "'pipe' is a pipe or a device; where: --x pipe; need: a file that "
            "can be read; fix: write it to a file first");
  EXPECT_EQ(Text("folder", "name another"),
            "'folder' is a folder; where: --x folder; need: a file that can be "
            "read; fix: name the file in it");
  EXPECT_EQ(Text("large", "name another"),
            "'large' is too large; where: --x large; limit: 5 bytes; need: 6 "
            "bytes; fix: use a smaller file");
  EXPECT_EQ(Text("absent", ""),
            "'absent' does not exist; where: --x absent; need: a file that can "
            "be read; fix: check the path");
  EXPECT_EQ(Text("absent", "name another"),
            "'absent' does not exist; where: --x absent; need: a file that can "
            "be read; fix: name another");
}

TEST(UnreadableErrorTest, WhatNobodyForesawIsTold) {
  EXPECT_EQ(
      UnreadableError("a", "b", absl::DataLossError("lost"), "").message(),
      "'a' cannot be read: lost; where: b; need: a file that can be "
      "read; fix: check the path");
  EXPECT_EQ(
      UnreadableError("a", "b",
                      MakeError(absl::StatusCode::kUnavailable,
                                {.fault = Fault::kInfra,
                                 .reason = "FILE_IO",
                                 .what = "cannot read: Input/output error"}))
          .message(),
      "'a' cannot be read: cannot read: Input/output error; where: b; need: a "
      "file that can be read; fix: check the path");
}

}  // namespace
}  // namespace edgekiln::client
