#include "reports/report_file.h"

#include <gtest/gtest.h>

#include <set>

#include "absl/strings/match.h"
#include "base/error.h"
#include "reports/testing/sample_report.h"

namespace edgekiln {
namespace {

constexpr ReportFormat kFormats[] = {
    ReportFormat::kJson,     ReportFormat::kHtml,
    ReportFormat::kCsv,      ReportFormat::kMarkdown,
    ReportFormat::kPerfetto, ReportFormat::kModelExplorer,
};

ReportFile FileOf(const std::vector<PageReport>& reports, ReportFormat format) {
  const auto file = MakeReportFile(reports, format, "give fewer");
  EXPECT_TRUE(file.ok()) << file.status();
  return file.ok() ? *file : ReportFile();
}

TEST(ReportFileTest, EachFormatHasAFileOfItsOwn) {
  std::set<std::string> contents;
  std::set<std::string> names;
  for (const ReportFormat format : kFormats) {
    const ReportFile file = FileOf({{"job 1", SampleReport()}}, format);
    EXPECT_FALSE(file.media_type.empty());
    EXPECT_TRUE(absl::StartsWith(file.file_name, "net-chip."))
        << file.file_name;
    contents.insert(file.content);
    names.insert(file.file_name);
  }
  EXPECT_EQ(contents.size(), std::size(kFormats));
  EXPECT_EQ(names.size(), std::size(kFormats));
}

TEST(ReportFileTest, FormatsHaveNames) {
  EXPECT_EQ(ReportFormatNamed("html"), ReportFormat::kHtml);
  EXPECT_EQ(ReportFormatNamed("model-explorer"), ReportFormat::kModelExplorer);
  EXPECT_EQ(ReportFormatNamed("HTML"), std::nullopt);
  EXPECT_EQ(ReportFormatNamed(""), std::nullopt);
  EXPECT_EQ(ReportFormatNames(),
            "json, html, csv, markdown, perfetto, model-explorer");
}

TEST(ReportFileTest, NamesOfFilesAreHarmless) {
  const struct {
    const char* model;
    const char* target;
    const char* name;
  } cases[] = {
      {"../../etc/passwd", "t", "passwd-t.csv"},
      {"..", "", "report.csv"},
      {"a b\r\nSet-Cookie: x.onnx", "t", "a-b-Set-Cookie-x-t.csv"},
      {"\xE2\x82\xAC.tflite", "dla_64.2", "dla_64.2.csv"},
      {"", "", "report.csv"},
  };
  for (const auto& one : cases) {
    v1::Report report = SampleReport();
    report.set_model_name(one.model);
    report.set_target_name(one.target);
    EXPECT_EQ(FileOf({{"", report}}, ReportFormat::kCsv).file_name, one.name);
  }
  v1::Report report = SampleReport();
  report.set_model_name(std::string(5000, 'a'));
  EXPECT_LT(FileOf({{"", report}}, ReportFormat::kCsv).file_name.size(), 100u);
}

TEST(ReportFileTest, SeveralReportsWhereAFormatTakesThem) {
  const std::vector<PageReport> two = {{"job 1", SampleReport()},
                                       {"job 2", SampleReport()}};
  for (const ReportFormat format : kFormats) {
    const auto file = MakeReportFile(two, format, "give fewer");
    if (format != ReportFormat::kModelExplorer) {
      ASSERT_TRUE(file.ok()) << file.status();
      EXPECT_TRUE(absl::StartsWith(file->file_name, "net-chip-and-1."))
          << file->file_name;
      continue;
    }
    ASSERT_TRUE(GetErrorDetail(file.status()).has_value()) << file.status();
    EXPECT_EQ(GetErrorDetail(file.status())->reason, "ONE_REPORT");
    EXPECT_EQ(GetErrorDetail(file.status())->fix, "give fewer");
  }
}

}  // namespace
}  // namespace edgekiln
