#include "client/gate.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "client/exit_code.h"
#include "client/render/text.h"

namespace edgekiln::client {
namespace {

// A mismatch is our bug, a limit that is broken the user's news.
absl::Status Failed(Fault fault, std::string what, std::string where,
                    std::string limit, std::string fix) {
  return MakeError(absl::StatusCode::kFailedPrecondition,
                   {.fault = fault,
                    .reason = kReasonGate,
                    .what = std::move(what),
                    .where = std::move(where),
                    .limit = std::move(limit),
                    .fix = std::move(fix)});
}

absl::Status CheckExact(const v1::Report& report) {
  const int64_t mismatches = report.bit_exact().mismatches();
  if (mismatches == 0) return absl::OkStatus();
  return Failed(
      Fault::kInfra,
      absl::StrCat("the simulated chip differs from the reference in ",
                   GroupDigits(mismatches), " of ",
                   GroupDigits(report.bit_exact().outputs_compared()),
                   " values"),
      absl::StrCat(report.target_name(), ": ",
                   report.bit_exact().first_mismatch()),
      "0 mismatches",
      absl::StrCat("this is a bug of edgekiln: report it with the model and "
                   "job ",
                   report.job_id()));
}

absl::Status CheckAtMost(const v1::Report& report, absl::string_view option,
                         absl::string_view noun, int64_t value,
                         std::optional<int64_t> limit) {
  if (!limit.has_value() || value <= *limit) return absl::OkStatus();
  return Failed(Fault::kUser,
                absl::StrCat(GroupDigits(value), " ", noun, ", ",
                             GroupDigits(value - *limit), " too many"),
                report.target_name(),
                absl::StrCat(option, " ", GroupDigits(*limit)),
                "compare the layers with those of an earlier report");
}

absl::Status CheckAccuracy(const v1::Report& report,
                           std::optional<double> limit) {
  if (!limit.has_value()) return absl::OkStatus();
  const std::string wanted = absl::StrFormat("--min-accuracy %g", *limit);
  if (!report.has_accuracy()) {
    return Failed(Fault::kUser, "the report gives no accuracy",
                  report.target_name(), wanted,
                  "validate with labelled data, and with --calibration if the "
                  "model is float");
  }
  if (report.accuracy().value() >= *limit) return absl::OkStatus();
  const double reference = report.accuracy().reference_value();
  return Failed(
      Fault::kUser,
      absl::StrFormat(
          "accuracy %.4f; the reference has %.4f on the same samples",
          report.accuracy().value(), reference),
      report.target_name(), wanted,
      reference >= *limit
          ? "quantization costs it: calibrate with more samples, or with "
            "another --calibration-method"
          : "the model has no more by itself: train it further, or ask for "
            "less");
}

}  // namespace

absl::Status CheckGates(const std::vector<v1::Report>& reports,
                        const Gates& gates) {
  for (const v1::Report& report : reports) {
    EK_RETURN_IF_ERROR(CheckExact(report));
    EK_RETURN_IF_ERROR(CheckAtMost(report, "--max-cycles", "cycles",
                                   report.totals().cycles(), gates.max_cycles));
    EK_RETURN_IF_ERROR(CheckAtMost(report, "--max-ram", "bytes of RAM",
                                   report.memory().ram_bytes(),
                                   gates.max_ram_bytes));
    EK_RETURN_IF_ERROR(CheckAccuracy(report, gates.min_accuracy));
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::client
