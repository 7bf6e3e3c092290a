#include "client/check/annotations.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "client/check/describe.h"
#include "client/check/rules.h"
#include "client/log_commands.h"
#include "reports/text/text.h"

namespace edgekiln::client {
namespace {

// As @actions/core escapes them.
std::string Data(absl::string_view text) {
  return absl::StrReplaceAll(LogCommandFilter().Text(CleanLines(text)),
                             {{"%", "%25"}, {"\r", "%0D"}, {"\n", "%0A"}});
}

std::string Property(absl::string_view text) {
  return absl::StrReplaceAll(Data(CleanText(text)),
                             {{":", "%3A"}, {",", "%2C"}});
}

// "error", "warning" or, of what fails nothing and needs nothing, "notice".
std::string CommandOf(const std::string& rule) {
  const int index = RuleIndex(rule);
  const std::string level =
      index < 0 ? "warning" : CheckRules()[static_cast<size_t>(index)].level;
  return level == "note" ? "notice" : level;
}

std::string Line(const std::string& rule, const v1::CheckPlace& place,
                 absl::string_view title, absl::string_view message) {
  std::string out =
      absl::StrCat("::", CommandOf(rule), " file=", Property(place.file()));
  if (place.line() > 0) {
    absl::StrAppend(&out, ",line=", place.line(), ",col=", place.column());
  }
  return absl::StrCat(out, ",title=", Property(title), "::", Data(message),
                      "\n");
}

std::string OfCell(const v1::CheckCell& cell) {
  std::string out;
  for (const v1::CheckFinding& finding : cell.findings()) {
    std::string message = finding.message();
    if (!finding.fix().empty()) {
      absl::StrAppend(&message, "\nfix: ", finding.fix());
    }
    out += Line(finding.rule(), finding.place(),
                absl::StrCat(cell.name(), " (", finding.rule(), ")"), message);
  }
  if (!cell.has_error()) return out;
  const std::string rule = ErrorRule(cell);
  return out + Line(rule, cell.place(),
                    absl::StrCat(cell.name(), " (", rule, ")"),
                    absl::StrJoin(DescribeError(cell.error()), "\n"));
}

}  // namespace

std::string CheckToGithubAnnotations(const v1::CheckResult& result) {
  std::string out;
  if (result.has_error()) {
    out += Line(ErrorRule(result), ErrorPlace(result), "edgekiln check",
                absl::StrJoin(DescribeError(result.error()), "\n"));
  }
  for (const v1::CheckCell& cell : result.cells()) out += OfCell(cell);
  for (const v1::CheckNote& note : result.notes()) {
    out += Line(note.rule(), note.place(),
                absl::StrCat("edgekiln check (", note.rule(), ")"),
                note.message());
  }
  return out;
}

std::string StopGithubCommands(const std::string& token) {
  return absl::StrCat("::stop-commands::", token, "\n");
}

std::string ResumeGithubCommands(const std::string& token) {
  return absl::StrCat("::", token, "::\n");
}

}  // namespace edgekiln::client
