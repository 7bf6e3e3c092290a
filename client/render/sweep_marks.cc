#include "client/render/sweep_marks.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/pareto.h"

namespace edgekiln::client {
namespace {

struct Points {
  std::vector<int> cells;
  std::vector<std::vector<double>> points;  // Cycles first.
};

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

SweepMarks MarksOf(const std::vector<v1::SweepRow>& rows,
                   const std::vector<std::string>& memories) {
  std::map<std::string, double> fewest;  // By model.
  // By model and metric.
  std::map<std::pair<std::string, std::string>, Points> comparable;
  for (const v1::SweepRow& row : rows) {
    if (row.state() != v1::SweepRow::DONE) continue;
    if (row.report().totals().cycles() <= 0) continue;
    std::vector<double> point = PointOf(row, memories);
    if (point.empty()) continue;
    const auto [it, is_new] = fewest.try_emplace(row.model(), point[0]);
    if (!is_new) it->second = std::min(it->second, point[0]);
    // Without accuracy there is no metric, and one coordinate less.
    Points& with = comparable[{
        row.model(), row.report().has_accuracy()
                         ? absl::StrCat("by ", row.report().accuracy().metric())
                         : ""}];
    with.cells.push_back(row.cell());
    with.points.push_back(std::move(point));
  }
  SweepMarks marks;
  for (const auto& [key, with] : comparable) {
    const std::vector<bool> front = ParetoFront(with.points);
    for (size_t i = 0; i < with.cells.size(); ++i) {
      marks.best[with.cells[i]] = with.points[i][0] == fewest[key.first];
      marks.front[with.cells[i]] = front[i];
    }
  }
  return marks;
}

}  // namespace edgekiln::client
