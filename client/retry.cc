#include "client/retry.h"

#include <algorithm>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "client/exit_code.h"
#include "client/rpc_status.h"

namespace edgekiln::client {
namespace {

constexpr absl::Duration kTick = absl::Milliseconds(50);
// What a daemon may ask for, whatever it says.
constexpr absl::Duration kMinDelay = absl::Milliseconds(100);
constexpr absl::Duration kMaxDelay = absl::Minutes(5);
// Without --timeout.
constexpr absl::Duration kMaxWait = absl::Minutes(10);

v1::JobEvent WaitingFor(const absl::Status& refused, absl::Duration delay) {
  const std::optional<ErrorDetail> detail = GetErrorDetail(refused);
  v1::JobEvent event;
  event.mutable_waiting()->set_reason(absl::StrCat(
      detail.has_value() ? detail->what : std::string(refused.message()),
      "; asked again in about ",
      absl::FormatDuration(absl::Ceil(delay, absl::Seconds(1)))));
  return event;
}

}  // namespace

absl::Status Interrupted(const CommandContext& context) {
  return MakeError(
      absl::StatusCode::kCancelled,
      {.fault = Fault::kUser,
       .reason = kReasonInterrupted,
       .what = "interrupted",
       .where = context.line.document.empty() ? context.line.model
                                              : context.line.document,
       .fix = "run it again; what is finished is not computed again"});
}

absl::Status RetryWhenTold(CommandContext& context, const Interrupt* interrupt,
                           const std::function<absl::Status()>& attempt) {
  Clock& clock = context.clock;
  const absl::Duration limit =
      std::min(context.deadline, context.deadline == absl::InfiniteDuration()
                                     ? clock.Monotonic() + kMaxWait
                                     : absl::InfiniteDuration());
  while (true) {
    const absl::Status status = attempt();
    const std::optional<absl::Duration> told = RetryDelay(status);
    if (status.ok() || !told.has_value()) return status;
    const absl::Duration delay = std::clamp(*told, kMinDelay, kMaxDelay);
    const absl::Duration until = clock.Monotonic() + delay;
    if (until >= limit) return status;
    context.progress.OnEvent(WaitingFor(status, delay));
    while (clock.Monotonic() < until) {
      if (interrupt != nullptr && interrupt->requested()) {
        return Interrupted(context);
      }
      context.progress.OnTick();
      clock.SleepFor(std::min(kTick, until - clock.Monotonic()));
    }
  }
}

}  // namespace edgekiln::client
