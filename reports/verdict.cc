#include "reports/verdict.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "reports/gate.h"
#include "reports/text/text.h"

namespace edgekiln {
namespace {

std::string ComparedText(const v1::Report::BitExact& exact) {
  return absl::StrCat(GroupDigits(exact.outputs_compared()),
                      " values compared with the reference, ",
                      Count(exact.mismatches(), "mismatch", "mismatches"));
}

}  // namespace

Verdict VerdictOf(const v1::Report& report) {
  Verdict verdict;
  if (report.has_error()) {
    return {.level = Verdict::Level::kFailed,
            .title = "failed",
            .details = {CleanText(report.error().what())}};
  }
  const bool compared =
      report.has_bit_exact() && report.bit_exact().outputs_compared() > 0;
  const bool differs = report.bit_exact().mismatches() > 0;
  const bool broken =
      std::any_of(report.gates().begin(), report.gates().end(),
                  [](const v1::Report::Gate& gate) { return !gate.passed(); });
  if (compared || differs) {
    verdict.details.push_back(ComparedText(report.bit_exact()));
  }
  if (differs && !report.bit_exact().first_mismatch().empty()) {
    verdict.details.push_back(absl::StrCat(
        "first: ", CleanText(report.bit_exact().first_mismatch())));
  }
  for (const v1::Report::Gate& gate : report.gates()) {
    verdict.details.push_back(absl::StrCat(
        gate.passed() ? "limit kept: " : "limit broken: ", GateText(gate)));
  }
  if (differs || broken) {
    verdict.level = Verdict::Level::kFailed;
    verdict.title = differs ? "not bit-exact" : "limit broken";
  } else if (compared) {
    verdict.level = Verdict::Level::kPassed;
    verdict.title = "bit-exact";
  } else if (report.gates_size() > 0) {
    verdict.level = Verdict::Level::kPassed;
    verdict.title = "limits kept";
  } else {
    verdict.title = "not compared";
    verdict.details.push_back("no values were compared with the reference");
  }
  return verdict;
}

std::string VerdictLevelText(Verdict::Level level) {
  switch (level) {
    case Verdict::Level::kPassed:
      return "passed";
    case Verdict::Level::kFailed:
      return "failed";
    case Verdict::Level::kNotTested:
      break;
  }
  return "not-tested";
}

}  // namespace edgekiln
