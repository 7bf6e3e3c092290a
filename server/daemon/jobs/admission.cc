#include "server/daemon/jobs/admission.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "proto/convert.h"
#include "server/daemon/jobs/check_options.h"
#include "server/daemon/jobs/request_bounds.h"
#include "server/sweep/cells.h"
#include "server/sweep/model_name.h"
#include "server/validate_request.h"

namespace edgekiln::server {

absl::Status CheckRequest(const v1::CreateJobRequest& request,
                          int max_targets) {
  EK_RETURN_IF_ERROR(CheckBounds(request));
  EK_RETURN_IF_ERROR(ValidateRequest(request));
  EK_RETURN_IF_ERROR(CheckJobOptions(request.options()));
  if (SweepOfCell(request.request_id()).has_value()) {
    return MakeError(
        absl::StatusCode::kInvalidArgument,
        {.fault = Fault::kUser,
         .reason = "BAD_REQUEST_ID",
         .what = "request ids of cells are the daemon's",
         .where = "CreateJobRequest.request_id",
         .limit = absl::StrCat("not to begin with '", kCellPrefix, "'"),
         .fix = "choose another one"});
  }
  if (request.targets_size() > max_targets) {
    return MakeError(absl::StatusCode::kInvalidArgument,
                     {.fault = Fault::kUser,
                      .reason = "REQUEST_TOO_LARGE",
                      .what = "the request has too many targets",
                      .where = "CreateJobRequest.targets",
                      .limit = absl::StrCat(max_targets, " targets"),
                      .need = absl::StrCat(request.targets_size(), " targets"),
                      .fix = "split the job"});
  }
  if (!request.has_slot()) return absl::OkStatus();
  if (!request.slot().name().empty()) return absl::OkStatus();
  return MakeError(absl::StatusCode::kInvalidArgument,
                   {.fault = Fault::kUser,
                    .reason = "BAD_SLOT",
                    .what = "the slot has no name",
                    .where = "CreateJobRequest.slot.name",
                    .need = "1 to 128 bytes",
                    .fix = "give the slot a short name, or leave it out"});
}

namespace {

// Blobs of one request that were asked for.
struct Asked {
  explicit Asked(BlobsTold told) : told(std::move(told)) {}

  void Answer(size_t index, absl::Status status) {
    {
      MutexLock lock(mutex);
      answers[index] = std::move(status);
      if (--left > 0) return;
    }
    Tell();
  }

  // Which is told does not depend on what was looked at first.
  void Tell() {
    absl::Status first;
    {
      MutexLock lock(mutex);
      for (const absl::Status& answer : answers) first.Update(answer);
    }
    told(std::move(first));
  }

  const BlobsTold told;
  Mutex mutex;
  std::vector<absl::Status> answers ABSL_GUARDED_BY(mutex);
  size_t left ABSL_GUARDED_BY(mutex) = 0;
};

absl::Status Missing(absl::string_view what, const Digest& digest) {
  return MakeError(
      absl::StatusCode::kFailedPrecondition,
      {.fault = Fault::kUser,
       .reason = "BLOB_MISSING",
       .what = absl::StrCat("the ", what, " blob is not on this server"),
       .where = digest.ToString(),
       .fix = "upload it first"});
}

absl::Status DigestMissing(absl::string_view what) {
  return MakeError(absl::StatusCode::kInvalidArgument,
                   {.fault = Fault::kUser,
                    .reason = "NO_DIGEST",
                    .what = absl::StrCat(what, " has no digest"),
                    .where = "CreateJobRequest.sweep",
                    .need = "the digest of a blob; `file` is for whoever reads "
                            "the text form",
                    .fix = "upload the file and set the digest"});
}

using Named = std::vector<std::pair<std::string, v1::Digest>>;

absl::Status AddSweepFiles(
    absl::string_view what, const v1::SweepModel& model,
    const google::protobuf::RepeatedPtrField<v1::SweepFile>& files,
    Named& named) {
  for (const v1::SweepFile& file : files) {
    std::string name = absl::StrCat(what, " of model ", SweepModelName(model));
    if (!file.has_digest()) return DigestMissing(name);
    named.emplace_back(std::move(name), file.digest());
  }
  return absl::OkStatus();
}

absl::Status AddSweepModels(const v1::SweepRequest& sweep, Named& named) {
  for (const v1::SweepGroup& group : sweep.groups()) {
    for (const v1::SweepModel& model : group.models()) {
      std::string name = absl::StrCat("model ", SweepModelName(model));
      if (!model.has_digest()) return DigestMissing(name);
      named.emplace_back(std::move(name), model.digest());
      EK_RETURN_IF_ERROR(
          AddSweepFiles("calibration", model, model.calibration(), named));
      EK_RETURN_IF_ERROR(AddSweepFiles("data", model, model.data(), named));
      EK_RETURN_IF_ERROR(
          AddSweepFiles("an input", model, model.inputs(), named));
      EK_RETURN_IF_ERROR(
          AddSweepFiles("external data", model, model.external_data(), named));
    }
  }
  return absl::OkStatus();
}

absl::Status AddSweepTargets(const v1::SweepRequest& sweep, Named& named) {
  for (const v1::SweepGroup& group : sweep.groups()) {
    for (const v1::SweepTarget& target : group.targets()) {
      if (target.has_digest()) {
        named.emplace_back(absl::StrCat("target ", target.name()),
                           target.digest());
      } else if (!target.file().empty()) {
        return DigestMissing(absl::StrCat("target ", target.file()));
      }
    }
  }
  return absl::OkStatus();
}

// A digest that was left out is a common mistake, unlike one that is malformed.
absl::Status CheckDigestsGiven(const v1::CreateJobRequest& request) {
  if (request.model().hash().empty() && request.document().hash().empty()) {
    return MakeError(absl::StatusCode::kInvalidArgument,
                     {.fault = Fault::kUser,
                      .reason = "NO_MODEL",
                      .what = "the request names neither model nor document",
                      .where = "model",
                      .need = "the digest of a blob",
                      .fix = "upload the model file and set model"});
  }
  for (int i = 0; i < request.targets_size(); ++i) {
    const v1::TargetRef& target = request.targets(i);
    if (!target.digest().hash().empty()) continue;
    return MakeError(
        absl::StatusCode::kInvalidArgument,
        {.fault = Fault::kUser,
         .reason = "TARGET_BY_NAME",
         .what = absl::StrCat("target '", target.name(), "' has no digest"),
         .where = absl::StrCat("targets[", i, "].digest"),
         .need = "the digest of a blob; the name is for reports only",
         .fix = "call Targets.GetTarget with the name and set the digest "
                "of its answer"});
  }
  return absl::OkStatus();
}

}  // namespace

void AskBlob(absl::string_view what, const v1::Digest& proto,
             cache::BlobStore& blobs, const BlobsTold& told) {
  const absl::StatusOr<Digest> digest = FromProto(proto);
  if (!digest.ok()) return told(Annotate(digest.status(), what));
  blobs.AskContains(*digest, [told, what = std::string(what), digest = *digest,
                              &blobs](const absl::StatusOr<bool>& present) {
    if (!present.ok()) return told(present.status());
    if (!*present) return told(Missing(what, digest));
    // A job outlives a power failure, and so must what it names. Mostly it is
    // durable already: clients ask for missing blobs first.
    const absl::Status synced = blobs.Sync(digest);
    told(absl::IsNotFound(synced) ? Missing(what, digest) : synced);
  });
}

namespace {

void AskAll(const Named& named, cache::BlobStore& blobs,
            const BlobsTold& told) {
  if (named.empty()) return told(absl::OkStatus());
  const auto asked = std::make_shared<Asked>(told);
  {
    MutexLock lock(asked->mutex);
    asked->answers.resize(named.size());
    asked->left = named.size();
  }
  for (size_t i = 0; i < named.size(); ++i) {
    AskBlob(named[i].first, named[i].second, blobs,
            [asked, i](absl::Status status) {
              asked->Answer(i, std::move(status));
            });
  }
}

}  // namespace

void AskBlobs(const v1::CreateJobRequest& request, cache::BlobStore& blobs,
              const BlobsTold& told) {
  if (Wants(request, v1::SWEEP)) {
    Named named;
    absl::Status given = AddSweepModels(request.sweep(), named);
    if (given.ok()) given = AddSweepTargets(request.sweep(), named);
    if (!given.ok()) return told(std::move(given));
    return AskAll(named, blobs, told);
  }
  if (absl::Status given = CheckDigestsGiven(request); !given.ok()) {
    return told(std::move(given));
  }
  Named named = {request.has_document()
                     ? Named::value_type("document", request.document())
                     : Named::value_type("model", request.model())};
  for (const v1::TargetRef& target : request.targets()) {
    named.emplace_back(absl::StrCat("target ", target.name()), target.digest());
  }
  for (const v1::Digest& file : request.calibration().files()) {
    named.emplace_back("calibration", file);
  }
  for (const v1::Digest& file : request.data().files()) {
    named.emplace_back("data", file);
  }
  for (const v1::NamedBlob& input : request.bindings().inputs()) {
    named.emplace_back(absl::StrCat("input ", input.name()), input.digest());
  }
  for (const v1::NamedBlob& file : request.bindings().external_data()) {
    named.emplace_back(absl::StrCat("external data ", file.name()),
                       file.digest());
  }
  AskAll(named, blobs, told);
}

void AskTargets(const v1::SweepRequest& sweep, cache::BlobStore& blobs,
                const BlobsTold& told) {
  Named named;
  absl::Status given = AddSweepTargets(sweep, named);
  if (!given.ok()) return told(std::move(given));
  AskAll(named, blobs, told);
}

absl::Status CheckSameRequest(const v1::Job& job,
                              const v1::CreateJobRequest& request) {
  if (job.request().SerializeAsString() == request.SerializeAsString()) {
    return absl::OkStatus();
  }
  return MakeError(absl::StatusCode::kInvalidArgument,
                   {.fault = Fault::kUser,
                    .reason = "REQUEST_ID_REUSED",
                    .what = "this request_id belongs to another request",
                    .where = absl::StrCat("job ", job.id()),
                    .fix = "choose a new request_id for a new request"});
}

}  // namespace edgekiln::server
