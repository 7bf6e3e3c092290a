// What keeps a local daemon alone and its workers with it.

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "gtest/gtest.h"
#include "server/daemon/farm/launcher.h"
#include "server/daemon/local_instance.h"

namespace edgekiln::server {
namespace {

class LocalTest : public testing::Test {
 protected:
  LocalTest()
      : root_(testing::TempDir() + "local_" +
              testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::remove_all(root_);
    std::filesystem::create_directories(root_);
  }

  // A "worker" that notes its process id in the file it is to connect to.
  ForkLauncherOptions Program(const std::string& last_line) {
    const std::string path = root_ + "/worker";
    std::ofstream(path) << "#!/bin/sh\necho $$ >> \"$2\"\n"
                        << last_line << "\n";
    chmod(path.c_str(), 0700);
    return {.program = path, .secret_file = "/secret"};
  }

  std::vector<pid_t> Pids() const {
    std::ifstream file(root_ + "/pids");
    std::vector<pid_t> pids;
    for (pid_t pid; file >> pid;) pids.push_back(pid);
    return pids;
  }

  static bool Eventually(const std::function<bool()>& condition) {
    for (int i = 0; i < 2000; ++i) {
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
  }

  // Gone, or only waiting to be reaped.
  static bool Ended(pid_t pid) {
    std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
    std::string ignored, state;
    return !(stat >> ignored >> ignored >> state) || state == "Z";
  }

  const std::string root_;
  const std::unique_ptr<Logger> log_ = NewNullLogger();
};

TEST_F(LocalTest, ALockHasOneHolder) {
  const std::string path = root_ + "/lock";
  std::optional<absl::StatusOr<FileLock>> first = FileLock::Acquire(path);
  ASSERT_TRUE(first->ok()) << first->status();
  EXPECT_TRUE(absl::IsAlreadyExists(FileLock::Acquire(path).status()));
  first.reset();
  EXPECT_TRUE(FileLock::Acquire(path).ok());
  EXPECT_FALSE(FileLock::Acquire(root_ + "/no/such/folder").ok());
}

TEST_F(LocalTest, TheHolderOfALockSaysWhereItListens) {
  const std::string path = root_ + "/noted";
  const absl::StatusOr<FileLock> lock = FileLock::Acquire(path);
  ASSERT_TRUE(lock.ok()) << lock.status();
  const auto fix = [&] {
    return GetErrorDetail(FileLock::Acquire(path).status())->fix;
  };
  EXPECT_EQ(fix(), "use that one, or give another --state folder");
  lock->NoteAddress("127.0.0.1:7433");
  EXPECT_EQ(fix(),
            "use that one (edgekiln --server 127.0.0.1:7433), or give another "
            "--state folder");
  const std::string socket = root_ + "/socket";
  lock->NoteAddress("unix:" + socket);
  EXPECT_EQ(fix(), "wait until it has finished its jobs, or end it (" + socket +
                       " is gone: nobody can connect to it), or give another "
                       "--state folder");
  std::ofstream(socket) << "";
  EXPECT_EQ(fix(), "use that one (edgekiln --server unix:" + socket +
                       "), or give another --state folder");
  lock->NoteAddress("\033[31m");
  EXPECT_EQ(fix(), "use that one, or give another --state folder");
}

TEST_F(LocalTest, ALockIsLostWithItsFile) {
  const std::string path = root_ + "/lost";
  const absl::StatusOr<FileLock> lock = FileLock::Acquire(path);
  ASSERT_TRUE(lock.ok()) << lock.status();
  EXPECT_FALSE(lock->IsLost());
  // Another file system over it, or below it, leaves the file its link.
  ASSERT_EQ(rename(path.c_str(), (path + "2").c_str()), 0);
  EXPECT_TRUE(lock->IsLost());
  std::ofstream(path) << "";
  EXPECT_TRUE(lock->IsLost());
  ASSERT_EQ(rename((path + "2").c_str(), path.c_str()), 0);
  EXPECT_FALSE(lock->IsLost());
}

TEST_F(LocalTest, ALockIsLostWithItsFolder) {
  const std::string folder = root_ + "/folder";
  std::filesystem::create_directory(folder);
  const absl::StatusOr<FileLock> lock = FileLock::Acquire(folder + "/lock");
  ASSERT_TRUE(lock.ok()) << lock.status();
  std::filesystem::rename(folder, folder + "2");
  EXPECT_TRUE(lock->IsLost());
  std::ofstream(folder) << "a file";
  EXPECT_TRUE(lock->IsLost());
}

TEST_F(LocalTest, ALockOfADeadProcessIsFree) {
  const std::string path = root_ + "/lock";
  const pid_t child = fork();
  if (child == 0) {
    const absl::StatusOr<FileLock> lock = FileLock::Acquire(path);
    kill(getpid(), SIGKILL);
  }
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(std::filesystem::exists(path));
  EXPECT_TRUE(FileLock::Acquire(path).ok());
}

TEST_F(LocalTest, XdgFoldersAreUsedIfAbsolute) {
  setenv("XDG_RUNTIME_DIR", "/run/someone", 1);
  EXPECT_EQ(RuntimeFolder(), "/run/someone/edgekiln");
  setenv("XDG_RUNTIME_DIR", "relative", 1);
  EXPECT_EQ(RuntimeFolder(), "/tmp/edgekiln-" + std::to_string(geteuid()));
  setenv("XDG_CACHE_HOME", "/c", 1);
  EXPECT_EQ(*CacheFolder(), "/c/edgekiln");
  unsetenv("XDG_STATE_HOME");
  setenv("HOME", "/home/someone", 1);
  EXPECT_EQ(*StateFolder(), "/home/someone/.local/state/edgekiln");
}

TEST_F(LocalTest, WorkersThatDieAreStartedAgainAndAllEndWithTheLauncher) {
  std::vector<pid_t> pids;
  {
    const auto launcher = NewForkLauncher(Program("exec sleep 600"), *log_);
    ASSERT_TRUE(launcher->Start(2, root_ + "/pids").ok());
    ASSERT_TRUE(Eventually([&] { return Pids().size() == 2; }));
    kill(Pids()[0], SIGKILL);
    ASSERT_TRUE(Eventually([&] { return Pids().size() == 3; }));
    pids = Pids();
    EXPECT_FALSE(Ended(pids[1]));
    EXPECT_FALSE(Ended(pids[2]));
  }
  for (const pid_t pid : pids) EXPECT_TRUE(Ended(pid)) << pid;
}

TEST_F(LocalTest, WorkersTakeOneLeaseAtATimeAndGoWithUs) {
  const auto launcher = NewForkLauncher(
      Program("echo \"$@\" > \"$2.tmp\"; mv \"$2.tmp\" \"$2.args\"\n"
              "exec sleep 600"),
      *log_);
  const std::string address = root_ + "/pids";
  ASSERT_TRUE(launcher->Start(1, address).ok());
  ASSERT_TRUE(
      Eventually([&] { return std::filesystem::exists(address + ".args"); }));
  std::string line;
  std::getline(std::ifstream(address + ".args") >> std::ws, line);
  EXPECT_EQ(line, "--connect " + address +
                      " --secret-file /secret --slots=1 --exit-with-parent");
}

TEST_F(LocalTest, AWorkerThatIgnoresItsEndIsEnded) {
  std::vector<pid_t> pids;
  {
    const auto launcher =
        NewForkLauncher(Program("trap '' TERM\nexec sleep 600"), *log_);
    ASSERT_TRUE(launcher->Start(1, root_ + "/pids").ok());
    ASSERT_TRUE(Eventually([&] { return Pids().size() == 1; }));
    pids = Pids();
  }
  EXPECT_TRUE(Ended(pids[0]));
}

TEST_F(LocalTest, WorkersGoWhenTheDaemonIsKilled) {
  const ForkLauncherOptions options = Program("exec sleep 600");
  const pid_t daemon = fork();
  if (daemon == 0) {
    const auto launcher = NewForkLauncher(options, *log_);
    if (!launcher->Start(1, root_ + "/pids").ok()) _exit(1);
    Eventually([&] { return Pids().size() == 1; });
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  waitpid(daemon, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  ASSERT_EQ(Pids().size(), 1u);
  EXPECT_TRUE(Eventually([&] { return Ended(Pids()[0]); }));
}

TEST_F(LocalTest, AMissingWorkerProgramIsSaid) {
  const auto launcher = NewForkLauncher({.program = root_ + "/absent"}, *log_);
  const absl::Status status = launcher->Start(1, "x");
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(GetErrorDetail(status)->reason, "WORKER_MISSING");
}

}  // namespace
}  // namespace edgekiln::server
