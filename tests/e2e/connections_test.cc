// More connections than the daemon may have open files.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/e2e/cluster.h"
#include "tests/e2e/process.h"
#include "tests/support/shared_data.h"

namespace edgekiln::tests {
namespace {

constexpr int kMaxOpenFiles = 256;
constexpr int kCrowd = 300;

int Connect(const std::string& address) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in to = {};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  to.sin_port = htons(atoi(address.substr(address.rfind(':') + 1).c_str()));
  if (connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof(to)) == 0) return fd;
  close(fd);
  return -1;
}

int OpenFilesOf(pid_t pid) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(
           absl::StrCat("/proc/", pid, "/fd"))) {
    static_cast<void>(entry);
    ++count;
  }
  return count;
}

class ConnectionsTest : public testing::Test {
 protected:
  void SetUp() override {
    rlimit limit = {};
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = limit.rlim_max;
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
    daemon_ =
        sandbox_.StartProgram("edgekilnd",
                              {"--listen", "127.0.0.1:0", "--workers-listen",
                               "127.0.0.1:0", "--state", sandbox_.Path("state"),
                               "--ready-file", sandbox_.Path("ready")},
                              "daemon.log", kMaxOpenFiles);
    ASSERT_NE(daemon_, nullptr);
    const absl::Time deadline = absl::Now() + absl::Seconds(60);
    while (!std::filesystem::exists(sandbox_.Path("ready"))) {
      ASSERT_FALSE(daemon_->WaitFor(absl::Milliseconds(10)).has_value());
      ASSERT_LT(absl::Now(), deadline);
    }
    const std::string ready = ReadWholeFile(sandbox_.Path("ready"));
    clients_ = ready.substr(0, ready.find('\n'));
    workers_ = ready.substr(clients_.size() + 1);
  }

  Outcome AsksForTargets() {
    return sandbox_.Cli({"targets", "list", "--server", clients_});
  }

  Sandbox sandbox_;
  std::unique_ptr<Process> daemon_;
  std::string clients_;
  std::string workers_;
};

// gRPC's own listener would never accept again.
TEST_F(ConnectionsTest, ACrowdThatSaysNothingKeepsNobodyOut) {
  EXPECT_EQ(AsksForTargets().exit_code, 0);
  const int before = OpenFilesOf(daemon_->pid());
  std::vector<int> crowd;
  for (int i = 0; i < kCrowd; ++i) {
    crowd.push_back(Connect(i % 2 == 0 ? clients_ : workers_));
    EXPECT_GE(crowd.back(), 0) << i;
  }
  const Outcome meanwhile = AsksForTargets();
  EXPECT_EQ(meanwhile.exit_code, 0) << meanwhile;
  for (const int fd : crowd) close(fd);
  const Outcome afterwards = AsksForTargets();
  EXPECT_EQ(afterwards.exit_code, 0) << afterwards;
  // Nothing of the crowd is left.
  const absl::Time deadline = absl::Now() + absl::Seconds(60);
  while (OpenFilesOf(daemon_->pid()) > before + 2) {
    ASSERT_LT(absl::Now(), deadline) << OpenFilesOf(daemon_->pid());
    absl::SleepFor(absl::Milliseconds(20));
  }
  daemon_->Signal(SIGTERM);
  EXPECT_EQ(daemon_->WaitFor(absl::Seconds(30)).value_or(-1), 0);
  const std::string log = ReadWholeFile(sandbox_.Path("daemon.log"));
  EXPECT_FALSE(absl::StrContains(log, "cannot accept")) << log;
}

}  // namespace
}  // namespace edgekiln::tests
