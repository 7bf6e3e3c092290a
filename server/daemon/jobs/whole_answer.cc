#include "server/daemon/jobs/whole_answer.h"

#include <string>

#include "base/digest.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "server/proto_convert.h"

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

}  // namespace

absl::StatusOr<v1::Digest> StoreWhole(const google::protobuf::MessageLite& all,
                                      cache::BlobStore& blobs) {
  const std::string bytes = all.SerializeAsString();
  const Digest digest = DigestOf(bytes);
  EK_RETURN_IF_ERROR(blobs.Put(digest, bytes), "the complete answer");
  return ToProto(digest);
}

absl::Status FitAnswer(v1::Report& report, cache::BlobStore& blobs) {
  if (SizeOf(report) <= kMaxAnswerBytes) return absl::OkStatus();
  EK_ASSIGN_OR_RETURN(const v1::Digest whole, StoreWhole(report, blobs));
  *report.mutable_whole() = whole;
  report.clear_layers();
  report.clear_stages();
  report.clear_warnings();
  report.clear_engines();
  report.clear_gates();
  report.mutable_memory()->clear_memories();
  if (report.has_error()) CutError(*report.mutable_error());
  if (report.has_bit_exact()) {
    report.mutable_bit_exact()->set_first_mismatch(
        SanitizeText(report.bit_exact().first_mismatch(), kMaxTextBytes));
  }
  return absl::OkStatus();
}

absl::Status FitAnswer(v1::ModelDescription& description,
                       cache::BlobStore& blobs) {
  if (SizeOf(description) <= kMaxAnswerBytes) return absl::OkStatus();
  EK_ASSIGN_OR_RETURN(const v1::Digest whole, StoreWhole(description, blobs));
  *description.mutable_whole() = whole;
  CutLists(description);
  return absl::OkStatus();
}

void CutJob(v1::Job& job, const v1::Digest& whole) {
  *job.mutable_whole() = whole;
  job.clear_stages();
  job.clear_artifacts();
  if (job.has_description()) CutLists(*job.mutable_description());
  if (job.has_error()) CutError(*job.mutable_error());
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
