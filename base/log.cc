#include "base/log.h"

#include <cstdio>

#include "base/error.h"
#include "base/mutex.h"

namespace edgekiln {
namespace {

constexpr int kMaxMessageBytes = 16 * 1024;

absl::string_view LevelName(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "DEBUG";
    case LogLevel::kInfo:
      return "INFO";
    case LogLevel::kWarning:
      return "WARNING";
    case LogLevel::kError:
      return "ERROR";
    case LogLevel::kNone:
      break;
  }
  return "NONE";
}

class StderrLogger : public Logger {
 public:
  StderrLogger(LogLevel min_level, Clock& clock)
      : min_level_(min_level), clock_(clock) {}

  bool Enabled(LogLevel level) const override { return level >= min_level_; }
  void Write(LogLevel level, absl::string_view message) override {
    if (!Enabled(level)) return;
    const std::string line = FormatLogLine(clock_.Now(), level, message);
    MutexLock lock(mutex_);
    std::fwrite(line.data(), 1, line.size(), stderr);
  }

 private:
  const LogLevel min_level_;
  Clock& clock_;
  Mutex mutex_;  // One line at a time.
};

class NullLogger : public Logger {
 public:
  bool Enabled(LogLevel) const override { return false; }
  void Write(LogLevel, absl::string_view) override {}
};

}  // namespace

std::unique_ptr<Logger> NewStderrLogger(LogLevel min_level, Clock& clock) {
  return std::make_unique<StderrLogger>(min_level, clock);
}

std::unique_ptr<Logger> NewNullLogger() {
  return std::make_unique<NullLogger>();
}

std::string FormatLogLine(absl::Time time, LogLevel level,
                          absl::string_view message) {
  return absl::StrCat(
      absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", time, absl::UTCTimeZone()), " ",
      LevelName(level), " ",
      SanitizeText(std::string(message), kMaxMessageBytes), "\n");
}

}  // namespace edgekiln
