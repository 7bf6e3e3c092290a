#include "client/render/comparison.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/format_bytes.h"
#include "client/render/gate.h"
#include "client/render/report.h"
#include "client/render/table.h"
#include "client/render/wrap.h"

namespace edgekiln::client {
namespace {

constexpr char kNothing[] = "-";
// The rest is summed.
constexpr size_t kMostMemories = 6;

int64_t BrokenGates(const v1::Report& report) {
  return std::count_if(report.gates().begin(), report.gates().end(),
                       [](const auto& gate) { return !gate.passed(); });
}

// The worst that is known.
std::pair<std::string, Tone> Verdict(const v1::Report& report) {
  if (report.has_error()) {
    const std::string reason = CleanText(report.error().reason());
    return {reason.empty() ? "failed" : absl::StrCat("failed: ", reason),
            Tone::kBad};
  }
  if (report.bit_exact().mismatches() > 0) return {"NOT EXACT", Tone::kBad};
  if (const int64_t broken = BrokenGates(report); broken > 0) {
    return {absl::StrCat(Count(broken, "limit", "limits"), " broken"),
            Tone::kBad};
  }
  const bool limits = report.gates_size() > 0;
  if (report.has_bit_exact()) {
    return {limits ? "bit-exact, in limits" : "bit-exact", Tone::kNone};
  }
  if (limits) return {"in limits", Tone::kNone};
  return {report.totals().cycles() > 0 ? "counted" : "compiled", Tone::kNone};
}

bool Has(const v1::Report& report, const std::string& memory) {
  const auto& memories = report.memory().memories();
  return std::any_of(memories.begin(), memories.end(),
                     [&](const auto& use) { return use.name() == memory; });
}

// Those that every target has, in the order of the first one. Targets that
// failed have none.
std::vector<std::string> CommonMemories(
    const std::vector<v1::Report>& reports) {
  const auto known = [](const v1::Report& report) {
    return report.memory().memories_size() > 0;
  };
  const auto first = std::find_if(reports.begin(), reports.end(), known);
  std::vector<std::string> names;
  if (first == reports.end()) return names;
  for (const v1::MemoryUse& use : first->memory().memories()) {
    const bool common =
        std::all_of(reports.begin(), reports.end(), [&](const auto& report) {
          return !known(report) || Has(report, use.name());
        });
    if (common && names.size() < kMostMemories) names.push_back(use.name());
  }
  return names;
}

std::string UsedText(const v1::Report& report, const std::string& memory) {
  for (const v1::MemoryUse& use : report.memory().memories()) {
    if (use.name() == memory) return FormatBytes(use.used_bytes());
  }
  return kNothing;
}

// Of all memories but `names`. Empty if there are none.
std::string OtherText(const v1::Report& report,
                      const std::vector<std::string>& names) {
  int64_t bytes = -1;
  for (const v1::MemoryUse& use : report.memory().memories()) {
    if (std::find(names.begin(), names.end(), use.name()) != names.end()) {
      continue;
    }
    bytes = std::max<int64_t>(bytes, 0) + use.used_bytes();
  }
  return bytes < 0 ? "" : FormatBytes(bytes);
}

// "100.0 %" of the MACs.
std::string OnEnginesText(const v1::Report& report) {
  const v1::Report::Totals& totals = report.totals();
  if (totals.macs() <= 0 || totals.io() == v1::IO_FORM_UNSPECIFIED) {
    return kNothing;
  }
  return FormatPercent(static_cast<double>(totals.engine_macs()) /
                           static_cast<double>(totals.macs()),
                       1);
}

class Rows {
 public:
  explicit Rows(const std::vector<v1::Report>& reports)
      : memories_(CommonMemories(reports)) {
    for (const v1::Report& report : reports) {
      others_ |= !OtherText(report, memories_).empty();
      accuracy_ |= report.has_accuracy();
      cycles_ |= report.totals().cycles() > 0;
    }
  }

  std::vector<Table::Column> Columns() const {
    std::vector<Table::Column> columns = {{.title = "TARGET"}};
    if (cycles_) {
      columns.push_back({.title = "CYCLES", .align = Align::kRight});
      columns.push_back(
          {.title = "LATENCY", .align = Align::kRight, .drop = 1});
    }
    if (accuracy_) {
      columns.push_back({.title = "ACCURACY", .align = Align::kRight});
    }
    if (cycles_) {
      columns.push_back(
          {.title = "ON ENGINES", .align = Align::kRight, .drop = 2});
    }
    int drop = 3 + static_cast<int>(memories_.size());
    for (const std::string& name : memories_) {
      columns.push_back(
          {.title = absl::AsciiStrToUpper(ClipMiddle(CleanText(name), 16)),
           .align = Align::kRight,
           .drop = drop--});
    }
    if (others_) {
      columns.push_back({.title = memories_.empty() ? "MEMORY" : "OTHER MEMORY",
                         .align = Align::kRight,
                         .drop = 3});
    }
    columns.push_back({.title = "VERDICT"});
    return columns;
  }

  std::vector<std::string> Cells(const v1::Report& report) const {
    const v1::Report::Totals& totals = report.totals();
    const bool counted = totals.cycles() > 0;
    std::vector<std::string> cells = {CleanText(report.target_name())};
    if (cycles_) {
      cells.push_back(counted ? GroupDigits(totals.cycles()) : kNothing);
      cells.push_back(counted ? absl::StrFormat("%.4g ms", totals.latency_ms())
                              : kNothing);
    }
    if (accuracy_) {
      cells.push_back(report.has_accuracy()
                          ? FormatPercent(report.accuracy().value(), 2)
                          : kNothing);
    }
    if (cycles_) cells.push_back(OnEnginesText(report));
    for (const std::string& name : memories_) {
      cells.push_back(UsedText(report, name));
    }
    if (others_) {
      const std::string other = OtherText(report, memories_);
      cells.push_back(other.empty() ? kNothing : other);
    }
    cells.push_back(Verdict(report).first);
    return cells;
  }

 private:
  const std::vector<std::string> memories_;
  bool others_ = false;
  bool accuracy_ = false;
  bool cycles_ = false;
};

// What is wrong with one target.
std::string Trouble(const v1::Report& report, const Style& style) {
  const std::string target = CleanText(report.target_name());
  std::string out;
  for (const v1::Report::Gate& gate : report.gates()) {
    if (gate.passed()) continue;
    out +=
        Labelled("GATE BROKEN",
                 style.Red(absl::StrCat(target, ": ", GateText(gate))), style);
  }
  if (const v1::Report::BitExact& exact = report.bit_exact();
      exact.mismatches() > 0) {
    out += Labelled(
        "NOT EXACT",
        style.Red(absl::StrCat(
            target, ": ", Count(exact.mismatches(), "mismatch", "mismatches"),
            ", first: ", CleanText(exact.first_mismatch()))),
        style);
  }
  return out;
}

}  // namespace

std::string RenderComparison(const std::vector<v1::Report>& reports,
                             const Style& style) {
  const Rows rows(reports);
  Table table(rows.Columns());
  std::string troubles;
  std::string notes;
  std::set<std::string> told;
  for (const v1::Report& report : reports) {
    table.AddRow(rows.Cells(report), Verdict(report).second);
    troubles += Trouble(report, style);
    for (const std::string& note : RenderNotes(report, style)) {
      if (told.insert(note).second) notes += note;
    }
  }
  std::string model = reports.empty() ? "" : CleanText(reports[0].model_name());
  if (model.empty()) model = "model";
  std::string out = absl::StrCat(
      Wrapped(
          style.Bold(absl::StrCat(model, " on ",
                                  Count(static_cast<int64_t>(reports.size()),
                                        "target", "targets"))),
          0, style),
      "\n\n", table.Render(style));
  if (!troubles.empty() || !notes.empty()) {
    absl::StrAppend(&out, "\n", troubles, notes);
  }
  return out;
}

}  // namespace edgekiln::client
