#include "server/daemon/question_services.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "edgekiln/v1/jobs.grpc.pb.h"
#include "server/compile_job.h"
#include "server/daemon/question.h"
#include "server/daemon/rpc_status.h"
#include "server/daemon/shutting_down.h"
#include "server/proto_convert.h"
#include "target/builtin.h"
#include "target/nearest_name.h"

namespace edgekiln::server {
namespace {

absl::Status RequireBlob(cache::BlobStore& blobs, const v1::Digest& proto,
                         absl::string_view what) {
  EK_ASSIGN_OR_RETURN(const Digest digest, FromProto(proto), what);
  EK_ASSIGN_OR_RETURN(const bool present, blobs.Contains(digest));
  if (present) return absl::OkStatus();
  return MakeError(
      absl::StatusCode::kFailedPrecondition,
      {.fault = Fault::kUser,
       .reason = "BLOB_MISSING",
       .what = absl::StrCat("the ", what, " blob is not on this server"),
       .where = digest.ToString(),
       .fix = "upload it first"});
}

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
    EK_RETURN_IF_ERROR(RequireBlob(blobs_, request.model(), "model"));
    v1::CreateJobRequest job;
    job.set_model_name(request.model_name());
    *job.mutable_model() = request.model();
    job.add_goals(v1::INSPECT);
    if (request.has_target()) {
      EK_RETURN_IF_ERROR(
          RequireBlob(blobs_, request.target().digest(), "target"));
      *job.add_targets() = request.target();
    }
    const absl::Status asked =
        Ask(stages_, OptionsFor(context, stopping_), [&](JobContext& jobs) {
          JobResult result = RunCompileJob("", job, jobs);
          response = std::move(result.description);
          return result.status;
        });
    return Unanswered(asked, stopping_);
  }

  StageRunner& stages_;
  cache::BlobStore& blobs_;
  const std::atomic<bool>& stopping_;
  Activity& activity_;
};

class TargetsService final : public v1::Targets::Service {
 public:
  TargetsService(StageRunner& stages, cache::BlobStore& blobs,
                 const std::atomic<bool>& stopping, Activity& activity)
      : targets_(target::BuiltinTargets()),
        stages_(stages),
        blobs_(blobs),
        stopping_(stopping),
        activity_(activity) {}

  grpc::Status ListTargets(grpc::ServerContext*, const v1::ListTargetsRequest*,
                           v1::ListTargetsResponse* response) override {
    const Activity::Call call(activity_);
    for (const target::BuiltinTarget& builtin : targets_) {
      if (builtin.listing == target::Listing::kHidden) continue;
      v1::TargetInfo& info = *response->add_targets();
      info.set_name(builtin.name);
      info.set_doc(builtin.doc);
      *info.mutable_digest() = ToProto(DigestOf(builtin.text));
    }
    return grpc::Status::OK;
  }

  grpc::Status GetTarget(grpc::ServerContext*,
                         const v1::GetTargetRequest* request,
                         v1::TargetInfo* response) override {
    const Activity::Call call(activity_);
    return ToGrpc(Get(request->name(), *response));
  }

  grpc::Status ValidateTarget(grpc::ServerContext* context,
                              const v1::ValidateTargetRequest* request,
                              v1::ValidateTargetResponse* response) override {
    const Activity::Call call(activity_);
    return ToGrpc(Validate(*context, *request, *response));
  }

 private:
  absl::Status Get(const std::string& name, v1::TargetInfo& response) {
    std::vector<std::string> names;
    for (const target::BuiltinTarget& builtin : targets_) {
      if (builtin.name != name) {
        names.push_back(builtin.name);
        continue;
      }
      const Digest digest = DigestOf(builtin.text);
      EK_RETURN_IF_ERROR(blobs_.Put(digest, builtin.text));
      response.set_name(builtin.name);
      response.set_doc(builtin.doc);
      response.set_text(builtin.text);
      *response.mutable_digest() = ToProto(digest);
      return absl::OkStatus();
    }
    return MakeError(
        absl::StatusCode::kNotFound,
        {.fault = Fault::kUser,
         .reason = "TARGET_UNKNOWN",
         .what = "there is no target of that name",
         .where = absl::StrCat("target '", name, "'"),
         .fix = target::DidYouMean(
             name, names, "`edgekiln targets list` shows all of them")});
  }

  absl::Status Validate(grpc::ServerContext& context,
                        const v1::ValidateTargetRequest& request,
                        v1::ValidateTargetResponse& response) {
    EK_RETURN_IF_ERROR(RequireBlob(blobs_, request.target(), "target"));
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

  const std::vector<target::BuiltinTarget> targets_;
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
