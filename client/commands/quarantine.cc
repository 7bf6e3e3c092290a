#include "client/commands/quarantine.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "client/commands/paging.h"
#include "reports/text/json.h"
#include "reports/text/table.h"
#include "reports/text/text.h"

namespace edgekiln::client {
namespace {

// Enough of a stage's key to release it by.
constexpr size_t kShownDigits = 12;

std::string SinceText(const v1::QuarantinedStage& stage) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%S",
                          absl::FromUnixSeconds(stage.since().seconds()),
                          absl::LocalTimeZone());
}

}  // namespace

absl::Status RunQuarantineList(CommandContext& context) {
  EK_ASSIGN_OR_RETURN(const v1::ListQuarantineResponse all,
                      ListPages(context, &Connection::ListQuarantine,
                                &v1::ListQuarantineResponse::mutable_stages));
  context.progress.Clear();
  if (context.line.json) {
    context.print(ToJson(all));
    return absl::OkStatus();
  }
  Table table({{.title = "ID", .whole = true},
               {.title = "STAGE"},
               {.title = "SINCE", .whole = true, .drop = 1},
               {.title = "WHY"}});
  for (const v1::QuarantinedStage& stage : all.stages()) {
    table.AddRow({CleanText(stage.id()).substr(0, kShownDigits),
                  ClipMiddle(CleanText(stage.stage()), 24), SinceText(stage),
                  ClipMiddle(CleanText(stage.error().what()), 80)});
  }
  context.print(table.Render(context.style));
  return absl::OkStatus();
}

absl::Status RunQuarantineRelease(CommandContext& context) {
  v1::ListQuarantineResponse released;
  for (const std::string& id : context.line.names) {
    EK_ASSIGN_OR_RETURN(*released.add_stages(),
                        context.connection.ReleaseQuarantine(id),
                        absl::StrCat("quarantined stage ", id));
  }
  context.progress.Clear();
  if (context.line.json) {
    context.print(ToJson(released));
    return absl::OkStatus();
  }
  for (const v1::QuarantinedStage& stage : released.stages()) {
    context.print(absl::StrCat(CleanText(stage.id()).substr(0, kShownDigits),
                               "  ", CleanText(stage.stage()), "  released\n"));
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::client
