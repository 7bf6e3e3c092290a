#ifndef EK_SERVER_DAEMON_STAGES_STAGE_LOG_H_
#define EK_SERVER_DAEMON_STAGES_STAGE_LOG_H_

// What stages say that becomes lines of the job's log.

#include <optional>
#include <set>
#include <string>

#include "absl/strings/string_view.h"
#include "edgekiln/v1/jobs.pb.h"

namespace edgekiln::server {

// Longer lines are cut.
inline constexpr int kMaxLogLineBytes = 1024;

// `stage` may be empty; `target` as in StageCall. Without a sequence.
v1::JobEvent LogEvent(v1::JobEvent::Log::Severity severity,
                      absl::string_view stage, int target,
                      absl::string_view text);

// Which warnings of stages to log: each once, as every chunk of a data set
// repeats them, and a bounded number. Not thread-safe.
class WarningLog {
 public:
  static constexpr int kMaxWarnings = 64;

  // The event for this warning; nothing if it is not to be logged.
  std::optional<v1::JobEvent> Add(absl::string_view stage, int target,
                                  const std::string& text);

 private:
  std::set<std::string> logged_;
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_STAGES_STAGE_LOG_H_
