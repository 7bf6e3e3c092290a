#include "client/connection.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "client/exit_code.h"
#include "client/pause.h"
#include "client/rpc_status.h"
#include "edgekiln/v1/daemon.grpc.pb.h"
#include "edgekiln/v1/jobs.grpc.pb.h"
#include "proto/convert.h"
#include "reports/text/text.h"

namespace edgekiln::client {
namespace {

// Of what is too large for an answer and comes as a blob.
constexpr int64_t kMaxWholeBytes = int64_t{1} << 30;
// Cancelling does not wait for longer: the job ends some day without it.
constexpr absl::Duration kCancelFor = absl::Seconds(10);
constexpr absl::Duration kRetryEvery = absl::Milliseconds(200);
// Between looks for a daemon that can be started again.
constexpr absl::Duration kReviveEvery = absl::Milliseconds(400);

// The daemon needs this long to be sure that it has no worker. Until then a
// short --timeout could not tell a missing worker (exit code 4) from a slow one
// (exit code 5).
constexpr absl::Duration kNoWorkerVerdict = absl::Seconds(6);

// Calls that need a worker take as long as the model is big.
enum class Patience { kShort, kWorker, kCancel };

std::shared_ptr<grpc::Channel> NewChannel(const std::string& target) {
  grpc::ChannelArguments arguments;
  // A TCP connection of its own, also where a program has several of these.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  // Despite its name, how long an attempt may take at least.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 5000);
  // A daemon that we start ourselves is there at once.
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS,
                   absl::StartsWith(target, "unix:") ? 200 : 2000);
  // Neither look-ups of service configuration in DNS nor proxies out of
  // environment variables.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  if (!absl::StartsWith(target, "unix:")) {
    // Notices a host that vanished. Not more often than servers tolerate.
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 30000);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10000);
  } else {
    // The daemon checks who we are by the socket; a host name is only noise.
    arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, "localhost");
  }
  return grpc::CreateCustomChannel(target, grpc::InsecureChannelCredentials(),
                                   arguments);
}

class GrpcConnection final : public Connection {
 public:
  GrpcConnection(ConnectionOptions options, FileSystem& files, Clock& clock)
      : options_(std::move(options)),
        files_(files),
        clock_(clock),
        channel_(NewChannel(options_.grpc_target)),
        daemon_(v1::Daemon::NewStub(channel_)),
        jobs_(v1::Jobs::NewStub(channel_)),
        reports_(v1::Reports::NewStub(channel_)),
        models_(v1::Models::NewStub(channel_)),
        targets_(v1::Targets::NewStub(channel_)) {}

  absl::StatusOr<v1::Job> CreateJob(
      const v1::CreateJobRequest& request) override {
    return Complete(Call(*jobs_, &v1::Jobs::Stub::CreateJob, request));
  }
  absl::StatusOr<v1::Job> GetJob(const std::string& id) override {
    v1::GetJobRequest request;
    request.set_id(id);
    return Complete(Call(*jobs_, &v1::Jobs::Stub::GetJob, request));
  }
  absl::StatusOr<v1::ListJobsResponse> ListJobs(
      const v1::ListJobsRequest& request) override {
    return Call(*jobs_, &v1::Jobs::Stub::ListJobs, request);
  }
  absl::StatusOr<v1::Job> CancelJob(const std::string& id) override {
    v1::CancelJobRequest request;
    request.set_id(id);
    // Asked for when the time is up, so the deadline does not apply.
    return Complete(Call(*jobs_, &v1::Jobs::Stub::CancelJob, request,
                         Patience::kCancel, absl::InfiniteFuture()));
  }
  absl::StatusOr<v1::SweepPlanned> PlanSweep(
      const v1::SweepRequest& sweep) override {
    v1::PlanSweepRequest request;
    *request.mutable_sweep() = sweep;
    return Call(*jobs_, &v1::Jobs::Stub::PlanSweep, request, Patience::kWorker);
  }
  absl::StatusOr<v1::ListQuarantineResponse> ListQuarantine(
      const v1::ListQuarantineRequest& request) override {
    return Call(*jobs_, &v1::Jobs::Stub::ListQuarantine, request);
  }
  absl::StatusOr<v1::QuarantinedStage> ReleaseQuarantine(
      const std::string& id) override {
    v1::ReleaseQuarantineRequest request;
    request.set_id(id);
    return Call(*jobs_, &v1::Jobs::Stub::ReleaseQuarantine, request);
  }
  absl::StatusOr<v1::DaemonStatus> GetStatus() override {
    return Call(*daemon_, &v1::Daemon::Stub::GetStatus, v1::GetStatusRequest());
  }
  absl::StatusOr<v1::Report> GetReport(const std::string& job_id,
                                       int target) override {
    v1::GetReportRequest request;
    request.set_job_id(job_id);
    request.set_target(target);
    return Complete(Call(*reports_, &v1::Reports::Stub::GetReport, request));
  }
  absl::StatusOr<v1::ModelDescription> InspectModel(
      const v1::InspectModelRequest& request) override {
    return Complete(Call(*models_, &v1::Models::Stub::InspectModel, request,
                         Patience::kWorker));
  }
  absl::StatusOr<v1::ListTargetsResponse> ListTargets() override {
    return Call(*targets_, &v1::Targets::Stub::ListTargets,
                v1::ListTargetsRequest());
  }
  absl::StatusOr<v1::TargetInfo> GetTarget(const std::string& name,
                                           const std::string& recipe) override {
    v1::GetTargetRequest request;
    request.set_name(name);
    request.set_recipe(recipe);
    return Call(*targets_, &v1::Targets::Stub::GetTarget, request);
  }
  absl::StatusOr<v1::ValidateTargetResponse> ValidateTarget(
      const Digest& target) override {
    v1::ValidateTargetRequest request;
    *request.mutable_target() = ToProto(target);
    return Call(*targets_, &v1::Targets::Stub::ValidateTarget, request,
                Patience::kWorker);
  }

  absl::Status Upload(const std::vector<LocalBlob>& blobs,
                      const TransferProgress& progress) override {
    const absl::Status status =
        UploadMissing(channel_, files_, clock_, blobs, Transfer(), progress);
    if (status.ok()) reached_ = true;
    return Explain(status);
  }
  absl::Status Download(
      const Digest& digest,
      const std::function<absl::Status(absl::string_view)>& sink) override {
    return Explain(
        client::Download(channel_, clock_, digest, Transfer(), sink));
  }
  absl::Status Watch(const std::string& job_id, int64_t after_sequence,
                     WatchSink& sink) override {
    WatchOptions options;
    options.tick = options_.watch_tick;
    options.give_up_after = options_.reconnect_for;
    options.revive = options_.revive;
    if (options_.revive) options.max_backoff = kReviveEvery;
    return Explain(
        WatchJob(channel_, clock_, job_id, after_sequence, options, sink));
  }

 private:
  TransferOptions Transfer() const {
    TransferOptions options;
    options.deadline = options_.deadline;
    options.revive = options_.revive;
    options.reached = reached_;
    options.patience = options_.reconnect_for;
    return options;
  }

  // Fetches the complete message if the answer only names it.
  template <typename Message>
  absl::StatusOr<Message> Complete(absl::StatusOr<Message> answer) {
    if (!answer.ok() || !answer->has_whole()) return answer;
    const Digest digest{answer->whole().hash(), answer->whole().size_bytes()};
    if (digest.size_bytes > kMaxWholeBytes) {
      return MakeError(absl::StatusCode::kResourceExhausted,
                       {.fault = Fault::kUser,
                        .reason = "ANSWER_TOO_LARGE",
                        .what = "the complete answer is too large",
                        .where = digest.ToString(),
                        .limit = absl::StrCat(kMaxWholeBytes, " bytes"),
                        .need = absl::StrCat(digest.size_bytes, " bytes"),
                        .fix = "split the model or the job"});
    }
    std::string bytes;
    EK_RETURN_IF_ERROR(Download(digest,
                                [&](absl::string_view piece) {
                                  bytes.append(piece.data(), piece.size());
                                  return absl::OkStatus();
                                }),
                       "the complete answer");
    Message whole;
    if (whole.ParseFromString(bytes)) return whole;
    return MakeError(absl::StatusCode::kDataLoss,
                     {.fault = Fault::kInfra,
                      .reason = "BAD_MESSAGE",
                      .what = "the complete answer does not parse",
                      .where = digest.ToString(),
                      .fix = "use an edgekiln of the daemon's version"});
  }

  // Errors of gRPC itself, in words that help.
  absl::Status Explain(const absl::Status& status) {
    if (status.ok() || GetErrorDetail(status).has_value()) return status;
    const bool late = absl::IsDeadlineExceeded(status);
    // A socket that nobody listens on refuses at once. Of a remote daemon that
    // has never answered nobody knows whether more time would help.
    const bool there = reached_ || options_.revive != nullptr ||
                       absl::StartsWith(options_.grpc_target, "unix:");
    if (late && there && clock_.Now() >= options_.deadline) {
      return MakeError(
          absl::StatusCode::kDeadlineExceeded,
          {.fault = Fault::kUser,
           .reason = kReasonTimeout,
           .what = "the time is up",
           .where = options_.shown,
           .limit =
               absl::StrCat("--timeout ", FormatTimeSpan(options_.timeout)),
           .fix = "give it more time; what is finished is not computed again"});
    }
    if (late || IsTransient(status)) {
      return MakeError(absl::StatusCode::kUnavailable,
                       {.fault = Fault::kInfra,
                        .reason = kReasonUnreachable,
                        .what = reached_ ? "the daemon no longer answers"
                                         : "no daemon answers",
                        .where = absl::StrCat(
                            options_.shown, " (",
                            late ? "no answer in time" : status.message(), ")"),
                        .fix = options_.fix});
    }
    return status;
  }

  template <typename Stub, typename Request, typename Response>
  absl::StatusOr<Response> Call(
      Stub& stub,
      grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                   Response*),
      const Request& request, Patience patience = Patience::kShort) {
    return Call(stub, method, request, patience, options_.deadline);
  }

  template <typename Stub, typename Request, typename Response>
  absl::StatusOr<Response> Call(
      Stub& stub,
      grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                   Response*),
      const Request& request, Patience patience, absl::Time deadline) {
    const absl::Duration give_up =
        clock_.Monotonic() + (patience == Patience::kCancel
                                  ? std::min(kCancelFor, options_.reconnect_for)
                                  : options_.reconnect_for);
    bool waiting = false;
    while (true) {
      grpc::ClientContext context;
      const absl::Time until = Until(patience, deadline);
      if (until != absl::InfiniteFuture()) {
        context.set_deadline(absl::ToChronoTime(until));
      }
      Response response;
      const absl::Status status =
          FromGrpc((stub.*method)(&context, request, &response));
      // An answer, if not the one hoped for.
      if (status.ok() || GetErrorDetail(status).has_value()) reached_ = true;
      if (status.ok() || !MayRetry(status) || clock_.Now() >= until ||
          clock_.Monotonic() >= give_up) {
        if (waiting) TellWaiting(false);
        if (status.ok()) return response;
        return Explain(status);
      }
      if (!waiting) TellWaiting(true);
      waiting = true;
      if (patience != Patience::kCancel && options_.interrupted &&
          options_.interrupted()) {
        return Interrupted();
      }
      if (options_.revive) EK_RETURN_IF_ERROR(options_.revive());
      PauseUnlessConnected(*channel_, clock_, kRetryEvery);
    }
  }

  absl::Time Until(Patience patience, absl::Time deadline) {
    if (patience == Patience::kWorker) {
      return std::max(deadline, clock_.Now() + kNoWorkerVerdict);
    }
    return std::min(deadline, clock_.Now() + options_.call_timeout);
  }

  // One that can be started again may be on its way down at first sight.
  bool MayRetry(const absl::Status& status) const {
    return (reached_ || options_.revive) &&
           (absl::IsUnavailable(status) ||
            // gRPC, of a call that a server's end cut off.
            absl::IsCancelled(status)) &&
           IsTransient(status);
  }

  void TellWaiting(bool waiting) const {
    if (options_.on_waiting) options_.on_waiting(waiting);
  }

  absl::Status Interrupted() const {
    return MakeError(absl::StatusCode::kCancelled,
                     {.fault = Fault::kUser,
                      .reason = kReasonInterrupted,
                      .what = "interrupted while waiting for the daemon",
                      .where = options_.shown,
                      .fix = options_.fix});
  }

  const ConnectionOptions options_;
  FileSystem& files_;
  Clock& clock_;
  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<v1::Daemon::Stub> daemon_;
  const std::unique_ptr<v1::Jobs::Stub> jobs_;
  const std::unique_ptr<v1::Reports::Stub> reports_;
  const std::unique_ptr<v1::Models::Stub> models_;
  const std::unique_ptr<v1::Targets::Stub> targets_;
  bool reached_ = false;  // Whether the daemon has ever answered.
};

absl::Status BadAddress(absl::string_view address, absl::string_view source,
                        absl::string_view what) {
  return UsageError(what, absl::StrCat(source, address),
                    "HOST:PORT, [IPV6]:PORT, unix:/PATH or /PATH of a socket",
                    absl::StrCat("for example ", source, "localhost:7433"));
}

}  // namespace

std::unique_ptr<Connection> NewConnection(ConnectionOptions options,
                                          FileSystem& files, Clock& clock) {
  return std::make_unique<GrpcConnection>(std::move(options), files, clock);
}

absl::StatusOr<std::string> ParseServerAddress(absl::string_view address,
                                               absl::string_view source) {
  if (absl::StartsWith(address, "/")) return absl::StrCat("unix:", address);
  if (absl::StartsWith(address, "unix:/")) return std::string(address);
  if (address.find("://") != absl::string_view::npos) {
    return BadAddress(address, source,
                      "expected HOST:PORT or unix:/PATH, got a URL");
  }
  if (address.find_first_of(" \t\n/%") != absl::string_view::npos) {
    return BadAddress(address, source, "the address holds a space, '/' or '%'");
  }
  const size_t colon = address.rfind(':');
  int port = 0;
  if (colon == absl::string_view::npos ||
      !absl::SimpleAtoi(address.substr(colon + 1), &port)) {
    return BadAddress(address, source, "the address has no port");
  }
  if (port < 1 || port > 65535) {
    return BadAddress(address, source, "the port is not in 1..65535");
  }
  const absl::string_view host = address.substr(0, colon);
  const bool bracketed =
      absl::StartsWith(host, "[") && absl::EndsWith(host, "]");
  if (host.empty() ||
      (!bracketed && host.find(':') != absl::string_view::npos)) {
    return BadAddress(address, source, "the host is missing or ambiguous");
  }
  return absl::StrCat("dns:///", address);
}

}  // namespace edgekiln::client
