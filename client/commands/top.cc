#include "client/commands/top.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "client/interrupt.h"
#include "client/render/live_block.h"
#include "client/render/status_screen.h"
#include "reports/text/json.h"

namespace edgekiln::client {
namespace {

constexpr int kListedJobs = 50;
// Between looks whether Ctrl-C was typed.
constexpr absl::Duration kTick = absl::Milliseconds(50);

absl::StatusOr<StatusScreen> Look(CommandContext& context) {
  StatusScreen screen;
  screen.server = context.server;
  EK_ASSIGN_OR_RETURN(screen.status, context.connection.GetStatus());
  v1::ListJobsRequest request;
  request.set_page_size(kListedJobs);
  EK_ASSIGN_OR_RETURN(screen.jobs, context.connection.ListJobs(request));
  return screen;
}

// False once the user has asked to end.
bool Pause(absl::Duration interval, const Interrupt& interrupt, Clock& clock) {
  const absl::Duration end = clock.Monotonic() + interval;
  while (clock.Monotonic() < end && !interrupt.requested()) {
    clock.SleepFor(std::min(kTick, end - clock.Monotonic()));
  }
  return !interrupt.requested();
}

// Redraws until Ctrl-C; what was drawn last stays.
absl::Status Follow(CommandContext& context) {
  const Interrupt interrupt;
  LiveBlock block;
  v1::DaemonStatus before;
  bool first = true;
  do {
    absl::StatusOr<StatusScreen> screen = Look(context);
    if (!screen.ok() && interrupt.requested()) break;
    if (!screen.ok()) {
      if (!first) context.print("\n");
      return screen.status();
    }
    context.progress.Clear();
    if (!first) screen->before = &before;
    const int width = context.style.width();
    // The cursor stays in the last line.
    const int height = context.height ? context.height() - 1 : 0;
    context.print(
        block.Draw(StatusLines(*screen, height, context.style), width));
    before = std::move(screen->status);
    first = false;
  } while (Pause(context.line.interval, interrupt, context.clock));
  context.print("\n");
  return absl::OkStatus();
}

}  // namespace

absl::Status RunTop(CommandContext& context) {
  const bool once = context.line.once || context.line.json ||
                    context.style.width() == 0 || !context.height;
  if (!once) return Follow(context);
  EK_ASSIGN_OR_RETURN(const StatusScreen screen, Look(context));
  context.progress.Clear();
  context.print(
      context.line.json
          ? ToJson(screen.status)
          : absl::StrCat(
                absl::StrJoin(StatusLines(screen, 0, context.style), "\n"),
                "\n"));
  return absl::OkStatus();
}

}  // namespace edgekiln::client
