#include "client/commands/targets.h"

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "client/error_detail.h"
#include "client/job_request.h"
#include "client/render/json.h"

namespace edgekiln::client {
namespace {

constexpr int kMaxDocWidth = 78;

// Prose is cut at the first line; `targets show` has the rest.
std::string FirstLine(const std::string& doc) {
  const std::vector<std::string> lines =
      absl::StrSplit(doc, absl::MaxSplits('\n', 1));
  return ClipMiddle(CleanText(lines[0]), kMaxDocWidth);
}

}  // namespace

absl::Status RunTargetsList(CommandContext& context) {
  EK_ASSIGN_OR_RETURN(const v1::ListTargetsResponse response,
                      context.connection.ListTargets());
  context.progress.Clear();
  if (context.line.json) {
    context.print(ToJson(response));
    return absl::OkStatus();
  }
  Table table({{"TARGET"}, {"ABOUT"}});
  for (const v1::TargetInfo& target : response.targets()) {
    table.AddRow({target.name(), FirstLine(target.doc())});
  }
  context.print(table.Render(context.style));
  return absl::OkStatus();
}

absl::Status RunTargetsShow(CommandContext& context) {
  EK_ASSIGN_OR_RETURN(const v1::TargetInfo target,
                      context.connection.GetTarget(context.line.names[0]));
  context.progress.Clear();
  if (context.line.json) {
    context.print(ToJson(target));
    return absl::OkStatus();
  }
  std::string text = CleanLines(target.text());
  if (!absl::EndsWith(text, "\n")) text += "\n";
  context.print(text);
  return absl::OkStatus();
}

absl::Status RunTargetsCheck(CommandContext& context) {
  const std::string& path = context.line.names[0];
  EK_ASSIGN_OR_RETURN(const LocalBlob blob,
                      OpenLocalBlob(context.files, path, "FILE"));
  EK_RETURN_IF_ERROR(UploadBlobs({blob}, context));
  EK_ASSIGN_OR_RETURN(const v1::ValidateTargetResponse response,
                      context.connection.ValidateTarget(blob.digest));
  context.progress.Clear();
  if (!response.valid()) {
    return Annotate(StatusFromDetail(response.problem()), path);
  }
  context.print(context.line.json
                    ? ToJson(response)
                    : absl::StrCat(CleanText(path), ": valid target '",
                                   CleanText(response.name()), "'\n"));
  return absl::OkStatus();
}

}  // namespace edgekiln::client
