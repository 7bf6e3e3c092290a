#include "client/check/junit.h"

#include <map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "client/check/describe.h"
#include "reports/text/json.h"
#include "reports/text/text.h"

namespace edgekiln::client {
namespace {

using Cell = v1::CheckCell;

// Text of an element or an attribute. Control characters and invalid UTF-8,
// which XML 1.0 cannot hold, become '?', as do U+FFFE and U+FFFF.
std::string Xml(absl::string_view text) {
  std::string out;
  const std::string clean = CleanLines(text);
  for (size_t at = 0; at < clean.size(); ++at) {
    const char c = clean[at];
    const absl::string_view rest = absl::string_view(clean).substr(at, 3);
    if (rest == "\xEF\xBF\xBE" || rest == "\xEF\xBF\xBF") {
      out += '?';
      at += 2;
      continue;
    }
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\n':
        out += "&#10;";
        break;
      case '\t':
        out += "&#9;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string Attribute(absl::string_view name, absl::string_view value) {
  return absl::StrCat(" ", name, "=\"", Xml(value), "\"");
}

std::string Property(absl::string_view name, absl::string_view value) {
  return absl::StrCat("        <property", Attribute("name", name),
                      Attribute("value", value), "/>\n");
}

std::string Properties(const Cell& cell) {
  std::string out;
  out += Property("target", cell.target());
  out += Property("recipe", cell.recipe());
  if (!cell.job().empty()) out += Property("job", cell.job());
  if (cell.has_totals()) {
    out += Property("cycles", absl::StrCat(cell.totals().cycles()));
    out += Property("latency_ms", JsonNumber(cell.totals().latency_ms()));
  }
  for (const Cell::MemoryAmount& memory : cell.memories()) {
    out += Property(absl::StrCat("memory.", memory.name()),
                    absl::StrCat(memory.used_bytes()));
  }
  if (cell.has_accuracy()) {
    out += Property(absl::StrCat("accuracy.", cell.accuracy().metric()),
                    JsonNumber(cell.accuracy().value()));
  }
  if (cell.has_baseline()) {
    out += Property("baseline", BaselineStateText(cell.baseline().state()));
  }
  return absl::StrCat("      <properties>\n", out, "      </properties>\n");
}

std::string Outcome(absl::string_view element, absl::string_view type,
                    absl::string_view message, absl::string_view text) {
  return absl::StrCat("      <", element, Attribute("message", message),
                      Attribute("type", type), ">", Xml(text), "</", element,
                      ">\n");
}

std::string Outcome(const Cell& cell) {
  switch (cell.state()) {
    case Cell::BROKEN: {
      std::vector<std::string> rules;
      std::vector<std::string> messages;
      for (const v1::CheckFinding& finding : cell.findings()) {
        rules.push_back(finding.rule());
        messages.push_back(finding.message());
      }
      return Outcome("failure", absl::StrJoin(rules, " "),
                     absl::StrJoin(messages, "; "),
                     absl::StrJoin(DescribeCell(cell), "\n"));
    }
    case Cell::FAILED:
    case Cell::ERROR:
      return Outcome("error", ErrorRule(cell), ErrorHeadline(cell.error()),
                     absl::StrJoin(DescribeCell(cell), "\n"));
    case Cell::SKIPPED:
      return absl::StrCat("      <skipped",
                          Attribute("message", ErrorHeadline(cell.error())),
                          "/>\n");
    default:
      return "";
  }
}

std::string Case(const v1::CheckResult& result, const Cell& cell) {
  std::string out = absl::StrCat(
      "    <testcase", Attribute("classname", cell.model()),
      Attribute("name", cell.name()),
      Attribute("time", absl::StrFormat("%.3f", cell.cpu_seconds())),
      Attribute("file", cell.place().file().empty() ? result.file()
                                                    : cell.place().file()));
  if (cell.place().line() > 0) {
    out += Attribute("line", absl::StrCat(cell.place().line()));
  }
  absl::StrAppend(&out, ">\n", Properties(cell), Outcome(cell));
  const std::vector<std::string> changes = DescribeChanges(cell);
  if (cell.state() == Cell::PASSED && !changes.empty()) {
    absl::StrAppend(&out, "      <system-out>",
                    Xml(absl::StrJoin(changes, "\n")), "</system-out>\n");
  }
  return out + "    </testcase>\n";
}

struct Suite {
  std::string cases;
  int tests = 0;
  int failures = 0;
  int errors = 0;
  int skipped = 0;
  double seconds = 0;
};

std::string Counts(const Suite& suite) {
  return absl::StrCat(
      Attribute("tests", absl::StrCat(suite.tests)),
      Attribute("failures", absl::StrCat(suite.failures)),
      Attribute("errors", absl::StrCat(suite.errors)),
      Attribute("skipped", absl::StrCat(suite.skipped)),
      Attribute("time", absl::StrFormat("%.3f", suite.seconds)));
}

// Of what stopped the whole check.
Suite WholeCheck(const v1::CheckResult& result) {
  Suite suite;
  suite.tests = 1;
  suite.errors = 1;
  const v1::CheckPlace place = ErrorPlace(result);
  suite.cases = absl::StrCat(
      "    <testcase", Attribute("classname", "edgekiln"),
      Attribute("name", "check"), Attribute("time", "0.000"),
      Attribute("file", place.file()),
      place.line() > 0 ? Attribute("line", absl::StrCat(place.line())) : "",
      ">\n",
      Outcome("error", ErrorRule(result), ErrorHeadline(result.error()),
              absl::StrJoin(DescribeError(result.error()), "\n")),
      "    </testcase>\n");
  return suite;
}

}  // namespace

std::string CheckToJunit(const v1::CheckResult& result) {
  std::map<std::string, Suite> suites;
  std::vector<std::string> order;
  Suite all;
  const auto add = [&](const std::string& name, const Suite& one) {
    Suite& suite = suites[name];
    if (suite.tests == 0) order.push_back(name);
    suite.cases += one.cases;
    for (Suite* sum : {&suite, &all}) {
      sum->tests += one.tests;
      sum->failures += one.failures;
      sum->errors += one.errors;
      sum->skipped += one.skipped;
      sum->seconds += one.seconds;
    }
  };
  for (const Cell& cell : result.cells()) {
    Suite one;
    one.cases = Case(result, cell);
    one.tests = 1;
    one.failures = cell.state() == Cell::BROKEN ? 1 : 0;
    one.errors =
        cell.state() == Cell::FAILED || cell.state() == Cell::ERROR ? 1 : 0;
    one.skipped = cell.state() == Cell::SKIPPED ? 1 : 0;
    one.seconds = cell.cpu_seconds();
    add(cell.model(), one);
  }
  if (result.has_error()) add("edgekiln", WholeCheck(result));
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites";
  absl::StrAppend(&out, Attribute("name", "edgekiln check"), Counts(all),
                  ">\n");
  for (const std::string& name : order) {
    const Suite& suite = suites[name];
    absl::StrAppend(&out, "  <testsuite", Attribute("name", name),
                    Counts(suite), ">\n", suite.cases, "  </testsuite>\n");
  }
  return out + "</testsuites>\n";
}

}  // namespace edgekiln::client
