// What edgekilnd says and leaves for the flags it is started with.

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/e2e/cluster.h"
#include "tests/e2e/process.h"
#include "tests/support/golden.h"
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

  // Null if it does not come up.
  std::unique_ptr<Process> StartServing(std::vector<std::string> flags) {
    std::unique_ptr<Process> daemon = Start(std::move(flags));
    const absl::Time deadline = absl::Now() + kLimit;
    while (daemon != nullptr && absl::Now() < deadline &&
           !std::filesystem::exists(sandbox_.Path("ready")) &&
           !daemon->WaitFor(absl::Milliseconds(20)).has_value()) {
    }
    return daemon;
  }
  std::string LogAtEnd(Process& daemon) {
    daemon.Signal(SIGTERM);
    EXPECT_EQ(daemon.WaitFor(kLimit).value_or(-1), 0) << Log();
    return Log();
  }
  // Serves, then ends; what it has logged.
  std::string LogOfServing(std::vector<std::string> flags) {
    const std::unique_ptr<Process> daemon = StartServing(std::move(flags));
    return daemon == nullptr ? "" : LogAtEnd(*daemon);
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
  constexpr char kNetwork[] = "use a network that you trust";
  constexpr char kMachine[] =
      "every user of this machine can submit, read and cancel";
  const std::vector<std::string> clients = {"--listen", "127.0.0.1:0",
                                            "--workers-listen"};
  for (const char* open : {"0.0.0.0:0", "[::]:0"}) {
    std::vector<std::string> flags = clients;
    flags.push_back(open);
    flags.push_back("--insecure-network");
    const std::string log = LogOfServing(flags);
    EXPECT_TRUE(absl::StrContains(log, kNetwork)) << open << ": " << log;
  }
  for (const char* loopback : {"127.0.0.1:0", "localhost:0"}) {
    std::vector<std::string> flags = clients;
    flags.push_back(loopback);
    const std::string log = LogOfServing(flags);
    EXPECT_FALSE(absl::StrContains(log, kNetwork)) << loopback << ": " << log;
    EXPECT_TRUE(absl::StrContains(log, kMachine)) << loopback << ": " << log;
  }
  const std::string log =
      LogOfServing({"--listen", "unix:" + sandbox_.Path("c"),
                    "--workers-listen", "unix:" + sandbox_.Path("w")});
  EXPECT_FALSE(absl::StrContains(log, kNetwork)) << log;
  EXPECT_FALSE(absl::StrContains(log, kMachine)) << log;
}

// One line says what a worker's stages are confined to, and an ordinary end is
// no reason to warn.
TEST_F(DaemonFlagsTest, OwnWorkersComeAndGoWithoutAWarning) {
  const std::unique_ptr<Process> daemon = StartServing(
      {"--listen", "unix:" + sandbox_.Path("c"), "--workers-listen",
       "unix:" + sandbox_.Path("w"), "--workers", "2"});
  ASSERT_NE(daemon, nullptr);
  const auto count = [](const std::string& log, const std::string& what) {
    int found = 0;
    for (size_t at = log.find(what); at != std::string::npos;
         at = log.find(what, at + 1)) {
      ++found;
    }
    return found;
  };
  const absl::Time deadline = absl::Now() + kLimit;
  while (count(Log(), " connected to ") +
                 count(Log(), " connected with 1 slot") <
             4 &&
         absl::Now() < deadline) {
    ASSERT_FALSE(daemon->WaitFor(absl::Milliseconds(20)).has_value()) << Log();
  }
  const std::string log = LogAtEnd(*daemon);
  EXPECT_EQ(count(log, "no_new_privs"), 2) << log;
  EXPECT_EQ(count(log, "1 slots"), 0) << log;
  EXPECT_EQ(count(log, " WARNING "), 0) << log;
  EXPECT_EQ(count(log, " ERROR "), 0) << log;
}

// What is said of an option stays beside it on a terminal of 80 columns.
TEST_F(DaemonFlagsTest, HelpFitsATerminal) {
  for (const char* program : {"edgekilnd", "edgekiln-worker"}) {
    const auto help = sandbox_.StartProgram(program, {"--help"}, "help");
    ASSERT_NE(help, nullptr);
    EXPECT_EQ(help->WaitFor(kLimit).value_or(-1), 0);
    const std::string text = ReadWholeFile(sandbox_.Path("help.out"));
    for (const absl::string_view line : absl::StrSplit(text, '\n')) {
      EXPECT_LE(line.size(), 80u) << program << ": " << line;
    }
    EXPECT_TRUE(absl::StrContains(text, "MB, GB and TB are powers of"));
  }
}

TEST_F(DaemonFlagsTest, SizesAreReadAsEverywhere) {
  const struct {
    const char* size;
    const char* mebibytes;
  } kCases[] = {{"500MB", "476 MiB"}, {"500MiB", "500 MiB"}, {"3k", "0 MiB"}};
  for (const auto& c : kCases) {
    const std::string log = LogOfServing(
        {"--listen", "unix:" + sandbox_.Path("c"), "--workers-listen",
         "unix:" + sandbox_.Path("w"), "--cache-limit", c.size});
    EXPECT_TRUE(absl::StrContains(
        log, absl::StrCat("the cache is kept below ", c.mebibytes)))
        << c.size << ": " << log;
  }
  const std::unique_ptr<Process> daemon = Start({"--cache-limit", "12 apples"});
  ASSERT_NE(daemon, nullptr);
  EXPECT_EQ(daemon->WaitFor(kLimit).value_or(-1), 2);
  EXPECT_TRUE(absl::StrContains(Log(), "is not a number of bytes")) << Log();
}

// Less than a process takes is refused, and not taken for no limit.
TEST_F(DaemonFlagsTest, AWorkersMemoryLimitIsNotTooSmall) {
  for (const char* limit : {"1", "1MB", "31MiB"}) {
    const auto worker = sandbox_.StartProgram(
        "edgekiln-worker", {"--memory-limit", limit, "--print-confinement"},
        "worker");
    ASSERT_NE(worker, nullptr);
    EXPECT_EQ(worker->WaitFor(kLimit).value_or(-1), 2) << limit;
  }
}

// Nobody else on the machine gets in, and the user's own commands find it.
TEST_F(DaemonFlagsTest, ByDefaultServesItsUserOnASocket) {
  const std::string runtime = sandbox_.Path("XDG_RUNTIME_DIR") + "/edgekiln";
  const std::unique_ptr<Process> daemon = StartServing({});
  ASSERT_NE(daemon, nullptr);
  EXPECT_EQ(ReadWholeFile(sandbox_.Path("ready")),
            "unix:" + runtime + "/service.sock\nunix:" + runtime +
                "/service-workers.sock\n");
  const std::pair<std::string, mode_t> kModes[] = {
      {"", 0700}, {"/service.sock", 0600}, {"/service-workers.sock", 0600}};
  for (const auto& [name, mode] : kModes) {
    struct stat info = {};
    ASSERT_EQ(lstat((runtime + name).c_str(), &info), 0) << name;
    EXPECT_EQ(info.st_mode & 0777, mode) << name;
  }
  const Outcome list = sandbox_.Cli({"jobs", "list"});
  EXPECT_EQ(list.exit_code, 0) << list;
  // No daemon was started for that.
  EXPECT_FALSE(std::filesystem::exists(runtime + "/edgekilnd.sock"));
  // A second one of the same user is told what is wrong.
  const std::unique_ptr<Process> second = sandbox_.StartProgram(
      "edgekilnd", {"--state", sandbox_.Path("other")}, "second.log");
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(second->WaitFor(absl::Seconds(30)).value_or(-1), 4);
  EXPECT_TRUE(absl::StrContains(ReadWholeFile(sandbox_.Path("second.log")),
                                "another process is listening on it"));
  LogAtEnd(*daemon);
  EXPECT_FALSE(std::filesystem::exists(runtime + "/service.sock"));
}

// Without --verbose: the start, where it serves, and what came of each job.
TEST_F(DaemonFlagsTest, SaysByDefaultWhatAnAdministratorAsks) {
  const std::vector<std::string> profile = {
      "profile", SourcePath("docs/example/digits.onnx"), "--target",
      "dla-64-o-512k", "--quiet"};
  const std::unique_ptr<Process> loud = StartServing({"--workers", "1"});
  ASSERT_NE(loud, nullptr);
  const Outcome outcome = sandbox_.Cli(profile);
  EXPECT_EQ(outcome.exit_code, 0) << outcome;
  std::vector<std::string> bad = profile;
  bad[1] = sandbox_.Write("bad.onnx", "not a model");
  EXPECT_EQ(sandbox_.Cli(bad).exit_code, 1);
  const std::string log = LogAtEnd(*loud);
  for (const char* part :
       {"serving clients on unix:", "state in ", "SUCCEEDED in ",
        ": digits.onnx", "FAILED in ", ": bad.onnx", "shutting down"}) {
    EXPECT_TRUE(absl::StrContains(log, part)) << part << " in " << log;
  }
  EXPECT_FALSE(absl::StrContains(log, " DEBUG ")) << log;
  EXPECT_EQ(LogOfServing({"--quiet"}), "");
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
