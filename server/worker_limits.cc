#include "server/worker_limits.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/error.h"

namespace edgekiln::server {
namespace {

constexpr absl::string_view kMemory = "STAGE_OUT_OF_MEMORY";
constexpr absl::string_view kStack = "STAGE_OUT_OF_STACK";

// Rounded up: 1 byte more than the limit is not the limit.
std::string Mebibytes(int64_t bytes) {
  constexpr int64_t kMebibyte = int64_t{1} << 20;
  return absl::StrCat(bytes / kMebibyte + (bytes % kMebibyte != 0), " MiB");
}

bool IsLimit(absl::string_view reason) {
  return reason == kMemory || reason == kStack;
}

}  // namespace

absl::Status OverMemoryLimit(absl::string_view where, int64_t limit_bytes,
                             std::optional<int64_t> need_bytes) {
  return MakeError(
      absl::StatusCode::kResourceExhausted,
      {.fault = Fault::kUser,
       .reason = std::string(kMemory),
       .what = "the model or its data need more memory than a worker may use",
       .where = std::string(where),
       .limit = limit_bytes == 0
                    ? ""
                    : absl::StrCat(Mebibytes(limit_bytes),
                                   " (edgekiln-worker --memory-limit)"),
       .need =
           need_bytes ? absl::StrCat("at least ", Mebibytes(*need_bytes)) : "",
       .fix =
           "use a smaller model, input or data set, or connect a worker with "
           "a higher --memory-limit (and --memory-budget)"});
}

absl::Status OverStackLimit(absl::string_view where, int64_t limit_bytes) {
  return MakeError(
      absl::StatusCode::kResourceExhausted,
      {.fault = Fault::kUser,
       .reason = std::string(kStack),
       .what = "the model is nested too deeply",
       .where = std::string(where),
       .limit = limit_bytes == 0
                    ? ""
                    : absl::StrCat(Mebibytes(limit_bytes), " of stack"),
       .fix = limit_bytes == 0
                  ? "simplify the model"
                  : "simplify the model, or start the worker under a higher "
                    "`ulimit -s`"});
}

absl::Status MachineOutOfMemory(absl::string_view where, int64_t asked_bytes) {
  return MakeError(
      absl::StatusCode::kUnavailable,
      {.fault = Fault::kInfra,
       .reason = "WORKER_OUT_OF_MEMORY",
       .what = "the machine of a worker is out of memory",
       .where = std::string(where),
       .need = absl::StrCat(Mebibytes(asked_bytes), " more"),
       .fix = "free memory there, or start its workers with fewer --slots or a "
              "lower --memory-limit"});
}

bool IsOverMemoryLimit(const v1::ErrorDetail& error) {
  return error.fault() == v1::ErrorDetail::USER && error.reason() == kMemory;
}

absl::Status ResultTooLarge(absl::string_view where, int64_t bytes) {
  return MakeError(
      absl::StatusCode::kResourceExhausted,
      {.fault = Fault::kQuota,
       .reason = "RESULT_TOO_LARGE",
       .what = "what is to be told of this model is too much",
       .where = std::string(where),
       .limit = absl::StrCat((kMaxStoredResultBytes + (4 << 10)) >> 20, " MiB"),
       .need = Mebibytes(bytes),
       .fix = "use a model with fewer layers, or with shorter names"});
}

bool IsOverWorkerLimit(const v1::ErrorDetail& error) {
  return error.fault() == v1::ErrorDetail::USER && IsLimit(error.reason());
}

bool IsOverWorkerLimit(const absl::Status& status) {
  const auto detail = GetErrorDetail(status);
  return detail && detail->fault == Fault::kUser && IsLimit(detail->reason);
}

}  // namespace edgekiln::server
