// `report html` and `report export`, against a scripted daemon.

#include "client/commands/report_files.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "client/exit_code.h"
#include "client/testing/commands_fixture.h"
#include "reports/text/json.h"

namespace edgekiln::client {
namespace {

class ReportFilesTest : public CommandsTest {
 protected:
  ReportFilesTest() {
    connection_.reports = {NewReport("a"), NewReport("b")};
    connection_.job.set_reports(2);
  }
};

TEST_F(ReportFilesTest, PageOfJobsAndFiles) {
  const std::string file = Put("old.json", ToJson(NewReport("old-target")));
  const std::string page = folder_ + "/page.html";
  ASSERT_TRUE(
      Run(RunReportHtml, {"report", "html", file, "7", "-o", page}).ok());
  EXPECT_TRUE(absl::StartsWith(out_, "wrote " + page + "  ")) << out_;
  const std::string html = Get(page);
  EXPECT_TRUE(absl::StartsWith(html, "<!doctype html>"));
  for (const char* target : {"old-target", "a", "b"}) {
    EXPECT_TRUE(absl::StrContains(
        html, absl::StrCat("\"target_name\":\"", target, "\"")))
        << target;
  }
}

TEST_F(ReportFilesTest, PageOfOneTargetToTheStandardOutput) {
  ASSERT_TRUE(
      Run(RunReportHtml, {"report", "html", "7", "--target", "b"}).ok());
  EXPECT_TRUE(absl::StrContains(out_, "\"target_name\":\"b\""));
  EXPECT_FALSE(absl::StrContains(out_, "\"target_name\":\"a\""));
}

TEST_F(ReportFilesTest, NothingElseIsPrintedWithJson) {
  const std::string page = folder_ + "/page.html";
  ASSERT_TRUE(
      Run(RunReportHtml, {"report", "html", "7", "-o", page, "--json"}).ok());
  EXPECT_EQ(out_, "");
  EXPECT_NE(Get(page), "absent");
}

TEST_F(ReportFilesTest, FormatsOfExport) {
  const struct {
    const char* format;
    const char* want;
  } cases[] = {{"csv", "model,target,index,layer,"},
               {"markdown", " on `a`\n"},
               {"json", "\"target_name\": \"a\""}};
  for (const auto& c : cases) {
    out_.clear();
    ASSERT_TRUE(
        Run(RunReportExport, {"report", "export", "7", "--format", c.format})
            .ok());
    EXPECT_TRUE(absl::StrContains(out_, c.want)) << out_;
  }
  // One Report, or a list.
  EXPECT_EQ(out_[0], '[');
  const std::string list = out_;
  out_.clear();
  ASSERT_TRUE(Run(RunReportExport,
                  {"report", "export", "7", "--format", "json", "-o", "-"})
                  .ok());
  EXPECT_EQ(out_, list);
  out_.clear();
  ASSERT_TRUE(Run(RunReportExport, {"report", "export", "7", "--format", "json",
                                    "--target", "b"})
                  .ok());
  EXPECT_EQ(out_, ToJson(NewReport("b")));
}

TEST_F(ReportFilesTest, WhatCannotBeRead) {
  absl::Status status = Run(RunReportHtml, {"report", "html", "no/such.json"});
  EXPECT_EQ(ExitCodeFor(status), ExitCode::kUsage) << status;
  const std::string text = Put("text.json", "hello");
  status = Run(RunReportExport, {"report", "export", text, "--format", "csv"});
  EXPECT_EQ(ExitCodeFor(status), ExitCode::kUsage) << status;
  EXPECT_EQ(out_, "");
}

TEST_F(ReportFilesTest, ItsOwnInputIsNotOverwritten) {
  const std::string file = Put("a.json", ToJson(NewReport("a")));
  const absl::Status status =
      Run(RunReportHtml, {"report", "html", file, "-o", file});
  EXPECT_EQ(ExitCodeFor(status), ExitCode::kUsage) << status;
  EXPECT_EQ(Get(file), ToJson(NewReport("a")));
}

}  // namespace
}  // namespace edgekiln::client
