#ifndef EK_TESTS_BENCH_PROGRAM_H_
#define EK_TESTS_BENCH_PROGRAM_H_

// Other programs, started by a bench. None outlives it.

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace edgekiln::bench {

// Thread-compatible. Must be started by the main thread: a child dies with the
// thread that started it.
class Program {
 public:
  // Its output goes to /dev/null. UNAVAILABLE if it cannot be started.
  static absl::StatusOr<std::unique_ptr<Program>> Start(
      const std::vector<std::string>& command);
  // SIGTERM, after five seconds SIGKILL.
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // User and system time so far.
  double CpuSeconds() const;

 private:
  explicit Program(pid_t pid) : pid_(pid) {}
  const pid_t pid_;
};

// What one run of a program cost.
struct RunCost {
  double wall_seconds = 0;
  double cpu_seconds = 0;
};

// Runs it to its end. UNAVAILABLE unless it leaves with exit code 0.
absl::StatusOr<RunCost> RunProgram(const std::vector<std::string>& command);

// A folder of its own below the system's temporary folder; gone at the end.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  std::string At(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// A daemon with workers of its own on free loopback ports.
class Daemon {
 public:
  // `bin` is the folder of the programs, `state` that of the daemon.
  static absl::StatusOr<std::unique_ptr<Daemon>> Start(
      const std::string& bin, const ScratchFolder& scratch, int workers);

  const std::string& address() const { return address_; }
  const Program& program() const { return *program_; }

 private:
  Daemon(std::unique_ptr<Program> program, std::string address)
      : program_(std::move(program)), address_(std::move(address)) {}
  std::unique_ptr<Program> program_;
  std::string address_;
};

}  // namespace edgekiln::bench

#endif  // EK_TESTS_BENCH_PROGRAM_H_
