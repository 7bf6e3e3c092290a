// A sweep as somebody uses it: the rows of each cell alone, the same whoever
// computes them, and one failed row where one cell fails.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "nlohmann/json.hpp"
#include "tests/e2e/cluster.h"
#include "tests/e2e/expectations.h"
#include "tests/support/golden.h"
#include "tests/support/shared_data.h"

namespace edgekiln::tests {
namespace {

using Json = nlohmann::json;

constexpr char kResnet[] = "models/resnet8_int8.tflite";
constexpr char kDscnn[] = "models/dscnn_int8.tflite";
constexpr char kMobilenet[] = "models/mobilenet_v1_0.25_128_uint8.tflite";

struct Rows {
  std::map<int, Json> cells;
  Json summary;
};

// Of --json. A cell that is told twice is a failure.
Rows RowsOf(const Outcome& outcome) {
  Rows rows;
  for (const absl::string_view line : absl::StrSplit(outcome.out, '\n')) {
    if (line.empty()) continue;
    Json value = Json::parse(line);
    if (value.contains("summary")) {
      rows.summary = value["summary"];
      continue;
    }
    const int cell = value["cell"];
    EXPECT_TRUE(rows.cells.emplace(cell, std::move(value)).second) << cell;
  }
  return rows;
}

// Without what differs from run to run.
std::map<int, Json> Comparable(Rows rows) {
  for (auto& [cell, row] : rows.cells) {
    for (const char* key : {"job", "stages_executed", "stages_hit"}) {
      row.erase(key);
    }
    if (!row["report"].is_null()) row["report"].erase("job_id");
  }
  return rows.cells;
}

class SweepTest : public ClusterTest {};

TEST_F(SweepTest, EveryStageRunsOnceAndRowsAreThoseOfACellAlone) {
  EK_REQUIRE_SHARED(kResnet);
  EK_REQUIRE_SHARED(kDscnn);
  const std::vector<std::string> arguments = {
      "sweep",     SharedPath(kResnet), SharedPath(kDscnn),
      "--target",  "dla-64-*k",         "--target",
      "dla-64-*m", "--target",          "toy-array",
      "--vary",    "io=int,float",      "--json",
      "--quiet"};
  const Outcome cold = cluster().Cli(arguments);
  ASSERT_EQ(cold.exit_code, 0) << cold;
  const Rows first = RowsOf(cold);
  EXPECT_EQ(first.cells.size(), 28u);
  EXPECT_EQ(first.summary["done"], 28);

  const Outcome warm = cluster().Cli(arguments);
  ASSERT_EQ(warm.exit_code, 0) << warm;
  const Rows second = RowsOf(warm);
  EXPECT_EQ(second.summary["stages_executed"], 0) << warm;
  EXPECT_EQ(Comparable(first), Comparable(second));

  for (const auto& [cell, row] : first.cells) {
    if (cell % 5 != 0) continue;
    const std::string model = row["model"];
    const Outcome alone = cluster().Cli(
        {"profile", SharedPath(absl::StrCat("models/", model, ".tflite")),
         "--target", row["target"], "--io", row["values"]["io"], "--json",
         "--quiet"});
    ASSERT_EQ(alone.exit_code, 0) << alone;
    const Json report = Json::parse(alone.out);
    for (const char* key : {"totals", "memory", "bit_exact", "program"}) {
      EXPECT_EQ(report[key], row["report"][key]) << cell << " " << key;
    }
  }
}

TEST_F(SweepTest, RowsHaveTheMetricThatWasAskedFor) {
  const auto example = [](const char* file) {
    return SourcePath(absl::StrCat("docs/example/", file));
  };
  const std::vector<std::string> arguments = {"sweep",
                                              example("digits.onnx"),
                                              "--target",
                                              "dla-64-o-512k",
                                              "--target",
                                              "toy-array",
                                              "--calibration",
                                              example("digits_calibration.npz"),
                                              "--data",
                                              example("digits_test.npz"),
                                              "--limit",
                                              "40",
                                              "--validate",
                                              "--metric",
                                              "mae",
                                              "--max-error",
                                              "0",
                                              "--quiet"};
  std::vector<std::string> json = arguments;
  json.push_back("--json");
  const Outcome outcome = cluster().Cli(json);
  EXPECT_EQ(outcome.exit_code, 3) << outcome;
  const Rows rows = RowsOf(outcome);
  ASSERT_EQ(rows.cells.size(), 2u) << outcome;
  for (const auto& [cell, row] : rows.cells) {
    EXPECT_EQ(row["report"]["accuracy"]["metric"], "mae") << cell;
    EXPECT_GT(row["report"]["accuracy"]["value"], 0) << cell;
    EXPECT_EQ(row["report"]["gates"][0]["name"], "error") << cell;
    EXPECT_EQ(row["report"]["gates"][0]["unit"], "mae") << cell;
  }
  const Outcome table = cluster().Cli(arguments);
  EXPECT_NE(table.out.find("  mae "), std::string::npos) << table;
}

TEST_F(SweepTest, ACellThatFailsIsARowAndTheRestFinishes) {
  EK_REQUIRE_SHARED(kResnet);
  const std::string bad = sandbox().Write("bad.tflite", "no model");
  const std::string small =
      sandbox().Write("small.txtpb",
                      "extends: \"dla-64-o-512k\"\nset { name: \"flash_bytes\" "
                      "value: 4096 }\n");
  const Outcome outcome = cluster().Cli(
      {"sweep", SharedPath(kResnet), bad, "--target", "dla-64-o-512k",
       "--target", small, "--timing-only", "--json", "--quiet"});
  EXPECT_EQ(outcome.exit_code, 1) << outcome;
  const Rows rows = RowsOf(outcome);
  ASSERT_EQ(rows.cells.size(), 4u) << outcome;
  EXPECT_EQ(rows.cells.at(0)["state"], "done");
  for (const int cell : {1, 2, 3}) {
    EXPECT_EQ(rows.cells.at(cell)["state"], "failed") << cell;
    EXPECT_NE(rows.cells.at(cell)["error"]["fix"], "") << cell;
  }
  EXPECT_EQ(rows.summary["failed_by_user"], 3);
}

// How ranges are found says nothing of a model that keeps its integers.
TEST_F(SweepTest, AKeyWithoutMeaningForAModelIsDropped) {
  EK_REQUIRE_SHARED(kDscnn);
  const std::string model = SharedPath(kDscnn);
  const std::string bad = sandbox().Write("bad.tflite", "no model");
  const std::vector<std::string> arguments = {"sweep",
                                              model,
                                              bad,
                                              "--target",
                                              "dla-64-o-512k",
                                              "--vary",
                                              "offload=all,none",
                                              "--vary",
                                              "calibration-method=mse,minmax",
                                              "--timing-only",
                                              "--json",
                                              "--quiet"};
  std::vector<std::string> dry = arguments;
  dry.push_back("--dry-run");
  const Outcome planned = cluster().Cli(dry);
  ASSERT_EQ(planned.exit_code, 0) << planned;
  const Outcome outcome = cluster().Cli(arguments);
  EXPECT_EQ(outcome.exit_code, 1) << outcome;
  const Rows rows = RowsOf(outcome);
  ASSERT_EQ(rows.cells.size(), 8u) << outcome;
  for (const Rows& told : {RowsOf(planned), rows}) {
    for (const auto& [cell, row] : told.cells) {
      EXPECT_EQ(row["state"] == "merged", cell == 1 || cell == 3) << row;
    }
    // The engines take it as it is.
    EXPECT_EQ(told.cells.at(1)["same_as"], 0);
    EXPECT_EQ(told.cells.at(3)["same_as"], 2);
    EXPECT_EQ(told.summary["merged"], 2);
  }
  // Each cell of a model that cannot be read says so itself.
  for (int cell = 4; cell < 8; ++cell) {
    EXPECT_EQ(rows.cells.at(cell)["state"], "failed") << cell;
  }
  // The cells that were merged are the same program.
  for (const auto& [offload, cell] : {std::pair("all", 0), {"none", 2}}) {
    for (const char* method : {"mse", "minmax"}) {
      const Outcome alone =
          cluster().Cli({"profile", model, "--target", "dla-64-o-512k",
                         "--offload", offload, "--calibration-method", method,
                         "--timing-only", "--json", "--quiet"});
      ASSERT_EQ(alone.exit_code, 0) << alone;
      EXPECT_EQ(Json::parse(alone.out)["program"],
                rows.cells.at(cell)["report"]["program"])
          << offload << " " << method;
    }
  }
}

// Its engines take more of the model once it is quantized anew.
TEST_F(SweepTest, AKeyThatMattersToOneTargetAloneIsDroppedFromTheOther) {
  EK_REQUIRE_SHARED(kMobilenet);
  const Outcome outcome = cluster().Cli(
      {"sweep", SharedPath(kMobilenet), "--target", "toy-shift", "--target",
       "dla-64-o-512k", "--vary", "calibration-method=minmax,mse", "--dry-run",
       "--json", "--quiet"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome;
  const Rows rows = RowsOf(outcome);
  ASSERT_EQ(rows.cells.size(), 4u) << outcome;
  for (const auto& [cell, row] : rows.cells) {
    EXPECT_EQ(row["state"], cell == 3 ? "merged" : "valid") << row;
  }
}

TEST_F(SweepTest, LimitsAreThoseOfRows) {
  EK_REQUIRE_SHARED(kResnet);
  const auto with = [&](const std::string& most) {
    return cluster().Cli({"sweep", SharedPath(kResnet), "--target",
                          "dla-64-o-512k", "--vary", "pes=16,64",
                          "--timing-only", "--max-cycles", most, "--json",
                          "--quiet"});
  };
  const Outcome broken = with("600k");
  EXPECT_EQ(broken.exit_code, 3) << broken;
  EXPECT_EQ(RowsOf(broken).summary["gates_failed"], 1) << broken;
  EXPECT_EQ(with("1M").exit_code, 0);
}

TEST_F(SweepTest, WhatCannotBeMeantIsRefusedBeforeAnythingRuns) {
  EK_REQUIRE_SHARED(kResnet);
  const std::string model = SharedPath(kResnet);
  struct Case {
    std::vector<std::string> arguments;
    std::string reason;
  };
  for (const Case& c : std::vector<Case>{
           {{"--vary", "pess=1"}, "SWEEP_KEY_UNKNOWN"},
           {{"--vary", "pes=1000000"}, "SWEEP_VALUE_OUT_OF_RANGE"},
           {{"--vary", "pes=many"}, "SWEEP_VALUE_INVALID"},
           {{"--recipe", "fast"}, "RECIPE_UNKNOWN"},
           {{"--target", "dla-99-*"}, "TARGET_UNKNOWN"},
           {{"--exclude", "pes=1"}, "SWEEP_KEY_UNKNOWN"}}) {
    std::vector<std::string> arguments = {"sweep", model, "--target",
                                          "dla-64-o-512k"};
    arguments.insert(arguments.end(), c.arguments.begin(), c.arguments.end());
    const v1::ErrorDetail error = FailureOf(cluster(), arguments, 1);
    EXPECT_EQ(error.reason(), c.reason);
    EXPECT_NE(error.fix(), "") << c.reason;
  }
}

TEST_F(SweepTest, WatchersSeeTheWholeOfADetachedSweep) {
  EK_REQUIRE_SHARED(kDscnn);
  const std::string file = sandbox().Write(
      "sweep.txtpb",
      absl::StrCat("groups {\n  models { file: \"", SharedPath(kDscnn),
                   "\" }\n  targets { name: \"toy-*\" }\n",
                   "  vary { key: \"offload\" values: [\"all\", \"none\"] }\n",
                   "  goal: SWEEP_TIMING\n}\n"));
  const Outcome started =
      cluster().Cli({"sweep", "run", file, "--detach", "--json", "--quiet"});
  ASSERT_EQ(started.exit_code, 0) << started;
  const std::string id = Json::parse(started.out)["sweep"];
  const Outcome watched =
      cluster().Cli({"sweep", "watch", id, "--json", "--quiet"});
  ASSERT_EQ(watched.exit_code, 0) << watched;
  const Outcome shown =
      cluster().Cli({"sweep", "show", "last", "--json", "--quiet"});
  EXPECT_EQ(RowsOf(watched).cells, RowsOf(shown).cells);
  EXPECT_GE(RowsOf(watched).cells.size(), 4u);
  const Outcome csv = cluster().Cli({"sweep", "show", id, "--csv", "-"});
  EXPECT_EQ(csv.out.substr(0, 41), "cell,state,model,target,recipe,offload,cy")
      << csv;
  // Cells are not among the jobs.
  const Outcome jobs = cluster().Cli({"jobs", "list", "--limit", "1"});
  EXPECT_NE(jobs.out.find(id), std::string::npos) << jobs;
}

TEST(SweepWorkersTest, RowsAreTheSameOnOneWorkerAndFourThroughKills) {
  EK_REQUIRE_SHARED(kResnet);
  EK_REQUIRE_SHARED(kDscnn);
  const std::vector<std::string> arguments = {
      "sweep",     SharedPath(kResnet),  SharedPath(kDscnn),
      "--target",  "dla-64-*k",          "--target",
      "dla-64-*m", "--target",           "toy-array",
      "--vary",    "offload=all,paying", "--json",
      "--quiet"};
  std::map<int, Json> want;
  for (const int workers : {1, 4}) {
    const std::unique_ptr<Cluster> cluster = Cluster::Start();
    ASSERT_NE(cluster, nullptr);
    for (int i = 0; i < workers; ++i) cluster->AddWorker();
    const Outcome outcome = cluster->Cli(arguments);
    ASSERT_EQ(outcome.exit_code, 0) << outcome;
    const Rows rows = RowsOf(outcome);
    if (want.empty()) want = Comparable(rows);
    EXPECT_EQ(Comparable(rows), want) << workers << " workers";
  }
  const std::unique_ptr<Cluster> cluster = Cluster::Start();
  ASSERT_NE(cluster, nullptr);
  int worker = cluster->AddWorker();
  const std::unique_ptr<Process> watcher = cluster->StartCli(arguments);
  for (int i = 0; i < 4; ++i) {
    absl::SleepFor(absl::Milliseconds(150));
    if (i % 2 == 0) {
      cluster->KillDaemon();
      ASSERT_TRUE(cluster->StartDaemon());
    } else {
      cluster->KillWorker(worker);
      worker = cluster->AddWorker();
    }
  }
  const Outcome outcome =
      cluster->sandbox().Finish(*watcher, absl::Seconds(120));
  ASSERT_EQ(outcome.exit_code, 0) << outcome;
  EXPECT_EQ(Comparable(RowsOf(outcome)), want);
}

TEST(SweepWorkersTest, ACrashingStageIsAFailureOfOurs) {
  EK_REQUIRE_SHARED(kDscnn);
  const std::unique_ptr<Cluster> cluster = Cluster::Start();
  ASSERT_NE(cluster, nullptr);
  cluster->AddWorker({"--test-crash-stage", "simulate"});
  const std::string model = SharedPath(kDscnn);
  const Outcome outcome = cluster->Cli(
      {"sweep", model, "--target", "toy-array", "--json", "--quiet"});
  EXPECT_EQ(outcome.exit_code, 4) << outcome;
  const Rows rows = RowsOf(outcome);
  ASSERT_EQ(rows.cells.size(), 1u);
  EXPECT_EQ(rows.cells.at(0)["state"], "failed");
  EXPECT_EQ(rows.summary["failed_by_service"], 1);
}

TEST(SweepWorkersTest, CancellingFreesTheWorkers) {
  EK_REQUIRE_SHARED(kResnet);
  const std::unique_ptr<Cluster> cluster = Cluster::Start();
  ASSERT_NE(cluster, nullptr);
  cluster->AddWorker();
  std::string seeds = "seed=1";
  for (int i = 2; i <= 100; ++i) absl::StrAppend(&seeds, ",", i);
  const Outcome started =
      cluster->Cli({"sweep", SharedPath(kResnet), "--target", "dla-64-o-512k",
                    "--vary", seeds, "--detach", "--json", "--quiet"});
  ASSERT_EQ(started.exit_code, 0) << started;
  const std::string id = Json::parse(started.out)["sweep"];
  absl::SleepFor(absl::Milliseconds(500));
  const Outcome cancelled =
      cluster->Cli({"sweep", "cancel", id, "--json", "--quiet"});
  ASSERT_EQ(cancelled.exit_code, 0) << cancelled;
  // Somebody else's job is next, and no cell is left.
  const Outcome next = cluster->Cli({"profile", SharedPath(kResnet), "--target",
                                     "toy-array", "--timing-only", "--quiet"});
  EXPECT_EQ(next.exit_code, 0) << next;
  const Outcome active =
      cluster->Cli({"jobs", "list", "--state", "active", "--json"});
  EXPECT_TRUE(Json::parse(active.out)["jobs"].empty()) << active;
  const Outcome shown = cluster->Cli({"sweep", "show", id, "--json"});
  EXPECT_LT(RowsOf(shown).cells.size(), 100u);
}

}  // namespace
}  // namespace edgekiln::tests
