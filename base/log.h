#ifndef EK_BASE_LOG_H_
#define EK_BASE_LOG_H_

// A small levelled logger. Handed to whoever logs; there is no global one.
// Thread-safe: one call writes one whole line.

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/clock.h"

namespace edgekiln {

enum class LogLevel { kDebug, kInfo, kWarning, kError, kNone };

class Logger {
 public:
  virtual ~Logger() = default;
  // Whether a message of this level would be written.
  virtual bool Enabled(LogLevel level) const = 0;
  virtual void Write(LogLevel level, absl::string_view message) = 0;

  // Arguments as for absl::StrCat; concatenated only if the level is written.
  template <typename... Args>
  void Debug(const Args&... args) {
    Log(LogLevel::kDebug, args...);
  }
  template <typename... Args>
  void Info(const Args&... args) {
    Log(LogLevel::kInfo, args...);
  }
  template <typename... Args>
  void Warning(const Args&... args) {
    Log(LogLevel::kWarning, args...);
  }
  template <typename... Args>
  void Error(const Args&... args) {
    Log(LogLevel::kError, args...);
  }

 private:
  template <typename... Args>
  void Log(LogLevel level, const Args&... args) {
    if (Enabled(level)) Write(level, absl::StrCat(args...));
  }
};

// "2026-01-31T12:00:00.123Z INFO message" on stderr, for `min_level` and above.
// `clock` must outlive the logger.
std::unique_ptr<Logger> NewStderrLogger(LogLevel min_level, Clock& clock);

// Writes nothing.
std::unique_ptr<Logger> NewNullLogger();

// The line NewStderrLogger() writes, with its newline. Control characters and
// invalid UTF-8 in `message` become '?': one message stays one line.
std::string FormatLogLine(absl::Time time, LogLevel level,
                          absl::string_view message);

}  // namespace edgekiln

#endif  // EK_BASE_LOG_H_
