#include "server/daemon/daemon.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "cache/disk_blob_store.h"
#include "cache/disk_space.h"
#include "cache/stage_result_store.h"
#include "cache/upload_store.h"
#include "server/daemon/activity.h"
#include "server/daemon/blobs/blob_services.h"
#include "server/daemon/disk_reserve.h"
#include "server/daemon/farm/dispatcher.h"
#include "server/daemon/farm/quarantine.h"
#include "server/daemon/farm/stored_result.h"
#include "server/daemon/farm/worker_gate.h"
#include "server/daemon/farm/workers_service.h"
#include "server/daemon/jobs/job_journal.h"
#include "server/daemon/jobs/job_manager.h"
#include "server/daemon/jobs/job_services.h"
#include "server/daemon/jobs/job_store.h"
#include "server/daemon/jobs/question_services.h"
#include "server/daemon/jobs/still_needed.h"
#include "server/daemon/listen_address.h"
#include "server/daemon/local_instance.h"
#include "server/daemon/stages/stage_runner.h"
#include "server/stage_versions.h"
#include "server/worker_secret.h"

namespace edgekiln::server {
namespace {

constexpr int kMaxMessageBytes = 16 << 20;
constexpr std::chrono::milliseconds kTick{250};
// In which results of stages are read and stored. Each waits for the disk most
// of the time, and those that wait together share a sync.
constexpr int kResultThreads = 8;
// Calls that have not ended by themselves are cancelled after this.
constexpr std::chrono::milliseconds kShutdownGrace{300};
// What a sender may have under way beyond what we have taken; together with a
// message at either end, what is sent again after a break stays below 4 MiB.
// gRPC's own guess of the bandwidth would let it grow to more.
constexpr int kStreamWindowBytes = 2 << 20;
constexpr int kKeepAliveMs = 20'000;
constexpr int kKeepAliveTimeoutMs = 10'000;

// "host:port" with the port that was taken; Unix sockets have none.
std::string BoundAddress(const std::string& asked, int port) {
  if (absl::StartsWith(asked, "unix:")) return asked;
  return absl::StrCat(asked.substr(0, asked.rfind(':')), ":", port);
}

uint64_t NewSeed() {
  std::random_device random;
  return (uint64_t{random()} << 32) | random();
}

struct Listener {
  std::vector<std::unique_ptr<grpc::Service>> services;
  std::unique_ptr<grpc::Server> server;
  std::string address;
};

absl::Status Listen(const std::string& address, Listener& listener) {
  EK_RETURN_IF_ERROR(CheckListenAddress(address));
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &port);
  builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
  builder.SetMaxSendMessageSize(kMaxMessageBytes);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES,
                             kStreamWindowBytes);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepAliveMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS,
                             kKeepAliveTimeoutMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(
      GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5'000);
  for (const auto& service : listener.services) {
    builder.RegisterService(service.get());
  }
  listener.server = builder.BuildAndStart();
  const bool is_unix = absl::StartsWith(address, "unix:");
  if (listener.server == nullptr || (!is_unix && port == 0)) {
    return MakeError(absl::StatusCode::kUnavailable,
                     {.fault = Fault::kInfra,
                      .reason = "ADDRESS_TAKEN",
                      .what = "cannot listen on this address",
                      .where = address,
                      .fix = "free it, or choose another; port 0 picks one"});
  }
  listener.address = BoundAddress(address, port);
  return absl::OkStatus();
}

class DaemonImpl : public Daemon {
 public:
  DaemonImpl(const DaemonOptions& options, Clock& clock, Logger& log)
      : options_(options),
        clock_(clock),
        log_(log),
        files_(NewPosixFileSystem()),
        activity_(clock),
        worker_activity_(clock) {}

  ~DaemonImpl() override {
    stopping_ = true;
    {
      MutexLock lock(tick_mutex_);
      tick_stop_ = true;
    }
    tick_changed_.NotifyAll();
    if (ticker_.joinable()) ticker_.join();
    evictor_.Stop();  // It asks the job store.
    // Jobs first, while workers can still do what they are asked: a job must
    // be left as it is for the next daemon, not fail because of our end.
    if (manager_) manager_->Stop();
    if (dispatcher_) dispatcher_->Shutdown();
    const auto deadline = std::chrono::system_clock::now() + kShutdownGrace;
    std::thread workers([&] {
      if (workers_.server) workers_.server->Shutdown(deadline);
    });
    if (clients_.server) clients_.server->Shutdown(deadline);
    workers.join();
    if (workers_.server) workers_.server->Wait();
    if (clients_.server) clients_.server->Wait();
  }

  absl::Status Open() {
    const std::string& state = options_.state_folder;
    EK_RETURN_IF_ERROR(files_->CreateDirectories(state), "state folder");
    EK_ASSIGN_OR_RETURN(FileLock lock,
                        FileLock::Acquire(JoinPath(state, "lock")));
    lock_.emplace(std::move(lock));
    space_ = cache::NewDiskSpace(state, options_.disk_reserve_bytes,
                                 [state] { return cache::FreeBytes(state); });
    EK_ASSIGN_OR_RETURN(
        std::unique_ptr<cache::BlobStore> disk,
        cache::OpenDiskBlobStore(*files_, JoinPath(state, "blobs"), &evictor_));
    blobs_ = cache::NewMemoryCachedBlobStore(
        cache::NewSpaceCheckingBlobStore(std::move(disk), *space_), {});
    EK_ASSIGN_OR_RETURN(
        uploads_,
        cache::OpenUploadStore(*files_, JoinPath(state, "uploads"), *blobs_,
                               *space_, options_.uploads, clock_));
    EK_ASSIGN_OR_RETURN(
        results_, cache::OpenDiskStageResultStore(
                      *files_, JoinPath(state, "results"), *blobs_, &evictor_));
    PrepareDiskReserve(state, options_.disk_reserve_bytes / 4, log_);
    EK_ASSIGN_OR_RETURN(store_, JobStore::Open(JoinPath(state, "jobs.db")));
    EK_ASSIGN_OR_RETURN(
        quarantine_,
        Quarantine::Open(*files_, JoinPath(state, "quarantine"), log_));
    EK_ASSIGN_OR_RETURN(
        std::string secret,
        ReadOrMakeWorkerSecret(*files_, WorkerSecretFile(options_)));
    gate_.emplace(WorkerGateOptions{.secret = std::move(secret)}, clock_, log_);
    if (options_.cache_limit_bytes > 0) StartEvicting();
    DispatcherOptions dispatching;
    dispatching.build_digest = BuildDigest();
    dispatching.heartbeat = options_.heartbeat;
    dispatching.lease_timeout = options_.lease_timeout;
    dispatching.max_workers = options_.max_workers;
    dispatching.max_worker_slots = options_.max_worker_slots;
    dispatching.callback_threads = kResultThreads;
    dispatching.read_result = [this](const v1::Digest& digest) {
      return ReadStoredResult(*blobs_, digest);
    };
    dispatching.quarantine = quarantine_.get();
    dispatcher_ = std::make_unique<Dispatcher>(dispatching, clock_, log_);
    stages_ =
        std::make_unique<StageRunner>(*results_, *blobs_, *dispatcher_, log_);
    journal_ = std::make_unique<JobJournal>(*store_, clock_, log_);
    JobManagerOptions managing;
    managing.max_running = options_.max_running_jobs;
    managing.max_queued = options_.max_queued_jobs;
    managing.retention.max_jobs = options_.keep_jobs;
    managing.retention.max_age = options_.keep_jobs_for;
    managing.seed = NewSeed();
    manager_ = std::make_unique<JobManager>(
        managing, *store_, *journal_, *stages_, *blobs_, *space_, clock_, log_);
    return absl::OkStatus();
  }

  absl::Status Serve() {
    BlobLimits limits{.max_blob_bytes = options_.max_blob_bytes};
    AddBlobServices(limits, clients_, activity_);
    limits.admit = [this](const grpc::ServerContextBase& context) {
      return CheckSession(*gate_, context);
    };
    AddBlobServices(limits, workers_, worker_activity_);
    workers_.services.push_back(NewWorkersService(*gate_, *dispatcher_));
    clients_.services.push_back(NewJobsService(
        *manager_, *store_, *journal_, *quarantine_, stopping_, activity_));
    clients_.services.push_back(NewReportsService(*store_, activity_));
    clients_.services.push_back(
        NewModelsService(*stages_, *blobs_, stopping_, activity_));
    clients_.services.push_back(
        NewTargetsService(*stages_, *blobs_, stopping_, activity_));
    // Not before: gRPC has threads from here on, and ThreadSanitizer does not
    // see how it orders them.
    EK_RETURN_IF_ERROR(Listen(options_.workers_listen, workers_), "workers");
    dispatcher_->SetWorkersAddress(workers_.address);
    // Before the first client: jobs of the last life keep their place.
    EK_RETURN_IF_ERROR(manager_->Start());
    EK_RETURN_IF_ERROR(Listen(options_.listen, clients_), "clients");
    ticker_ = std::thread([this] { TickLoop(); });
    return absl::OkStatus();
  }

  const std::string& client_address() const override {
    return clients_.address;
  }
  const std::string& worker_address() const override {
    return workers_.address;
  }
  absl::Duration IdleFor() override {
    MutexLock lock(tick_mutex_);
    return std::min(activity_.IdleFor(), clock_.Monotonic() - last_busy_);
  }
  absl::Status CheckState() override {
    if (!lock_->IsLost()) return absl::OkStatus();
    return MakeError(absl::StatusCode::kUnavailable,
                     {.fault = Fault::kInfra,
                      .reason = "STATE_REMOVED",
                      .what = "somebody has removed the state folder",
                      .where = options_.state_folder,
                      .fix = "start the daemon again; jobs and cached results "
                             "that were in it are gone"});
  }

 private:
  void AddBlobServices(const BlobLimits& limits, Listener& listener,
                       Activity& activity) {
    listener.services.push_back(
        NewContentAddressableStorageService(limits, *blobs_, activity));
    listener.services.push_back(NewCapabilitiesService(limits, activity));
    listener.services.push_back(
        NewByteStreamService(limits, *blobs_, *uploads_, activity));
  }

  void StartEvicting() {
    const int64_t limit = options_.cache_limit_bytes;
    log_.Info("the cache is kept below ", limit, " bytes");
    evictor_.Start({.limit_bytes = limit,
                    .folders = {JoinPath(options_.state_folder, "blobs"),
                                JoinPath(options_.state_folder, "results")},
                    .needed = [this] { return StillNeededBy(*store_); }},
                   [this](const absl::StatusOr<cache::Evicted>& evicted) {
                     if (!evicted.ok()) {
                       log_.Warning("the cache: ", evicted.status().message());
                     } else if (evicted->files > 0) {
                       log_.Info("the cache: ", evicted->files, " files of ",
                                 evicted->bytes, " bytes evicted, ",
                                 evicted->left_bytes, " bytes left");
                     }
                   });
  }

  void TickLoop() {
    MutexLock lock(tick_mutex_);
    last_busy_ = clock_.Monotonic();
    while (!tick_stop_) {
      const auto end = std::chrono::steady_clock::now() + kTick;
      while (!tick_stop_ && tick_changed_.WaitUntil(lock, end)) {
      }
      lock.Unlock();
      gate_->Tick();
      dispatcher_->Tick();
      manager_->Tick();
      uploads_->RemoveExpired();
      const bool busy = manager_->Busy();
      lock.Lock();
      if (busy) last_busy_ = clock_.Monotonic();
    }
  }

  const DaemonOptions options_;
  Clock& clock_;
  Logger& log_;
  std::atomic<bool> stopping_{false};
  const std::unique_ptr<FileSystem> files_;
  cache::Evictor evictor_{*files_, clock_};
  Activity activity_;
  Activity worker_activity_;
  // In order of creation; destroyed the other way round.
  std::optional<FileLock> lock_;
  std::unique_ptr<cache::DiskSpace> space_;
  std::unique_ptr<cache::BlobStore> blobs_;
  std::unique_ptr<cache::UploadStore> uploads_;
  std::unique_ptr<cache::StageResultStore> results_;
  std::unique_ptr<JobStore> store_;
  std::unique_ptr<Quarantine> quarantine_;
  std::optional<WorkerGate> gate_;
  std::unique_ptr<Dispatcher> dispatcher_;
  std::unique_ptr<StageRunner> stages_;
  std::unique_ptr<JobJournal> journal_;
  std::unique_ptr<JobManager> manager_;
  Listener workers_;
  Listener clients_;
  Mutex tick_mutex_;
  CondVar tick_changed_;
  bool tick_stop_ ABSL_GUARDED_BY(tick_mutex_) = false;
  absl::Duration last_busy_ ABSL_GUARDED_BY(tick_mutex_);
  std::thread ticker_;
};

template <typename Value, typename Option>
absl::Status Take(absl::string_view name, Value value, Option& option) {
  if (value < 0) {
    return MakeError(absl::StatusCode::kInvalidArgument,
                     {.fault = Fault::kUser,
                      .reason = "BAD_CONFIG",
                      .what = "a negative value in the config",
                      .where = std::string(name),
                      .need = "0 for the default, or more",
                      .fix = "correct that line, or leave it out"});
  }
  if (value > 0) option = value;
  return absl::OkStatus();
}

}  // namespace

absl::Status ApplyConfig(const v1::DaemonConfig& config,
                         DaemonOptions& options) {
  if (!config.listen().empty()) options.listen = config.listen();
  if (!config.workers_listen().empty()) {
    options.workers_listen = config.workers_listen();
  }
  if (config.insecure_network()) options.insecure_network = true;
  if (!config.state_dir().empty()) options.state_folder = config.state_dir();
  int64_t lease_ms = absl::ToInt64Milliseconds(options.lease_timeout);
  int64_t heartbeat_ms = absl::ToInt64Milliseconds(options.heartbeat);
  EK_RETURN_IF_ERROR(
      Take("max_blob_bytes", config.max_blob_bytes(), options.max_blob_bytes));
  EK_RETURN_IF_ERROR(Take("max_running_jobs", config.max_running_jobs(),
                          options.max_running_jobs));
  EK_RETURN_IF_ERROR(Take("max_queued_jobs", config.max_queued_jobs(),
                          options.max_queued_jobs));
  EK_RETURN_IF_ERROR(
      Take("lease_timeout_ms", config.lease_timeout_ms(), lease_ms));
  EK_RETURN_IF_ERROR(Take("heartbeat_ms", config.heartbeat_ms(), heartbeat_ms));
  int64_t keep_hours = 0;
  EK_RETURN_IF_ERROR(Take("cache_limit_bytes", config.cache_limit_bytes(),
                          options.cache_limit_bytes));
  EK_RETURN_IF_ERROR(Take("keep_jobs", config.keep_jobs(), options.keep_jobs));
  EK_RETURN_IF_ERROR(
      Take("keep_job_hours", config.keep_job_hours(), keep_hours));
  EK_RETURN_IF_ERROR(
      Take("max_uploads", config.max_uploads(), options.uploads.max_uploads));
  EK_RETURN_IF_ERROR(Take("max_upload_bytes", config.max_upload_bytes(),
                          options.uploads.max_bytes));
  EK_RETURN_IF_ERROR(Take("disk_reserve_bytes", config.disk_reserve_bytes(),
                          options.disk_reserve_bytes));
  int64_t expiry_minutes = absl::ToInt64Minutes(options.uploads.expiry);
  EK_RETURN_IF_ERROR(Take("upload_expiry_minutes",
                          config.upload_expiry_minutes(), expiry_minutes));
  options.uploads.expiry = absl::Minutes(expiry_minutes);
  int local_workers = 0;
  EK_RETURN_IF_ERROR(
      Take("local_workers", config.local_workers(), local_workers));
  EK_RETURN_IF_ERROR(
      Take("max_workers", config.max_workers(), options.max_workers));
  EK_RETURN_IF_ERROR(Take("max_worker_slots", config.max_worker_slots(),
                          options.max_worker_slots));
  if (!config.worker_secret_file().empty()) {
    options.worker_secret_file = config.worker_secret_file();
  }
  if (keep_hours > 0) options.keep_jobs_for = absl::Hours(keep_hours);
  options.lease_timeout = absl::Milliseconds(lease_ms);
  options.heartbeat = absl::Milliseconds(heartbeat_ms);
  return absl::OkStatus();
}

std::string WorkerSecretFile(const DaemonOptions& options) {
  return options.worker_secret_file.empty()
             ? JoinPath(options.state_folder, kWorkerSecretName)
             : options.worker_secret_file;
}

absl::StatusOr<std::unique_ptr<Daemon>> StartDaemon(
    const DaemonOptions& options, Clock& clock, Logger& log) {
  grpc::EnableDefaultHealthCheckService(true);
  // Adds itself once per process to every server built afterwards.
  static std::once_flag reflection;
  std::call_once(reflection,
                 grpc::reflection::InitProtoReflectionServerBuilderPlugin);
  auto daemon = std::make_unique<DaemonImpl>(options, clock, log);
  EK_RETURN_IF_ERROR(daemon->Open(), "opening the state");
  EK_RETURN_IF_ERROR(daemon->Serve(), "listening");
  return daemon;
}

}  // namespace edgekiln::server
