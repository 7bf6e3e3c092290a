#include "server/daemon/jobs/whole_answer.h"

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "proto/convert.h"

namespace edgekiln::server {
namespace {

constexpr int64_t kMaxEventBytes = 64 << 10;
constexpr int kMaxTextBytes = 4096;

int64_t SizeOf(const google::protobuf::MessageLite& message) {
  return static_cast<int64_t>(message.ByteSizeLong());
}

void CutLists(v1::ModelDescription& description) {
  description.clear_inputs();
  description.clear_outputs();
  description.clear_layers();
  description.clear_problems();
  description.clear_warnings();
  description.set_name(SanitizeText(description.name(), kMaxTextBytes));
}

// The only field of an error that MakeError() does not bound.
void CutError(v1::ErrorDetail& error) {
  error.set_message(SanitizeText(error.message(), kMaxTextBytes));
}

absl::StatusOr<v1::Digest> StoreWhole(const google::protobuf::MessageLite& all,
                                      cache::BlobStore& blobs) {
  const std::string bytes = all.SerializeAsString();
  const Digest digest = DigestOf(bytes);
  EK_RETURN_IF_ERROR(blobs.Put(digest, bytes), "the complete answer");
  return ToProto(digest);
}

std::string Lacks(absl::string_view what, int64_t bytes,
                  const absl::Status& why) {
  return SanitizeText(
      absl::StrCat("the server could not store the complete answer of ", bytes,
                   " bytes; ", what, " are missing: ", why.message()),
      kMaxTextBytes);
}

// Leaves out the last ones until the job is short enough.
void CutArtifacts(v1::Job& job) {
  while (SizeOf(job) > kMaxJobBytes && job.artifacts_size() > 0) {
    const int half = job.artifacts_size() / 2;
    job.mutable_artifacts()->DeleteSubrange(half, job.artifacts_size() - half);
  }
}

}  // namespace

absl::Status FitAnswer(v1::Report& report, cache::BlobStore& blobs) {
  const int64_t bytes = SizeOf(report);
  if (bytes <= kMaxAnswerBytes) return absl::OkStatus();
  const absl::StatusOr<v1::Digest> whole = StoreWhole(report, blobs);
  report.clear_layers();
  report.clear_stages();
  report.clear_warnings();
  report.clear_engines();
  report.clear_gates();
  report.clear_tensors();
  report.clear_quantized();
  report.mutable_memory()->clear_memories();
  if (report.has_accuracy()) report.mutable_accuracy()->clear_confusion();
  if (report.has_error()) CutError(*report.mutable_error());
  if (report.has_bit_exact()) {
    report.mutable_bit_exact()->set_first_mismatch(
        SanitizeText(report.bit_exact().first_mismatch(), kMaxTextBytes));
  }
  if (whole.ok()) {
    *report.mutable_whole() = *whole;
  } else {
    report.add_warnings(Lacks(
        "layers, stages, engines, tensors, quantization, the confusion matrix "
        "and other warnings",
        bytes, whole.status()));
  }
  return whole.status();
}

absl::Status FitAnswer(v1::ModelDescription& description,
                       cache::BlobStore& blobs) {
  const int64_t bytes = SizeOf(description);
  if (bytes <= kMaxAnswerBytes) return absl::OkStatus();
  const absl::StatusOr<v1::Digest> whole = StoreWhole(description, blobs);
  CutLists(description);
  if (whole.ok()) {
    *description.mutable_whole() = *whole;
  } else {
    description.add_warnings(
        Lacks("inputs, outputs, layers, problems and other warnings", bytes,
              whole.status()));
  }
  return whole.status();
}

absl::Status FitFinished(v1::Job& job, cache::BlobStore& blobs) {
  const int64_t bytes = SizeOf(job);
  const absl::StatusOr<v1::Digest> whole = StoreWhole(job, blobs);
  job.clear_stages();
  if (job.has_description()) CutLists(*job.mutable_description());
  if (job.has_error()) CutError(*job.mutable_error());
  if (whole.ok()) {
    job.clear_artifacts();
    *job.mutable_whole() = *whole;
    return absl::OkStatus();
  }
  const int artifacts = job.artifacts_size();
  v1::CreateJobRequest request;
  job.mutable_request()->Swap(&request);
  CutArtifacts(job);
  job.mutable_request()->Swap(&request);
  job.mutable_description()->add_warnings(
      Lacks(job.artifacts_size() < artifacts
                ? "stages, layers and some of the artifacts"
                : "stages and layers",
            bytes, whole.status()));
  return whole.status();
}

void FitUnfinished(v1::Job& job) {
  while (SizeOf(job) > kMaxAnswerBytes && job.stages_size() > 0) {
    job.mutable_stages()->DeleteSubrange(0, (job.stages_size() + 1) / 2);
  }
}

void FitEvent(v1::JobEvent& event) {
  if (SizeOf(event) <= kMaxEventBytes) return;
  if (event.has_error()) CutError(*event.mutable_error());
  if (event.has_waiting()) {
    event.mutable_waiting()->set_reason(
        SanitizeText(event.waiting().reason(), kMaxTextBytes));
  }
  // Nothing else has text of its own; names of stages are ours.
  if (SizeOf(event) > kMaxEventBytes) event.clear_event();
}

}  // namespace edgekiln::server
