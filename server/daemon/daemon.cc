#include "server/daemon/daemon.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <random>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

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
#include "server/daemon/blobs/shared_checks.h"
#include "server/daemon/daemon_status.h"
#include "server/daemon/disk_reserve.h"
#include "server/daemon/farm/dispatcher.h"
#include "server/daemon/farm/quarantine.h"
#include "server/daemon/farm/sent_result.h"
#include "server/daemon/farm/worker_gate.h"
#include "server/daemon/farm/workers_service.h"
#include "server/daemon/health_watch.h"
#include "server/daemon/http/http_server.h"
#include "server/daemon/idle_memory.h"
#include "server/daemon/jobs/job_journal.h"
#include "server/daemon/jobs/job_manager.h"
#include "server/daemon/jobs/job_services.h"
#include "server/daemon/jobs/job_store.h"
#include "server/daemon/jobs/job_watchers.h"
#include "server/daemon/jobs/question.h"
#include "server/daemon/jobs/question_services.h"
#include "server/daemon/jobs/still_needed.h"
#include "server/daemon/listen_address.h"
#include "server/daemon/listener.h"
#include "server/daemon/local_instance.h"
#include "server/daemon/net/descriptor_limit.h"
#include "server/daemon/stages/stage_runner.h"
#include "server/daemon/state_folder.h"
#include "server/daemon/status/metrics_server.h"
#include "server/daemon/status/status_service.h"
#include "server/executor.h"
#include "server/stage_versions.h"
#include "server/worker_secret.h"

namespace edgekiln::server {
namespace {

constexpr std::chrono::milliseconds kTick{250};
// In which results of stages are read and stored. Each waits for the disk most
// of the time, and those that wait together share a sync.
constexpr int kResultThreads = 8;
// That read blobs whose bytes nobody has looked at yet.
constexpr int kCheckThreads = 2;
// For the methods that take one while they run: uploads, downloads, lists; and
// sessions of workers. Calls beyond are refused with RESOURCE_EXHAUSTED, as
// they are while the system has no thread to give.
constexpr int kClientThreads = 512;
constexpr int kWorkerThreads = 2048;

uint64_t NewSeed() {
  std::random_device random;
  return (uint64_t{random()} << 32) | random();
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
    {
      MutexLock lock(tick_mutex_);
      tick_stop_ = true;
    }
    tick_changed_.NotifyAll();
    metrics_.reset();
    http_.reset();  // A client like any other.
    if (ticker_.joinable()) ticker_.join();
    if (health_) health_->Stop();
    evictor_.Stop();  // It asks the job store.
    // Jobs first, while workers can still do what they are asked: a job must
    // be left as it is for the next daemon, not fail because of our end.
    if (questions_) questions_->Stop();
    if (manager_) manager_->Stop();
    if (dispatcher_) dispatcher_->Shutdown();
    // At once, as each has its own grace; one after the other if the system has
    // no thread to give, which may be why we end.
    std::thread workers;
    try {
      workers = std::thread([&] { workers_.Shutdown(); });
    } catch (const std::system_error&) {
      workers_.Shutdown();
    }
    clients_.Shutdown();
    if (workers.joinable()) workers.join();
    workers_.Wait();
    clients_.Wait();
  }

  absl::Status Open() {
    const std::string& state = options_.state_folder;
    EK_RETURN_IF_ERROR(MakeStateFolder(*files_, state));
    EK_ASSIGN_OR_RETURN(FileLock lock,
                        FileLock::Acquire(JoinPath(state, "lock")));
    lock.NoteAddress("");  // Not that of the one before.
    lock_.emplace(std::move(lock));
    space_ = cache::NewDiskSpace(state, options_.disk_reserve_bytes,
                                 [state] { return cache::FreeBytes(state); });
    EK_ASSIGN_OR_RETURN(
        std::unique_ptr<cache::BlobStore> disk,
        cache::OpenDiskBlobStore(*files_, JoinPath(state, "blobs"), &evictor_));
    EK_ASSIGN_OR_RETURN(
        blobs_,
        NewCheckSharingBlobStore(
            cache::NewMemoryCachedBlobStore(
                cache::NewSpaceCheckingBlobStore(std::move(disk), *space_), {}),
            kCheckThreads, draining_));
    EK_ASSIGN_OR_RETURN(
        uploads_,
        cache::OpenUploadStore(*files_, JoinPath(state, "uploads"), *blobs_,
                               *space_, options_.uploads, clock_));
    const bool had_results = HasEntries(*files_, JoinPath(state, "results"));
    EK_ASSIGN_OR_RETURN(
        results_, cache::OpenDiskStageResultStore(
                      *files_, JoinPath(state, "results"), *blobs_, &evictor_));
    PrepareDiskReserve(state, options_.disk_reserve_bytes / 4, log_);
    JobStoreOptions storing;
    storing.blobs = blobs_.get();
    storing.clock = &clock_;
    storing.log = &log_;
    storing.expected = had_results;
    EK_ASSIGN_OR_RETURN(store_,
                        JobStore::Open(JoinPath(state, "jobs.db"), storing));
    WarnOfDamage(*files_, state, log_);
    EK_ASSIGN_OR_RETURN(
        quarantine_,
        Quarantine::Open(*files_, JoinPath(state, "quarantine"), log_));
    EK_ASSIGN_OR_RETURN(
        std::string secret,
        ReadOrMakeWorkerSecret(*files_, WorkerSecretFile(options_)));
    gate_.emplace(WorkerGateOptions{.secret = std::move(secret)}, clock_, log_);
    StartEvicting();
    EK_ASSIGN_OR_RETURN(executor_, Executor::New(options_.job_threads));
    DispatcherOptions dispatching;
    dispatching.build_digest = BuildDigest();
    dispatching.heartbeat = options_.heartbeat;
    dispatching.lease_timeout = options_.lease_timeout;
    dispatching.max_workers = options_.max_workers;
    dispatching.max_worker_slots = options_.max_worker_slots;
    dispatching.callback_threads = kResultThreads;
    dispatching.take_result = [this](v1::WorkerMessage::Result sent) {
      return TakeSentResult(*blobs_, std::move(sent));
    };
    dispatching.quarantine = quarantine_.get();
    dispatcher_ = std::make_unique<Dispatcher>(dispatching, clock_, log_);
    stages_ =
        std::make_unique<StageRunner>(*results_, *blobs_, *dispatcher_, log_);
    journal_ = std::make_unique<JobJournal>(*store_, clock_, log_);
    JobManagerOptions managing;
    managing.max_running = options_.max_running_jobs;
    managing.max_queued = options_.max_queued_jobs;
    managing.sweep.max_cells = options_.max_sweep_cells;
    managing.retention.max_jobs = options_.keep_jobs;
    managing.retention.max_age = options_.keep_jobs_for;
    managing.seed = NewSeed();
    manager_ = std::make_unique<JobManager>(managing, *store_, *journal_,
                                            *stages_, *executor_, *blobs_,
                                            *space_, clock_, log_);
    questions_ = std::make_unique<Questions>(QuestionOptions(), *stages_,
                                             *executor_, clock_);
    idle_memory_.emplace(*blobs_, *results_, *store_, clock_);
    health_.emplace(
        HealthSources{.check_state = [this] { return CheckState(); },
                      .draining = [this] { return draining_.load(); },
                      .database = JoinPath(state, "jobs.db"),
                      .again_bytes = options_.disk_reserve_bytes / 8,
                      .space = *space_,
                      .dispatcher = *dispatcher_,
                      .clients = clients_,
                      .workers = workers_},
        clock_, log_);
    return absl::OkStatus();
  }

  absl::Status Serve() {
    BlobLimits limits{.max_blob_bytes = options_.max_blob_bytes};
    AddBlobServices(limits, clients_, activity_);
    limits.admit = [this](const grpc::ServerContextBase& context) {
      return CheckSession(*gate_, context);
    };
    AddBlobServices(limits, workers_, worker_activity_);
    workers_.Add(NewWorkersService(*gate_, *dispatcher_, *blobs_));
    watchers_ = std::make_unique<JobWatchers>(*store_, *journal_, *executor_,
                                              activity_);
    clients_.Add(NewJobsService(
        *manager_, *store_, *watchers_, *quarantine_,
        {*questions_, *blobs_, options_.max_sweep_cells}, activity_));
    clients_.Add(NewReportsService(*store_, *blobs_, activity_));
    clients_.Add(NewModelsService(*questions_, *blobs_, activity_));
    clients_.Add(NewTargetsService(*questions_, *blobs_, activity_));
    clients_.Add(NewDaemonService([this] { return Status(); }, activity_));
    // Not before: gRPC has threads from here on, and ThreadSanitizer does not
    // see how it orders them.
    const ConnectionBudget budget =
        ShareConnections(options_.max_connections, DescriptorLimit());
    EK_RETURN_IF_ERROR(
        workers_.Start(options_.workers_listen,
                       {.name = "workers", .limits = budget.workers},
                       kWorkerThreads, clock_, log_),
        "workers");
    dispatcher_->SetWorkersAddress(workers_.address());
    // Before the first client: jobs of the last life keep their place.
    EK_RETURN_IF_ERROR(manager_->Start());
    EK_RETURN_IF_ERROR(
        clients_.Start(options_.listen,
                       {.name = "clients", .limits = budget.clients},
                       kClientThreads, clock_, log_),
        "clients");
    log_.Info("up to ", budget.clients.max_connections,
              " connections of clients and ", budget.workers.max_connections,
              " of workers, ", DescriptorLimit(), " open files");
    health_->Update();
    if (!options_.http.empty()) {
      // Beside those of gRPC, which have half of the descriptors at most.
      const auto connections = static_cast<int>(
          std::clamp<int64_t>(DescriptorLimit() / 16, 16, 256));
      EK_ASSIGN_OR_RETURN(
          http_,
          StartHttpServer(
              {.address = options_.http, .max_connections = connections},
              clients_.address(), [this] { return health_->Ready(); }, log_),
          "--http");
    }
    if (!options_.metrics.empty()) {
      EK_ASSIGN_OR_RETURN(
          metrics_,
          StartMetricsServer(
              options_.metrics, [this] { return Status(); }, log_),
          "--metrics");
    }
    ticker_ = std::thread([this] { TickLoop(); });
    health_->Start();
    lock_->NoteAddress(DialAddress(clients_.address()));
    return absl::OkStatus();
  }

  const std::string& client_address() const override {
    return clients_.address();
  }
  const std::string& worker_address() const override {
    return workers_.address();
  }
  std::string http_address() const override {
    return http_ == nullptr ? "" : http_->address();
  }
  std::string metrics_address() const override {
    return metrics_ == nullptr ? "" : metrics_->address();
  }
  void Drain() override {
    draining_ = true;
    health_->Update();
    manager_->Drain();
    dispatcher_->Drain();
  }
  bool Drained() override { return dispatcher_->LeasesOut() == 0; }
  absl::Duration IdleFor() override {
    MutexLock lock(tick_mutex_);
    return std::min(activity_.IdleFor(), clock_.Monotonic() - last_busy_);
  }
  absl::Status CheckState() override {
    if (!lock_->IsLost()) return store_->CheckFiles();
    return MakeError(
        absl::StatusCode::kUnavailable,
        {.fault = Fault::kInfra,
         .reason = "STATE_REMOVED",
         .what = "the state folder was removed while the daemon ran",
         .where = options_.state_folder,
         .fix = "start the daemon again; jobs and cached results "
                "that were in it are gone"});
  }

 private:
  void AddBlobServices(const BlobLimits& limits, Listener& listener,
                       Activity& activity) {
    listener.Add(
        NewContentAddressableStorageService(limits, *blobs_, activity));
    listener.Add(NewCapabilitiesService(limits, activity));
    listener.Add(NewByteStreamService(limits, *blobs_, *uploads_, activity));
  }

  void StartEvicting() {
    const bool limited = options_.cache_limit_bytes > 0;
    if (limited) {
      log_.Info("the cache is kept below ", options_.cache_limit_bytes >> 20,
                " MiB");
    }
    evictor_.Start({.limit_bytes = options_.cache_limit_bytes,
                    .folders = {JoinPath(options_.state_folder, "blobs"),
                                JoinPath(options_.state_folder, "results")},
                    .needed = [this] { return StillNeededBy(*store_); },
                    .on_demand = !limited},
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
      questions_->Tick();
      watchers_->Tick();
      uploads_->RemoveExpired();
      const bool busy = manager_->Busy();
      lock.Lock();
      if (busy) last_busy_ = clock_.Monotonic();
      lock.Unlock();
      idle_memory_->Return(std::min(IdleFor(), worker_activity_.IdleFor()));
      lock.Lock();
    }
  }

  v1::DaemonStatus Status() {
    return DescribeDaemon(
        {options_, *manager_, *watchers_, *dispatcher_, *stages_, *quarantine_,
         evictor_, clients_, workers_},
        health_->Ready(), started_, clock_.Now());
  }

  const DaemonOptions options_;
  Clock& clock_;
  const absl::Time started_ = clock_.Now();
  Logger& log_;
  const std::unique_ptr<FileSystem> files_;
  cache::Evictor evictor_{*files_, clock_};
  Activity activity_;
  Activity worker_activity_;
  std::atomic<bool> draining_{false};
  // In order of creation; destroyed the other way round.
  std::optional<FileLock> lock_;
  std::unique_ptr<cache::DiskSpace> space_;
  std::unique_ptr<cache::BlobStore> blobs_;
  std::unique_ptr<cache::UploadStore> uploads_;
  std::unique_ptr<cache::StageResultStore> results_;
  std::unique_ptr<JobStore> store_;
  std::unique_ptr<Quarantine> quarantine_;
  std::optional<WorkerGate> gate_;
  // Outlives the threads in which the last of them may end.
  std::unique_ptr<JobWatchers> watchers_;
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<Dispatcher> dispatcher_;
  std::unique_ptr<StageRunner> stages_;
  std::unique_ptr<JobJournal> journal_;
  std::unique_ptr<JobManager> manager_;
  std::unique_ptr<Questions> questions_;
  Listener workers_;
  Listener clients_;
  std::unique_ptr<HttpServer> http_;
  std::unique_ptr<MetricsServer> metrics_;
  Mutex tick_mutex_;
  CondVar tick_changed_;
  bool tick_stop_ ABSL_GUARDED_BY(tick_mutex_) = false;
  absl::Duration last_busy_ ABSL_GUARDED_BY(tick_mutex_);
  std::optional<IdleMemory> idle_memory_;  // Of the ticker.
  std::thread ticker_;
  std::optional<HealthWatch> health_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Daemon>> StartDaemon(
    const DaemonOptions& options, Clock& clock, Logger& log) {
  EK_RETURN_IF_ERROR(
      CheckExposure("--listen", options.listen, options.insecure_network));
  EK_RETURN_IF_ERROR(CheckExposure("--workers-listen", options.workers_listen,
                                   options.insecure_network));
  if (!options.http.empty()) {
    EK_RETURN_IF_ERROR(
        CheckExposure("--http", options.http, options.insecure_network));
  }
  if (!options.metrics.empty()) {
    EK_RETURN_IF_ERROR(
        CheckExposure("--metrics", options.metrics, options.insecure_network));
  }
  RaiseDescriptorLimit();
  DaemonOptions settled = options;
  EK_RETURN_IF_ERROR(SettleWorkers(settled));
  grpc::EnableDefaultHealthCheckService(true);
  // Adds itself once per process to every server built afterwards.
  static std::once_flag reflection;
  std::call_once(reflection,
                 grpc::reflection::InitProtoReflectionServerBuilderPlugin);
  // Threads that the system refuses: std::thread knows no other way to say so.
  try {
    auto daemon = std::make_unique<DaemonImpl>(settled, clock, log);
    EK_RETURN_IF_ERROR(daemon->Open(), "opening the state");
    EK_RETURN_IF_ERROR(daemon->Serve(), "listening");
    return daemon;
  } catch (const std::system_error& refused) {
    return MakeError(
        absl::StatusCode::kResourceExhausted,
        {.fault = Fault::kInfra,
         .reason = "NO_THREAD",
         .what = "the system refuses to start a thread",
         .where = refused.what(),
         .limit = "the limits of processes (ulimit -u, pids of the cgroup) and "
                  "of memory",
         .need = "some dozens of threads",
         .fix = "raise the limit, and start the daemon again"});
  }
}

}  // namespace edgekiln::server
