#include "server/daemon/jobs/question_services.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "edgekiln/v1/jobs.grpc.pb.h"
#include "server/compile_job.h"
#include "server/daemon/jobs/admission.h"
#include "server/daemon/jobs/question.h"
#include "server/daemon/jobs/request_bounds.h"
#include "server/daemon/jobs/whole_answer.h"
#include "server/daemon/raw_call.h"
#include "server/daemon/rpc_status.h"
#include "server/daemon/shutting_down.h"
#include "server/proto_convert.h"
#include "target/builtin.h"
#include "target/nearest_name.h"

namespace edgekiln::server {
namespace {

// Why a question got no answer: our own end is not the caller's doing.
absl::Status Unanswered(const absl::Status& asked,
                        const std::atomic<bool>& stopping) {
  return !asked.ok() && stopping ? ShuttingDown() : asked;
}

QuestionOptions OptionsFor(grpc::ServerContext& context,
                           const std::atomic<bool>& stopping) {
  QuestionOptions options;
  options.cancelled = [&] { return context.IsCancelled() || stopping; };
  return options;
}

class ModelsService final : public v1::Models::Service {
 public:
  ModelsService(StageRunner& stages, cache::BlobStore& blobs,
                const std::atomic<bool>& stopping, Activity& activity)
      : stages_(stages),
        blobs_(blobs),
        stopping_(stopping),
        activity_(activity) {}

  grpc::Status InspectModel(grpc::ServerContext* context,
                            const v1::InspectModelRequest* request,
                            v1::ModelDescription* response) override {
    const Activity::Call call(activity_);
    return ToGrpc(Inspect(*context, *request, *response));
  }

 private:
  absl::Status Inspect(grpc::ServerContext& context,
                       const v1::InspectModelRequest& request,
                       v1::ModelDescription& response) {
    EK_RETURN_IF_ERROR(CheckBounds(request));
    v1::CreateJobRequest job;
    job.set_model_name(request.model_name());
    *job.mutable_model() = request.model();
    *job.mutable_bindings() = request.bindings();
    if (request.has_target()) *job.add_targets() = request.target();
    EK_RETURN_IF_ERROR(CheckBlobs(job, blobs_));
    job.add_goals(v1::INSPECT);
    const absl::Status asked =
        Ask(stages_, OptionsFor(context, stopping_), [&](JobContext& jobs) {
          JobResult result = RunCompileJob("", job, jobs);
          response = std::move(result.description);
          return result.status;
        });
    EK_RETURN_IF_ERROR(Unanswered(asked, stopping_));
    return FitAnswer(response, blobs_);
  }

  StageRunner& stages_;
  cache::BlobStore& blobs_;
  const std::atomic<bool>& stopping_;
  Activity& activity_;
};

// A target of ours as GetTarget tells it.
struct KnownTarget {
  v1::TargetInfo info;
  Digest digest;
  std::string answer;  // `info`, serialized.
  bool listed = true;
};

std::vector<KnownTarget> KnownTargets() {
  std::vector<KnownTarget> known;
  for (const target::BuiltinTarget& builtin : target::BuiltinTargets()) {
    KnownTarget& out = known.emplace_back();
    out.digest = DigestOf(builtin.text);
    out.info.set_name(builtin.name);
    out.info.set_doc(builtin.doc);
    out.info.set_text(builtin.text);
    *out.info.mutable_digest() = ToProto(out.digest);
    out.answer = out.info.SerializeAsString();
    out.listed = builtin.listing != target::Listing::kHidden;
  }
  return known;
}

using HotTargets =
    v1::Targets::WithRawCallbackMethod_GetTarget<v1::Targets::Service>;

class TargetsService final : public HotTargets {
 public:
  TargetsService(StageRunner& stages, cache::BlobStore& blobs,
                 const std::atomic<bool>& stopping, Activity& activity)
      : targets_(KnownTargets()),
        stages_(stages),
        blobs_(blobs),
        stopping_(stopping),
        activity_(activity) {}

  grpc::Status ListTargets(grpc::ServerContext*, const v1::ListTargetsRequest*,
                           v1::ListTargetsResponse* response) override {
    const Activity::Call call(activity_);
    for (const KnownTarget& known : targets_) {
      if (!known.listed) continue;
      v1::TargetInfo& info = *response->add_targets();
      info = known.info;
      info.clear_text();
    }
    return grpc::Status::OK;
  }

  grpc::ServerUnaryReactor* GetTarget(grpc::CallbackServerContext* context,
                                      const grpc::ByteBuffer* request,
                                      grpc::ByteBuffer* response) override {
    return AnswerOrFail(RawCall(*context, activity_, *request, *response),
                        [this](RawCall& call) { return AnswerWith(call); });
  }

  grpc::Status ValidateTarget(grpc::ServerContext* context,
                              const v1::ValidateTargetRequest* request,
                              v1::ValidateTargetResponse* response) override {
    const Activity::Call call(activity_);
    return ToGrpc(Validate(*context, *request, *response));
  }

 private:
  absl::Status AnswerWith(RawCall& call) {
    v1::GetTargetRequest wanted;
    EK_RETURN_IF_ERROR(call.Parse(wanted));
    EK_RETURN_IF_ERROR(CheckBounds(wanted));
    std::vector<std::string> names;
    for (const KnownTarget& known : targets_) {
      if (known.info.name() != wanted.name()) {
        names.push_back(known.info.name());
        continue;
      }
      // It may have been evicted since the last call.
      EK_ASSIGN_OR_RETURN(const bool present, blobs_.Contains(known.digest));
      if (!present) {
        EK_RETURN_IF_ERROR(blobs_.Put(known.digest, known.info.text()));
      }
      call.Answer(known.answer);
      return absl::OkStatus();
    }
    return MakeError(absl::StatusCode::kNotFound,
                     {.fault = Fault::kUser,
                      .reason = "TARGET_UNKNOWN",
                      .what = "there is no target of that name",
                      .where = absl::StrCat("target '", wanted.name(), "'"),
                      .fix = target::DidYouMean(
                          wanted.name(), names,
                          "`edgekiln targets list` shows all of them")});
  }

  absl::Status Validate(grpc::ServerContext& context,
                        const v1::ValidateTargetRequest& request,
                        v1::ValidateTargetResponse& response) {
    EK_RETURN_IF_ERROR(CheckBounds(request));
    EK_RETURN_IF_ERROR(CheckBlob("target", request.target(), blobs_));
    StageCall call;
    call.name = "resolve_target";
    call.options.mutable_resolve_target();
    v1::BlobRef& input = call.inputs.emplace_back();
    input.set_role("target");
    *input.mutable_digest() = request.target();
    absl::StatusOr<v1::StageResult> result = absl::UnknownError("not asked");
    const absl::Status asked =
        Ask(stages_, OptionsFor(context, stopping_), [&](JobContext& jobs) {
          result = jobs.Start(call)->Wait();
          return result.status();
        });
    if (asked.ok()) {
      response.set_valid(true);
      response.set_name(result->summary().target().name());
      return absl::OkStatus();
    }
    const std::optional<ErrorDetail> detail = GetErrorDetail(asked);
    // A bad descriptor is an answer; everything else is no answer.
    if (!detail.has_value() || detail->fault != Fault::kUser) {
      return Unanswered(asked, stopping_);
    }
    *response.mutable_problem() = ErrorToProto(asked);
    return absl::OkStatus();
  }

  const std::vector<KnownTarget> targets_;
  StageRunner& stages_;
  cache::BlobStore& blobs_;
  const std::atomic<bool>& stopping_;
  Activity& activity_;
};

}  // namespace

std::unique_ptr<grpc::Service> NewModelsService(
    StageRunner& stages, cache::BlobStore& blobs,
    const std::atomic<bool>& stopping, Activity& activity) {
  return std::make_unique<ModelsService>(stages, blobs, stopping, activity);
}

std::unique_ptr<grpc::Service> NewTargetsService(
    StageRunner& stages, cache::BlobStore& blobs,
    const std::atomic<bool>& stopping, Activity& activity) {
  return std::make_unique<TargetsService>(stages, blobs, stopping, activity);
}

}  // namespace edgekiln::server
