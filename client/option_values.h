#ifndef EK_CLIENT_OPTION_VALUES_H_
#define EK_CLIENT_OPTION_VALUES_H_

// The small languages inside option values. Pure; errors are usage errors that
// quote the text and show a valid example.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "client/gates.h"
#include "edgekiln/v1/data.pb.h"
#include "edgekiln/v1/jobs.pb.h"
#include "edgekiln/v1/stage.pb.h"
#include "reports/report_file.h"

namespace edgekiln::client {

// "30s", "5m", "1h30m", "500ms", or plain seconds: "90", "0.5", of `option`.
// Above zero and at most 30 days.
absl::StatusOr<absl::Duration> ParseTimeout(absl::string_view text,
                                            absl::string_view option);

// "NAME:scale=0.1/0.2/0.3,offset=1,order=bgr,layout=nchw". NAME, with its
// colon, may be left out when the model has one input; it may contain colons
// itself ("serving_default_input:0"), because it ends at the last colon before
// the first known "key=". Lists of one value per channel are separated by "/".
// At least one key; each at most once; numbers finite; scales not zero.
absl::StatusOr<v1::InputTransform> ParseInputTransform(absl::string_view text);

// "minmax", "percentile" (99.99), "percentile:99.9" (above 50, at most 100),
// "moving-average", "mse", "kl", "output-mse".
absl::StatusOr<v1::CalibrateOptions> ParseCalibrationMethod(
    absl::string_view text);

// As ReportFormatNamed().
absl::StatusOr<ReportFormat> ParseReportFormat(absl::string_view text);

// "int" or "float".
absl::StatusOr<v1::IoForm> ParseIoForm(absl::string_view text);

// "all", "paying" or "none".
absl::StatusOr<v1::Offload> ParseOffload(absl::string_view text);
absl::StatusOr<v1::CompilerFamily> ParseCompiler(absl::string_view text);
// "top1".
absl::StatusOr<v1::Metric> ParseMetric(absl::string_view text);
// "0.02", "1e-4": 0 or more.
absl::StatusOr<double> ParseErrorLimit(absl::string_view text,
                                       absl::string_view option);

// "interactive", "ci" or "batch".
absl::StatusOr<v1::JobClass> ParseJobClass(absl::string_view text);

// "N=4": a symbolic dimension and its extent, above 0.
absl::StatusOr<v1::DimensionBinding> ParseDimensionBinding(
    absl::string_view text);

// "NAME=FILE" of `option`. Without "=" the name is the last part of FILE if
// `name_from_file`, else that is an error. Neither may be empty.
struct NamedFile {
  std::string name;
  std::string path;
};
absl::StatusOr<NamedFile> ParseNamedFile(absl::string_view text,
                                         absl::string_view option,
                                         bool name_from_file);

// "flash=64KiB": a memory by its name and how much of it may be used.
absl::StatusOr<MemoryLimit> ParseMemoryLimit(absl::string_view text);

// The candidate that `text` was most probably meant to be; empty if none is
// near. Candidates are compared as given ("--json").
std::string NearestOf(absl::string_view text,
                      const std::vector<std::string>& candidates);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_OPTION_VALUES_H_
