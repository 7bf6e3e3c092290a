#include "client/commands/quarantine.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "client/render/json.h"
#include "client/render/text.h"

namespace edgekiln::client {
namespace {

constexpr int64_t kDefaultListed = 20;
constexpr int64_t kMaxPage = 1000;  // JobsService's own limit.
// Enough of a stage's key to release it by.
constexpr size_t kShownDigits = 12;

std::string SinceText(const v1::QuarantinedStage& stage) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%S",
                          absl::FromUnixSeconds(stage.since().seconds()),
                          absl::LocalTimeZone());
}

}  // namespace

absl::Status RunQuarantineList(CommandContext& context) {
  const int64_t wanted = context.line.limit.value_or(kDefaultListed);
  v1::ListQuarantineResponse all;
  v1::ListQuarantineRequest request;
  while (all.stages_size() < wanted) {
    request.set_page_size(
        static_cast<int32_t>(std::min(wanted - all.stages_size(), kMaxPage)));
    EK_ASSIGN_OR_RETURN(v1::ListQuarantineResponse page,
                        context.connection.ListQuarantine(request));
    for (v1::QuarantinedStage& stage : *page.mutable_stages()) {
      *all.add_stages() = std::move(stage);
    }
    all.set_next_page_token(page.next_page_token());
    if (page.next_page_token().empty()) break;
    request.set_page_token(page.next_page_token());
  }
  context.progress.Clear();
  if (context.line.json) {
    context.print(ToJson(all));
    return absl::OkStatus();
  }
  Table table({{"ID"}, {"STAGE"}, {"SINCE"}, {"WHY"}});
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
