// What edgekilnd says and leaves for the flags it is started with.

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/e2e/cluster.h"
#include "tests/e2e/process.h"
#include "tests/support/shared_data.h"

namespace edgekiln::tests {
namespace {

constexpr absl::Duration kLimit = absl::Seconds(60);

class DaemonFlagsTest : public testing::Test {
 protected:
  // On free ports, with a state folder of its own.
  std::unique_ptr<Process> Start(std::vector<std::string> flags) {
    for (const char* name : {"ready", "daemon.log"}) {
      unlink(sandbox_.Path(name).c_str());
    }
    for (const std::string& flag :
         {std::string("--state"), sandbox_.Path("state"),
          std::string("--ready-file"), sandbox_.Path("ready")}) {
      flags.push_back(flag);
    }
    return sandbox_.StartProgram("edgekilnd", std::move(flags), "daemon.log");
  }
  std::string Log() const { return ReadWholeFile(sandbox_.Path("daemon.log")); }

  // Serves, then ends; what it has logged.
  std::string LogOfServing(std::vector<std::string> flags) {
    const std::unique_ptr<Process> daemon = Start(std::move(flags));
    const absl::Time deadline = absl::Now() + kLimit;
    struct stat info;
    while (daemon != nullptr && absl::Now() < deadline &&
           stat(sandbox_.Path("ready").c_str(), &info) != 0 &&
           !daemon->WaitFor(absl::Milliseconds(20)).has_value()) {
    }
    if (daemon == nullptr) return "";
    daemon->Signal(SIGTERM);
    EXPECT_EQ(daemon->WaitFor(kLimit).value_or(-1), 0) << Log();
    return Log();
  }

  Sandbox sandbox_;
};

// One line, and it is ours: nothing of the libraries below.
TEST_F(DaemonFlagsTest, BadOnesAreOneLine) {
  const std::string config = sandbox_.Write("config.txtpb", "foo: 3\n");
  const std::string negative =
      sandbox_.Write("negative.txtpb", "local_workers: -1\n");
  const struct {
    std::vector<std::string> flags;
    int exit_code;
    std::string says;
  } cases[] = {
      {{"--config", config}, 2, "has no field named \"foo\""},
      {{"--config", config}, 2, "config.txtpb:1:"},
      {{"--config", negative}, 2, "where: local_workers;"},
      {{"--listen", "foo"}, 2, "where: foo;"},
      {{"--listen", "foo:x"}, 2, "where: foo:x;"},
      {{"--listen", "127.0.0.1:65536"}, 2, "where: 127.0.0.1:65536;"},
      {{"--listen", "no.such.host.:0", "--insecure-network"},
       4,
       "where: no.such.host.:0;"},
      {{"--listen", "0.0.0.0:0"}, 2, "where: --listen 0.0.0.0:0;"},
      {{"--listen", "127.0.0.1.example.org:0"}, 2, "add --insecure-network"},
  };
  for (const auto& c : cases) {
    std::vector<std::string> flags = c.flags;
    flags.insert(flags.end(), {"--workers-listen", "127.0.0.1:0"});
    const std::unique_ptr<Process> daemon = Start(flags);
    ASSERT_NE(daemon, nullptr);
    EXPECT_EQ(daemon->WaitFor(kLimit).value_or(-1), c.exit_code) << c.says;
    const std::string log = Log();
    EXPECT_TRUE(absl::StartsWith(log, "edgekilnd: ")) << log;
    EXPECT_TRUE(absl::StrContains(log, c.says)) << log;
    EXPECT_EQ(log.find('\n'), log.size() - 1) << log;
  }
}

TEST_F(DaemonFlagsTest, WarnsOfAddressesThatOthersReach) {
  constexpr char kWarning[] = "there is no authentication";
  const std::vector<std::string> clients = {"--listen", "127.0.0.1:0",
                                            "--workers-listen"};
  for (const char* open : {"0.0.0.0:0", "[::]:0"}) {
    std::vector<std::string> flags = clients;
    flags.push_back(open);
    flags.push_back("--insecure-network");
    const std::string log = LogOfServing(flags);
    EXPECT_TRUE(absl::StrContains(log, kWarning)) << open << ": " << log;
  }
  for (const std::string& closed :
       {std::string("127.0.0.1:0"), std::string("localhost:0"),
        "unix:" + sandbox_.Path("w")}) {
    std::vector<std::string> flags = clients;
    flags.push_back(closed);
    const std::string log = LogOfServing(flags);
    EXPECT_FALSE(absl::StrContains(log, kWarning)) << closed << ": " << log;
  }
}

TEST_F(DaemonFlagsTest, StateIsPrivate) {
  const mode_t mask = umask(022);
  LogOfServing({"--listen", "127.0.0.1:0", "--workers-listen", "127.0.0.1:0"});
  umask(mask);
  for (const char* name : {"state/jobs.db", "state/lock", "ready"}) {
    struct stat info = {};
    ASSERT_EQ(stat(sandbox_.Path(name).c_str(), &info), 0) << name;
    EXPECT_EQ(info.st_mode & 077, 0u) << name;
  }
}

}  // namespace
}  // namespace edgekiln::tests
