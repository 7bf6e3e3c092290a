#ifndef EK_CLIENT_REGRESSION_H_
#define EK_CLIENT_REGRESSION_H_

// Whether reports got worse than others by more than a caller allows.

#include <vector>

#include "absl/status/status.h"
#include "client/gates.h"
#include "edgekiln/v1/report_diff.pb.h"

namespace edgekiln::client {

// GATE_FAILED (exit code 3) with everything that got worse by more than a limit
// allows, in any of `diffs`: cycles and each of the target's memories, where
// one of the reports does not name them flash and RAM; accuracy, also if one of
// the reports has none. Several are the lines of the error (see
// error_detail.h).
absl::Status CheckRegression(const std::vector<v1::ReportDiff>& diffs,
                             const RegressionLimits& limits);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_REGRESSION_H_
