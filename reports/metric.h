#ifndef EK_REPORTS_METRIC_H_
#define EK_REPORTS_METRIC_H_

// What was measured of samples, for people. Pure functions.

#include <functional>
#include <string>

#include "absl/strings/string_view.h"
#include "edgekiln/v1/report.pb.h"
#include "reports/text/text.h"

namespace edgekiln {

// Whether values of that metric, as in Report.accuracy, are shares of samples:
// told in percent, and compared in points.
bool IsShare(absl::string_view metric);

// "98.40 %" of a share, "0.8469" of another metric.
std::string MetricValueText(absl::string_view metric, double value);

// The value for a table of several reports: with the metric's name where it is
// not the usual one. "98.40 %", "auc 0.8469"; "-" without accuracy.
std::string MetricCell(const v1::Report& report);

// All lines of a report about accuracy. `line` makes one of a label and a text.
using LabelledLine =
    std::function<std::string(absl::string_view label, absl::string_view text)>;
std::string RenderAccuracy(const v1::Report::Accuracy& accuracy,
                           const Style& style, const LabelledLine& line);

}  // namespace edgekiln

#endif  // EK_REPORTS_METRIC_H_
