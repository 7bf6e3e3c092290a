#include "client/parse_reports.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "client/exit_code.h"
#include "edgekiln/v1/report_diff.pb.h"

namespace edgekiln::client {
namespace {

// Files are edited by hand and damaged: against such numbers no limit is ever
// broken, and their differences overflow.
bool IsPossible(const v1::Report& report) {
  const v1::Report::Memory& memory = report.memory();
  const v1::Report::Totals& totals = report.totals();
  int64_t least = std::min({totals.cycles(), totals.cycles_other_io(),
                            totals.macs(), totals.dma_bytes_read(),
                            totals.dma_bytes_written(), memory.flash_bytes(),
                            memory.ram_bytes(), memory.sram_peak_bytes()});
  const v1::FirmwareSections& sections = memory.sections();
  least = std::min({least, totals.instructions(), totals.setup_instructions(),
                    sections.text_bytes(), sections.rodata_bytes(),
                    sections.data_bytes(), sections.bss_bytes(),
                    sections.stack_bytes()});
  for (const auto& use : memory.memories()) {
    least = std::min(least, use.used_bytes());
  }
  for (const auto& layer : report.layers()) {
    least = std::min({least, layer.cycles(), layer.sram_bytes()});
  }
  // NaN is in no range.
  const double accuracy = report.accuracy().value();
  const double lowest = report.accuracy().metric() == "cosine" ? -1 : 0;
  const bool good = accuracy >= lowest && (report.accuracy().less_is_better()
                                               ? std::isfinite(accuracy)
                                               : accuracy <= 1);
  return least >= 0 && good;
}

absl::Status NotAReport(absl::string_view source, std::string why) {
  return UsageError(absl::StrCat("'", source, "' holds no report: ", why),
                    source, "what `edgekiln profile --json` prints",
                    "write it with: edgekiln profile ... --json > FILE");
}

}  // namespace

absl::StatusOr<std::vector<v1::Report>> ParseReports(absl::string_view json,
                                                     absl::string_view source) {
  const absl::string_view text = absl::StripAsciiWhitespace(json);
  const bool list = !text.empty() && text.front() == '[';
  const std::string wrapped = list
                                  ? absl::StrCat("{\"reports\": ", text, "}")
                                  : absl::StrCat("{\"reports\": [", text, "]}");
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;  // Of a newer edgekiln.
  v1::ReportList parsed;
  const auto status =
      google::protobuf::util::JsonStringToMessage(wrapped, &parsed, options);
  if (!status.ok()) {
    // Behind the first line stands the text as it was wrapped here.
    const std::string why(status.message());
    return NotAReport(source, SanitizeText(why.substr(0, why.find('\n')), 200));
  }
  std::vector<v1::Report> reports;
  for (v1::Report& report : *parsed.mutable_reports()) {
    if (report.layers_size() == 0 && !report.has_totals() &&
        !report.has_quantized() && !report.has_error()) {
      return NotAReport(source, "it has neither layers nor totals");
    }
    if (!IsPossible(report)) {
      return NotAReport(source,
                        "it has a count below 0, or an accuracy out of range");
    }
    reports.push_back(std::move(report));
  }
  if (reports.empty()) return NotAReport(source, "it is empty");
  return reports;
}

}  // namespace edgekiln::client
