// Who may be a worker, and what one bad lease does to others.

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "compiler/frontend/onnx/testing/test_model.h"
#include "tests/e2e/cluster.h"
#include "tests/e2e/expectations.h"
#include "tests/support/golden.h"
#include "tests/support/shared_data.h"

namespace edgekiln::tests {
namespace {

constexpr absl::Duration kEndLimit = absl::Seconds(30);

std::vector<std::string> Profile() {
  return {"profile",  SourcePath("docs/example/digits.onnx"),
          "--target", "dla-64-o-512k",
          "--json",   "--quiet"};
}

// Whether the text has what could be the beginning of a digest.
bool TellsADigest(const std::string& text) {
  int digits = 0;
  for (const char c : text) {
    digits = absl::ascii_isxdigit(c) ? digits + 1 : 0;
    if (digits >= 12) return true;
  }
  return false;
}

TEST(FarmTrustTest, AStrangerIsToldNothing) {
  const auto cluster = Cluster::Start();
  ASSERT_NE(cluster, nullptr);
  Sandbox& sandbox = cluster->sandbox();
  const std::string guess =
      sandbox.Write("guess", absl::StrCat(std::string(64, 'a'), "\n"));
  const auto stranger = sandbox.StartProgram(
      "edgekiln-worker",
      {"--connect", cluster->workers_address(), "--secret-file", guess},
      "stranger.log");
  ASSERT_NE(stranger, nullptr);
  EXPECT_EQ(stranger->WaitFor(kEndLimit).value_or(-1), 6);
  const std::string log = ReadWholeFile(sandbox.Path("stranger.log"));
  EXPECT_TRUE(absl::StrContains(log, "--secret-file")) << log;
  EXPECT_FALSE(TellsADigest(log)) << log;

  // A file that is named and is not there, or is none, is a slip.
  for (const std::string& wrong :
       {sandbox.Path("none"), sandbox.Write("empty", "")}) {
    const auto lost = sandbox.StartProgram(
        "edgekiln-worker",
        {"--connect", cluster->workers_address(), "--secret-file", wrong},
        "lost.log");
    ASSERT_NE(lost, nullptr);
    EXPECT_EQ(lost->WaitFor(kEndLimit).value_or(-1), 2) << wrong;
    const std::string said = ReadWholeFile(sandbox.Path("lost.log"));
    EXPECT_TRUE(absl::StrContains(said, wrong)) << said;
  }
  EXPECT_TRUE(cluster->DaemonIsUp());
}

TEST(FarmTrustTest, ASecretThatOthersCanReadIsNone) {
  const auto cluster = Cluster::Start();
  ASSERT_NE(cluster, nullptr);
  Sandbox& sandbox = cluster->sandbox();
  const std::string secret = sandbox.Path("state/worker_secret");
  struct stat info = {};
  ASSERT_EQ(stat(secret.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
  cluster->KillDaemon();
  ASSERT_EQ(chmod(secret.c_str(), 0644), 0);
  const auto daemon =
      sandbox.StartProgram("edgekilnd",
                           {"--listen", "127.0.0.1:0", "--workers-listen",
                            "127.0.0.1:0", "--state", sandbox.Path("state")},
                           "refused.log");
  ASSERT_NE(daemon, nullptr);
  EXPECT_EQ(daemon->WaitFor(kEndLimit).value_or(-1), 4);
  const std::string log = ReadWholeFile(sandbox.Path("refused.log"));
  EXPECT_TRUE(absl::StrContains(log, "chmod 600")) << log;
}

// The workers that the daemon starts itself know the secret; so does one of the
// same user that is told nothing but the address.
TEST(FarmTrustTest, OwnWorkersKnowTheSecret) {
  Sandbox sandbox;
  const std::string ready = sandbox.Path("ready");
  const auto daemon = sandbox.StartProgram(
      "edgekilnd",
      {"--listen", "127.0.0.1:0", "--workers-listen",
       absl::StrCat("unix:", sandbox.Path("workers.sock")), "--ready-file",
       ready, "--workers", "1", "--verbose"},
      "daemon.log");
  ASSERT_NE(daemon, nullptr);
  while (!std::filesystem::exists(ready)) {
    ASSERT_FALSE(daemon->WaitFor(absl::Milliseconds(10)).has_value());
  }
  const auto worker = sandbox.StartProgram(
      "edgekiln-worker",
      {"--connect", absl::StrCat("unix:", sandbox.Path("workers.sock")),
       "--slots", "1", "--verbose"},
      "worker.log");
  ASSERT_NE(worker, nullptr);
  for (int i = 0; i < 3000; ++i) {
    const std::string log = ReadWholeFile(sandbox.Path("daemon.log"));
    if (absl::StrContains(log.substr(log.find(" connected with") + 1),
                          " connected with")) {
      return;
    }
    ASSERT_FALSE(worker->WaitFor(absl::Milliseconds(10)).has_value());
  }
  FAIL() << ReadWholeFile(sandbox.Path("daemon.log"));
}

// Started before the daemon's first start, it waits for the secret that this
// will make.
TEST(FarmTrustTest, AWorkerMayBeThereFirst) {
  Sandbox sandbox;
  const std::string address = "unix:" + sandbox.Path("workers.sock");
  const auto worker = sandbox.StartProgram(
      "edgekiln-worker", {"--connect", address, "--slots", "1"}, "worker.log");
  ASSERT_NE(worker, nullptr);
  const auto wait_for = [&](const char* text) {
    for (int i = 0; i < 3000; ++i) {
      const std::string log = sandbox.Path("worker.log");
      if (std::filesystem::exists(log) &&
          absl::StrContains(ReadWholeFile(log), text)) {
        return true;
      }
      if (worker->WaitFor(absl::Milliseconds(10)).has_value()) break;
    }
    return false;
  };
  ASSERT_TRUE(wait_for("edgekiln/worker_secret"))
      << ReadWholeFile(sandbox.Path("worker.log"));
  const auto daemon = sandbox.StartProgram(
      "edgekilnd", {"--listen", "127.0.0.1:0", "--workers-listen", address},
      "daemon.log");
  ASSERT_NE(daemon, nullptr);
  EXPECT_TRUE(wait_for("connected to"))
      << ReadWholeFile(sandbox.Path("worker.log"));
}

TEST(FarmTrustTest, ACrashingInputIsQuarantinedAndOthersGoOn) {
  const auto cluster = Cluster::Start();
  ASSERT_NE(cluster, nullptr);
  cluster->AddWorker({"--roles", "compile", "--test-crash-stage", "tile"});
  cluster->AddWorker({"--roles", "simulate"});
  EXPECT_EQ(ErrorOf(cluster->Cli(Profile())).reason(), "INPUT_QUARANTINED");
  // What does not need that stage is served by the same worker.
  EXPECT_EQ(cluster->Cli({"inspect", SourcePath("docs/example/digits.onnx")})
                .exit_code,
            0);
  cluster->KillDaemon();
  ASSERT_TRUE(cluster->StartDaemon());
  EXPECT_EQ(ErrorOf(cluster->Cli(Profile())).reason(), "INPUT_QUARANTINED");
  const std::string log = ReadWholeFile(cluster->sandbox().Path("daemon.log"));
  EXPECT_FALSE(absl::StrContains(log, "(lease")) << "it was tried again";
  const Outcome list = cluster->Cli({"quarantine", "list"});
  EXPECT_TRUE(absl::StrContains(list.out, "tile")) << list;
  const Outcome json = cluster->Cli({"quarantine", "list", "--json"});
  const size_t at = json.out.find("\"id\": \"");
  ASSERT_NE(at, std::string::npos) << json;
  const std::string id = json.out.substr(at + 7, 64);
  EXPECT_EQ(cluster->Cli({"quarantine", "release", id}).exit_code, 0);
  // As a client does whose answer was lost.
  EXPECT_EQ(cluster->Cli({"quarantine", "release", id}).exit_code, 0);
  const Outcome none =
      cluster->Cli({"quarantine", "release", std::string(12, '0'), "--json"});
  EXPECT_EQ(ErrorOf(none).reason(), "NOT_QUARANTINED") << none;
  EXPECT_TRUE(
      absl::StrContains(ErrorOf(none).fix(), "--server " + cluster->address()))
      << none;
}

// A description of more than 16 MiB: no message of a stream.
TEST(FarmTrustTest, AHugeDescriptionBreaksNoSession) {
  const auto cluster = Cluster::Start();
  ASSERT_NE(cluster, nullptr);
  cluster->AddWorker({"--slots", "2"});
  compiler::onnx_import::TestModel model;
  model.Input("x", {1, 4});
  std::string last = "x";
  for (int i = 0; i < 5000; ++i) {
    const std::string next =
        absl::StrCat("tensor_", i, "_", std::string(3600, 'n'));
    model.Node("Tanh", {last}, {next}).Name(absl::StrCat("layer_", next));
    last = next;
  }
  model.Output(last);
  const std::string path = cluster->sandbox().Write("long.onnx", model.bytes());
  const auto huge = cluster->StartCli({"inspect", path, "--json", "--quiet"});
  ASSERT_NE(huge, nullptr);
  const v1::Report report = ReportOf(cluster->Cli(Profile()));
  EXPECT_EQ(report.bit_exact().mismatches(), 0);
  // Whether the answer fits a message to the client is another matter.
  huge->WaitFor(absl::Seconds(60));
  const std::string log = ReadWholeFile(cluster->sandbox().Path("daemon.log"));
  EXPECT_FALSE(absl::StrContains(log, " is gone, with")) << log;
  EXPECT_FALSE(absl::StrContains(log, "failed on our side")) << log;
  uintmax_t largest = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(
           cluster->sandbox().Path("state/results"))) {
    if (entry.is_regular_file()) largest = std::max(largest, entry.file_size());
  }
  EXPECT_GT(largest, uintmax_t{16} << 20);
}

}  // namespace
}  // namespace edgekiln::tests
