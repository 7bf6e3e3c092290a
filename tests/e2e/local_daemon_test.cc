// Without --server: a daemon of the user's own, started by the first command
// and shared by all.

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/e2e/cluster.h"
#include "tests/e2e/expectations.h"
#include "tests/support/golden.h"

namespace edgekiln::tests {
namespace {

// The process that listens on the socket; 0 if there is none.
pid_t ListenerOf(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) return 0;
  path.copy(address.sun_path, path.size());
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ucred peer = {};
  socklen_t size = sizeof(peer);
  const bool known = connect(fd, reinterpret_cast<const sockaddr*>(&address),
                             sizeof(address)) == 0 &&
                     getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0;
  close(fd);
  return known ? peer.pid : 0;
}

// Signals a process that has become our child; whether it ended in time.
bool End(pid_t process, int signal_number) {
  kill(process, signal_number);
  const absl::Time deadline = absl::Now() + absl::Seconds(20);
  while (absl::Now() < deadline) {
    if (waitpid(process, nullptr, WNOHANG) != 0) return true;
    absl::SleepFor(absl::Milliseconds(10));
  }
  return false;
}

class LocalDaemonTest : public testing::Test {
 protected:
  // A daemon whose command has ended becomes a child of this process.
  void SetUp() override { ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0); }

  void TearDown() override {
    const pid_t daemon = ListenerOf(Socket());
    if (daemon == 0) return;
    if (End(daemon, SIGTERM)) return;
    ADD_FAILURE() << "edgekilnd --local ignores SIGTERM";
    End(daemon, SIGKILL);
  }

  // Waits until a worker has begun.
  bool HasRunningJob() {
    const absl::Time give_up = absl::Now() + absl::Seconds(60);
    while (absl::Now() < give_up) {
      const Outcome jobs = sandbox_.Cli({"jobs", "list"});
      if (jobs.out.find("running") != std::string::npos) return true;
    }
    return false;
  }

  std::string Socket() const {
    return sandbox_.Path("XDG_RUNTIME_DIR") + "/edgekiln/edgekilnd.sock";
  }

  Sandbox sandbox_;
};

TEST_F(LocalDaemonTest, IsStartedOnceAndShared) {
  ASSERT_EQ(ListenerOf(Socket()), 0);
  const Outcome list = sandbox_.Cli({"targets", "list"});
  EXPECT_EQ(list.exit_code, 0) << list;
  const pid_t daemon = ListenerOf(Socket());
  ASSERT_NE(daemon, 0);

  const std::vector<std::string> profile = {
      "profile",  SourcePath("docs/example/digits.onnx"),
      "--target", "dla-64-o-512k",
      "--json",   "--quiet"};
  const v1::Report first = ReportOf(sandbox_.Cli(profile));
  EXPECT_EQ(first.bit_exact().mismatches(), 0);
  EXPECT_EQ(ListenerOf(Socket()), daemon);
  const v1::Report second = ReportOf(sandbox_.Cli(profile));
  EXPECT_TRUE(StagesWith(second, v1::Report::Stage::MISS).empty());
  EXPECT_EQ(ListenerOf(Socket()), daemon);

  // Everything lies in the folders that the environment names.
  EXPECT_TRUE(
      std::filesystem::exists(sandbox_.Path("XDG_CACHE_HOME/edgekiln")));
  EXPECT_TRUE(std::filesystem::is_empty(sandbox_.Path("HOME")));
  struct stat info = {};
  ASSERT_EQ(
      stat((sandbox_.Path("XDG_RUNTIME_DIR") + "/edgekiln").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
}

TEST_F(LocalDaemonTest, CommandsAtTheSameMomentShareOne) {
  const auto one = sandbox_.StartCli({"targets", "list", "--json"});
  const auto two = sandbox_.StartCli({"targets", "list", "--json"});
  ASSERT_NE(one, nullptr);
  ASSERT_NE(two, nullptr);
  const Outcome first = sandbox_.Finish(*one, absl::Seconds(30));
  const Outcome second = sandbox_.Finish(*two, absl::Seconds(30));
  EXPECT_EQ(first.exit_code, 0) << first;
  EXPECT_EQ(second.exit_code, 0) << second;
  EXPECT_EQ(first.out, second.out);
  EXPECT_NE(ListenerOf(Socket()), 0);
}

// A socket left by a daemon that was killed is no daemon.
TEST_F(LocalDaemonTest, AKilledOneIsReplaced) {
  ASSERT_EQ(sandbox_.Cli({"targets", "list"}).exit_code, 0);
  const pid_t daemon = ListenerOf(Socket());
  ASSERT_NE(daemon, 0);
  ASSERT_TRUE(End(daemon, SIGKILL));
  const Outcome list = sandbox_.Cli({"targets", "list"});
  EXPECT_EQ(list.exit_code, 0) << list;
  EXPECT_NE(ListenerOf(Socket()), 0);
  EXPECT_NE(ListenerOf(Socket()), daemon);
}

// People remove the cache to start afresh, and do not think of the daemon.
TEST_F(LocalDaemonTest, OneWithoutItsFolderIsReplaced) {
  const std::vector<std::string> inspect = {
      "inspect", SourcePath("docs/example/digits.onnx")};
  const Outcome first = sandbox_.Cli(inspect);
  ASSERT_EQ(first.exit_code, 0) << first;
  const pid_t daemon = ListenerOf(Socket());
  // The daemon may write a file into a folder that has just been emptied.
  const std::string folder = sandbox_.Path("XDG_CACHE_HOME/edgekiln");
  for (int attempt = 0; attempt < 100; ++attempt) {
    std::error_code not_empty;
    std::filesystem::remove_all(folder, not_empty);
    if (!std::filesystem::exists(folder)) break;
  }
  ASSERT_FALSE(std::filesystem::exists(folder));
  const Outcome second = sandbox_.Cli(inspect);
  EXPECT_EQ(second.exit_code, 0) << second;
  EXPECT_EQ(second.out, first.out);
  EXPECT_NE(ListenerOf(Socket()), daemon);
}

// As the system does when a user logs out, and back in.
TEST_F(LocalDaemonTest, OneWithoutItsSocketsIsReplaced) {
  ASSERT_EQ(sandbox_.Cli({"targets", "list"}).exit_code, 0);
  const pid_t daemon = ListenerOf(Socket());
  ASSERT_NE(daemon, 0);
  std::filesystem::remove_all(sandbox_.Path("XDG_RUNTIME_DIR") + "/edgekiln");
  ASSERT_TRUE(End(daemon, 0)) << "it goes on where nobody finds it";
  const Outcome list = sandbox_.Cli({"targets", "list"});
  EXPECT_EQ(list.exit_code, 0) << list;
}

// As the system does when a user logs out while a command goes on (nohup,
// tmux).
TEST_F(LocalDaemonTest, OneWithoutItsSocketsFinishesItsJobs) {
  // One that takes its time.
  const auto command = sandbox_.StartCli(
      {"validate", SourcePath("docs/example/digits.onnx"), "--target",
       "dla-64-o-512k", "--calibration",
       SourcePath("docs/example/digits_calibration.npz"),
       "--calibration-method", "output-mse", "--data",
       SourcePath("docs/example/digits_test.npz"), "--json", "--quiet"});
  ASSERT_NE(command, nullptr);
  ASSERT_TRUE(HasRunningJob());
  const pid_t daemon = ListenerOf(Socket());
  ASSERT_NE(daemon, 0);
  const std::string folder = sandbox_.Path("XDG_RUNTIME_DIR") + "/edgekiln";
  std::filesystem::remove_all(folder);
  // Whoever needs another daemon now cannot have one.
  std::ofstream(folder) << "";
  const v1::Report report =
      ReportOf(sandbox_.Finish(*command, absl::Seconds(90)));
  EXPECT_GT(report.accuracy().samples(), 0);
  EXPECT_TRUE(End(daemon, 0)) << "it goes on where nobody finds it";
  std::filesystem::remove(folder);
}

// Told to end, it still holds lock and socket for a moment.
TEST_F(LocalDaemonTest, ADyingOneIsWaitedFor) {
  ASSERT_EQ(sandbox_.Cli({"targets", "list"}).exit_code, 0);
  for (int round = 0; round < 4; ++round) {
    SCOPED_TRACE(round);
    const pid_t daemon = ListenerOf(Socket());
    ASSERT_NE(daemon, 0);
    kill(daemon, SIGTERM);
    const v1::Report report = ReportOf(
        sandbox_.Cli({"profile", SourcePath("docs/example/digits.onnx"),
                      "--target", "dla-64-o-512k", "--seed",
                      std::to_string(100 + round), "--json", "--quiet"}));
    EXPECT_EQ(report.bit_exact().mismatches(), 0);
    EXPECT_NE(ListenerOf(Socket()), daemon);
    ASSERT_TRUE(End(daemon, SIGTERM));
  }
}

// Whoever holds the lock may be on its way down: it is asked again.
TEST_F(LocalDaemonTest, AHeldLockIsWaitedFor) {
  const std::string folder = sandbox_.Path("XDG_RUNTIME_DIR") + "/edgekiln";
  std::filesystem::create_directory(folder);
  std::filesystem::permissions(folder, std::filesystem::perms::owner_all);
  const int lock = open((folder + "/edgekilnd.lock").c_str(),
                        O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_GE(lock, 0);
  ASSERT_EQ(flock(lock, LOCK_EX), 0);
  const auto command = sandbox_.StartCli({"targets", "list"});
  ASSERT_NE(command, nullptr);
  EXPECT_FALSE(command->WaitFor(absl::Milliseconds(700)).has_value());
  close(lock);
  const Outcome list = sandbox_.Finish(*command, absl::Seconds(30));
  EXPECT_EQ(list.exit_code, 0) << list;
}

// The commands start another daemon, which goes on with their jobs.
TEST_F(LocalDaemonTest, JobsOutliveTheirDaemon) {
  for (const int signal_number : {SIGKILL, SIGTERM}) {
    SCOPED_TRACE(signal_number);
    const std::vector<std::string> validate = {
        "validate", SourcePath("docs/example/digits.onnx"), "--target",
        signal_number == SIGKILL ? "dla-64-o-512k" : "dla-128-i-1m",
        "--calibration", SourcePath("docs/example/digits_calibration.npz"),
        // Another each time: what is in the cache would be over too soon.
        "--calibration-method", signal_number == SIGKILL ? "output-mse" : "mse",
        "--data", SourcePath("docs/example/digits_test.npz"), "--json",
        "--quiet"};
    ASSERT_EQ(sandbox_.Cli({"targets", "list"}).exit_code, 0);
    const pid_t daemon = ListenerOf(Socket());
    ASSERT_NE(daemon, 0);
    const auto one = sandbox_.StartCli(validate);
    const auto two = sandbox_.StartCli(validate);
    ASSERT_NE(one, nullptr);
    ASSERT_NE(two, nullptr);
    ASSERT_TRUE(HasRunningJob());
    ASSERT_TRUE(End(daemon, signal_number));
    const v1::Report first = ReportOf(sandbox_.Finish(*one, absl::Seconds(90)));
    const v1::Report second =
        ReportOf(sandbox_.Finish(*two, absl::Seconds(90)));
    EXPECT_GT(first.accuracy().samples(), 0);
    EXPECT_EQ(first.bit_exact().mismatches(), 0);
    ExpectSame(first, second);
    // Undisturbed, for comparison; most of it is in the cache.
    ExpectSame(first, ReportOf(sandbox_.Cli(validate)));
  }
}

// Nobody shares a folder that others can write to.
TEST_F(LocalDaemonTest, AnOpenRuntimeFolderIsRefused) {
  const std::string folder = sandbox_.Path("XDG_RUNTIME_DIR") + "/edgekiln";
  std::filesystem::create_directory(folder);
  std::filesystem::permissions(folder, std::filesystem::perms::all);
  const Outcome list = sandbox_.Cli({"targets", "list", "--json"});
  EXPECT_EQ(list.exit_code, 6) << list;
  EXPECT_EQ(ErrorOf(list).reason(), "RUNTIME_FOLDER_UNSAFE");
  EXPECT_EQ(ListenerOf(Socket()), 0);
}

}  // namespace
}  // namespace edgekiln::tests
