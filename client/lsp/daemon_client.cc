#include "client/lsp/daemon_client.h"

#include <unistd.h>

#include <map>
#include <random>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "client/error_detail.h"
#include "client/exit_code.h"
#include "client/local_blob.h"
#include "client/lsp/daemon_tasks.h"
#include "client/lsp/text_files.h"
#include "client/rpc_status.h"
#include "client/text_arguments.h"
#include "proto/convert.h"

namespace edgekiln::client::lsp {
namespace {

constexpr size_t kSlotDigits = 32;

std::string RandomWord() {
  std::random_device device;
  return absl::StrFormat("%08x%08x", device(), device());
}

bool IsAway(const absl::Status& status) {
  const std::optional<ErrorDetail> detail = GetErrorDetail(status);
  if (!detail.has_value()) return IsTransient(status);
  return detail->reason == kReasonUnreachable ||
         detail->reason == kReasonShuttingDown;
}

Figures FiguresOf(const v1::Report& report) {
  Figures figures{.cycles = report.totals().cycles(),
                  .latency_ms = report.totals().latency_ms()};
  if (report.memory().sram_peak_bytes() > 0) {
    figures.memory = "SRAM";
    figures.memory_bytes = report.memory().sram_peak_bytes();
  } else if (report.memory().ram_bytes() > 0) {
    figures.memory = "RAM";
    figures.memory_bytes = report.memory().ram_bytes();
  }
  return figures;
}

// Follows the job of one run.
class RunWatch final : public WatchSink {
 public:
  explicit RunWatch(const DaemonTasks& tasks) : tasks_(tasks) {}

  void OnEvent(const v1::JobEvent& event) override {
    if (event.event_case() == v1::JobEvent::kError) error_ = event.error();
  }
  void OnReconnecting(bool /*reconnecting*/) override {}
  absl::Status OnTick() override {
    return tasks_.fate() == DaemonTasks::RunFate::kWanted
               ? absl::OkStatus()
               : absl::CancelledError("a newer text is profiled");
  }

  // Why the job failed; empty if it did not.
  const v1::ErrorDetail& error() const { return error_; }

 private:
  const DaemonTasks& tasks_;
  v1::ErrorDetail error_;
};

// One thread's connection, made when it is needed.
class Line {
 public:
  Line(const DaemonClientOptions& options, FileSystem& files,
       const DaemonTasks& tasks)
      : options_(options), files_(NewTextFiles(files)), tasks_(tasks) {}

  absl::StatusOr<Connection*> Get() {
    if (connection_ == nullptr) {
      EK_ASSIGN_OR_RETURN(connection_, options_.connect(*files_, [this] {
        return tasks_.stopping();
      }));
    }
    return connection_.get();
  }
  void Drop() { connection_.reset(); }
  TextFiles& files() { return *files_; }

 private:
  const DaemonClientOptions& options_;
  const std::unique_ptr<TextFiles> files_;
  const DaemonTasks& tasks_;
  std::unique_ptr<Connection> connection_;
};

// The thread of everything that is answered at once.
class Checker {
 public:
  Checker(const DaemonClientOptions& options, FileSystem& files,
          DaemonTasks& tasks)
      : options_(options), tasks_(tasks), line_(options, files, tasks) {}

  void Loop() {
    while (const std::optional<CheckTask> task = tasks_.NextCheck()) {
      const absl::Status status = Do(*task);
      if (tasks_.stopping()) return;
      if (IsAway(status)) {
        line_.Drop();
        SetReached(false, status);
      } else {
        SetReached(true, absl::OkStatus());
        if (!status.ok() && task->kind == CheckTask::Kind::kCheck) {
          options_.tell(CheckAnswer{.uri = task->name,
                                    .version = task->version,
                                    .problem = DetailFromStatus(status),
                                    .failed = true});
        }
      }
    }
  }

 private:
  absl::Status Do(const CheckTask& task) {
    EK_ASSIGN_OR_RETURN(Connection* const connection, line_.Get());
    switch (task.kind) {
      case CheckTask::Kind::kCheck:
        return Check(task, *connection);
      case CheckTask::Kind::kLookUp:
        return LookUp(task.name, *connection);
      case CheckTask::Kind::kList:
      case CheckTask::Kind::kProbe:
        return List(*connection);
    }
    return absl::OkStatus();
  }

  absl::Status Check(const CheckTask& task, Connection& connection) {
    const LocalBlob blob = line_.files().Put(task.text);
    EK_RETURN_IF_ERROR(connection.Upload({blob}, nullptr));
    EK_ASSIGN_OR_RETURN(v1::ValidateTargetResponse response,
                        connection.ValidateTarget(blob.digest));
    options_.tell(
        CheckAnswer{.uri = task.name,
                    .version = task.version,
                    .valid = response.valid(),
                    .problem = std::move(*response.mutable_problem())});
    return absl::OkStatus();
  }

  absl::Status LookUp(const std::string& name, Connection& connection) {
    absl::StatusOr<v1::TargetInfo> info = connection.GetTarget(name, "");
    if (!info.ok() && IsAway(info.status())) return info.status();
    options_.tell(TargetAnswer{
        .name = name, .text = info.ok() ? info->text() : std::string()});
    return absl::OkStatus();
  }

  absl::Status List(Connection& connection) {
    EK_ASSIGN_OR_RETURN(const v1::ListTargetsResponse response,
                        connection.ListTargets());
    ListAnswer answer;
    for (const v1::TargetInfo& target : response.targets()) {
      answer.targets.emplace_back(target.name(), target.doc());
    }
    options_.tell(std::move(answer));
    return absl::OkStatus();
  }

  void SetReached(bool reached, const absl::Status& status) {
    if (reached == reached_) return;
    reached_ = reached;
    tasks_.SetProbing(!reached);
    ReachAnswer answer{.reached = reached};
    if (!reached) answer.problem = DetailFromStatus(status);
    options_.tell(std::move(answer));
  }

  const DaemonClientOptions& options_;
  DaemonTasks& tasks_;
  Line line_;
  bool reached_ = true;
};

// The thread that profiles.
class Runner {
 public:
  Runner(const DaemonClientOptions& options, FileSystem& files,
         DaemonTasks& tasks)
      : options_(options), tasks_(tasks), line_(options, files, tasks) {}

  void Loop() {
    while (const std::optional<RunRequest> request = tasks_.NextRun()) {
      const absl::Status status = Run(*request);
      if (!status.ok() && tasks_.fate() == DaemonTasks::RunFate::kWanted) {
        options_.tell(RunAnswer{.uri = request->uri,
                                .version = request->version,
                                .problem = DetailFromStatus(status),
                                .away = IsAway(status)});
      }
      if (IsAway(status)) {
        line_.Drop();
        tasks_.Probe();
      }
    }
  }

 private:
  absl::Status Run(const RunRequest& request) {
    EK_ASSIGN_OR_RETURN(const LocalBlob model, Model(request.model));
    EK_ASSIGN_OR_RETURN(Connection* const connection, line_.Get());
    const LocalBlob target = line_.files().Put(request.text);
    EK_RETURN_IF_ERROR(connection->Upload({target, model}, nullptr));
    EK_ASSIGN_OR_RETURN(const v1::Job job,
                        connection->CreateJob(JobFor(request, target, model)));
    RunWatch watch(tasks_);
    const absl::Status status = connection->Watch(job.id(), 0, watch);
    switch (tasks_.fate()) {
      case DaemonTasks::RunFate::kForgotten:
        (void)connection->CancelJob(job.id());
        return absl::OkStatus();
      case DaemonTasks::RunFate::kSuperseded:
        // The next job of the slot cancels this one.
        return absl::OkStatus();
      case DaemonTasks::RunFate::kWanted:
        break;
    }
    EK_RETURN_IF_ERROR(status);
    if (!watch.error().what().empty()) return StatusFromProto(watch.error());
    EK_ASSIGN_OR_RETURN(const v1::Report report,
                        connection->GetReport(job.id(), 0));
    options_.tell(RunAnswer{.uri = request.uri,
                            .version = request.version,
                            .figures = FiguresOf(report)});
    return absl::OkStatus();
  }

  v1::CreateJobRequest JobFor(const RunRequest& request,
                              const LocalBlob& target, const LocalBlob& model) {
    v1::CreateJobRequest job;
    job.set_request_id(absl::StrCat("lsp/", session_, "/", ++runs_));
    job.set_model_name(ShownFileName(request.model));
    *job.mutable_model() = ToProto(model.digest);
    v1::TargetRef& ref = *job.add_targets();
    ref.set_name(request.target_name);
    *ref.mutable_digest() = ToProto(target.digest);
    job.add_goals(v1::PROFILE);
    job.mutable_options()->set_timing_only(true);
    job.mutable_options()->set_job_class(v1::INTERACTIVE);
    // Of this process: two editors may have the same file open.
    job.mutable_slot()->set_client(absl::StrCat("lsp/", session_));
    job.mutable_slot()->set_name(
        DigestOf(request.uri).hash.substr(0, kSlotDigits));
    return job;
  }

  // Read again once the file has changed.
  absl::StatusOr<LocalBlob> Model(const std::string& path) {
    EK_ASSIGN_OR_RETURN(const FileInfo info, line_.files().Stat(path), "model");
    if (model_.path != path || model_info_.size_bytes != info.size_bytes ||
        model_info_.modified != info.modified) {
      EK_ASSIGN_OR_RETURN(model_,
                          OpenModel(line_.files(), path, "edgekiln.model"));
      model_info_ = info;
    }
    return model_;
  }

  const DaemonClientOptions& options_;
  DaemonTasks& tasks_;
  Line line_;
  const std::string session_ = RandomWord();
  int64_t runs_ = 0;
  LocalBlob model_;
  FileInfo model_info_;
};

class DaemonClient final : public Daemon {
 public:
  DaemonClient(DaemonClientOptions options, FileSystem& files, Clock& clock)
      : options_(std::move(options)),
        tasks_(clock),
        checker_(options_, files, tasks_),
        runner_(options_, files, tasks_),
        checks_([this] { checker_.Loop(); }),
        runs_([this] { runner_.Loop(); }) {}

  ~DaemonClient() override {
    tasks_.Stop();
    checks_.join();
    runs_.join();
  }

  void Check(const std::string& uri, int64_t version,
             const std::string& text) override {
    tasks_.Check(uri, version, text);
  }
  void Run(RunRequest request) override { tasks_.Run(std::move(request)); }
  void Forget(const std::string& uri) override { tasks_.Forget(uri); }
  void List() override { tasks_.List(); }
  void LookUp(const std::string& target) override { tasks_.LookUp(target); }

 private:
  const DaemonClientOptions options_;
  DaemonTasks tasks_;
  Checker checker_;
  Runner runner_;
  std::thread checks_;
  std::thread runs_;
};

}  // namespace

std::unique_ptr<Daemon> NewDaemonClient(DaemonClientOptions options,
                                        FileSystem& files, Clock& clock) {
  return std::make_unique<DaemonClient>(std::move(options), files, clock);
}

}  // namespace edgekiln::client::lsp
