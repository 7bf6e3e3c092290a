#include "server/daemon/jobs/report_renderer.h"

#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "proto/convert.h"
#include "reports/report_file.h"
#include "server/daemon/jobs/request_bounds.h"
#include "server/daemon/jobs/whole_answer.h"

namespace edgekiln::server {
namespace {

using Request = v1::RenderReportRequest;

constexpr char kFewer[] = "ask for fewer reports beside the first";
constexpr char kElsewhere[] =
    "make it with `edgekiln report html` or `report export`, which have no "
    "such "
    "limit";

std::string FixFor(const v1::RenderReportRequest& request) {
  return request.beside_size() > 0 ? kFewer : kElsewhere;
}

absl::Status BadRequest(absl::string_view reason, std::string what,
                        std::string where, std::string fix) {
  return MakeError(absl::StatusCode::kInvalidArgument,
                   {.fault = Fault::kUser,
                    .reason = std::string(reason),
                    .what = std::move(what),
                    .where = std::move(where),
                    .fix = std::move(fix)});
}

absl::Status TooLarge(absl::string_view what, int64_t limit, int64_t need,
                      absl::string_view fix) {
  return MakeError(absl::StatusCode::kInvalidArgument,
                   {.fault = Fault::kUser,
                    .reason = "REPORTS_TOO_LARGE",
                    .what = std::string(what),
                    .where = "RenderReportRequest",
                    .limit = absl::StrCat(limit, " bytes"),
                    .need = absl::StrCat(need, " bytes"),
                    .fix = std::string(fix)});
}

std::optional<ReportFormat> FormatOf(Request::Format format) {
  switch (format) {
    case Request::FORMAT_UNSPECIFIED:
    case Request::JSON:
      return ReportFormat::kJson;
    case Request::HTML:
      return ReportFormat::kHtml;
    case Request::CSV:
      return ReportFormat::kCsv;
    case Request::MARKDOWN:
      return ReportFormat::kMarkdown;
    case Request::PERFETTO:
      return ReportFormat::kPerfetto;
    case Request::MODEL_EXPLORER:
      return ReportFormat::kModelExplorer;
    default:  // Of a newer client.
      return std::nullopt;
  }
}

absl::Status Unreadable(const std::string& id, int target) {
  return MakeError(absl::StatusCode::kDataLoss,
                   {.fault = Fault::kInfra,
                    .reason = "BAD_MESSAGE",
                    .what = "the report does not parse",
                    .where = absl::StrCat("job ", id, ", target ", target),
                    .fix = "run the job again"});
}

struct Name {
  std::string job;
  int target = 0;
};

absl::StatusOr<Name> ParseName(const std::string& text) {
  Name name;
  const size_t slash = text.rfind('/');
  if (slash != std::string::npos && slash > 0 &&
      absl::SimpleAtoi(text.substr(slash + 1), &name.target)) {
    name.job = text.substr(0, slash);
    return name;
  }
  return BadRequest("BAD_REQUEST", absl::StrCat("'", text, "' names no report"),
                    "RenderReportRequest.beside",
                    "write the job and the index of its target, as 8f7a03/0");
}

}  // namespace

absl::Status ReportRenderer::Enter() {
  const auto end =
      std::chrono::steady_clock::now() + absl::ToChronoMilliseconds(kPatience);
  MutexLock lock(mutex_);
  if (waiting_ < kMaxWaiting) {
    ++waiting_;
    while (running_ == kMaxAtOnce && changed_.WaitUntil(lock, end)) {
    }
    --waiting_;
  }
  if (running_ < kMaxAtOnce) {
    ++running_;
    return absl::OkStatus();
  }
  return MakeError(absl::StatusCode::kResourceExhausted,
                   {.fault = Fault::kQuota,
                    .reason = "TOO_MANY_RENDERS",
                    .what = "too many reports are being rendered",
                    .where = "RenderReport",
                    .limit = absl::StrCat(kMaxAtOnce, " at once"),
                    .fix = "try again in a few seconds"});
}

void ReportRenderer::Leave() {
  {
    MutexLock lock(mutex_);
    --running_;
  }
  changed_.NotifyAll();
}

absl::StatusOr<v1::Report> ReportRenderer::Load(const std::string& id,
                                                int target, Room& room) {
  const auto take = [&](int64_t bytes) {
    room.used_bytes += bytes;
    if (room.used_bytes <= room.limit_bytes) return absl::OkStatus();
    return TooLarge("the reports are too large", room.limit_bytes,
                    room.used_bytes, kElsewhere);
  };
  EK_ASSIGN_OR_RETURN(const Answer kept, get_(id, target));
  EK_RETURN_IF_ERROR(take(static_cast<int64_t>(kept->size())));
  v1::Report report;
  if (!report.ParseFromString(*kept)) return Unreadable(id, target);
  if (!report.has_whole()) return report;
  EK_ASSIGN_OR_RETURN(const Digest digest, FromProto(report.whole()));
  EK_RETURN_IF_ERROR(take(digest.size_bytes));
  EK_ASSIGN_OR_RETURN(const std::string bytes, blobs_.Get(digest),
                      "the complete report");
  v1::Report whole;
  if (!whole.ParseFromString(bytes)) return Unreadable(id, target);
  return whole;
}

absl::StatusOr<v1::RenderedReport> ReportRenderer::Render(
    const Request& request) {
  EK_RETURN_IF_ERROR(CheckBounds(request));
  const std::optional<ReportFormat> format = FormatOf(request.format());
  if (!format.has_value()) {
    return BadRequest(
        "BAD_REQUEST",
        absl::StrCat("there is no format ", static_cast<int>(request.format())),
        "RenderReportRequest.format",
        absl::StrCat("take one of ", ReportFormatNames()));
  }
  std::vector<Name> names = {{request.job_id(), request.target()}};
  for (const std::string& text : request.beside()) {
    EK_ASSIGN_OR_RETURN(Name name, ParseName(text));
    names.push_back(std::move(name));
  }
  EK_RETURN_IF_ERROR(Enter());
  const absl::Cleanup done = [this] { Leave(); };
  std::vector<PageReport> reports;
  // JSON takes more than that, and is refused before it is made.
  Room room{.limit_bytes = *format == ReportFormat::kJson ? kMaxAnswerBytes
                                                          : kMaxReportBytes};
  for (const Name& name : names) {
    EK_ASSIGN_OR_RETURN(v1::Report report, Load(name.job, name.target, room));
    reports.push_back({.source = absl::StrCat("job ", name.job),
                       .report = std::move(report)});
  }
  EK_ASSIGN_OR_RETURN(ReportFile file,
                      MakeReportFile(reports, *format, FixFor(request)));
  const auto size = static_cast<int64_t>(file.content.size());
  if (size > kMaxAnswerBytes) {
    return TooLarge("the file would be too large for an answer",
                    kMaxAnswerBytes, size, FixFor(request));
  }
  v1::RenderedReport rendered;
  rendered.set_content(std::move(file.content));
  rendered.set_media_type(std::move(file.media_type));
  rendered.set_file_name(std::move(file.file_name));
  return rendered;
}

}  // namespace edgekiln::server
