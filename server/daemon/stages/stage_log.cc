#include "server/daemon/stages/stage_log.h"

#include <cstddef>

#include "base/error.h"

namespace edgekiln::server {

v1::JobEvent LogEvent(v1::JobEvent::Log::Severity severity,
                      absl::string_view stage, int target,
                      absl::string_view text) {
  v1::JobEvent event;
  v1::JobEvent::Log& line = *event.mutable_log();
  line.set_severity(severity);
  line.set_stage(std::string(stage));
  line.set_target(target);
  line.set_text(SanitizeText(std::string(text), kMaxLogLineBytes));
  return event;
}

std::optional<v1::JobEvent> WarningLog::Add(absl::string_view stage, int target,
                                            const std::string& text) {
  constexpr size_t kMost = kMaxWarnings;
  if (logged_.size() > kMost) return std::nullopt;
  const std::string line = SanitizeText(text, kMaxLogLineBytes);
  if (!logged_.insert(line).second) return std::nullopt;
  return LogEvent(v1::JobEvent::Log::WARNING, stage, target,
                  logged_.size() <= kMost
                      ? line
                      : "more warnings follow; the report has all of them");
}

}  // namespace edgekiln::server
