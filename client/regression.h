#ifndef EK_CLIENT_REGRESSION_H_
#define EK_CLIENT_REGRESSION_H_

// Whether reports got worse than others by more than a caller allows.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "client/gates.h"
#include "edgekiln/v1/report_diff.pb.h"

namespace edgekiln::client {

// How much worse a report may be. Absent: any amount.
struct RegressionBounds {
  std::optional<double> cycles_percent{};   // Growth of cycles.
  std::optional<double> memory_percent{};   // Growth of each memory.
  std::optional<double> accuracy_points{};  // Percentage points lost.
};

// One quantity that got worse by more than its bound.
struct Regression {
  enum Kind { kCycles, kMemory, kLessAccurate, kNotMeasured };
  Kind kind = kCycles;
  const v1::ReportDiff* diff = nullptr;
  std::string quantity{};  // As in ReportDiff.totals; "accuracy".
  std::string what{};      // For people; clean text.
  double bound = 0;
  // That grew most: of cycles, or of the scratchpad at its peak. Empty: none
  // did, or layers do not tell.
  std::string layer{};
  int64_t layer_change = 0;
};

// In the order of the totals, then accuracy. Cycles and each of the target's
// memories, where one of the reports does not name them flash and RAM; accuracy
// also if one of the reports has none. `diff` must outlive the result.
std::vector<Regression> FindRegressions(const v1::ReportDiff& diff,
                                        const RegressionBounds& bounds);

// GATE_FAILED (exit code 3) with everything that got worse by more than a limit
// allows, in any of `diffs`: see FindRegressions(). Several are the lines of
// the error (see error_detail.h).
absl::Status CheckRegression(const std::vector<v1::ReportDiff>& diffs,
                             const RegressionLimits& limits);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_REGRESSION_H_
