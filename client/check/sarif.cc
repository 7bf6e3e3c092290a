#include "client/check/sarif.h"

#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "base/digest.h"
#include "client/check/describe.h"
#include "client/check/rules.h"
#include "reports/text/json.h"
#include "reports/text/text.h"

namespace edgekiln::client {
namespace {

constexpr char kSchema[] =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/"
    "sarif-schema-2.1.0.json";

// Ordered members of an object, and elements of an array.
using Members = std::vector<std::pair<std::string, std::string>>;

std::string Object(const Members& members) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : members) {
    parts.push_back(absl::StrCat(JsonString(name), ": ", value));
  }
  return absl::StrCat("{", absl::StrJoin(parts, ", "), "}");
}

std::string Array(const std::vector<std::string>& elements) {
  if (elements.empty()) return "[]";
  return absl::StrCat("[\n", absl::StrJoin(elements, ",\n"), "\n]");
}

std::string Text(absl::string_view text) {
  return JsonString(CleanLines(text));
}

// `{` and `}` are placeholders of SARIF's messages.
std::string Message(absl::string_view text) {
  std::string out;
  for (const char c : CleanLines(text)) {
    out += c;
    if (c == '{' || c == '}') out += c;
  }
  return Object({{"text", JsonString(out)}});
}

// A path as a relative reference, or as a file: URI if it is absolute.
std::string Uri(absl::string_view path) {
  std::string out;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = absl::ascii_isalnum(byte) ||
                       absl::StrContains("-._~/", absl::string_view(&c, 1));
    if (plain) {
      out += c;
    } else {
      absl::StrAppendFormat(&out, "%%%02X", byte);
    }
  }
  return absl::StartsWith(out, "/") ? absl::StrCat("file://", out) : out;
}

std::string Location(const v1::CheckPlace& place, absl::string_view name) {
  Members physical = {
      {"artifactLocation", Object({{"uri", JsonString(Uri(place.file()))}})}};
  if (place.line() > 0) {
    physical.emplace_back(
        "region", Object({{"startLine", absl::StrCat(place.line())},
                          {"startColumn", absl::StrCat(place.column())}}));
  }
  Members location = {{"physicalLocation", Object(physical)}};
  if (!name.empty()) {
    location.emplace_back(
        "logicalLocations",
        Array({Object({{"fullyQualifiedName", Text(name)}})}));
  }
  return Object(location);
}

// What is said of one place.
struct Result {
  std::string rule;
  std::string message;
  v1::CheckPlace place;
  const v1::CheckCell* cell = nullptr;  // Null: the result is not about a cell.
  std::string layer{};
  std::string quantity{};
  Members properties = {};
};

// The same from run to run, so that services can tell new results from old
// ones: without figures, and without lines.
std::string Fingerprint(const Result& result) {
  return DigestOf(
             absl::StrCat(result.rule, "\n",
                          result.cell == nullptr ? "" : result.cell->name(),
                          "\n", result.quantity, "\n", result.place.file()))
      .hash;
}

std::string ResultJson(const Result& result) {
  const int index = RuleIndex(result.rule);
  std::string name = result.cell == nullptr ? "" : result.cell->name();
  if (!result.layer.empty()) absl::StrAppend(&name, "/", result.layer);
  Members members = {
      {"ruleId", JsonString(result.rule)},
      {"ruleIndex", absl::StrCat(index)},
      {"level", JsonString(index < 0 ? "warning" : CheckRules()[index].level)},
      {"message", Message(result.message)},
      {"locations", Array({Location(result.place, name)})}};
  if (result.cell != nullptr && !result.cell->model_file().empty()) {
    v1::CheckPlace model;
    model.set_file(result.cell->model_file());
    members.emplace_back("relatedLocations", Array({Location(model, "")}));
  }
  members.emplace_back(
      "partialFingerprints",
      Object({{"edgekilnCheck/v1", JsonString(Fingerprint(result))}}));
  if (!result.properties.empty()) {
    members.emplace_back("properties", Object(result.properties));
  }
  return Object(members);
}

Members PropertiesOf(const v1::CheckCell& cell) {
  Members out = {{"model", Text(cell.model())},
                 {"target", Text(cell.target())},
                 {"recipe", Text(cell.recipe())}};
  if (!cell.job().empty()) out.emplace_back("job", Text(cell.job()));
  return out;
}

Result ResultOf(const v1::CheckCell& cell, const v1::CheckFinding& finding) {
  Result result{.rule = finding.rule(),
                .message = absl::StrCat(cell.name(), ": ", finding.message()),
                .place = finding.place(),
                .cell = &cell,
                .layer = finding.layer(),
                .quantity = finding.quantity(),
                .properties = PropertiesOf(cell)};
  Members& properties = result.properties;
  const auto number = [&](bool known, const char* name, double value) {
    if (known) properties.emplace_back(name, JsonNumber(value));
  };
  properties.emplace_back("quantity", Text(finding.quantity()));
  properties.emplace_back("unit", Text(finding.unit()));
  number(finding.has_value(), "value", finding.value());
  number(finding.has_limit(), "limit", finding.limit());
  number(finding.has_baseline(), "baseline", finding.baseline());
  number(finding.has_change(), "change", finding.change());
  number(finding.has_percent(), "percent", finding.percent());
  if (!finding.layer().empty()) {
    properties.emplace_back("layer", Text(finding.layer()));
  }
  if (!finding.fix().empty()) {
    properties.emplace_back("fix", Text(finding.fix()));
  }
  return result;
}

std::vector<std::string> Results(const v1::CheckResult& result) {
  std::vector<std::string> out;
  // What the repository has to change; the service's faults are notifications.
  if (result.has_error() && result.verdict() == v1::CheckResult::FAILED) {
    out.push_back(ResultJson(
        {.rule = ErrorRule(result),
         .message = absl::StrJoin(DescribeError(result.error()), "\n"),
         .place = ErrorPlace(result)}));
  }
  for (const v1::CheckCell& cell : result.cells()) {
    for (const v1::CheckFinding& finding : cell.findings()) {
      out.push_back(ResultJson(ResultOf(cell, finding)));
    }
    if (!cell.has_error()) continue;
    out.push_back(
        ResultJson({.rule = ErrorRule(cell),
                    .message = absl::StrCat(
                        cell.name(), ": ",
                        absl::StrJoin(DescribeError(cell.error()), "\n")),
                    .place = cell.place(),
                    .cell = &cell,
                    .properties = PropertiesOf(cell)}));
  }
  for (const v1::CheckNote& note : result.notes()) {
    out.push_back(ResultJson({.rule = note.rule(),
                              .message = note.message(),
                              .place = note.place()}));
  }
  return out;
}

std::string Invocation(const v1::CheckResult& result) {
  const bool done = result.verdict() == v1::CheckResult::PASSED ||
                    result.verdict() == v1::CheckResult::BROKEN;
  Members members = {{"executionSuccessful", done ? "true" : "false"},
                     {"exitCode", absl::StrCat(result.exit_code())}};
  if (result.has_error()) {
    members.emplace_back(
        "toolExecutionNotifications",
        Array({Object(
            {{"level", JsonString("error")},
             {"message",
              Message(absl::StrJoin(DescribeError(result.error()), "\n"))},
             {"descriptor",
              Object({{"id", Text(result.error().reason().empty()
                                      ? "UNKNOWN"
                                      : result.error().reason())}})}})}));
  }
  return Object(members);
}

std::string Driver(const std::string& version) {
  std::vector<std::string> rules;
  for (const CheckRule& rule : CheckRules()) {
    rules.push_back(
        Object({{"id", JsonString(rule.id)},
                {"name", JsonString(rule.name)},
                {"shortDescription", Object({{"text", JsonString(rule.text)}})},
                {"defaultConfiguration",
                 Object({{"level", JsonString(rule.level)}})}}));
  }
  return Object({{"name", JsonString("edgekiln check")},
                 {"version", JsonString(version)},
                 {"rules", Array(rules)}});
}

}  // namespace

std::string CheckToSarif(const v1::CheckResult& result,
                         const std::string& version) {
  const std::string run =
      Object({{"tool", Object({{"driver", Driver(version)}})},
              {"columnKind", JsonString("unicodeCodePoints")},
              {"invocations", Array({Invocation(result)})},
              {"results", Array(Results(result))}});
  return absl::StrCat(Object({{"$schema", JsonString(kSchema)},
                              {"version", JsonString("2.1.0")},
                              {"runs", Array({run})}}),
                      "\n");
}

}  // namespace edgekiln::client
