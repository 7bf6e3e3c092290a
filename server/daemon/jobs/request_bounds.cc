#include "server/daemon/jobs/request_bounds.h"

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "google/protobuf/descriptor.h"

namespace edgekiln::server {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

struct Bound {
  absl::string_view field;  // Full name.
  int64_t limit;
};

// Bytes of strings and entries of lists that differ from the usual.
constexpr Bound kBounds[] = {
    {"edgekiln.v1.CreateJobRequest.request_id", 128},
    {"edgekiln.v1.CreateJobRequest.goals", 16},
    {"edgekiln.v1.Digest.hash", 64},
    {"edgekiln.v1.JobSlot.client", 128},
    {"edgekiln.v1.JobSlot.name", 128},
    {"edgekiln.v1.JobOptions.recipe", 64},
    {"edgekiln.v1.InspectModelRequest.recipe", 64},
    {"edgekiln.v1.GetTargetRequest.recipe", 64},
    {"edgekiln.v1.GetJobRequest.id", 128},
    {"edgekiln.v1.CancelJobRequest.id", 128},
    {"edgekiln.v1.WatchJobRequest.id", 128},
    {"edgekiln.v1.GetReportRequest.job_id", 128},
    {"edgekiln.v1.RenderReportRequest.job_id", 128},
    {"edgekiln.v1.RenderReportRequest.beside", 15},
    {"edgekiln.v1.ReleaseQuarantineRequest.id", 128},
    {"edgekiln.v1.ListJobsRequest.page_token", 128},
    {"edgekiln.v1.ListJobsRequest.sweep", 128},
    {"edgekiln.v1.ListQuarantineRequest.page_token", 128},
};
constexpr int64_t kMaxTextBytes = 1024;
constexpr int64_t kMaxEntries = 4096;

int64_t LimitOf(const FieldDescriptor& field, int64_t usual) {
  for (const Bound& bound : kBounds) {
    if (field.full_name() == bound.field) return bound.limit;
  }
  return usual;
}

absl::Status TooLarge(absl::string_view what, const std::string& where,
                      int64_t limit, int64_t need, absl::string_view unit) {
  return MakeError(absl::StatusCode::kInvalidArgument,
                   {.fault = Fault::kUser,
                    .reason = "REQUEST_TOO_LARGE",
                    .what = std::string(what),
                    .where = where,
                    .limit = absl::StrCat(limit, " ", unit),
                    .need = absl::StrCat(need, " ", unit),
                    .fix = "shorten it, or split the request"});
}

absl::Status CheckMessage(const Message& message, const std::string& path);

absl::Status CheckField(const Message& message, const FieldDescriptor& field,
                        const std::string& where) {
  const Reflection& reflection = *message.GetReflection();
  const bool repeated = field.is_repeated();
  const int entries = repeated ? reflection.FieldSize(message, &field) : 1;
  if (const int64_t limit = LimitOf(field, kMaxEntries);
      repeated && entries > limit) {
    return TooLarge("the request has too many entries in a list", where, limit,
                    entries, "entries");
  }
  const bool text = field.cpp_type() == FieldDescriptor::CPPTYPE_STRING;
  if (!text && field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
    return absl::OkStatus();
  }
  for (int i = 0; i < entries; ++i) {
    const std::string at = repeated ? absl::StrCat(where, "[", i, "]") : where;
    if (!text) {
      EK_RETURN_IF_ERROR(CheckMessage(
          repeated ? reflection.GetRepeatedMessage(message, &field, i)
                   : reflection.GetMessage(message, &field),
          at));
      continue;
    }
    std::string scratch;
    const std::string& value =
        repeated ? reflection.GetRepeatedStringReference(message, &field, i,
                                                         &scratch)
                 : reflection.GetStringReference(message, &field, &scratch);
    const auto bytes = static_cast<int64_t>(value.size());
    // A bound on a list of strings is one on their number.
    const int64_t limit =
        repeated ? kMaxTextBytes : LimitOf(field, kMaxTextBytes);
    if (bytes > limit) {
      return TooLarge("a text in the request is too long", at, limit, bytes,
                      "bytes");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckMessage(const Message& message, const std::string& path) {
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    EK_RETURN_IF_ERROR(
        CheckField(message, *field, absl::StrCat(path, ".", field->name())));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckRequestBytes(int64_t bytes) {
  if (bytes <= kMaxRequestBytes) return absl::OkStatus();
  return TooLarge("the request is too large", "the request", kMaxRequestBytes,
                  bytes, "bytes");
}

absl::Status CheckBounds(const Message& request) {
  const std::string name(request.GetDescriptor()->name());
  // First: what a field exceeds says more than the sum.
  EK_RETURN_IF_ERROR(CheckMessage(request, name));
  const auto bytes = static_cast<int64_t>(request.ByteSizeLong());
  if (bytes <= kMaxRequestBytes) return absl::OkStatus();
  return TooLarge("the request is too large", name, kMaxRequestBytes, bytes,
                  "bytes");
}

}  // namespace edgekiln::server
