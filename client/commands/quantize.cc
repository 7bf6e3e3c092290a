#include "client/commands/quantize.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/format_bytes.h"
#include "base/status_macros.h"
#include "client/job_output.h"
#include "client/job_request.h"
#include "client/render/quantization.h"
#include "client/run_job.h"
#include "reports/text/json.h"

namespace edgekiln::client {
namespace {

constexpr char kArtifact[] = "model.onnx";

absl::Status NoArtifact(const v1::Job& job) {
  return MakeError(absl::StatusCode::kInternal,
                   {.fault = Fault::kInfra,
                    .reason = "NO_MODEL",
                    .what = "the job succeeded and left no model",
                    .where = absl::StrCat("job ", job.id()),
                    .fix = "use a daemon of this version of edgekiln"});
}

struct Method {
  const char* name;
  v1::CalibrateOptions::Method method;
};

// The usual ones first: what the last row is better than.
constexpr Method kMethods[] = {
    {"minmax", v1::CalibrateOptions::MIN_MAX},
    {"percentile", v1::CalibrateOptions::PERCENTILE},
    {"mse", v1::CalibrateOptions::MSE},
};

using Reports = std::vector<std::pair<std::string, v1::Report>>;

void PrintMethods(const Reports& reports, CommandContext& context) {
  context.progress.Clear();
  if (context.line.json) {
    // One report alone does not say how its ranges were chosen.
    std::string out = "[";
    for (const auto& [name, report] : reports) {
      absl::StrAppend(&out, out.size() > 1 ? "," : "",
                      "{\"method\": ", JsonString(name),
                      ", \"report\": ", ToJson(report), "}");
    }
    context.print(out + "]\n");
    return;
  }
  const v1::Report& last = reports.back().second;
  std::string title = CleanText(last.model_name());
  if (!last.target_name().empty()) {
    absl::StrAppend(&title, " on ", CleanText(last.target_name()));
  }
  std::string out = absl::StrCat(context.style.Bold(title), "\n\n",
                                 RenderMethods(reports, context.style), "\n");
  for (const std::string& note : last.quantized().notes()) {
    absl::StrAppend(&out, CleanText(note), "\n");
  }
  for (const std::string& warning : last.warnings()) {
    absl::StrAppend(&out, context.style.Yellow(CleanText(warning)), "\n");
  }
  absl::StrAppend(&out,
                  context.style.Dim(
                      absl::StrCat("Layers of the last: edgekiln report show ",
                                   CleanText(last.job_id()))),
                  "\n");
  context.print(out);
}

// A job for each method: what they share is computed once.
absl::Status Compare(CommandContext& context) {
  EK_ASSIGN_OR_RETURN(v1::CreateJobRequest request,
                      PrepareJob(v1::QUANTIZE, true, context));
  Reports reports;
  const auto run = [&](const std::string& name) -> absl::Status {
    EK_ASSIGN_OR_RETURN(const v1::Job job, RunJob(request, context));
    EK_RETURN_IF_ERROR(JobError(job));
    EK_ASSIGN_OR_RETURN(v1::Report report,
                        context.connection.GetReport(job.id(), 0),
                        "fetching the report");
    reports.emplace_back(name, std::move(report));
    request.set_request_id(NewRequestId());
    return absl::OkStatus();
  };
  for (const Method& method : kMethods) {
    request.mutable_options()->mutable_calibrate()->set_method(method.method);
    EK_RETURN_IF_ERROR(run(method.name));
  }
  request.mutable_options()->clear_calibrate();
  EK_RETURN_IF_ERROR(run(request.options().quantization().has_ranges()
                             ? "the file's"
                             : "output-mse (default)"));
  PrintMethods(reports, context);
  return absl::OkStatus();
}

}  // namespace

absl::Status RunQuantize(CommandContext& context) {
  const std::string& output = context.line.output;
  if (context.line.compare) return Compare(context);
  if (!output.empty()) {
    EK_RETURN_IF_ERROR(CheckOutputFile(output));
    EK_RETURN_IF_ERROR(CheckKeepsInputs(context.line));
  }
  EK_ASSIGN_OR_RETURN(v1::CreateJobRequest request,
                      PrepareJob(v1::QUANTIZE, true, context));
  request.mutable_options()->set_export_onnx(!output.empty());
  EK_ASSIGN_OR_RETURN(const v1::Job job, RunJob(request, context));
  if (output.empty() || !JobError(job).ok()) return PrintReports(job, context);
  const auto onnx =
      std::find_if(job.artifacts().begin(), job.artifacts().end(),
                   [](const v1::Artifact& a) { return a.path() == kArtifact; });
  if (onnx == job.artifacts().end()) return NoArtifact(job);
  EK_RETURN_IF_ERROR(FetchArtifact(*onnx, output, context));
  absl::Status outcome = PrintReports(job, context);
  if (!context.line.json) {
    context.print(absl::StrCat("\nwrote ", CleanText(output), "  ",
                               FormatBytes(onnx->digest().size_bytes()), "\n"));
  }
  return outcome;
}

}  // namespace edgekiln::client
