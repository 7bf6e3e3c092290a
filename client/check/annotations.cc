#include "client/check/annotations.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "base/error.h"
#include "client/check/describe.h"
#include "client/check/rules.h"
#include "client/error_detail.h"
#include "reports/text/text.h"

namespace edgekiln::client {
namespace {

// As @actions/core escapes them.
std::string Data(absl::string_view text) {
  return absl::StrReplaceAll(CleanLines(text),
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
  return WithoutGithubCommands(out);
}

std::string StopGithubCommands(const std::string& token) {
  return absl::StrCat("::stop-commands::", token, "\n");
}

std::string ResumeGithubCommands(const std::string& token) {
  return absl::StrCat("::", token, "::\n");
}

std::string WithoutGithubCommands(absl::string_view text) {
  std::string out;
  out.reserve(text.size());
  // The runner compares as languages do, where some characters count for
  // nothing; those of ASCII that do are control characters.
  char before = 0;
  for (const char c : text) {
    out += c == '[' && before == '#' ? '(' : c;
    if (static_cast<unsigned char>(c) < 0x80) before = c;
  }
  return out;
}

absl::Status WithoutGithubCommands(const absl::Status& status) {
  if (status.ok()) return status;
  absl::Status out(status.code(), WithoutGithubCommands(status.message()));
  if (std::optional<ErrorDetail> detail = GetErrorDetail(status)) {
    for (std::string* text : {&detail->what, &detail->where, &detail->limit,
                              &detail->need, &detail->fix}) {
      *text = WithoutGithubCommands(*text);
    }
    MakeError(status.code(), *std::move(detail))
        .ForEachPayload([&](absl::string_view url, const absl::Cord& payload) {
          out.SetPayload(url, payload);
        });
  }
  std::vector<std::string> lines = LinesOf(status);
  if (lines.empty()) return out;
  for (std::string& line : lines) line = WithoutGithubCommands(line);
  return WithLines(std::move(out), lines);
}

}  // namespace edgekiln::client
