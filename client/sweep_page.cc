#include "client/sweep_page.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "client/help.h"
#include "client/render/sweep_marks.h"
#include "client/render/sweep_row_table.h"
#include "client/render/sweep_rows_text.h"
#include "reports/page/html_page.h"
#include "reports/text/json.h"
#include "reports/text/text.h"
#include "web/pages.h"

namespace edgekiln::client {
namespace {

// Texts that rows have in common, by number.
class Texts {
 public:
  int64_t IndexOf(const std::string& text) {
    const auto [it, added] =
        index_.emplace(text, static_cast<int64_t>(all_.size()));
    if (added) all_.push_back(JsonString(text));
    return it->second;
  }
  std::string Json() const {
    return absl::StrCat("[", absl::StrJoin(all_, ","), "]");
  }

 private:
  std::unordered_map<std::string, int64_t> index_;
  std::vector<std::string> all_;
};

std::string ValuesJson(const v1::SweepRow& row,
                       const std::vector<std::string>& keys, Texts& texts) {
  std::vector<int64_t> values;
  for (const std::string& key : keys) {
    const auto value =
        std::find_if(row.values().begin(), row.values().end(),
                     [&](const auto& one) { return one.key() == key; });
    const bool known = value != row.values().end() && !value->dropped();
    values.push_back(known ? texts.IndexOf(value->value()) : -1);
  }
  return absl::StrCat("[", absl::StrJoin(values, ","), "]");
}

std::string BytesJson(const v1::Report& report,
                      const std::vector<std::string>& memories) {
  std::vector<std::string> bytes;
  for (const std::string& name : memories) {
    const std::optional<int64_t> used = MemoryOf(report, name);
    bytes.push_back(used.has_value() ? absl::StrCat(*used) : "null");
  }
  return absl::StrCat("[", absl::StrJoin(bytes, ","), "]");
}

bool Has(const std::map<int, bool>& marks, int cell) {
  const auto mark = marks.find(cell);
  return mark != marks.end() && mark->second;
}

struct Shown {
  std::vector<std::string> keys;
  std::vector<std::string> memories;
  SweepMarks marks;
};

// A list in the order of FIELDS in web/sweep/data.ts.
std::string RowJson(const Shown& shown, const v1::SweepRow& row, Texts& texts) {
  const v1::Report& report = row.report();
  const bool counted = report.totals().cycles() > 0;
  const bool same =
      row.optional_same_as_case() != v1::SweepRow::OPTIONAL_SAME_AS_NOT_SET;
  const std::vector<std::string> fields = {
      absl::StrCat(row.cell()),
      absl::StrCat(texts.IndexOf(StateText(row.state()))),
      absl::StrCat(texts.IndexOf(row.model())),
      absl::StrCat(texts.IndexOf(row.target())),
      absl::StrCat(texts.IndexOf(row.recipe())),
      ValuesJson(row, shown.keys, texts),
      counted ? absl::StrCat(report.totals().cycles()) : "null",
      counted ? JsonNumber(report.totals().latency_ms()) : "null",
      BytesJson(report, shown.memories),
      report.has_accuracy() ? JsonNumber(report.accuracy().value()) : "null",
      absl::StrCat(texts.IndexOf(report.accuracy().metric())),
      same ? absl::StrCat(row.same_as()) : "null",
      Has(shown.marks.best, row.cell()) ? "true" : "false",
      Has(shown.marks.front, row.cell()) ? "true" : "false",
      absl::StrCat(texts.IndexOf(row.error().what())),
  };
  return absl::StrCat("[", absl::StrJoin(fields, ","), "]");
}

std::vector<std::string> MemoriesOf(const std::vector<v1::SweepRow>& rows) {
  CommonMemories common;
  for (const v1::SweepRow& row : rows) common.Add(row);
  return common.names();
}

std::string TitleOf(const std::vector<v1::SweepRow>& rows) {
  std::set<std::string> models;
  std::set<std::string> targets;
  for (const v1::SweepRow& row : rows) {
    models.insert(row.model());
    targets.insert(row.target());
  }
  const auto name = [](const std::set<std::string>& names,
                       absl::string_view several) {
    return names.size() == 1 ? CleanText(*names.begin())
                             : absl::StrCat(names.size(), " ", several);
  };
  return absl::StrCat(name(models, "models"), " on ", name(targets, "targets"));
}

}  // namespace

absl::StatusOr<std::string> SweepPage(
    const std::string& id, const SweepRows& rows,
    const std::vector<std::string>& memories) {
  const std::vector<v1::SweepRow> all = rows.InOrder();
  Shown shown;
  shown.keys.assign(rows.planned().keys().begin(), rows.planned().keys().end());
  shown.memories = memories.empty() ? MemoriesOf(all) : memories;
  shown.marks = MarksOf(all, shown.memories);
  Texts texts;
  std::vector<std::string> lists;
  lists.reserve(all.size());
  for (const v1::SweepRow& row : all) {
    lists.push_back(RowJson(shown, row, texts));
  }
  const std::string title = TitleOf(all);
  return HtmlPage(
      web::SweepPage(), title,
      absl::StrCat("{\"id\":", JsonString(id), ",\"title\":", JsonString(title),
                   ",\"version\":", JsonString(VersionText()),
                   ",\"keys\":", JsonStrings(shown.keys),
                   ",\"memories\":", JsonStrings(shown.memories),
                   ",\"summary\":", ToJsonCompact(rows.summary()),
                   ",\"texts\":", texts.Json(), ",\"rows\":[",
                   absl::StrJoin(lists, ","), "]}"),
      "use `edgekiln sweep show --csv`, which has no such limit");
}

}  // namespace edgekiln::client
