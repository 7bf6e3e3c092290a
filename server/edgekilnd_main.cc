// edgekilnd: accepts jobs, keeps blobs and results, gives stages to workers.

#include <grpc/grpc.h>
#include <grpc/support/log.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/private_folder.h"
#include "base/status_macros.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/text_format.h"
#include "server/command_line.h"
#include "server/daemon/daemon.h"
#include "server/daemon/farm/launcher.h"
#include "server/daemon/listen_address.h"
#include "server/daemon/local_instance.h"
#include "server/version.h"

namespace edgekiln::server {
namespace {

// Exit codes of the command line, as in the CLI.
constexpr int kUsage = 2;
constexpr int kInfra = 4;
constexpr int64_t kMaxConfigBytes = 1 << 20;
constexpr int64_t kLocalCacheBytes = int64_t{10} << 30;
constexpr absl::Duration kLocalDrain = absl::Seconds(3);
// Of a client between two calls, which may be those of one job.
constexpr absl::Duration kIdleWithoutSockets = absl::Seconds(1);
constexpr int kConnectionsPerWorker = 8;
constexpr char kHelp[] =
    "The edgekiln daemon: takes models, targets and data from clients, keeps\n"
    "what was computed, and gives work to edgekiln-worker processes.\n"
    "\n"
    "  edgekilnd --workers 2           serve this user with two workers\n"
    "  edgekilnd --listen 127.0.0.1:7433 --workers 2\n"
    "                                  serve every user of this machine\n"
    "  edgekilnd --listen 0.0.0.0:7433 --workers-listen 0.0.0.0:7434 \\\n"
    "            --insecure-network    serve a farm; on each machine of it:\n"
    "  edgekiln-worker --connect HOST:7434 --secret-file worker_secret\n"
    "  edgekiln profile MODEL --target dla-64-o-512k --server HOST:7433\n"
    "\n"
    "Workers must know the file worker_secret of the state folder: copy it to\n"
    "their machines. Clients are asked nothing, and nothing is encrypted: on\n"
    "loopback any user of this machine can use a port, beyond it anybody who\n"
    "reaches it, which --insecure-network allows.\n"
    "Without --listen there is a Unix socket, for this user alone; `edgekiln`\n"
    "without --server finds it.\n"
    "If no such daemon runs, `edgekiln` starts `edgekilnd --local` by itself.\n"
    "That one keeps nothing that cannot be made again, hence its state is a\n"
    "cache: $XDG_CACHE_HOME/edgekiln.\n"
    "\n"
    "SIGTERM and SIGINT: no new jobs, running stages may end for "
    "drain_seconds\n"
    "(--config; 10, with --local 3). A second signal ends at once. Unfinished\n"
    "jobs go on with the next start.";

struct Flags {
  std::string listen;
  std::string workers_listen;
  std::string http;
  std::string metrics;
  bool insecure_network = false;
  std::string state;
  std::string ready_file;
  std::string config;
  bool local = false;
  int workers = -1;  // -1: not given.
  int idle_seconds = 300;
  int64_t cache_limit_bytes = -1;  // -1: not given.
  int64_t keep_jobs = 0;           // 0: not given.
  int keep_days = 0;               // As well.
  bool verbose = false;
  bool quiet = false;
};

void Define(CLI::App& app, Flags& flags) {
  app.set_version_flag("--version", std::string(Version()));
  app.add_option("--listen", flags.listen,
                 "For clients: HOST:PORT, or unix:/PATH; port 0 picks one "
                 "(default: service.sock in $XDG_RUNTIME_DIR/edgekiln or "
                 "/tmp/edgekiln-UID)")
      ->type_name("ADDRESS");
  app.add_option("--workers-listen", flags.workers_listen,
                 "For workers (default: service-workers.sock in that folder)")
      ->type_name("ADDRESS");
  app.add_option(
         "--http", flags.http,
         "The same calls as JSON over HTTP, for curl and health checks: "
         "HOST:PORT, or unix:/PATH (docs/http.md; default: none)")
      ->type_name("ADDRESS");
  app.add_option("--metrics", flags.metrics,
                 "For Prometheus, under /metrics: HOST:PORT, or unix:/PATH "
                 "(docs/metrics.md; default: none)")
      ->type_name("ADDRESS");
  app.add_flag("--insecure-network", flags.insecure_network,
               "Allow addresses that other machines reach, although nobody is "
               "asked who they are");
  app.add_option("--state", flags.state,
                 "Folder of jobs, blobs and results; one daemon at a time "
                 "(default $XDG_STATE_HOME/edgekiln, or ~/.local/state/; with "
                 "--local $XDG_CACHE_HOME/edgekiln, or ~/.cache/)")
      ->type_name("FOLDER");
  app.add_option("--workers", flags.workers,
                 "Worker processes to start here (default 0; with --local, "
                 "one per core)")
      ->type_name("N")
      ->check(CLI::Range(0, 1024).description(""));
  app.add_option("--config", flags.config,
                 "A DaemonConfig message (proto/edgekiln/v1/config.proto) as "
                 "text; flags win over it")
      ->type_name("FILE");
  app.add_option("--ready-file", flags.ready_file,
                 "Written once serving: the address for clients, on the "
                 "second line the one for workers; with --http or --metrics "
                 "theirs on the third, which may be empty, and the fourth")
      ->type_name("FILE");
  app.add_flag("--local", flags.local,
               "Serve this user only, on a socket in the runtime folder; start "
               "workers; leave when idle. A second one leaves at once");
  app.add_option("--idle-seconds", flags.idle_seconds,
                 "With --local: leave after that long without jobs and calls")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 30).description(""))
      ->capture_default_str();
  AddSize(app, "--cache-limit", flags.cache_limit_bytes,
          "Keep blobs and stage results below that, as 500MB or 20GiB; 0: no "
          "limit (default 0; with --local 10GiB)");
  app.add_option("--keep-jobs", flags.keep_jobs,
                 "Forget the oldest finished jobs and their reports beyond "
                 "that many (default 10000)")
      ->type_name("N")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 40).description(""));
  app.add_option("--keep-days", flags.keep_days,
                 "Forget those that ended longer ago (default 30)")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 20).description(""));
  CLI::Option* const verbose = app.add_flag(
      "--verbose", flags.verbose, "Log workers, stages and gRPC, too");
  app.add_flag("--quiet", flags.quiet, "Log faults only")->excludes(verbose);
  app.footer(kSizeRule);
  WrapOptions(app);
}

// Keeps the first complaint of the parser.
class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, google::protobuf::io::ColumnNumber column,
                const std::string& message) override {
    if (what.empty()) what = message;
    if (where.empty()) where = absl::StrCat(":", line + 1, ":", column + 1);
  }
  std::string what;
  std::string where;
};

absl::Status ReadConfig(const std::string& path, FileSystem& files,
                        DaemonOptions& options, int& workers) {
  EK_ASSIGN_OR_RETURN(const std::string text, files.Read(path, kMaxConfigBytes),
                      "--config");
  v1::DaemonConfig config;
  FirstError error;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  if (!parser.ParseFromString(text, &config)) {
    return MakeError(absl::StatusCode::kInvalidArgument,
                     {.fault = Fault::kUser,
                      .reason = "BAD_CONFIG",
                      .what = error.what,
                      .where = absl::StrCat(path, error.where),
                      .fix = "see proto/edgekiln/v1/config.proto"});
  }
  EK_RETURN_IF_ERROR(ApplyConfig(config, options), path);
  if (config.local_workers() > 0) workers = config.local_workers();
  return absl::OkStatus();
}

// What flags, config and mode come to.
struct Setup {
  // With --local: this user's daemon runs already. The rest is not set then.
  bool redundant = false;
  DaemonOptions daemon;
  int workers = 0;
  std::optional<FileLock> user_lock;  // With --local.
};

// Addresses of nobody but this user, in a folder of his own.
absl::Status ListenInRuntimeFolder(DaemonOptions& options) {
  if (!options.listen.empty() && !options.workers_listen.empty()) {
    return absl::OkStatus();
  }
  const std::string runtime = RuntimeFolder();
  EK_RETURN_IF_ERROR(MakePrivateFolder(runtime));
  if (options.listen.empty()) {
    options.listen = absl::StrCat("unix:", JoinPath(runtime, "service.sock"));
  }
  if (options.workers_listen.empty()) {
    options.workers_listen =
        absl::StrCat("unix:", JoinPath(runtime, "service-workers.sock"));
  }
  return absl::OkStatus();
}

absl::StatusOr<Setup> Prepare(const Flags& flags, FileSystem& files) {
  Setup setup;
  setup.daemon.listen.clear();
  setup.daemon.workers_listen.clear();
  if (flags.local) {
    const std::string runtime = RuntimeFolder();
    EK_RETURN_IF_ERROR(MakePrivateFolder(runtime));
    absl::StatusOr<FileLock> lock =
        FileLock::Acquire(JoinPath(runtime, "edgekilnd.lock"));
    if (absl::IsAlreadyExists(lock.status())) {
      setup.redundant = true;
      return setup;
    }
    EK_RETURN_IF_ERROR(lock.status());
    setup.user_lock.emplace(*std::move(lock));
    const std::string clients = JoinPath(runtime, "edgekilnd.sock");
    const std::string workers = LocalWorkersSocket();
    setup.daemon.listen = absl::StrCat("unix:", clients);
    setup.daemon.workers_listen = absl::StrCat("unix:", workers);
    setup.workers =
        static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    EK_ASSIGN_OR_RETURN(setup.daemon.state_folder, CacheFolder());
    setup.daemon.cache_limit_bytes = kLocalCacheBytes;
    // Who replaces an outdated one waits for its end.
    setup.daemon.drain_for = kLocalDrain;
  } else if (flags.state.empty()) {
    EK_ASSIGN_OR_RETURN(setup.daemon.state_folder, StateFolder());
  }
  if (!flags.config.empty()) {
    EK_RETURN_IF_ERROR(
        ReadConfig(flags.config, files, setup.daemon, setup.workers));
  }
  if (!flags.listen.empty()) setup.daemon.listen = flags.listen;
  if (!flags.workers_listen.empty()) {
    setup.daemon.workers_listen = flags.workers_listen;
  }
  if (!flags.http.empty()) setup.daemon.http = flags.http;
  if (!flags.metrics.empty()) setup.daemon.metrics = flags.metrics;
  if (flags.insecure_network) setup.daemon.insecure_network = true;
  EK_RETURN_IF_ERROR(ListenInRuntimeFolder(setup.daemon));
  if (!flags.state.empty()) setup.daemon.state_folder = flags.state;
  if (flags.cache_limit_bytes >= 0) {
    setup.daemon.cache_limit_bytes = flags.cache_limit_bytes;
  }
  if (flags.keep_jobs > 0) setup.daemon.keep_jobs = flags.keep_jobs;
  if (flags.keep_days > 0) {
    setup.daemon.keep_jobs_for = absl::Hours(24 * flags.keep_days);
  }
  if (flags.workers >= 0) setup.workers = flags.workers;
  setup.daemon.max_connections = std::max(
      setup.daemon.max_connections, setup.workers * kConnectionsPerWorker);
  return setup;
}

// The folder this program runs from; edgekiln-worker lies beside it.
std::string ProgramFolder() {
  std::string path(4096, '\0');
  const ssize_t length = readlink("/proc/self/exe", path.data(), path.size());
  path.resize(length > 0 ? static_cast<size_t>(length) : 0);
  return ParentPath(path);
}

// gRPC tells in its own words what our errors say already.
void SilenceGrpc() {
  gpr_set_log_function([](gpr_log_func_args*) {});
}

const timespec kPoll{.tv_sec = 0, .tv_nsec = 250'000'000};
const timespec kDrainPoll{.tv_sec = 0, .tv_nsec = 20'000'000};

// Whether the folder of the sockets is still there: it goes when its user logs
// out. Nobody finds the daemon then, and it keeps others from the state.
absl::Status CheckRuntimeFolder(const std::optional<FileLock>& user_lock) {
  if (!user_lock.has_value() || !user_lock->IsLost()) return absl::OkStatus();
  return MakeError(absl::StatusCode::kUnavailable,
                   {.fault = Fault::kInfra,
                    .reason = "RUNTIME_FOLDER_REMOVED",
                    .what = "the folder of the sockets was removed while the "
                            "daemon ran",
                    .where = RuntimeFolder(),
                    .fix = "none is needed: the next command starts another"});
}

// Blocks until a signal, or until the daemon has been idle for long enough, or
// has lost a folder, which is an error: that of the sockets once its jobs and
// calls have ended. Whether it was a signal.
absl::StatusOr<bool> WaitForEnd(const sigset_t& signals, Daemon& daemon,
                                const std::optional<FileLock>& user_lock,
                                absl::Duration max_idle) {
  while (true) {
    if (sigtimedwait(&signals, nullptr, &kPoll) > 0) return true;
    if (daemon.IdleFor() > max_idle) return false;
    EK_RETURN_IF_ERROR(daemon.CheckState());
    if (daemon.IdleFor() > kIdleWithoutSockets) {
      EK_RETURN_IF_ERROR(CheckRuntimeFolder(user_lock));
    }
  }
}

// Lets leases end that workers have; not for long, nor against another signal.
void Drain(const sigset_t& signals, Daemon& daemon, absl::Duration patience,
           Clock& clock, Logger& log) {
  const absl::Duration until = clock.Monotonic() + patience;
  daemon.Drain();
  if (!daemon.Drained()) {
    log.Info("running stages may end within ", absl::FormatDuration(patience),
             "; a second signal ends at once");
  }
  while (!daemon.Drained() && clock.Monotonic() < until) {
    if (sigtimedwait(&signals, nullptr, &kDrainPoll) > 0) return;
  }
}

// Who can reach what is served, where that is more than this user.
void WarnOfExposure(const Daemon& daemon, Logger& log) {
  const std::string& clients = daemon.client_address();
  const std::string& workers = daemon.worker_address();
  for (const std::string& address : {clients, daemon.http_address()}) {
    if (address.empty() || absl::StartsWith(address, "unix:")) continue;
    log.Warning(IsLoopback(address) ? "every user of this machine"
                                    : "everybody who reaches it",
                " can submit, read and cancel jobs on ", address,
                ": clients are not authenticated");
  }
  // Workers prove that they know the secret; on loopback nobody but root sees
  // what they and the daemon say to each other.
  if (!absl::StartsWith(workers, "unix:") && !IsLoopback(workers)) {
    log.Warning("connections of workers on ", workers,
                " are authenticated but not encrypted: use a network that you "
                "trust");
  }
}

LogLevel LevelOf(const Flags& flags) {
  if (flags.verbose) return LogLevel::kDebug;
  return flags.quiet ? LogLevel::kWarning : LogLevel::kInfo;
}

absl::Status Serve(const Flags& flags, const sigset_t& signals) {
  const auto clock = NewRealClock();
  const auto log = NewStderrLogger(LevelOf(flags), *clock);
  const auto files = NewPosixFileSystem();
  EK_ASSIGN_OR_RETURN(const Setup setup, Prepare(flags, *files));
  if (setup.redundant) {
    // Two CLIs may start one each at the same moment; the loser is no failure.
    std::cerr << "edgekilnd: another local daemon serves this user already\n";
    return absl::OkStatus();
  }
  // Outlives the daemon: workers that end while it still has jobs for them
  // would look like failures.
  const auto launcher =
      NewForkLauncher({.program = JoinPath(ProgramFolder(), "edgekiln-worker"),
                       .secret_file = WorkerSecretFile(setup.daemon)},
                      *log);
  EK_ASSIGN_OR_RETURN(const std::unique_ptr<Daemon> daemon,
                      StartDaemon(setup.daemon, *clock, *log));
  WarnOfExposure(*daemon, *log);
  if (setup.workers > 0) {
    EK_RETURN_IF_ERROR(
        launcher->Start(setup.workers, daemon->worker_address()));
  }
  log->Info("edgekilnd ", Version(), ", process ", getpid(),
            ": serving clients on ", daemon->client_address(),
            " and workers on ", daemon->worker_address(), " (", setup.workers,
            " of its own), state in ", setup.daemon.state_folder);
  if (!flags.ready_file.empty()) {
    std::string lines = absl::StrCat(daemon->client_address(), "\n",
                                     daemon->worker_address(), "\n");
    const std::string http = daemon->http_address();
    const std::string metrics = daemon->metrics_address();
    if (!http.empty() || !metrics.empty()) absl::StrAppend(&lines, http, "\n");
    if (!metrics.empty()) absl::StrAppend(&lines, metrics, "\n");
    EK_RETURN_IF_ERROR(WriteAtomically(*files, flags.ready_file, lines));
  }
  EK_ASSIGN_OR_RETURN(const bool asked,
                      WaitForEnd(signals, *daemon, setup.user_lock,
                                 flags.local ? absl::Seconds(flags.idle_seconds)
                                             : absl::InfiniteDuration()));
  log->Info("shutting down", asked ? "" : ": idle");
  if (asked) {
    Drain(signals, *daemon, setup.daemon.drain_for, *clock, *log);
  }
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  Flags flags;
  CLI::App app(kHelp, "edgekilnd");
  Define(app, flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsage;
  }
  KeepFreedMemory();
  // In Debian's gRPC every lock would be looked up in a graph of all locks,
  // under one spinlock.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  // Models and data of others are nobody's business.
  umask(077);
  if (!flags.verbose) SilenceGrpc();
  // Before any thread exists: all inherit the mask, and only WaitForEnd() sees
  // these signals.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
  // Never undone: gRPC's own end may wait 10 s for a poller that nobody wakes.
  grpc_init();
  const absl::Status status = Serve(flags, signals);
  if (status.ok()) return 0;
  std::cerr << "edgekilnd: " << status.message() << "\n";
  const std::optional<ErrorDetail> detail = GetErrorDetail(status);
  return detail.has_value() && detail->fault == Fault::kUser ? kUsage : kInfra;
}

}  // namespace
}  // namespace edgekiln::server

int main(int argc, char** argv) { return edgekiln::server::Main(argc, argv); }
