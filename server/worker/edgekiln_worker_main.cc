// edgekiln-worker: executes stages for a daemon.

#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "CLI/CLI.hpp"
#include "base/clock.h"
#include "base/file.h"
#include "base/format_bytes.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "server/command_line.h"
#include "server/daemon/local_instance.h"
#include "server/version.h"
#include "server/worker/builder_guard.h"
#include "server/worker/child_main.h"
#include "server/worker/compilers.h"
#include "server/worker/confinement.h"
#include "server/worker/memory_budget.h"
#include "server/worker/run_program.h"
#include "server/worker/scratch_folder.h"
#include "server/worker/stage_table.h"
#include "server/worker/worker.h"
#include "server/worker_secret.h"

namespace edgekiln::server {
namespace {

// Exit codes of the command line, as in the CLI.
// A child takes that much before it has done anything.
constexpr int64_t kMinMemoryLimit = int64_t{32} << 20;
constexpr int kUsage = 2;
constexpr int kInfra = 4;
constexpr int kAuthentication = 6;
constexpr char kHelp[] =
    "Executes compile and simulate stages for an edgekilnd.\n"
    "\n"
    "  edgekiln-worker --connect 127.0.0.1:7434\n"
    "      For the daemon of this user on this machine.\n"
    "  scp HOST:.local/state/edgekiln/worker_secret .\n"
    "  edgekiln-worker --connect HOST:7434 --secret-file worker_secret\n"
    "      For a daemon on another machine: who knows the secret is a worker.";

struct Flags {
  std::string connect;
  std::string secret_file;
  std::vector<std::string> roles = {"compile", "simulate"};
  int slots = 0;
  int64_t memory_limit_bytes = int64_t{4} << 30;
  std::optional<int64_t> memory_budget_bytes;
  int64_t warm_bytes = int64_t{256} << 20;
  int64_t blob_cache_bytes = int64_t{64} << 20;
  bool verbose = false;
  bool quiet = false;
  bool exit_with_parent = false;
  bool no_seccomp = false;
  bool print_confinement = false;
  bool child = false;
  std::string builder;  // Its folder.
  std::vector<std::string> tool_folders;
  std::string guard;  // The folder of the builder that it guards.
  std::string test_crash_stage;
};

void Define(CLI::App& app, Flags& flags) {
  app.set_version_flag("--version", std::string(Version()));
  app.add_option("--connect", flags.connect,
                 "The daemon's for workers: HOST:PORT, or unix:/PATH")
      ->type_name("ADDRESS");
  app.add_option("--secret-file", flags.secret_file,
                 "The daemon's file worker_secret, readable for its owner "
                 "alone (default: that of this user's daemon, "
                 "$XDG_STATE_HOME/edgekiln/worker_secret, and of its local one "
                 "for the socket of that)")
      ->type_name("FILE");
  app.add_option("--roles", flags.roles,
                 "What to execute, separated by commas: compile, simulate "
                 "(default: both)")
      ->delimiter(',')
      ->type_name("ROLES")
      ->check(CLI::IsMember({"compile", "simulate"}).description(""));
  app.add_option("--slots", flags.slots,
                 "Leases executed at once, each in a process of its own; half "
                 "as many more while others take long (default: one per core)")
      ->type_name("N")
      ->check(CLI::Range(1, 1024).description(""));
  AddSize(app, "--memory-limit", flags.memory_limit_bytes,
          "Address space of each such process; 0: unlimited (default: 4GiB)");
  AddSize(app, "--memory-budget", flags.memory_budget_bytes,
          "Memory that all such processes may use together; where it is less "
          "than all their limits, each gets its part, and the whole limit when "
          "a lease needs it; 0: unlimited (default: 80 % of the machine's or "
          "of the control group's)");
  AddSize(app, "--warm-memory", flags.warm_bytes,
          "Memory in which each such process keeps networks and programs that "
          "it has made ready, for the next lease; 0: none (default: 256MiB)");
  AddSize(app, "--blob-cache", flags.blob_cache_bytes,
          "Memory in which the worker keeps inputs and outputs of recent "
          "leases; 0: none (default: 64MiB)");
  app.add_flag("--exit-with-parent", flags.exit_with_parent,
               "End when the process that started this one has ended");
  app.add_flag("--no-seccomp", flags.no_seccomp,
               "Let processes that execute stages make any system call (for "
               "valgrind and the like)");
  app.add_flag("--print-confinement", flags.print_confinement,
               "Print what such processes are confined to on this machine, and "
               "end");
  CLI::Option* const verbose =
      app.add_flag("--verbose", flags.verbose, "Log leases, too");
  app.add_flag("--quiet", flags.quiet, "Log faults only")->excludes(verbose);
  app.add_option("--test-crash-stage", flags.test_crash_stage,
                 "Crash whenever this stage is executed (\"tile\")")
      ->type_name("STAGE")
      ->group("For testing");
  app.add_flag("--child", flags.child,
               "Execute stages for the worker at descriptor 3")
      ->group("");
  app.add_option("--builder", flags.builder,
                 "With --child: run compilers, and write this folder only")
      ->group("");
  app.add_option("--tool-folder", flags.tool_folders,
                 "With --builder: read and execute this folder, too")
      ->group("");
  app.add_option("--guard", flags.guard,
                 "End this group of processes, and remove this folder, once "
                 "descriptor 3 is at its end")
      ->group("");
  app.footer(kSizeRule);
  WrapOptions(app);
}

std::vector<v1::WorkerRole> RolesOf(const Flags& flags) {
  std::vector<v1::WorkerRole> roles;
  for (const std::string& role : flags.roles) {
    roles.push_back(role == "compile" ? v1::COMPILE_ROLE : v1::SIMULATE_ROLE);
  }
  return roles;
}

ChildOptions ChildOf(const Flags& flags) {
  // The very binary that runs now, even if the file has been replaced since.
  ChildOptions child;
  child.binary = "/proc/self/exe";
  child.arguments = {"--child", "--warm-memory",
                     std::to_string(flags.warm_bytes)};
  if (flags.no_seccomp) child.arguments.emplace_back("--no-seccomp");
  child.memory_limit_bytes = flags.memory_limit_bytes;
  if (!flags.test_crash_stage.empty()) {
    child.arguments.emplace_back("--test-crash-stage");
    child.arguments.push_back(flags.test_crash_stage);
  }
  return child;
}

// Without a limit for each there is nothing to share.
int64_t BudgetOf(const Flags& flags) {
  if (!kLimitsAddressSpace || flags.memory_limit_bytes == 0) return 0;
  return flags.memory_budget_bytes.value_or(DefaultMemoryBudget());
}

// A lease computes in one thread, so that as many as there are cores are busy.
int SlotsOf(const Flags& flags) {
  if (flags.slots > 0) return flags.slots;
  const unsigned cores = std::thread::hardware_concurrency();
  return static_cast<int>(std::clamp(cores, 1U, 1024U));
}

// Returns once one of the signals has come, or the parent is gone if that
// matters.
void AwaitEnd(const sigset_t& signals, bool with_parent) {
  const pid_t parent = getppid();
  const timespec interval = {.tv_sec = 1, .tv_nsec = 0};
  while (sigtimedwait(&signals, nullptr, &interval) < 0) {
    if (with_parent && getppid() != parent) return;
  }
}

LogLevel LevelOf(const Flags& flags) {
  if (flags.verbose) return LogLevel::kDebug;
  return flags.quiet ? LogLevel::kWarning : LogLevel::kInfo;
}

// A file that is named must be there and be right. Where it is this user's
// daemon that makes it, at its first start, the worker waits for that.
absl::StatusOr<std::string> SecretFileOf(const Flags& flags) {
  if (!flags.secret_file.empty()) {
    EK_RETURN_IF_ERROR(ReadWorkerSecret(flags.secret_file).status(),
                       "--secret-file");
    return flags.secret_file;
  }
  const bool local = flags.connect == "unix:" + LocalWorkersSocket();
  EK_ASSIGN_OR_RETURN(const std::string folder,
                      local ? CacheFolder() : StateFolder());
  return JoinPath(folder, kWorkerSecretName);
}

int ExitCodeOf(const absl::Status& status) {
  if (status.ok()) return 0;
  return absl::IsUnauthenticated(status) ? kAuthentication : kInfra;
}

// Those of a worker that compiles; tells of them.
InstalledCompilers CompilersOf(const Flags& flags, Logger& log) {
  const auto& roles = flags.roles;
  if (std::find(roles.begin(), roles.end(), "compile") == roles.end()) {
    return {};
  }
  // What is found is kept where this user's daemon keeps things.
  std::string memory;
  const absl::StatusOr<std::string> folder = CacheFolder();
  if (folder.ok() && NewPosixFileSystem()->CreateDirectories(*folder).ok()) {
    memory = JoinPath(*folder, "compilers");
  }
  InstalledCompilers compilers = InstalledCompilers::Find(SearchPath(), memory);
  for (const std::string& problem : compilers.problems()) {
    log.Warning("not used as a compiler: ", problem);
  }
  log.Info("compilers: ", CompilersText(compilers));
  RemoveAbandoned(TemporaryFolder(), kBuilderFolderPrefix);
  return compilers;
}

int RunWorker(const Flags& flags) {
  // Before any thread exists: all of them inherit the mask, so that only the
  // one below sees these signals.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);

  const auto clock = NewRealClock();
  const auto log = NewStderrLogger(LevelOf(flags), *clock);
  log->Info("edgekiln-worker ", Version(), ", process ", getpid(), ", ",
            SlotsOf(flags), SlotsOf(flags) == 1 ? " slot" : " slots", ", for ",
            flags.connect);
  const absl::StatusOr<std::string> secret_file = SecretFileOf(flags);
  if (!secret_file.ok()) {
    log->Error(secret_file.status().message());
    return flags.secret_file.empty() ? kInfra : kUsage;
  }
  const auto worker =
      NewWorker({.address = flags.connect,
                 .roles = RolesOf(flags),
                 .secret_file = *secret_file,
                 .slots = SlotsOf(flags),
                 .blob_cache_bytes = flags.blob_cache_bytes,
                 .child = ChildOf(flags),
                 .find_compilers = [&] { return CompilersOf(flags, *log); },
                 .memory_budget_bytes = BudgetOf(flags)},
                *log);
  std::thread waiter([&] {
    AwaitEnd(signals, flags.exit_with_parent);
    worker->Stop();
  });
  const absl::Status status = worker->Run();
  if (!status.ok()) log->Error(status.message());
  // Ends the waiter if no signal did.
  kill(getpid(), SIGTERM);
  waiter.join();
  return ExitCodeOf(status);
}

int Main(int argc, char** argv) {
  Flags flags;
  CLI::App app(kHelp, "edgekiln-worker");
  Define(app, flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsage;
  }
  if (!flags.guard.empty()) return RunGuard(flags.guard);
  if (flags.child) {
    return ServeChild({.memory_limit_bytes = flags.memory_limit_bytes,
                       .warm_bytes = flags.warm_bytes,
                       .filter_system_calls = !flags.no_seccomp,
                       .scratch_folder = flags.builder,
                       .tool_folders = flags.tool_folders,
                       .crash_stage = flags.test_crash_stage},
                      RunStage);
  }
  if (flags.memory_limit_bytes > 0 &&
      flags.memory_limit_bytes < kMinMemoryLimit) {
    std::cerr << "edgekiln-worker: --memory-limit is "
              << FormatBytes(flags.memory_limit_bytes)
              << "; no stage runs in less than " << FormatBytes(kMinMemoryLimit)
              << " (0: unlimited)\n";
    return kUsage;
  }
  if (flags.print_confinement) {
    ChildOptions child = ChildOf(flags);
    std::cout << ConfinementText(ProbeConfinement(child)) << "\n";
    child.scratch_parent = TemporaryFolder();
    std::cout << "builders of firmware: "
              << ConfinementText(ProbeConfinement(child)) << "\n";
    return 0;
  }
  if (flags.connect.empty()) {
    std::cerr << "edgekiln-worker: --connect ADDRESS is required\n";
    return kUsage;
  }
  return RunWorker(flags);
}

}  // namespace
}  // namespace edgekiln::server

int main(int argc, char** argv) { return edgekiln::server::Main(argc, argv); }
