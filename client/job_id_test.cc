#include "client/job_id.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/error.h"
#include "client/commands/jobs.h"
#include "client/commands/report.h"
#include "client/exit_code.h"
#include "client/job_pages.h"
#include "client/testing/commands_fixture.h"

namespace edgekiln::client {
namespace {

// Prints what the argument of `jobs show` names.
absl::Status Resolve(CommandContext& context) {
  const auto id = ResolveJobId(context.line.names[0], JobUse::kRead, context);
  if (id.ok()) context.print(*id);
  return id.status();
}

class JobIdTest : public CommandsTest {
 protected:
  JobIdTest() {
    connection_.AddJob("j0652f0000000003c", v1::RUNNING);
    connection_.AddJob("j0652f0000000002b", v1::SUCCEEDED);
    connection_.AddJob("j0651a0000000001a", v1::FAILED);
    connection_.AddJob("damaged-7", v1::FAILED);
    connection_.AddJob("damaged-71", v1::FAILED);
  }
};

TEST_F(JobIdTest, NamesOfJobs) {
  const struct {
    std::string text;
    std::string want;
  } cases[] = {
      {"last", "j0652f0000000003c"},
      {"j0652f0000000003", "j0652f0000000003c"},
      {"j0651", "j0651a0000000001a"},
      {"j0651a0000000001a", "j0651a0000000001a"},
      // A whole id that begins another one.
      {"damaged-7", "damaged-7"},
      // Of the usual form: the command itself asks for it.
      {"j0123456789abcdef", "j0123456789abcdef"},
  };
  for (const auto& c : cases) {
    out_.clear();
    const absl::Status status = Run(Resolve, {"jobs", "show", c.text});
    EXPECT_TRUE(status.ok()) << c.text << ": " << status;
    EXPECT_EQ(out_, c.want) << c.text;
  }
}

TEST_F(JobIdTest, Refusals) {
  const struct {
    std::string text;
    ExitCode code;
    std::string what;
    std::string need;
  } cases[] = {
      {"j0652", ExitCode::kUsage, "the ids of 2 jobs begin with 'j0652'",
       "one of j0652f0000000003c (running), j0652f0000000002b (succeeded)"},
      {"j06", ExitCode::kModel, "there is no such job",
       "the id of a job, at least 4 of its first characters, or last"},
      {"j0653", ExitCode::kModel, "there is no such job",
       "the id of a job, at least 4 of its first characters, or last"},
      {"\xC3\xA9\xC3\xA9\xC3\xA9", ExitCode::kModel, "there is no such job",
       "the id of a job, at least 4 of its first characters, or last"},
      {"", ExitCode::kModel, "there is no such job",
       "the id of a job, at least 4 of its first characters, or last"},
  };
  for (const auto& c : cases) {
    const absl::Status status = Run(Resolve, {"jobs", "show", c.text});
    EXPECT_EQ(ExitCodeFor(status), c.code) << c.text << ": " << status;
    const auto detail = GetErrorDetail(status);
    ASSERT_TRUE(detail.has_value()) << c.text;
    EXPECT_EQ(detail->what, c.what) << c.text;
    EXPECT_EQ(detail->need, c.need) << c.text;
    EXPECT_NE(detail->fix, "") << c.text;
  }
  EXPECT_EQ(GetErrorDetail(Run(Resolve, {"jobs", "show", "j0653"}))->fix,
            "see the jobs with edgekiln jobs list");
}

TEST_F(JobIdTest, LastWithoutJobs) {
  connection_.jobs.clear();
  connection_.no_jobs = true;
  const absl::Status status = Run(Resolve, {"jobs", "show", "last"});
  EXPECT_EQ(ExitCodeFor(status), ExitCode::kModel) << status;
  EXPECT_EQ(GetErrorDetail(status)->what, "the daemon has no jobs");
}

TEST_F(JobIdTest, AnAmbiguousNameListsAFew) {
  for (int i = 0; i < 20; ++i) {
    connection_.AddJob(absl::StrFormat("jaaaa%012d", i), v1::QUEUED);
  }
  const auto detail = GetErrorDetail(Run(Resolve, {"jobs", "show", "jaaaa"}));
  ASSERT_TRUE(detail.has_value());
  EXPECT_EQ(detail->what, "the ids of 20 jobs begin with 'jaaaa'");
  EXPECT_NE(detail->need.find("jaaaa000000000007 (queued) and 12 more"),
            std::string::npos)
      << detail->need;
}

TEST_F(JobIdTest, PrefixesAreSearchedOnEveryPageAndNoFurtherThanTheBound) {
  connection_.jobs.clear();
  for (int i = 0; i < kMaxVisitedJobs + 1; ++i) {
    connection_.AddJob(absl::StrCat("x", i, "-job"), v1::SUCCEEDED);
  }
  EXPECT_TRUE(Run(Resolve, {"jobs", "show", "x9999-"}).ok());
  EXPECT_EQ(out_, "x9999-job");
  EXPECT_GT(connection_.listed.size(), 5u);
  const absl::Status beyond = Run(Resolve, {"jobs", "show", "x10000-"});
  EXPECT_EQ(ExitCodeFor(beyond), ExitCode::kModel) << beyond;
}

TEST_F(JobIdTest, EveryCommandWithAJobTakesThem) {
  connection_.reports = {NewReport("a")};
  for (v1::Job& job : connection_.jobs) job.set_reports(1);
  EXPECT_TRUE(Run(RunJobsShow, {"jobs", "show", "last"}).ok());
  EXPECT_NE(out_.find("j0652f0000000003c"), std::string::npos) << out_;
  EXPECT_TRUE(Run(RunReportBaseline, {"report", "baseline", "j0651"}).ok());
  out_.clear();
  EXPECT_TRUE(
      Run(RunReportDiff, {"report", "diff", "j0651", "last", "--json"}).ok());
  EXPECT_NE(out_.find("j0651a0000000001a"), std::string::npos) << out_;
  connection_.jobs[0].set_state(v1::SUCCEEDED);
  EXPECT_TRUE(Run(RunJobsWatch, {"jobs", "watch", "last"}).ok());
}

TEST_F(JobIdTest, CancelResolvesAllNamesFirst) {
  EXPECT_FALSE(Run(RunJobsCancel, {"jobs", "cancel", "j0651", "j0652"}).ok());
  EXPECT_EQ(connection_.cancelled, std::vector<std::string>());
  EXPECT_TRUE(Run(RunJobsCancel, {"jobs", "cancel", "j0651", "last"}).ok());
  EXPECT_EQ(
      connection_.cancelled,
      (std::vector<std::string>{"j0651a0000000001a", "j0652f0000000003c"}));
}

// The newest job of a farm may be a colleague's.
TEST_F(JobIdTest, CancelDoesNotTakeLastWhereOthersMayWork) {
  const absl::Status status =
      Run(RunJobsCancel, {"jobs", "cancel", "last", "--server", "farm:7433"});
  EXPECT_EQ(ExitCodeFor(status), ExitCode::kUsage) << status;
  EXPECT_EQ(connection_.cancelled, std::vector<std::string>());
  EXPECT_TRUE(
      Run(RunJobsCancel, {"jobs", "cancel", "last", "--server", "unix:/run/s"})
          .ok());
  EXPECT_TRUE(
      Run(RunJobsShow, {"jobs", "show", "last", "--server", "farm:7433"}).ok());
}

}  // namespace
}  // namespace edgekiln::client
