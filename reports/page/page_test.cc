#include "reports/page/page.h"

#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/error.h"
#include "google/protobuf/struct.pb.h"
#include "reports/diff.h"
#include "reports/testing/sample_report.h"

namespace edgekiln {
namespace {

using google::protobuf::ListValue;
using google::protobuf::Struct;

std::string PageOf(const std::vector<PageReport>& reports) {
  const absl::StatusOr<std::string> page =
      ReportPage(reports, "give fewer reports");
  EXPECT_TRUE(page.ok()) << page.status();
  return page.ok() ? *page : "";
}

std::string DataOf(const std::string& page) {
  const std::string begin_mark =
      "<script type=\"application/json\" id=\"data\">";
  const size_t begin = page.find(begin_mark);
  EXPECT_NE(begin, std::string::npos);
  const size_t end = page.find("</script>", begin);
  return page.substr(begin + begin_mark.size(),
                     end - begin - begin_mark.size());
}

Struct ParsedData(const std::string& page) {
  Struct data;
  const auto status =
      google::protobuf::util::JsonStringToMessage(DataOf(page), &data);
  EXPECT_TRUE(status.ok()) << status.ToString();
  return data;
}

// What the page calls `name` of its first report.
google::protobuf::Value FirstReport(const Struct& data,
                                    const std::string& name) {
  const ListValue& reports = data.fields().at("reports").list_value();
  return reports.values(0).struct_value().fields().at(name);
}

std::string ToText(const google::protobuf::Message& message) {
  std::string json;
  EXPECT_TRUE(google::protobuf::util::MessageToJsonString(message, &json).ok());
  return json;
}

// Segments as the page's scripts read them.
void AddSegments(const ListValue& packed, v1::Report::Engine& engine) {
  const auto number = [&packed](int i) {
    return static_cast<int64_t>(packed.values(i).number_value());
  };
  int64_t end = 0;
  int64_t last_unit = -1;
  for (int i = 0; i + 6 <= packed.values_size(); i += 6) {
    if (number(i) != last_unit) end = 0;
    last_unit = number(i);
    v1::TimelineSegment& segment = *engine.add_segments();
    segment.set_unit(static_cast<int32_t>(last_unit));
    segment.set_begin(end + number(i + 1));
    segment.set_end(segment.begin() + number(i + 2));
    segment.set_busy_cycles(number(i + 2) - number(i + 3));
    segment.set_layer(static_cast<int32_t>(number(i + 4)));
    segment.set_kind(static_cast<v1::TimelineSegment::Kind>(number(i + 5)));
    end = segment.end();
  }
}

TEST(ReportPageTest, HoldsTheReport) {
  const v1::Report report = SampleReport();
  const Struct data = ParsedData(PageOf({{"a.json", report}}));
  v1::Report shown;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(
                  ToText(FirstReport(data, "report")), &shown)
                  .ok());
  const google::protobuf::Value timeline = FirstReport(data, "timeline");
  for (int i = 0; i < report.engines_size(); ++i) {
    AddSegments(timeline.list_value().values(i).list_value(),
                *shown.mutable_engines(i));
  }
  google::protobuf::util::MessageDifferencer differencer;
  std::string difference;
  differencer.ReportDifferencesToString(&difference);
  EXPECT_TRUE(differencer.Compare(report, shown)) << difference;
}

TEST(ReportPageTest, SaysWhatTheTerminalSays) {
  const Struct data = ParsedData(PageOf({{"a.json", SampleReport()}}));
  EXPECT_EQ(FirstReport(data, "source").string_value(), "a.json");
  const auto verdict = FirstReport(data, "verdict").struct_value().fields();
  EXPECT_EQ(verdict.at("level").string_value(), "passed");
  EXPECT_EQ(verdict.at("title").string_value(), "bit-exact");
}

TEST(ReportPageTest, NamesStayText) {
  v1::Report report = SampleReport();
  const std::string name =
      "</script><script>alert(1)</script><!--\xE2\x80\xA8&'\"";
  report.set_model_name(name);
  report.mutable_layers(0)->set_id(name);
  const std::string page = PageOf({{name, report}});
  EXPECT_FALSE(absl::StrContains(page, "<script>alert")) << page.substr(0, 900);
  EXPECT_FALSE(absl::StrContains(page, "<!--"));
  EXPECT_TRUE(absl::StrContains(page, "<title>&lt;/script&gt;&lt;script&gt;"));
  // Nothing ends or opens an element inside of the data.
  const std::string data = DataOf(page);
  EXPECT_EQ(data.find_first_of("<>&"), std::string::npos);
  EXPECT_FALSE(absl::StrContains(data, "\xE2\x80\xA8"));
  EXPECT_EQ(FirstReport(ParsedData(page), "report")
                .struct_value()
                .fields()
                .at("model_name")
                .string_value(),
            name);
}

TEST(ReportPageTest, LoadsNothing) {
  const std::string page = PageOf({{"a.json", SampleReport()}});
  EXPECT_TRUE(absl::StrContains(page, "default-src 'none'"));
  EXPECT_TRUE(absl::StrContains(page, "script-src 'sha256-"));
  EXPECT_FALSE(absl::StrContains(page, "unsafe-inline"));
  // The name space of SVG is a name, not an address that is loaded.
  const std::string without =
      absl::StrReplaceAll(page, {{"http://www.w3.org/2000/svg", ""}});
  for (const char* loads :
       {"http://", "https://", " src=", "@import", "url(http", "fetch(",
        "XMLHttpRequest", "innerHTML", "document.write", "eval("}) {
    EXPECT_FALSE(absl::StrContains(without, loads)) << loads;
  }
}

TEST(ReportPageTest, SameBytesEachTime) {
  const std::vector<PageReport> reports = {{"a.json", SampleReport()},
                                           {"b.json", SampleReport()}};
  EXPECT_EQ(PageOf(reports), PageOf(reports));
}

TEST(ReportPageTest, ComparesWithTheFirst) {
  v1::Report changed = SampleReport();
  changed.mutable_totals()->set_cycles(2100);
  changed.mutable_layers(1)->set_cycles(600);
  v1::Report failed = SampleReport();
  failed.mutable_error()->set_what("the network does not fit");
  const Struct data = ParsedData(PageOf(
      {{"a.json", SampleReport()}, {"f.json", failed}, {"b.json", changed}}));
  const ListValue& diffs = data.fields().at("diffs").list_value();
  ASSERT_EQ(diffs.values_size(), 1);
  const auto& entry = diffs.values(0).struct_value().fields();
  EXPECT_EQ(entry.at("index").number_value(), 2);
  const auto& diff = entry.at("diff").struct_value().fields();
  const auto& layer =
      diff.at("layers").list_value().values(0).struct_value().fields();
  EXPECT_EQ(layer.at("id").string_value(), "add");
  EXPECT_EQ(layer.at("change").number_value(), 100);
  EXPECT_EQ(layer.at("b").struct_value().fields().at("cycles").number_value(),
            600);
}

// A large network with as many segments as a report may have.
v1::Report LargeReport(int layers) {
  v1::Report report = SampleReport();
  const v1::Report::Layer layer = report.layers(0);
  for (int i = 0; i < layers; ++i) {
    *report.add_layers() = layer;
    report.mutable_layers(i)->set_id(absl::StrCat("block_", i, "/conv2d/Relu"));
  }
  v1::Report::Engine& engine = *report.mutable_engines(0);
  engine.clear_segments();
  for (int i = 0; i < 4096; ++i) {
    v1::TimelineSegment& segment = *engine.add_segments();
    segment.set_begin(int64_t{1234567} * i);
    segment.set_end(segment.begin() + 1234000);
    segment.set_busy_cycles(1233000);
    segment.set_layer(i % layers);
    segment.set_kind(v1::TimelineSegment::COMPUTE);
  }
  return report;
}

TEST(ReportPageTest, IsSmall) {
  constexpr size_t kKiB = 1024;
  EXPECT_LT(PageOf({{"a.json", SampleReport()}}).size(), 120 * kKiB);
  EXPECT_LT(PageOf({{"a.json", LargeReport(1000)}}).size(), 1024 * kKiB);
}

TEST(ReportPageTest, IsRefusedWhereItIsTooLarge) {
  const std::vector<PageReport> many(5, {"a.json", LargeReport(1000)});
  const absl::Status status = ReportPage(many, "give fewer reports").status();
  ASSERT_TRUE(GetErrorDetail(status).has_value()) << status;
  EXPECT_EQ(GetErrorDetail(status)->reason, "PAGE_TOO_LARGE");
  EXPECT_TRUE(absl::StrContains(GetErrorDetail(status)->fix, "fewer reports"))
      << status;
}

TEST(ReportPageTest, SaysThatABuildHasNoPages) {
  const absl::Status status =
      HtmlPage(std::nullopt, "a title", "{}", "give less").status();
  ASSERT_TRUE(GetErrorDetail(status).has_value()) << status;
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(GetErrorDetail(status)->reason, "NO_PAGES");
  EXPECT_EQ(GetErrorDetail(status)->fault, Fault::kInfra);
  EXPECT_TRUE(absl::StrContains(GetErrorDetail(status)->fix, "esbuild"))
      << status;
}

TEST(ReportPageTest, DamagedSegmentsAreLeftOut) {
  v1::Report report = SampleReport();
  v1::Report::Engine& engine = *report.mutable_engines(0);
  const int whole = engine.segments_size();
  const auto add = [&](int32_t unit, int64_t begin, int64_t end, int64_t busy) {
    v1::TimelineSegment& segment = *engine.add_segments();
    segment.set_unit(unit);
    segment.set_begin(begin);
    segment.set_end(end);
    segment.set_busy_cycles(busy);
  };
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  add(1, kLeast, kMost, 1);  // Longer than a count holds.
  add(1, 100, 200, 1);       // Overlaps the one before.
  add(1, 400, 300, 1);       // Ends before it begins.
  add(1, 400, 500, 101);     // Works longer than it is.
  add(7, 400, 500, 1);       // A unit that is not there.
  const Struct data = ParsedData(PageOf({{"a.json", report}}));
  EXPECT_EQ(FirstReport(data, "timeline")
                .list_value()
                .values(0)
                .list_value()
                .values_size(),
            6 * whole);
}

}  // namespace
}  // namespace edgekiln
