#include "client/job_id.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "client/exit_code.h"
#include "client/job_pages.h"
#include "reports/text/text.h"

namespace edgekiln::client {
namespace {

constexpr char kReasonUnknown[] = "JOB_UNKNOWN";  // The daemon's own, too.
constexpr char kNoSuchJob[] = "there is no such job";
constexpr size_t kIdDigits = 16;
// Of an ambiguous prefix; an error has room for no more.
constexpr size_t kShownCandidates = 8;
constexpr int kMaxShownBytes = 64;

absl::Status Unknown(absl::string_view text, absl::string_view what) {
  return MakeError(
      absl::StatusCode::kNotFound,
      {.fault = Fault::kUser,
       .reason = kReasonUnknown,
       .what = std::string(what),
       .where = SanitizeText(std::string(text), kMaxShownBytes),
       .need = absl::StrCat("the id of a job, at least ", kMinPrefixCharacters,
                            " of its first characters, or ", kLastJob),
       .fix = "see the jobs with edgekiln jobs list"});
}

bool IsWholeId(absl::string_view text) {
  return text.size() == kIdDigits + 1 && text[0] == 'j' &&
         std::all_of(text.begin() + 1, text.end(), [](char c) {
           return absl::ascii_isxdigit(static_cast<unsigned char>(c));
         });
}

// What no id has is not sent: gRPC strings are UTF-8.
bool MayBeginAnId(absl::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isgraph(static_cast<unsigned char>(c));
  });
}

// A Unix socket serves its owner alone.
bool IsShared(absl::string_view server) {
  return !server.empty() && !absl::StartsWith(server, "/") &&
         !absl::StartsWith(server, "unix:");
}

absl::StatusOr<std::string> NewestJob(JobUse use, CommandContext& context) {
  if (use == JobUse::kChange && IsShared(context.line.server)) {
    return UsageError(
        absl::StrCat("'", kLastJob, "' may be the job of another user"),
        context.line.server, "the id of the job, or its first characters",
        "see the jobs with edgekiln jobs list");
  }
  v1::ListJobsRequest request;
  request.set_page_size(1);
  EK_ASSIGN_OR_RETURN(const v1::ListJobsResponse page,
                      context.connection.ListJobs(request));
  if (!page.jobs().empty()) return page.jobs(0).id();
  return Unknown(kLastJob, "the daemon has no jobs");
}

absl::Status Ambiguous(absl::string_view prefix,
                       const std::vector<std::string>& candidates) {
  const size_t shown = std::min(candidates.size(), kShownCandidates);
  std::string need = absl::StrCat(
      "one of ",
      absl::StrJoin(candidates.begin(), candidates.begin() + shown, ", "));
  if (shown < candidates.size()) {
    absl::StrAppend(&need, " and ", candidates.size() - shown, " more");
  }
  return UsageError(absl::StrCat("the ids of ", candidates.size(),
                                 " jobs begin with '", prefix, "'"),
                    std::string(prefix), need,
                    "write more characters of the id");
}

// The only job whose id begins with `prefix`; empty if there is none.
absl::StatusOr<std::string> JobWithPrefix(absl::string_view prefix,
                                          CommandContext& context) {
  std::string found;
  std::vector<std::string> candidates;  // With their states.
  EK_RETURN_IF_ERROR(
      VisitJobs(context.connection, [&](const v1::Job& job) {
        if (!absl::StartsWith(job.id(), prefix)) return Visit::kNext;
        found = job.id();
        candidates.push_back(absl::StrCat(
            CleanText(job.id()), " (",
            absl::AsciiStrToLower(v1::JobState_Name(job.state())), ")"));
        return Visit::kNext;
      }).status());
  if (candidates.size() > 1) return Ambiguous(prefix, candidates);
  return found;
}

}  // namespace

absl::StatusOr<std::string> ResolveJobId(absl::string_view text, JobUse use,
                                         CommandContext& context) {
  if (text == kLastJob) return NewestJob(use, context);
  if (!MayBeginAnId(text)) return Unknown(text, kNoSuchJob);
  if (IsWholeId(text)) return std::string(text);
  const absl::StatusOr<v1::Job> job =
      context.connection.GetJob(std::string(text));
  if (job.ok()) return std::string(text);
  if (!absl::IsNotFound(job.status())) return job.status();
  std::string found;
  if (text.size() >= kMinPrefixCharacters) {
    EK_ASSIGN_OR_RETURN(found, JobWithPrefix(text, context));
  }
  if (!found.empty()) return found;
  // The daemon may know why it is gone.
  const std::optional<ErrorDetail> detail = GetErrorDetail(job.status());
  return Unknown(text, detail.has_value() ? detail->what : kNoSuchJob);
}

}  // namespace edgekiln::client
