#include "client/render/sweep_marks.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace edgekiln::client {
namespace {

// What is compared, less of each being better; empty for a row that cannot be.
std::vector<double> PointOf(const v1::SweepRow& row,
                            const std::vector<std::string>& memories) {
  const v1::Report& report = row.report();
  std::vector<double> point = {static_cast<double>(report.totals().cycles())};
  for (const std::string& name : memories) {
    const std::optional<int64_t> bytes = MemoryOf(report, name);
    // What it has none of cannot be compared.
    if (!bytes.has_value()) return {};
    point.push_back(static_cast<double>(*bytes));
  }
  if (!report.has_accuracy()) return point;
  const v1::Report::Accuracy& accuracy = report.accuracy();
  if (!std::isfinite(accuracy.value())) return {};
  const bool error = accuracy.metric() == "mse" || accuracy.metric() == "mae";
  point.push_back(error ? accuracy.value() : -accuracy.value());
  return point;
}

// Without accuracy there is no metric, and one coordinate less.
std::string MetricOf(const v1::SweepRow& row) {
  if (!row.report().has_accuracy()) return "";
  return absl::StrCat("by ", row.report().accuracy().metric());
}

}  // namespace

std::optional<int64_t> MemoryOf(const v1::Report& report,
                                const std::string& name) {
  for (const v1::MemoryUse& use : report.memory().memories()) {
    if (use.name() == name) return use.used_bytes();
  }
  if (name == "ram") return report.memory().ram_bytes();
  if (name == "flash") return report.memory().flash_bytes();
  return std::nullopt;
}

// Rows are compared with those of the same model and metric.
void GrowingMarks::Add(const v1::SweepRow& row) {
  if (row.state() != v1::SweepRow::DONE) return;
  if (row.report().totals().cycles() <= 0) return;
  const std::vector<double> point = PointOf(row, memories_);
  if (point.empty()) return;
  const auto [fewest, is_first] = fewest_.try_emplace(row.model(), point[0]);
  fewest->second = std::min(fewest->second, point[0]);
  Front& front = fronts_[{row.model(), MetricOf(row)}];
  front.front.Add(point);
  marks_[row.cell()] = {.cycles = point[0],
                        .fewest = &fewest->second,
                        .front = &front.front,
                        .number = front.count++};
}

SweepMarks GrowingMarks::Of(const std::vector<v1::SweepRow>& rows) const {
  SweepMarks marks;
  for (const v1::SweepRow& row : rows) {
    const auto found = marks_.find(row.cell());
    if (found == marks_.end()) continue;
    const Mark& mark = found->second;
    marks.best[row.cell()] = mark.cycles == *mark.fewest;
    marks.front[row.cell()] = mark.front->Has(mark.number);
  }
  return marks;
}

SweepMarks MarksOf(const std::vector<v1::SweepRow>& rows,
                   const std::vector<std::string>& memories) {
  GrowingMarks marks(memories);
  for (const v1::SweepRow& row : rows) marks.Add(row);
  return marks.Of(rows);
}

}  // namespace edgekiln::client
