#ifndef EK_TESTS_E2E_CLUSTER_H_
#define EK_TESTS_E2E_CLUSTER_H_

// A daemon, its workers and the command line, as somebody uses them: the real
// programs on free loopback ports, with a state folder and XDG folders of their
// own in a temporary folder that goes with the object.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/e2e/process.h"

namespace edgekiln::tests {

// What a finished command left.
struct Outcome {
  int exit_code = 0;  // Minus the signal, if one ended it.
  std::string out;
  std::string err;
};

std::ostream& operator<<(std::ostream& stream, const Outcome& outcome);

// Programs without a daemon: a temporary folder and the environment in which
// the XDG folders lie in it. Thread-compatible.
class Sandbox {
 public:
  Sandbox();
  // Removes the folder, unless the test has failed and it holds logs.
  ~Sandbox();
  Sandbox(const Sandbox&) = delete;
  Sandbox& operator=(const Sandbox&) = delete;

  // `edgekiln` with these arguments. One that takes longer than `limit` is
  // killed and a test failure.
  Outcome Cli(std::vector<std::string> arguments,
              absl::Duration limit = absl::Seconds(90));
  // Starts it and returns; for commands that are to be interrupted. What it
  // writes is in Path("cli-N.out") and .err; see OutputOf().
  std::unique_ptr<Process> StartCli(std::vector<std::string> arguments);
  // Waits for a command of StartCli() and collects what it left.
  Outcome Finish(Process& process, absl::Duration limit);

  // `edgekilnd` or `edgekiln-worker`; its log is Path(log). `max_open_files`:
  // see ProcessOptions.
  std::unique_ptr<Process> StartProgram(const std::string& program,
                                        std::vector<std::string> arguments,
                                        const std::string& log,
                                        int max_open_files = 0);

  // An environment variable of programs that are started from now on.
  void SetVariable(const std::string& name, const std::string& value);

  // A name in the temporary folder.
  std::string Path(const std::string& name) const;
  // Makes a file there and returns its path.
  std::string Write(const std::string& name, const std::string& bytes) const;

 private:
  std::string folder_;
  std::map<std::string, std::string> environment_;
  std::map<pid_t, std::string> outputs_;  // Of StartCli(), without extension.
  int commands_ = 0;
};

class Cluster {
 public:
  // A daemon without workers. Fails the running test and returns null if it
  // does not come up.
  static std::unique_ptr<Cluster> Start();
  // Stop(), then kills what is left.
  ~Cluster();

  // Starts a worker with these flags beside --connect; returns its number.
  int AddWorker(const std::vector<std::string>& flags = {});
  // SIGTERM; a test failure unless it ends in time with exit code 0.
  void StopWorker(int worker);
  // As by accident: SIGKILL.
  void KillWorker(int worker);
  void KillDaemon();
  // As its administrator: SIGTERM; a test failure unless it ends in time with
  // exit code 0. Workers live on.
  void EndDaemon();
  // Again: on the same state folder and, after the first time, at the same
  // addresses. Whether it came up; fails the running test otherwise.
  bool StartDaemon();
  // StopWorker() of all, and the same to the daemon. Later calls do nothing.
  void Stop();
  // Whether the daemon still runs.
  bool DaemonIsUp();

  // `edgekiln ARGUMENTS --server ADDRESS`.
  Outcome Cli(std::vector<std::string> arguments,
              absl::Duration limit = absl::Seconds(90));
  std::unique_ptr<Process> StartCli(std::vector<std::string> arguments);

  Sandbox& sandbox() { return sandbox_; }
  const std::string& address() const { return address_; }
  const std::string& workers_address() const { return workers_address_; }

 private:
  Cluster() = default;

  Sandbox sandbox_;
  std::string address_ = "127.0.0.1:0";
  std::string workers_address_ = "127.0.0.1:0";
  std::unique_ptr<Process> daemon_;
  std::vector<std::unique_ptr<Process>> workers_;
};

// One cluster with two workers for all tests of a suite.
class ClusterTest : public testing::Test {
 protected:
  static void SetUpTestSuite();
  static void TearDownTestSuite();
  void SetUp() override { ASSERT_NE(cluster_, nullptr); }

  static Cluster& cluster() { return *cluster_; }
  static Sandbox& sandbox() { return cluster_->sandbox(); }

 private:
  static std::unique_ptr<Cluster> cluster_;
};

}  // namespace edgekiln::tests

#endif  // EK_TESTS_E2E_CLUSTER_H_
