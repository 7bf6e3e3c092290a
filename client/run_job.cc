#include "client/run_job.h"

#include <limits>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "client/error_detail.h"
#include "client/exit_code.h"
#include "client/interrupt.h"
#include "client/retry.h"
#include "proto/convert.h"
#include "reports/text/json.h"

namespace edgekiln::client {
namespace {

// The daemon says after a second that a stage has no worker. Until then a short
// --timeout could not tell a missing worker from a slow one.
constexpr absl::Duration kNoWorkerVerdict = absl::Seconds(2);

// Workers that are being replaced have the daemon's build again by then.
constexpr absl::Duration kOtherBuildVerdict = absl::Seconds(5);
// For so long the workers of one's own daemon are said to start.
constexpr absl::Duration kStartVerdict = absl::Seconds(10);
constexpr char kReadDaemonLog[] =
    "read edgekilnd.log in $XDG_RUNTIME_DIR/edgekiln, or in "
    "/tmp/edgekiln-UID without that variable";
constexpr char kReasonWorkerBuild[] = "WORKER_BUILD";

constexpr char kAgain[] =
    "run it again; what is finished is not computed again";

std::string TimeLimit(const CommandContext& context) {
  return absl::StrCat("--timeout ", FormatTimeSpan(context.line.timeout));
}

absl::Status OutOfTime(const CommandContext& context) {
  return MakeError(
      absl::StatusCode::kDeadlineExceeded,
      {.fault = Fault::kUser,
       .reason = kReasonTimeout,
       .what = "the time is up",
       .limit = TimeLimit(context),
       .fix = "give it more time; what is finished is not computed again"});
}

class JobWatch final : public WatchSink {
 public:
  JobWatch(CommandContext& context, const Interrupt* interrupt,
           const TellEvent& tell)
      : context_(context),
        interrupt_(interrupt),
        tell_(tell),
        verdict_(context.clock.Monotonic() + kNoWorkerVerdict) {}

  // Of the last event.
  int64_t sequence() const { return sequence_; }

  void OnEvent(const v1::JobEvent& event) override {
    sequence_ = event.sequence();
    switch (event.event_case()) {
      case v1::JobEvent::kWaiting:
        waiting_ = event.waiting().reason();
        if (event.waiting().cause() != v1::JobEvent::Waiting::OTHER_BUILD) {
          other_build_since_ = absl::InfiniteDuration();
        } else if (other_build_since_ == absl::InfiniteDuration()) {
          other_build_since_ = context_.clock.Monotonic();
        }
        break;
      case v1::JobEvent::kStageStarted:
      case v1::JobEvent::kProgress:
      case v1::JobEvent::kSamples:
      case v1::JobEvent::kRow:
        Moved();
        break;
      case v1::JobEvent::kStageFinished:
        // What was in the store needed no worker.
        if (event.stage_finished().cache() == v1::Report::Stage::HIT) break;
        Moved();
        break;
      default:
        break;
    }
    if (context_.own_daemon && !moved_ && IsNoWorker(event)) {
      // It starts its workers by itself.
      starting_ = event;
      if (starting_since_ == absl::InfiniteDuration()) {
        starting_since_ = context_.clock.Monotonic();
      }
      ShowStarting();
    } else {
      context_.progress.OnEvent(event);
    }
    if (tell_ != nullptr) tell_(event);
    if (!context_.line.follow) return;
    context_.progress.Clear();
    context_.print(ToJsonLine(event));
  }

  void OnReconnecting(bool reconnecting) override {
    context_.progress.OnReconnecting(reconnecting);
  }

  absl::Status OnTick() override {
    if (interrupt_ != nullptr && interrupt_->requested()) {
      return Interrupted(context_);
    }
    const absl::Duration now = context_.clock.Monotonic();
    if (context_.own_daemon && now - other_build_since_ >= kOtherBuildVerdict) {
      return WrongWorkers();
    }
    if (!workers_fail_ && now - starting_since_ >= kStartVerdict) {
      workers_fail_ = true;
      ShowStarting();
    }
    const bool clear = moved_ || !waiting_.empty() || now >= verdict_;
    if (now >= context_.deadline && clear) return TimeIsUp();
    context_.progress.OnTick();
    return absl::OkStatus();
  }

 private:
  void Moved() {
    moved_ = true;
    waiting_.clear();
    other_build_since_ = absl::InfiniteDuration();
    starting_since_ = absl::InfiniteDuration();
  }

  static bool IsNoWorker(const v1::JobEvent& event) {
    return event.waiting().cause() == v1::JobEvent::Waiting::NO_WORKER;
  }

  void ShowStarting() {
    v1::JobEvent event = starting_;
    event.mutable_waiting()->set_reason(
        workers_fail_ ? absl::StrCat("the daemon's workers do not start; ",
                                     kReadDaemonLog)
                      : "the daemon starts its workers");
    context_.progress.OnEvent(event);
  }

  absl::Status WrongWorkers() const {
    return MakeError(
        absl::StatusCode::kUnavailable,
        {.fault = Fault::kInfra,
         .reason = kReasonWorkerBuild,
         .what = "the workers of your own daemon have another build than it",
         .where = waiting_,
         .need = "edgekilnd and edgekiln-worker of one build in one folder",
         .fix = "install both from one build and end the edgekilnd that runs; "
                "the next command starts it again"});
  }

  absl::Status TimeIsUp() const {
    const std::string limit = TimeLimit(context_);
    // Not a slow run but a missing worker.
    if (!waiting_.empty()) {
      return MakeError(
          absl::StatusCode::kUnavailable,
          {.fault = Fault::kInfra,
           .reason = kReasonNoWorker,
           .what = "no worker was free before the queue deadline",
           .where = waiting_,
           .limit = limit,
           .fix = starting_since_ < absl::InfiniteDuration()
                      ? std::string(kReadDaemonLog)
                      : "start edgekiln-worker, or wait for a free one"});
    }
    return OutOfTime(context_);
  }

  CommandContext& context_;
  const Interrupt* const interrupt_;
  const TellEvent& tell_;
  const absl::Duration verdict_;
  // Since when the daemon has had none but workers of another build.
  absl::Duration other_build_since_ = absl::InfiniteDuration();
  // Since when one's own daemon has had no worker, and what it said then.
  absl::Duration starting_since_ = absl::InfiniteDuration();
  v1::JobEvent starting_;
  bool workers_fail_ = false;
  int64_t sequence_ = 0;
  bool moved_ = false;   // Whether any worker did anything.
  std::string waiting_;  // Why nothing moves; empty if something does.
};

// Events of the past, and perhaps those that come.
class LogReader final : public WatchSink {
 public:
  LogReader(int64_t last, const std::function<void(const v1::JobEvent&)>& tell,
            CommandContext& context)
      : last_(last), tell_(tell), context_(context) {}

  int64_t sequence() const { return sequence_; }
  bool done() const { return sequence_ >= last_; }

  void OnEvent(const v1::JobEvent& event) override {
    sequence_ = event.sequence();
    context_.progress.Clear();
    tell_(event);
  }
  void OnReconnecting(bool reconnecting) override {
    context_.progress.OnReconnecting(reconnecting);
  }
  absl::Status OnTick() override {
    if (done()) return absl::CancelledError("the log was read");
    return context_.clock.Monotonic() >= context_.deadline ? OutOfTime(context_)
                                                           : absl::OkStatus();
  }

 private:
  const int64_t last_;
  const std::function<void(const v1::JobEvent&)>& tell_;
  CommandContext& context_;
  int64_t sequence_ = 0;
};

absl::Status WithJob(const absl::Status& status, const std::string& id) {
  return Annotate(status, absl::StrCat("job ", id));
}

// Which file an error speaks of, for those who run this in a loop.
std::string Subject(const v1::CreateJobRequest& request) {
  if (request.targets_size() != 1) return request.model_name();
  return absl::StrCat(request.model_name(), " on ", request.targets(0).name());
}

absl::StatusOr<v1::Job> Create(const v1::CreateJobRequest& request,
                               const Interrupt* interrupt,
                               CommandContext& context) {
  v1::Job job;
  EK_RETURN_IF_ERROR(RetryWhenTold(context, interrupt, [&]() -> absl::Status {
    EK_ASSIGN_OR_RETURN(job, context.connection.CreateJob(request));
    return absl::OkStatus();
  }));
  return job;
}

}  // namespace

absl::StatusOr<v1::Job> StartJob(const v1::CreateJobRequest& request,
                                 CommandContext& context) {
  const Interrupt interrupt;
  return Create(request, &interrupt, context);
}

absl::StatusOr<v1::Job> RunJob(const v1::CreateJobRequest& request,
                               CommandContext& context, const TellEvent& tell) {
  // From here on there is something to cancel.
  const Interrupt interrupt;
  EK_ASSIGN_OR_RETURN(const v1::Job job, Create(request, &interrupt, context));
  JobWatch watch(context, &interrupt, tell);
  const absl::Status status = RetryWhenTold(context, &interrupt, [&] {
    return context.connection.Watch(job.id(), watch.sequence(), watch);
  });
  if (!status.ok()) {
    const std::optional<ErrorDetail> detail = GetErrorDetail(status);
    const bool ours =
        detail.has_value() && (detail->reason == kReasonInterrupted ||
                               detail->reason == kReasonTimeout ||
                               detail->reason == kReasonNoWorker ||
                               detail->reason == kReasonWorkerBuild);
    // If the daemon cannot be told, the job goes on and its results are kept.
    if (ours) (void)context.connection.CancelJob(job.id());
    return WithJob(status, job.id());
  }
  return context.connection.GetJob(job.id());
}

absl::StatusOr<v1::Job> FollowJob(const std::string& id,
                                  CommandContext& context,
                                  const TellEvent& tell) {
  JobWatch watch(context, nullptr, tell);
  const auto follow = [&] {
    return context.connection.Watch(id, watch.sequence(), watch);
  };
  EK_RETURN_IF_ERROR(RetryWhenTold(context, nullptr, follow),
                     absl::StrCat("job ", id));
  return context.connection.GetJob(id);
}

absl::Status ReadLog(const v1::Job& job,
                     const std::function<void(const v1::JobEvent&)>& tell,
                     CommandContext& context) {
  const int64_t last = context.line.follow ? std::numeric_limits<int64_t>::max()
                                           : job.last_sequence();
  LogReader reader(last, tell, context);
  const absl::Status status = RetryWhenTold(context, nullptr, [&] {
    return context.connection.Watch(job.id(), reader.sequence(), reader);
  });
  return reader.done() ? absl::OkStatus() : WithJob(status, job.id());
}

absl::Status JobError(const v1::Job& job) {
  switch (job.state()) {
    case v1::SUCCEEDED:
      return absl::OkStatus();
    case v1::CANCELLED:
      if (!job.superseded_by().empty()) {
        return WithJob(StatusFromProto(job.error()), job.id());
      }
      return WithJob(MakeError(absl::StatusCode::kCancelled,
                               {.fault = Fault::kUser,
                                .reason = kReasonInterrupted,
                                .what = "the job was cancelled",
                                .where = Subject(job.request()),
                                .fix = kAgain}),
                     job.id());
    case v1::FAILED:
      return Annotate(StatusFromProto(job.error()), Subject(job.request()));
    default:
      return WithJob(MakeError(absl::StatusCode::kInternal,
                               {.fault = Fault::kInfra,
                                .reason = "JOB_NOT_FINISHED",
                                .what = "the daemon ended the events of a job "
                                        "that has not ended",
                                .where = Subject(job.request()),
                                .fix = "see edgekiln jobs show"}),
                     job.id());
  }
}

}  // namespace edgekiln::client
