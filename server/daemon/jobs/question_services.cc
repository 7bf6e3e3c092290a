#include "server/daemon/jobs/question_services.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "edgekiln/v1/jobs.grpc.pb.h"
#include "proto/convert.h"
#include "server/compile_job.h"
#include "server/daemon/jobs/admission.h"
#include "server/daemon/jobs/question.h"
#include "server/daemon/jobs/question_call.h"
#include "server/daemon/jobs/request_bounds.h"
#include "server/daemon/jobs/whole_answer.h"
#include "server/daemon/raw_call.h"
#include "server/later.h"
#include "server/task.h"
#include "server/validate_request.h"
#include "target/builtin.h"
#include "target/nearest_name.h"
#include "target/recipes.h"

namespace edgekiln::server {
namespace {

class InspectCall final : public QuestionCall {
 public:
  InspectCall(const v1::InspectModelRequest& request,
              v1::ModelDescription& response, cache::BlobStore& blobs,
              Activity& activity)
      : QuestionCall(activity),
        bounded_(CheckBounds(request)),
        response_(response),
        blobs_(blobs) {
    if (!bounded_.ok()) return;
    job_.set_model_name(request.model_name());
    *job_.mutable_model() = request.model();
    *job_.mutable_bindings() = request.bindings();
    if (request.has_target()) *job_.add_targets() = request.target();
    job_.mutable_options()->set_recipe(request.recipe());
  }

 private:
  Task<absl::Status> Answer(JobContext& stages, Executor& executor) override {
    EK_CO_RETURN_IF_ERROR(bounded_);
    job_.add_goals(v1::INSPECT);
    EK_CO_RETURN_IF_ERROR(ValidateRequest(job_));
    Later<absl::Status> blobs(
        [this](const BlobsTold& told) { AskBlobs(job_, blobs_, told); });
    const absl::Status present = co_await blobs;
    EK_CO_RETURN_IF_ERROR(present);
    JobResult result = co_await RunCompileJob("", job_, stages, executor);
    EK_CO_RETURN_IF_ERROR(result.status);
    response_ = std::move(result.description);
    // Where there is no room for the whole, the answer says what it lacks.
    FitAnswer(response_, blobs_).IgnoreError();
    co_return absl::OkStatus();
  }

  const absl::Status bounded_;
  v1::CreateJobRequest job_;
  v1::ModelDescription& response_;
  cache::BlobStore& blobs_;
};

using CalledModels =
    v1::Models::WithCallbackMethod_InspectModel<v1::Models::Service>;

class ModelsService final : public CalledModels {
 public:
  ModelsService(Questions& questions, cache::BlobStore& blobs,
                Activity& activity)
      : questions_(questions), blobs_(blobs), activity_(activity) {}

  grpc::ServerUnaryReactor* InspectModel(
      grpc::CallbackServerContext*, const v1::InspectModelRequest* request,
      v1::ModelDescription* response) override {
    return QuestionCall::Start(
        std::make_shared<InspectCall>(*request, *response, blobs_, activity_),
        questions_);
  }

 private:
  Questions& questions_;
  cache::BlobStore& blobs_;
  Activity& activity_;
};

void SetRecipe(const std::string& name, const std::string& doc,
               v1::RecipeInfo& info) {
  info.set_name(name);
  info.set_doc(doc);
}

class ValidateCall final : public QuestionCall {
 public:
  ValidateCall(const v1::ValidateTargetRequest& request,
               v1::ValidateTargetResponse& response, cache::BlobStore& blobs,
               Activity& activity)
      : QuestionCall(activity),
        bounded_(CheckBounds(request)),
        target_(request.target()),
        response_(response),
        blobs_(blobs) {}

 private:
  Task<absl::Status> Answer(JobContext& stages, Executor&) override {
    EK_CO_RETURN_IF_ERROR(bounded_);
    Later<absl::Status> blob([this](const BlobsTold& told) {
      AskBlob("target", target_, blobs_, told);
    });
    const absl::Status present = co_await blob;
    EK_CO_RETURN_IF_ERROR(present);
    StageCall call;
    call.name = "resolve_target";
    call.options.mutable_resolve_target();
    v1::BlobRef& input = call.inputs.emplace_back();
    input.set_role("target");
    *input.mutable_digest() = target_;
    const auto resolving = stages.Start(std::move(call));
    const auto& resolved = co_await ResultOf(resolving);
    if (resolved.ok()) {
      response_.set_valid(true);
      response_.set_name(resolved->summary().target().name());
      for (const auto& recipe : resolved->summary().target().recipes()) {
        SetRecipe(recipe.name(), recipe.doc(), *response_.add_recipes());
      }
      co_return absl::OkStatus();
    }
    // A bad descriptor is an answer; everything else is no answer.
    const std::optional<ErrorDetail> detail = GetErrorDetail(resolved.status());
    if (!detail.has_value() || detail->fault != Fault::kUser) {
      co_return resolved.status();
    }
    *response_.mutable_problem() = ErrorToProto(resolved.status());
    co_return absl::OkStatus();
  }

  const absl::Status bounded_;
  const v1::Digest target_;
  v1::ValidateTargetResponse& response_;
  cache::BlobStore& blobs_;
};

// A target of ours as GetTarget tells it.
struct KnownTarget {
  v1::TargetInfo info;
  Digest digest;
  std::string answer;  // `info`, serialized.
  bool listed = true;
};

absl::Status CheckHas(const std::string& recipe, const v1::TargetInfo& target) {
  if (recipe.empty()) return absl::OkStatus();
  std::vector<std::string> names;
  for (const v1::RecipeInfo& info : target.recipes()) {
    if (info.name() == recipe) return absl::OkStatus();
    names.push_back(info.name());
  }
  return target::UnknownRecipe(recipe, target.name(), names);
}

std::vector<KnownTarget> KnownTargets() {
  std::vector<KnownTarget> known;
  for (const target::BuiltinTarget& builtin : target::BuiltinTargets()) {
    KnownTarget& out = known.emplace_back();
    out.digest = DigestOf(builtin.text);
    out.info.set_name(builtin.name);
    out.info.set_doc(builtin.doc);
    out.info.set_text(builtin.text);
    for (const target::BuiltinRecipe& recipe : builtin.recipes) {
      SetRecipe(recipe.name, recipe.doc, *out.info.add_recipes());
    }
    *out.info.mutable_digest() = ToProto(out.digest);
    out.answer = out.info.SerializeAsString();
    out.listed = builtin.listing != target::Listing::kHidden;
  }
  return known;
}

using HotTargets = v1::Targets::WithRawCallbackMethod_GetTarget<
    v1::Targets::WithCallbackMethod_ValidateTarget<v1::Targets::Service>>;

class TargetsService final : public HotTargets {
 public:
  TargetsService(Questions& questions, cache::BlobStore& blobs,
                 Activity& activity)
      : targets_(KnownTargets()),
        questions_(questions),
        blobs_(blobs),
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

  grpc::ServerUnaryReactor* ValidateTarget(
      grpc::CallbackServerContext*, const v1::ValidateTargetRequest* request,
      v1::ValidateTargetResponse* response) override {
    return QuestionCall::Start(
        std::make_shared<ValidateCall>(*request, *response, blobs_, activity_),
        questions_);
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
      EK_RETURN_IF_ERROR(CheckHas(wanted.recipe(), known.info));
      // It may have been evicted since the last call.
      EK_ASSIGN_OR_RETURN(const bool present, blobs_.Contains(known.digest));
      if (!present) {
        EK_RETURN_IF_ERROR(blobs_.Put(known.digest, known.info.text()));
      }
      call.Answer(known.answer);
      return absl::OkStatus();
    }
    return MakeError(
        absl::StatusCode::kNotFound,
        {.fault = Fault::kUser,
         .reason = "TARGET_UNKNOWN",
         .what = "unknown target",
         .where = absl::StrCat("target '", wanted.name(), "'"),
         .fix = absl::StrContains(wanted.name(), '*')
                    ? "give one name; `edgekiln sweep` takes "
                      "patterns, too"
                    : target::DidYouMean(wanted.name(), names,
                                         "`edgekiln targets list` shows all of "
                                         "them")});
  }

  const std::vector<KnownTarget> targets_;
  Questions& questions_;
  cache::BlobStore& blobs_;
  Activity& activity_;
};

}  // namespace

std::unique_ptr<grpc::Service> NewModelsService(Questions& questions,
                                                cache::BlobStore& blobs,
                                                Activity& activity) {
  return std::make_unique<ModelsService>(questions, blobs, activity);
}

std::unique_ptr<grpc::Service> NewTargetsService(Questions& questions,
                                                 cache::BlobStore& blobs,
                                                 Activity& activity) {
  return std::make_unique<TargetsService>(questions, blobs, activity);
}

}  // namespace edgekiln::server
