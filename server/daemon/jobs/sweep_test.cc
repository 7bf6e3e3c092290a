// Sweeps as jobs: each cell once and told once, whatever happens between.

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/error.h"
#include "gtest/gtest.h"
#include "server/daemon/jobs/testing/job_manager_fixture.h"

namespace edgekiln::server {
namespace {

class SweepTest : public JobManagerTest {
 protected:
  static constexpr char kTarget[] = "conv;sram=64";
  static constexpr char kOther[] = "conv;sram=128";

  v1::CreateJobRequest Sweep(const std::vector<std::string>& models,
                             const std::vector<std::string>& targets = {
                                 kTarget, kOther}) {
    v1::CreateJobRequest request;
    request.add_goals(v1::SWEEP);
    v1::SweepGroup& group = *request.mutable_sweep()->add_groups();
    group.set_goal(v1::SWEEP_TIMING);
    group.add_recipes("default");
    for (const std::string& text : models) {
      v1::SweepModel& model = *group.add_models();
      model.set_name(text);
      *model.mutable_digest() = PutText(*blobs_, text);
    }
    for (const std::string& text : targets) group.add_targets()->set_name(text);
    return request;
  }

  std::string Started(const v1::CreateJobRequest& request) {
    const absl::StatusOr<v1::Job> job = Create(request);
    EXPECT_TRUE(job.ok()) << job.status();
    return job.ok() ? job->id() : "";
  }

  std::vector<v1::SweepRow> RowsOf(const std::string& id) {
    std::vector<v1::SweepRow> rows;
    const auto events = store_->Events(id, 0, 100'000);
    for (const v1::JobEvent& event : *events) {
      if (event.has_row()) rows.push_back(event.row());
    }
    return rows;
  }

  // By cell; a cell that is told twice is a failure.
  std::map<int, v1::SweepRow> TableOf(const std::string& id) {
    std::map<int, v1::SweepRow> table;
    for (const v1::SweepRow& row : RowsOf(id)) {
      EXPECT_TRUE(table.emplace(row.cell(), row).second)
          << "cell " << row.cell() << " is told twice";
    }
    return table;
  }

  void AwaitRows(const std::string& id, size_t count) {
    for (int i = 0; i < 3000 && RowsOf(id).size() < count; ++i) {
      absl::SleepFor(absl::Milliseconds(10));
      manager_->Tick();
    }
    EXPECT_GE(RowsOf(id).size(), count) << manager_->Get(id)->DebugString();
  }

  void AwaitBlocked(int count) {
    for (int i = 0; i < 3000 && leases_->Blocked() < count; ++i) {
      absl::SleepFor(absl::Milliseconds(10));
    }
    EXPECT_GE(leases_->Blocked(), count);
  }

  int Executed(const std::string& stage) {
    const std::vector<std::string> all = leases_->TakeExecuted();
    return static_cast<int>(std::count(all.begin(), all.end(), stage));
  }
};

TEST_F(SweepTest, EveryCellIsAJobAndARow) {
  ASSERT_TRUE(manager_->Start().ok());
  v1::CreateJobRequest request =
      Sweep({"int8 a", "bad b", "int8 c"}, {kTarget, "refused;1", kOther});
  // "twin" decides as "default" does.
  request.mutable_sweep()->mutable_groups(0)->add_recipes("twin");
  const std::string id = Started(request);
  const v1::Job job = AtItsEnd(id);
  EXPECT_EQ(job.state(), v1::SUCCEEDED) << job.DebugString();
  const std::map<int, v1::SweepRow> table = TableOf(id);
  ASSERT_EQ(table.size(), 18u);
  for (const auto& [cell, row] : table) {
    const int model = cell / 6;
    const bool refused = cell % 6 / 2 == 1;
    EXPECT_EQ(row.state(), refused      ? v1::SweepRow::REFUSED
                           : model == 1 ? v1::SweepRow::FAILED
                                        : v1::SweepRow::DONE)
        << row.DebugString();
    if (row.state() == v1::SweepRow::DONE) {
      EXPECT_EQ(row.report().totals().cycles(), 200);
      EXPECT_TRUE(row.report().layers().empty());
      EXPECT_EQ(store_->Get(row.job())->request().request_id(),
                "sweep/" + id + "/" + std::to_string(cell));
      // The other recipe of the same chip.
      if (cell % 2 == 1) {
        EXPECT_EQ(row.same_as(), cell - 1);
      } else {
        EXPECT_EQ(row.optional_same_as_case(),
                  v1::SweepRow::OPTIONAL_SAME_AS_NOT_SET);
      }
    } else {
      EXPECT_EQ(row.error().reason(), "FAKE_ERROR");
    }
  }
  EXPECT_EQ(job.sweep().cells(), 18);
  EXPECT_EQ(job.sweep().valid(), 12);
  EXPECT_EQ(job.sweep().refused(), 6);
  EXPECT_EQ(job.sweep().done(), 8);
  EXPECT_EQ(job.sweep().failed_by_user(), 4);
  // What cells have in common was executed once.
  EXPECT_EQ(Executed("import"), 3);
}

// What planning needs to know of models, it learns from the stages that their
// cells begin with. One that cannot be read fails in its own cells.
TEST_F(SweepTest, ThePlanIsToldWhichModelsCameQuantizedAndStay) {
  ASSERT_TRUE(manager_->Start().ok());
  const std::string shifts = "shifts;sram=64";
  v1::CreateJobRequest request =
      Sweep({"int8 a", "bad b", "float c"}, {kTarget, shifts});
  v1::SweepVary& vary = *request.mutable_sweep()->mutable_groups(0)->add_vary();
  vary.set_key("calibration-method");
  vary.add_values("mse");
  vary.add_values("kl");
  const std::string id = Started(request);
  const v1::Job job = AtItsEnd(id);
  EXPECT_EQ(job.state(), v1::SUCCEEDED) << job.DebugString();
  std::vector<std::string> warnings;
  const auto events = store_->Events(id, 0, 100'000);
  for (const v1::JobEvent& event : *events) {
    const auto& told = event.planned().warnings();
    warnings.insert(warnings.end(), told.begin(), told.end());
  }
  EXPECT_EQ(warnings, (std::vector<std::string>{
                          "int8 a came quantized",
                          absl::StrCat("int8 a stays on ", kTarget)}));
  EXPECT_EQ(job.sweep().done(), 4);
  EXPECT_EQ(job.sweep().failed_by_user(), 2);
  std::map<std::string, int> executed;
  for (const std::string& stage : leases_->TakeExecuted()) ++executed[stage];
  EXPECT_EQ(executed["import"], 3);
  EXPECT_EQ(executed["resolve_target"], 2);
  EXPECT_EQ(executed["unquantize"], 2);
  // Once to know what to ask, and once with the answers.
  EXPECT_EQ(executed["plan_sweep"], 2);
}

TEST_F(SweepTest, NoPlanWaitsForModelsThatItNeedsToKnowNothingOf) {
  ASSERT_TRUE(manager_->Start().ok());
  v1::CreateJobRequest request = Sweep({"int8 a"});
  v1::SweepVary& vary = *request.mutable_sweep()->mutable_groups(0)->add_vary();
  vary.set_key("offload");
  vary.add_values("all");
  leases_->Block("import", /*leased=*/true);
  const std::string id = Started(request);
  for (int i = 0; i < 1000 && manager_->Get(id)->sweep().cells() == 0; ++i) {
    absl::SleepFor(absl::Milliseconds(10));
  }
  EXPECT_EQ(manager_->Get(id)->sweep().cells(), 2);
  EXPECT_TRUE(manager_->Cancel(id).ok());
  EXPECT_EQ(AtItsEnd(id).state(), v1::CANCELLED);
}

TEST_F(SweepTest, TheSecondTimeNothingIsExecuted) {
  ASSERT_TRUE(manager_->Start().ok());
  const v1::CreateJobRequest request = Sweep({"int8 a", "int8 b"});
  const std::map<int, v1::SweepRow> first = TableOf([&] {
    const std::string id = Started(request);
    EXPECT_EQ(AtItsEnd(id).sweep().done(), 4);
    return id;
  }());
  leases_->TakeExecuted();
  const std::string id = Started(request);
  EXPECT_EQ(AtItsEnd(id).sweep().stages_executed(), 0);
  EXPECT_TRUE(leases_->TakeExecuted().empty());
  const std::map<int, v1::SweepRow> second = TableOf(id);
  ASSERT_EQ(second.size(), first.size());
  for (const auto& [cell, row] : first) {
    EXPECT_EQ(second.at(cell).report().totals().DebugString(),
              row.report().totals().DebugString());
  }
}

TEST_F(SweepTest, ACellThatHangsHoldsBackRowsOfItsModelAlone) {
  ASSERT_TRUE(manager_->Start().ok());
  leases_->Block("count_cycles", /*leased=*/true, "int8 slow");
  const std::string id = Started(Sweep({"int8 slow", "int8 a", "int8 b"}));
  AwaitRows(id, 4);
  for (const v1::SweepRow& row : RowsOf(id)) {
    EXPECT_NE(row.model(), "int8 slow");
  }
  EXPECT_EQ(manager_->Get(id)->sweep().done(), 4);
  ASSERT_TRUE(manager_->Cancel(id).ok());
  EXPECT_EQ(AtItsEnd(id).state(), v1::CANCELLED);
  // What its cells held is free.
  for (int i = 0; i < 200 && !store_->Unfinished()->empty(); ++i) {
    absl::SleepFor(absl::Milliseconds(10));
  }
  EXPECT_EQ(leases_->Blocked(), 0);
  EXPECT_TRUE(store_->Unfinished()->empty());
  EXPECT_EQ(TableOf(id).size(), 4u);
}

TEST_F(SweepTest, AfterAStopTheRestIsRunAndNothingTwice) {
  ASSERT_TRUE(manager_->Start().ok());
  leases_->Block("count_cycles", /*leased=*/true, "int8 slow");
  const std::string id = Started(Sweep({"int8 a", "int8 slow", "int8 b"}));
  AwaitRows(id, 4);
  AwaitBlocked(2);
  NewManager();
  EXPECT_EQ(leases_->Blocked(), 0);
  leases_->Block("");
  leases_->TakeExecuted();
  ASSERT_TRUE(manager_->Start().ok());
  EXPECT_EQ(AtItsEnd(id).state(), v1::SUCCEEDED);
  const std::vector<std::string> executed = leases_->TakeExecuted();
  EXPECT_EQ(executed,
            (std::vector<std::string>{"count_cycles", "count_cycles"}));
  EXPECT_EQ(TableOf(id).size(), 6u);
  EXPECT_EQ(store_->Get(id)->sweep().done(), 6);
}

// The daemon died between cancelling a sweep and its cells.
TEST_F(SweepTest, CellsOfASweepThatIsOverAreEnded) {
  v1::CreateJobRequest cell = Request();
  cell.set_request_id("sweep/jdead/0");
  Left("cell", cell, v1::RUNNING);
  Left("other", Request(), v1::RUNNING);
  ASSERT_TRUE(manager_->Start().ok());
  EXPECT_EQ(AtItsEnd("cell").state(), v1::CANCELLED);
  EXPECT_EQ(AtItsEnd("other").state(), v1::SUCCEEDED);
}

TEST_F(SweepTest, MoreSweepsThanRunAtOnceComeToAnEnd) {
  options_.max_running = 1;
  options_.max_sweeps = 2;
  NewManager();
  ASSERT_TRUE(manager_->Start().ok());
  std::vector<std::string> ids;
  for (int i = 0; i < 6; ++i) {
    ids.push_back(Started(Sweep({"int8 " + std::to_string(i)})));
  }
  for (const std::string& id : ids) {
    EXPECT_EQ(AtItsEnd(id).state(), v1::SUCCEEDED);
    EXPECT_EQ(TableOf(id).size(), 2u);
  }
}

TEST_F(SweepTest, CellsWaitForADiskThatIsFull) {
  ASSERT_TRUE(manager_->Start().ok());
  leases_->Block("plan_sweep", /*leased=*/true);
  const std::string id = Started(Sweep({"int8 a"}));
  AwaitBlocked(1);
  clock_.Advance(absl::Seconds(1));  // Ids of jobs begin with the time.
  NewManager();
  leases_->Block("");
  free_bytes_ = 0;
  ASSERT_TRUE(manager_->Start().ok());
  for (int i = 0; i < 3000; ++i) {
    manager_->Tick();
    absl::SleepFor(absl::Milliseconds(1));
    if (manager_->Get(id)->waiting().cause() ==
        v1::JobEvent::Waiting::DISK_FULL)
      break;
  }
  EXPECT_EQ(manager_->Get(id)->waiting().cause(),
            v1::JobEvent::Waiting::DISK_FULL);
  free_bytes_ = 1 << 30;
  AwaitRows(id, 2);
  EXPECT_EQ(AtItsEnd(id).sweep().done(), 2);
}

TEST_F(SweepTest, CellsAreListedWithTheirSweepAndForgottenAfterIt) {
  ASSERT_TRUE(manager_->Start().ok());
  const std::string id = Started(Sweep({"int8 a"}));
  AtItsEnd(id);
  const std::string other = Started(Request());
  AtItsEnd(other);
  const auto all = store_->List(10, 0);
  ASSERT_EQ(all->jobs.size(), 2u);
  EXPECT_EQ(all->jobs[0].id(), other);
  EXPECT_EQ(all->jobs[1].id(), id);
  EXPECT_EQ(all->jobs[1].sweep().done(), 2);
  EXPECT_EQ(store_->List(10, 0, id)->jobs.size(), 2u);
  EXPECT_EQ(store_->List(10, 0, "j0").value().jobs.size(), 0u);
  const absl::Time later = clock_.Now() + absl::Hours(1);
  // Cells do not count.
  Retention retention{.max_jobs = 2};
  EXPECT_EQ(*store_->Forget(retention, later), 0);
  retention.max_jobs = 1;
  EXPECT_EQ(*store_->Forget(retention, later), 1);
  EXPECT_TRUE(absl::IsNotFound(store_->Get(id).status()));
  EXPECT_EQ(*store_->Forget(retention, later), 2);
  EXPECT_TRUE(store_->List(10, 0, id)->jobs.empty());
  EXPECT_TRUE(store_->Get(other).ok());
}

TEST_F(SweepTest, RequestsThatAreNoSweepAreRefused) {
  ASSERT_TRUE(manager_->Start().ok());
  const auto reason = [&](const v1::CreateJobRequest& request) {
    const auto detail = GetErrorDetail(Create(request).status());
    return detail.has_value() ? detail->reason : "";
  };
  v1::CreateJobRequest request = Sweep({"int8 a"});
  request.clear_sweep();
  EXPECT_EQ(reason(request), "NO_SWEEP");
  request = Sweep({"int8 a"});
  request.add_goals(v1::PROFILE);
  EXPECT_EQ(reason(request), "GOALS_CONFLICT");
  request = Sweep({"int8 a"});
  *request.mutable_model() = PutText(*blobs_, "int8 a");
  EXPECT_EQ(reason(request), "GOALS_CONFLICT");
  request = Sweep({"int8 a"});
  request.mutable_options()->set_seed(7);
  EXPECT_EQ(reason(request), "GOALS_CONFLICT");
  request = Request();
  *request.mutable_sweep() = Sweep({"int8 a"}).sweep();
  EXPECT_EQ(reason(request), "NO_GOAL");
  request = Sweep({"int8 a"});
  request.mutable_sweep()->mutable_groups(0)->mutable_models(0)->clear_digest();
  EXPECT_EQ(reason(request), "NO_DIGEST");
  request = Sweep({"int8 a"});
  request.mutable_sweep()
      ->mutable_groups(0)
      ->mutable_models(0)
      ->mutable_digest()
      ->set_hash(std::string(64, '0'));
  EXPECT_EQ(reason(request), "BLOB_MISSING");
  request = Request();
  request.set_request_id("sweep/j1/0");
  EXPECT_EQ(reason(request), "BAD_REQUEST_ID");
}

}  // namespace
}  // namespace edgekiln::server
