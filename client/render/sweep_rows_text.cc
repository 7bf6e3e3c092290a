#include "client/render/sweep_rows_text.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "reports/text/csv.h"
#include "reports/text/json.h"
#include "reports/text/text.h"

namespace edgekiln::client {
namespace {

std::string OneLine(const google::protobuf::Message& message) {
  const std::string line = ToJsonLine(message);
  return std::string(absl::StripSuffix(line, "\n"));
}

std::string ValuesJson(const v1::SweepRow& row) {
  std::vector<std::string> values;
  for (const v1::SweepRow::Value& value : row.values()) {
    values.push_back(
        absl::StrCat(JsonString(value.key()), ": ",
                     value.dropped() ? "null" : JsonString(value.value())));
  }
  return absl::StrCat("{", absl::StrJoin(values, ", "), "}");
}

std::vector<std::string> MemoryNames(const std::vector<v1::SweepRow>& rows) {
  std::vector<std::string> names;
  for (const v1::SweepRow& row : rows) {
    for (const v1::MemoryUse& use : row.report().memory().memories()) {
      if (std::find(names.begin(), names.end(), use.name()) == names.end()) {
        names.push_back(use.name());
      }
    }
  }
  return names;
}

std::vector<std::string> Fields(const v1::SweepRow& row,
                                const std::vector<std::string>& keys,
                                const std::vector<std::string>& memories) {
  std::vector<std::string> fields = {absl::StrCat(row.cell()),
                                     StateText(row.state()), row.model(),
                                     row.target(), row.recipe()};
  for (const std::string& key : keys) {
    const auto value =
        std::find_if(row.values().begin(), row.values().end(),
                     [&](const auto& one) { return one.key() == key; });
    fields.push_back(
        value == row.values().end() || value->dropped() ? "" : value->value());
  }
  const v1::Report& report = row.report();
  const bool counted = report.totals().cycles() > 0;
  fields.push_back(counted ? absl::StrCat(report.totals().cycles()) : "");
  fields.push_back(
      counted ? absl::StrFormat("%.6g", report.totals().latency_ms()) : "");
  for (const std::string& name : memories) {
    const auto& uses = report.memory().memories();
    const auto use =
        std::find_if(uses.begin(), uses.end(),
                     [&](const auto& one) { return one.name() == name; });
    fields.push_back(use == uses.end() ? "" : absl::StrCat(use->used_bytes()));
  }
  fields.push_back(report.has_accuracy()
                       ? absl::StrFormat("%.6g", report.accuracy().value())
                       : "");
  const bool same =
      row.optional_same_as_case() != v1::SweepRow::OPTIONAL_SAME_AS_NOT_SET;
  fields.push_back(same ? absl::StrCat(row.same_as()) : "");
  fields.push_back(row.job());
  fields.push_back(row.error().reason());
  fields.push_back(report.accuracy().metric());
  fields.push_back(
      report.accuracy().has_disagreement()
          ? absl::StrFormat("%.6g",
                            report.accuracy().disagreement().interval().value())
          : "");
  fields.push_back(counted && report.totals().fidelity() !=
                                  v1::FIDELITY_UNSPECIFIED
                       ? FidelityText(report.totals().fidelity())
                       : "");
  return fields;
}

}  // namespace

std::string StateText(v1::SweepRow::State state) {
  // Of a plan: it would be run.
  if (state == v1::SweepRow::STATE_UNSPECIFIED) return "valid";
  return absl::AsciiStrToLower(v1::SweepRow::State_Name(state));
}

std::string RowToJsonLine(const v1::SweepRow& row) {
  const bool same =
      row.optional_same_as_case() != v1::SweepRow::OPTIONAL_SAME_AS_NOT_SET;
  return absl::StrCat(
      "{\"cell\": ", row.cell(), ", \"key\": ", JsonString(KeyOf(row)),
      ", \"state\": ", JsonString(StateText(row.state())),
      ", \"model\": ", JsonString(row.model()),
      ", \"target\": ", JsonString(row.target()),
      ", \"recipe\": ", JsonString(row.recipe()),
      ", \"values\": ", ValuesJson(row),
      ", \"job\": ", row.job().empty() ? "null" : JsonString(row.job()),
      ", \"report\": ", row.has_report() ? OneLine(row.report()) : "null",
      ", \"same_as\": ", same ? absl::StrCat(row.same_as()) : "null",
      ", \"error\": ", row.has_error() ? OneLine(row.error()) : "null",
      ", \"stages_executed\": ", row.stages_executed(),
      ", \"stages_hit\": ", row.stages_hit(), "}\n");
}

std::string SummaryToJsonLine(const SweepRows& rows) {
  const std::string summary = OneLine(rows.summary());
  return absl::StrCat("{\"summary\": ", absl::StripSuffix(summary, "}"),
                      ", \"gates_failed\": ", rows.gates_failed(), "}}\n");
}

std::string RowsToCsv(const SweepRows& all) {
  const std::vector<v1::SweepRow> rows = all.InOrder();
  const std::vector<std::string> keys(all.planned().keys().begin(),
                                      all.planned().keys().end());
  const std::vector<std::string> memories = MemoryNames(rows);
  std::vector<std::string> titles = {"cell", "state", "model", "target",
                                     "recipe"};
  titles.insert(titles.end(), keys.begin(), keys.end());
  titles.insert(titles.end(), {"cycles", "latency_ms"});
  for (const std::string& name : memories) {
    titles.push_back(absl::StrCat(name, "_bytes"));
  }
  titles.insert(titles.end(), {"accuracy", "same_as", "job", "error", "metric",
                               "disagreement", "fidelity"});
  std::string out = CsvLine(titles);
  for (const v1::SweepRow& row : rows) {
    out += CsvLine(Fields(row, keys, memories));
  }
  return out;
}

}  // namespace edgekiln::client
