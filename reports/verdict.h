#ifndef EK_REPORTS_VERDICT_H_
#define EK_REPORTS_VERDICT_H_

#include <string>
#include <vector>

#include "edgekiln/v1/report.pb.h"

namespace edgekiln {

// Whether a report is good, in one word and for people.
struct Verdict {
  enum class Level {
    kPassed,    // Compared and equal; every limit is kept.
    kFailed,    // The target failed, values differ, or a limit is broken.
    kNotTested  // Nothing was compared, and there are no limits.
  };
  Level level = Level::kNotTested;
  std::string title;                 // "bit-exact", "limits broken", ...
  std::vector<std::string> details;  // One line each, clean text.
};

Verdict VerdictOf(const v1::Report& report);

// "passed", "failed" or "not-tested".
std::string VerdictLevelText(Verdict::Level level);

}  // namespace edgekiln

#endif  // EK_REPORTS_VERDICT_H_
