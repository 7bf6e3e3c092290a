#include "reports/page/page_data.h"

#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "reports/diff.h"
#include "reports/export/segments.h"
#include "reports/gate.h"
#include "reports/headline.h"
#include "reports/text/json.h"
#include "reports/verdict.h"

namespace edgekiln {
namespace {

std::string VerdictJson(const v1::Report& report) {
  const Verdict verdict = VerdictOf(report);
  return absl::StrCat(
      "{\"level\":", JsonString(VerdictLevelText(verdict.level)),
      ",\"title\":", JsonString(verdict.title),
      ",\"details\":", JsonStrings(verdict.details), "}");
}

std::string TimelineJson(const v1::Report::Engine& engine) {
  std::string out = "[";
  for (const UnitSegments& unit : SegmentsByUnit(engine)) {
    int64_t end = 0;
    for (const v1::TimelineSegment* segment : unit) {
      const int64_t length = segment->end() - segment->begin();
      absl::StrAppend(&out, out.size() > 1 ? "," : "", segment->unit(), ",",
                      segment->begin() - end, ",", length, ",",
                      length - segment->busy_cycles());
      absl::StrAppend(&out, ",", segment->layer(), ",",
                      static_cast<int>(segment->kind()));
      end = segment->end();
    }
  }
  return out + "]";
}

// The report without what the page holds in another form, or does not show.
v1::Report Shortened(v1::Report report) {
  report.clear_hot_spots();
  for (v1::Report::Engine& engine : *report.mutable_engines()) {
    engine.clear_segments();
  }
  return report;
}

std::string ReportJson(const PageReport& page) {
  const v1::Report& report = page.report;
  std::vector<std::string> gates;
  for (const v1::Report::Gate& gate : report.gates()) {
    gates.push_back(GateText(gate));
  }
  std::vector<std::string> timelines;
  for (const v1::Report::Engine& engine : report.engines()) {
    timelines.push_back(TimelineJson(engine));
  }
  return absl::StrCat("{\"source\":", JsonString(page.source),
                      ",\"verdict\":", VerdictJson(report),
                      ",\"headline\":", JsonString(Headline(report)),
                      ",\"gates\":", JsonStrings(gates),
                      ",\"report\":", ToJsonCompact(Shortened(report)),
                      ",\"timeline\":[", absl::StrJoin(timelines, ","), "]}");
}

std::string DiffJson(const PageReport& a, const PageReport& b, size_t index) {
  v1::ReportDiff diff = DiffReports(a.report, a.source, b.report, b.source);
  for (v1::ReportDiff::Layer& layer : *diff.mutable_layers()) {
    // Both reports are on the page.
    const auto shorten = [](v1::Report::Layer& side) {
      v1::Report::Layer kept;
      kept.set_cycles(side.cycles());
      kept.set_engine(side.engine());
      side = std::move(kept);
    };
    if (layer.has_a()) shorten(*layer.mutable_a());
    if (layer.has_b()) shorten(*layer.mutable_b());
  }
  return absl::StrCat("{\"index\":", index, ",\"diff\":", ToJsonCompact(diff),
                      "}");
}

}  // namespace

std::string PageData(const std::vector<PageReport>& reports) {
  std::vector<std::string> shown;
  std::vector<std::string> diffs;
  for (size_t i = 0; i < reports.size(); ++i) {
    shown.push_back(ReportJson(reports[i]));
    const bool comparable = i > 0 && !reports[0].report.has_error() &&
                            !reports[i].report.has_error();
    if (comparable) diffs.push_back(DiffJson(reports[0], reports[i], i));
  }
  return absl::StrCat("{\"reports\":[", absl::StrJoin(shown, ","),
                      "],\"diffs\":[", absl::StrJoin(diffs, ","), "]}");
}

}  // namespace edgekiln
