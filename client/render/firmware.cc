#include "client/render/firmware.h"

#include "absl/strings/str_cat.h"
#include "base/format_bytes.h"
#include "reports/text/text.h"

namespace edgekiln::client {
namespace {

// "18 749 424 instructions on the first sample   24 before the first inference
// cycles by sample 18 749 355 to 18 749 441". Without samples, on zeros.
std::string ExecutedText(const v1::Report::Totals& totals) {
  std::string text = absl::StrCat(
      GroupDigits(totals.instructions()), " instructions on ",
      totals.cycles_max() > 0 ? "the first sample   " : "inputs of zeros   ",
      GroupDigits(totals.setup_instructions()), " before the first inference");
  if (totals.cycles_max() > totals.cycles_min()) {
    absl::StrAppend(&text, "   cycles by sample ",
                    GroupDigits(totals.cycles_min()), " to ",
                    GroupDigits(totals.cycles_max()));
  }
  return text;
}

std::string CodeText(const v1::FirmwareSections& sections) {
  return absl::StrCat("text ", FormatBytes(sections.text_bytes()), "   rodata ",
                      FormatBytes(sections.rodata_bytes()), "   data ",
                      FormatBytes(sections.data_bytes()), "   bss ",
                      FormatBytes(sections.bss_bytes()), "   stack ",
                      sections.stack_bytes() > 0
                          ? FormatBytes(sections.stack_bytes()) + " at most"
                          : "not bounded");
}

}  // namespace

std::vector<std::pair<std::string, std::string>> FirmwareTexts(
    const v1::Report& report) {
  std::vector<std::pair<std::string, std::string>> texts;
  if (report.totals().instructions() > 0) {
    texts.emplace_back("executed", ExecutedText(report.totals()));
  }
  if (report.memory().has_sections()) {
    texts.emplace_back("code", CodeText(report.memory().sections()));
  }
  if (report.has_compiler()) {
    texts.emplace_back("compiler",
                       absl::StrCat(CleanText(report.compiler().program()), " ",
                                    CleanText(report.compiler().version())));
  }
  return texts;
}

}  // namespace edgekiln::client
