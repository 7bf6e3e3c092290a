#include "tests/e2e/cluster.h"

#include <signal.h>
#include <stdlib.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "base/file.h"
#include "tests/support/shared_data.h"

namespace edgekiln::tests {
namespace {

constexpr absl::Duration kPoll = absl::Milliseconds(10);
// Generous: sanitizers and a busy machine.
constexpr absl::Duration kStartLimit = absl::Seconds(30);
constexpr absl::Duration kStopLimit = absl::Seconds(20);
constexpr size_t kShownBytes = 4000;

bool HasFailed() { return testing::UnitTest::GetInstance()->Failed(); }

// The last part of a log, for the output of a failed test.
std::string Tail(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return "";
  const std::string text = ReadWholeFile(path);
  if (text.size() <= kShownBytes) return text;
  return absl::StrCat("...", text.substr(text.size() - kShownBytes));
}

std::string Clip(const std::string& text) {
  if (text.size() <= kShownBytes) return text;
  return absl::StrCat(text.substr(0, kShownBytes), "...");
}

}  // namespace

std::ostream& operator<<(std::ostream& stream, const Outcome& outcome) {
  return stream << "exit code " << outcome.exit_code << "\nstdout:\n"
                << Clip(outcome.out) << "\nstderr:\n"
                << Clip(outcome.err);
}

Sandbox::Sandbox() {
  // Short: the path of a Unix socket has room for 107 bytes.
  folder_ = JoinPath(absl::StripSuffix(testing::TempDir(), "/"), "ek-XXXXXX");
  if (mkdtemp(folder_.data()) == nullptr) {
    ADD_FAILURE() << "no temporary folder: " << folder_;
    abort();
  }
  // Not that of the developer who runs the test.
  SetVariable("EDGEKILN_SERVER", "");
  for (const char* name :
       {"XDG_RUNTIME_DIR", "XDG_STATE_HOME", "XDG_CACHE_HOME", "HOME"}) {
    environment_[name] = Path(name);
    std::filesystem::create_directory(Path(name));
    std::filesystem::permissions(Path(name), std::filesystem::perms::owner_all);
  }
}

Sandbox::~Sandbox() {
  if (HasFailed()) {
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      if (entry.path().extension() != ".log") continue;
      const std::string text = Tail(entry.path());
      if (!text.empty()) std::cerr << entry.path() << ":\n" << text << "\n";
    }
  }
  std::error_code error;
  std::filesystem::remove_all(folder_, error);
}

void Sandbox::SetVariable(const std::string& name, const std::string& value) {
  environment_[name] = value;
}

std::string Sandbox::Path(const std::string& name) const {
  return JoinPath(folder_, name);
}

std::string Sandbox::Write(const std::string& name,
                           const std::string& bytes) const {
  const absl::Status written =
      WriteAtomically(*NewPosixFileSystem(), Path(name), bytes);
  EXPECT_TRUE(written.ok()) << written;
  return Path(name);
}

std::unique_ptr<Process> Sandbox::StartCli(std::vector<std::string> arguments) {
  const std::string output = Path(absl::StrCat("cli-", commands_++));
  std::unique_ptr<Process> process =
      Process::Start({.program = EK_CLI,
                      .arguments = std::move(arguments),
                      .environment = environment_,
                      .stdout_path = output + ".out",
                      .stderr_path = output + ".err"});
  if (process != nullptr) outputs_[process->pid()] = output;
  return process;
}

Outcome Sandbox::Finish(Process& process, absl::Duration limit) {
  Outcome outcome;
  const std::optional<int> code = process.WaitFor(limit);
  const std::string output = outputs_.at(process.pid());
  outcome.out = ReadWholeFile(output + ".out");
  outcome.err = ReadWholeFile(output + ".err");
  outcome.exit_code = code.value_or(-SIGKILL);
  EXPECT_TRUE(code.has_value()) << "killed after " << limit << "; " << outcome;
  return outcome;
}

Outcome Sandbox::Cli(std::vector<std::string> arguments, absl::Duration limit) {
  const std::unique_ptr<Process> process = StartCli(std::move(arguments));
  if (process == nullptr) return Outcome{-SIGKILL, "", ""};
  return Finish(*process, limit);
}

std::unique_ptr<Process> Sandbox::StartProgram(
    const std::string& program, std::vector<std::string> arguments,
    const std::string& log, int max_open_files) {
  return Process::Start(
      {.program = program == "edgekilnd" ? EK_DAEMON : EK_WORKER,
       .arguments = std::move(arguments),
       .environment = environment_,
       .stdout_path = Path(log) + ".out",
       .stderr_path = Path(log),
       .max_open_files = max_open_files});
}

std::unique_ptr<Cluster> Cluster::Start() {
  std::unique_ptr<Cluster> cluster(new Cluster);
  if (!cluster->StartDaemon()) return nullptr;
  return cluster;
}

bool Cluster::StartDaemon() {
  const std::string ready = sandbox_.Path("ready");
  std::error_code error;
  std::filesystem::remove(ready, error);
  daemon_ = sandbox_.StartProgram(
      "edgekilnd",
      {"--listen", address_, "--workers-listen", workers_address_, "--state",
       sandbox_.Path("state"), "--ready-file", ready, "--verbose"},
      "daemon.log");
  const absl::Time deadline = absl::Now() + kStartLimit;
  while (!std::filesystem::exists(ready, error)) {
    if (daemon_ == nullptr || daemon_->WaitFor(kPoll).has_value() ||
        absl::Now() > deadline) {
      ADD_FAILURE() << "edgekilnd did not start";
      return false;
    }
  }
  const std::vector<std::string> lines =
      absl::StrSplit(ReadWholeFile(ready), '\n');
  if (lines.size() < 2) {
    ADD_FAILURE() << "the ready file needs two lines";
    return false;
  }
  address_ = lines[0];
  workers_address_ = lines[1];
  return true;
}

Cluster::~Cluster() { Stop(); }

int Cluster::AddWorker(const std::vector<std::string>& flags) {
  std::vector<std::string> arguments = {"--connect", workers_address_,
                                        "--secret-file",
                                        sandbox_.Path("state/worker_secret")};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  const int number = static_cast<int>(workers_.size());
  workers_.push_back(
      sandbox_.StartProgram("edgekiln-worker", std::move(arguments),
                            absl::StrCat("worker-", number, ".log")));
  return number;
}

void Cluster::StopWorker(int worker) {
  const std::unique_ptr<Process> process = std::move(workers_.at(worker));
  if (process == nullptr) return;
  process->Signal(SIGTERM);
  const int end = process->WaitFor(kStopLimit).value_or(-SIGKILL);
  // A worker so new that it does not listen to signals yet dies of this one.
  EXPECT_TRUE(end == 0 || end == -SIGTERM)
      << "worker " << worker << " after SIGTERM: " << end;
}

void Cluster::KillWorker(int worker) { workers_.at(worker) = nullptr; }

void Cluster::KillDaemon() { daemon_ = nullptr; }

void Cluster::Stop() {
  for (size_t i = 0; i < workers_.size(); ++i) StopWorker(static_cast<int>(i));
  EndDaemon();
}

void Cluster::EndDaemon() {
  if (daemon_ == nullptr) return;
  daemon_->Signal(SIGTERM);
  EXPECT_EQ(daemon_->WaitFor(kStopLimit).value_or(-SIGKILL), 0)
      << "edgekilnd after SIGTERM";
  daemon_ = nullptr;
}

bool Cluster::DaemonIsUp() {
  return daemon_ != nullptr &&
         !daemon_->WaitFor(absl::ZeroDuration()).has_value();
}

std::unique_ptr<Process> Cluster::StartCli(std::vector<std::string> arguments) {
  arguments.push_back("--server");
  arguments.push_back(address_);
  return sandbox_.StartCli(std::move(arguments));
}

Outcome Cluster::Cli(std::vector<std::string> arguments, absl::Duration limit) {
  const std::unique_ptr<Process> process = StartCli(std::move(arguments));
  if (process == nullptr) return Outcome{-SIGKILL, "", ""};
  return sandbox_.Finish(*process, limit);
}

std::unique_ptr<Cluster> ClusterTest::cluster_;

void ClusterTest::SetUpTestSuite() {
  cluster_ = Cluster::Start();
  if (cluster_ == nullptr) return;
  cluster_->AddWorker();
  cluster_->AddWorker();
}

void ClusterTest::TearDownTestSuite() { cluster_.reset(); }

}  // namespace edgekiln::tests
