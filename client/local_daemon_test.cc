#include "client/local_daemon.h"

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

class LocalDaemonTest : public testing::Test {
 protected:
  LocalDaemonTest() : root_(NewTempFolder()), clock_(NewRealClock()) {
    options_.runtime_folder = root_ + "/run";
    options_.program = root_ + "/edgekilnd";
    options_.patience = absl::Seconds(5);
  }
  ~LocalDaemonTest() override { std::filesystem::remove_all(root_); }

  // A stand-in for edgekilnd.
  void Install(const std::string& script) {
    std::ofstream(options_.program) << script;
    chmod(options_.program.c_str(), 0700);
  }

  absl::Status Ensure() { return EnsureLocalDaemon(options_, *clock_); }

  std::string Reason(const absl::Status& status) {
    const auto detail = GetErrorDetail(status);
    return detail.has_value() ? detail->reason : "";
  }

  const std::string root_;
  const std::unique_ptr<Clock> clock_;
  LocalDaemonOptions options_;
};

// Listens, leaves a mark of having been started, and ends after a while.
constexpr char kListens[] = R"(#!/usr/bin/python3
import os, socket, sys
folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "run")
with open(os.path.join(folder, "starts"), "a") as f:
    f.write(" ".join(sys.argv[1:]) + "|" + os.getcwd() + "\n")
s = socket.socket(socket.AF_UNIX)
s.bind(os.path.join(folder, "edgekilnd.sock"))
s.listen(16)
s.settimeout(2)
try:
    while True:
        s.accept()
except OSError:
    pass
)";

TEST_F(LocalDaemonTest, StartsOnceAndFindsItAgain) {
  Install(kListens);
  const absl::Status first = Ensure();
  ASSERT_TRUE(first.ok()) << first;
  ASSERT_TRUE(Ensure().ok());
  std::ifstream starts(options_.runtime_folder + "/starts");
  std::string line;
  std::getline(starts, line);
  EXPECT_EQ(line, "--local|/");
  EXPECT_FALSE(std::getline(starts, line));
  struct stat info;
  ASSERT_EQ(stat(options_.runtime_folder.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
}

// A script's process runs its interpreter: copy that, so that the file can be
// replaced.
TEST_F(LocalDaemonTest, ReplacesADaemonWhoseFileIsGone) {
  const std::string python = root_ + "/python";
  std::filesystem::copy_file(std::filesystem::canonical("/usr/bin/python3"),
                             python);
  std::string script = kListens;
  script.replace(script.find("/usr/bin/python3"), 16, python);
  const size_t bind = script.find("s.bind");
  script.insert(bind,
                "try: os.unlink(os.path.join(folder, 'edgekilnd.sock'))\n"
                "except OSError: pass\n");
  Install(script);
  ASSERT_TRUE(Ensure().ok());
  std::filesystem::remove(python);
  std::filesystem::copy_file(std::filesystem::canonical("/usr/bin/python3"),
                             python);
  const absl::Status second = Ensure();
  ASSERT_TRUE(second.ok()) << second;
  ASSERT_TRUE(Ensure().ok());
  std::ifstream starts(options_.runtime_folder + "/starts");
  std::string line;
  int count = 0;
  while (std::getline(starts, line)) ++count;
  EXPECT_EQ(count, 2);
}

TEST_F(LocalDaemonTest, MissingProgram) {
  const absl::Status status = Ensure();
  EXPECT_EQ(ExitCodeFor(status), ExitCode::kInfra);
  EXPECT_EQ(Reason(status), kReasonUnreachable);
  EXPECT_NE(status.message().find(options_.program), absl::string_view::npos);
}

TEST_F(LocalDaemonTest, QuotesLastWords) {
  Install(
      "#!/bin/sh\necho one >&2\necho 'the state folder is full' >&2\nexit 1\n");
  const absl::Status status = Ensure();
  EXPECT_EQ(Reason(status), kReasonUnreachable);
  EXPECT_NE(status.message().find("the state folder is full"),
            absl::string_view::npos)
      << status;
}

TEST_F(LocalDaemonTest, SilentDaemonIsWaitedForInVain) {
  options_.patience = absl::Milliseconds(200);
  Install("#!/bin/sh\nsleep 1\n");
  const absl::Status status = Ensure();
  EXPECT_EQ(Reason(status), kReasonUnreachable);
  EXPECT_NE(status.message().find("200ms"), absl::string_view::npos) << status;
}

// Exit code 0 without listening: somebody else holds the lock.
TEST_F(LocalDaemonTest, TriesAgainWhileTheLockIsHeld) {
  std::string script = kListens;
  script.insert(
      script.find("s = socket"),
      "if len(open(os.path.join(folder, 'starts')).readlines()) < 3:\n"
      "    sys.exit(0)\n");
  Install(script);
  const absl::Status status = Ensure();
  ASSERT_TRUE(status.ok()) << status;
  std::ifstream starts(options_.runtime_folder + "/starts");
  std::string line;
  int count = 0;
  while (std::getline(starts, line)) ++count;
  EXPECT_EQ(count, 3);
}

TEST_F(LocalDaemonTest, ALockThatStaysHeldIsNamed) {
  options_.patience = absl::Milliseconds(400);
  Install("#!/bin/sh\nexit 0\n");
  const absl::Status status = Ensure();
  EXPECT_EQ(Reason(status), kReasonUnreachable);
  EXPECT_NE(status.message().find("edgekilnd.lock"), absl::string_view::npos)
      << status;
}

TEST_F(LocalDaemonTest, RefusesUnsafeFolders) {
  Install(kListens);
  std::filesystem::create_directory(options_.runtime_folder);
  chmod(options_.runtime_folder.c_str(), 0755);
  EXPECT_EQ(Reason(Ensure()), "RUNTIME_FOLDER_UNSAFE");
  std::filesystem::remove(options_.runtime_folder);
  std::filesystem::create_directory_symlink(root_, options_.runtime_folder);
  EXPECT_EQ(Reason(Ensure()), "RUNTIME_FOLDER_UNSAFE");
}

TEST_F(LocalDaemonTest, PathTooLongForASocket) {
  options_.runtime_folder = root_ + "/" + std::string(100, 'r');
  const absl::Status status = Ensure();
  EXPECT_EQ(Reason(status), kReasonUnreachable);
  EXPECT_NE(status.message().find("too long"), absl::string_view::npos);
}

}  // namespace
}  // namespace edgekiln::client
