#include "client/check/judge.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "client/baseline.h"
#include "client/check/describe.h"

namespace edgekiln::client {
namespace {

constexpr char kProject[] = R"(groups {
  models { file: "net.onnx" name: "net" }
  targets { name: "chip" }
  goal: SWEEP_VALIDATE
  gates {
    max_cycles: 100
    max_memory { name: "flash" bytes: 50 }
    max_memory { name: "only_elsewhere" bytes: 1 }
    min_accuracy: 0.9
  }
  regression { max_cycles_growth: 2 max_memory_growth: 0 max_accuracy_drop: 1 }
})";

v1::Report Report(const std::string& changes = "") {
  v1::Report report;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"pb(
        target_name: "chip"
        model_name: "net.onnx"
        totals { cycles: 100 latency_ms: 1 }
        layers { id: "conv1" cycles: 60 sram_bytes: 30 }
        layers { id: "conv2" cycles: 40 sram_bytes: 20 }
        memory {
          memories { name: "flash" used_bytes: 50 capacity_bytes: 64 }
          memories { name: "sram" used_bytes: 30 capacity_bytes: 64 }
        }
        accuracy { metric: "top1" value: 0.95 samples: 100 }
        bit_exact { outputs_compared: 10 }
      )pb",
      &report));
  EXPECT_TRUE(google::protobuf::TextFormat::MergeFromString(changes, &report));
  return report;
}

class JudgeTest : public testing::Test {
 protected:
  JudgeTest() : project_(*ParseProject(kProject, "p.txtpb")) {
    row_.set_state(v1::SweepRow::DONE);
    row_.set_model("net");
    row_.set_target("chip");
    row_.set_recipe("default");
    row_.set_job("j1");
  }

  v1::CheckCell Judge(const v1::Report& report,
                      std::optional<std::string> baseline) {
    *row_.mutable_report() = report;
    row_.mutable_report()->clear_layers();
    CellInput input{.row = &row_,
                    .outcome = &row_,
                    .names = {.name = "net on chip", .file = "f"},
                    .whole = &report,
                    .baseline_path = "baselines/f",
                    .baseline = std::move(baseline)};
    return JudgeCell(project_, input);
  }

  ProjectFile project_;
  v1::SweepRow row_;
};

TEST_F(JudgeTest, WhatKeepsAllPasses) {
  const v1::CheckCell cell = Judge(Report(), std::nullopt);
  EXPECT_EQ(cell.state(), v1::CheckCell::PASSED);
  EXPECT_EQ(cell.name(), "net on chip");
  EXPECT_EQ(cell.job(), "j1");
  EXPECT_EQ(cell.totals().cycles(), 100);
  ASSERT_EQ(cell.memories_size(), 2);
  EXPECT_EQ(cell.memories(1).used_bytes(), 30);
  // One of a memory that the target does not have is not its own.
  ASSERT_EQ(cell.gates_size(), 3);
  EXPECT_EQ(cell.baseline().state(), v1::CheckBaseline::MISSING);
  EXPECT_EQ(cell.place().line(), 2);
  EXPECT_TRUE(DescribeCell(cell).empty());
}

TEST_F(JudgeTest, WhatWasCancelledIsNotTheFaultOfTheModel) {
  row_.set_state(v1::SweepRow::CANCELLED);
  row_.mutable_error()->set_fault(v1::ErrorDetail::USER);
  row_.mutable_error()->set_code(3);
  row_.mutable_error()->set_reason("BAD_MODEL");
  EXPECT_EQ(Judge(Report(), std::nullopt).state(), v1::CheckCell::ERROR);
  row_.set_state(v1::SweepRow::FAILED);
  EXPECT_EQ(Judge(Report(), std::nullopt).state(), v1::CheckCell::FAILED);
}

TEST_F(JudgeTest, TheVerySameReportIsNotParsed) {
  const v1::CheckCell cell =
      Judge(Report("job_id: 'j1'"), BaselineJson({Report("job_id: 'j0'")}));
  EXPECT_EQ(cell.baseline().state(), v1::CheckBaseline::UNCHANGED);
  EXPECT_EQ(CyclesChangeText(cell), "same");
}

struct Case {
  const char* name;
  const char* baseline;  // Changes of the report before.
  const char* now;
  const char* rule;  // Empty: passes.
  double value, limit, before, change, percent;
  const char* layer;
  int64_t layer_change;
  int line;
  const char* message;
};

TEST_F(JudgeTest, EachBreakIsNamedWithAmountLayerAndPlace) {
  const Case kCases[] = {
      {"cycles budget", "",
       "totals { cycles: 110 } layers { id: 'conv3' "
       "cycles: 10 }",
       "budget.cycles", 110, 100, 100, 10, 10, "conv1", 10, 6,
       "cycles 110, at most 100: 10 too many (+10.0 %), most in conv1; since "
       "the baseline conv3 grew most, by 10 cycles"},
      {"cycles regression", "totals { cycles: 90 }", "", "regression.cycles",
       100, 2, 90, 10, 100.0 / 9, "", 0, 11,
       "cycles grew from 90 to 100 (+11.11 %); allowed is +2 %"},
      {"memory budget and regression", "",
       "memory { memories { name: 'x' used_bytes: 1 } memories { name: "
       "'flash' } } ",
       "", 0, 0, 0, 0, 0, "", 0, 0, ""},
      {"accuracy budget", "accuracy { value: 0.85 }",
       "accuracy { value: 0.85 }", "budget.accuracy", 0.85, 0.9, -1, -0.05,
       -0.05 / 0.9 * 100, "", 0, 9, "accuracy 85.00 %, at least 90.00 %"},
      {"accuracy regression", "", "accuracy { value: 0.93 }",
       "regression.accuracy", 0.93, 1, 0.95, -2, 0, "", 0, 11,
       "accuracy fell from 95.00 % to 93.00 % (-2.00 points); allowed is -1 "
       "points"},
      {"mismatch", "", "bit_exact { mismatches: 3 first_mismatch: 'conv2' }",
       "values.mismatch", 3, 0, -1, 3, 0, "conv2", 0, 1, "3 of 10 values"},
  };
  for (const Case& row : kCases) {
    SCOPED_TRACE(row.name);
    const v1::CheckCell cell =
        Judge(Report(row.now), BaselineJson({Report(row.baseline)}));
    if (row.rule[0] == '\0') {
      EXPECT_EQ(cell.state(), v1::CheckCell::PASSED) << cell.DebugString();
      continue;
    }
    EXPECT_EQ(cell.state(), v1::CheckCell::BROKEN);
    const v1::CheckFinding* found = nullptr;
    for (const v1::CheckFinding& finding : cell.findings()) {
      if (finding.rule() == row.rule) found = &finding;
    }
    ASSERT_NE(found, nullptr) << cell.DebugString();
    EXPECT_DOUBLE_EQ(found->value(), row.value);
    EXPECT_DOUBLE_EQ(found->limit(), row.limit);
    if (row.before >= 0) {
      EXPECT_DOUBLE_EQ(found->baseline(), row.before);
    }
    EXPECT_NEAR(found->change(), row.change, 1e-9);
    EXPECT_NEAR(found->percent(), row.percent, 1e-9);
    EXPECT_EQ(found->layer(), row.layer);
    EXPECT_EQ(found->layer_change(), row.layer_change);
    EXPECT_EQ(found->place().line(), row.line);
    EXPECT_TRUE(absl::StrContains(found->message(), row.message))
        << found->message();
    EXPECT_FALSE(found->fix().empty());
  }
}

TEST_F(JudgeTest, AScratchpadThatGrewIsNamedWithItsLayer) {
  v1::Report now = Report();
  now.mutable_layers(1)->set_sram_bytes(40);
  now.mutable_memory()->mutable_memories(1)->set_used_bytes(40);
  const v1::CheckCell cell = Judge(now, BaselineJson({Report()}));
  ASSERT_EQ(cell.findings_size(), 1) << cell.DebugString();
  EXPECT_EQ(cell.findings(0).rule(), "regression.memory");
  EXPECT_EQ(cell.findings(0).quantity(), "memory.sram");
  EXPECT_EQ(cell.findings(0).unit(), "bytes");
  EXPECT_EQ(cell.findings(0).layer(), "conv2");
  EXPECT_EQ(cell.findings(0).layer_change(), 20);
  const std::string told = absl::StrJoin(DescribeCell(cell), "\n");
  EXPECT_TRUE(absl::StrContains(told, "memory.sram 30 -> 40 (+33.33 %)"))
      << told;
  EXPECT_TRUE(absl::StrContains(told, "conv2 (SRAM 20 B -> 40 B)")) << told;
}

TEST_F(JudgeTest, AChangeWithinTheLimitsIsToldAndPasses) {
  v1::Report now = Report("totals { cycles: 99 }");
  now.mutable_layers(0)->set_cycles(59);
  const v1::CheckCell cell = Judge(now, BaselineJson({Report()}));
  EXPECT_EQ(cell.state(), v1::CheckCell::PASSED);
  EXPECT_EQ(cell.baseline().state(), v1::CheckBaseline::CHANGED);
  EXPECT_EQ(CyclesChangeText(cell), "-1.00 %");
  ASSERT_EQ(cell.baseline().layers_size(), 1);
  EXPECT_EQ(cell.baseline().layers(0).id(), "conv1");
  EXPECT_EQ(cell.baseline().layers(0).change(), -1);
}

TEST_F(JudgeTest, ManyLayersAreCounted) {
  v1::Report now = Report();
  for (int i = 0; i < 30; ++i) {
    v1::Report::Layer& layer = *now.add_layers();
    layer.set_id(std::to_string(i));
    layer.set_cycles(1);
  }
  const v1::CheckCell cell = Judge(now, BaselineJson({Report()}));
  EXPECT_EQ(cell.baseline().layers_size(), 20);
  EXPECT_EQ(cell.baseline().more_layers(), 10);
}

TEST_F(JudgeTest, ABaselineThatIsNotOneIsAFinding) {
  for (const std::string& bytes :
       {std::string(), std::string("{"), std::string("<<<<<<< HEAD\n"),
        std::string("\xff\0", 2), BaselineJson({Report(), Report()})}) {
    const v1::CheckCell cell = Judge(Report(), bytes);
    ASSERT_EQ(cell.findings_size(), 1) << bytes;
    EXPECT_EQ(cell.findings(0).rule(), "baseline.unreadable");
    EXPECT_EQ(PlaceText(cell.findings(0).place()), "baselines/f");
  }
}

TEST_F(JudgeTest, FailuresSayWhoseFaultTheyAre) {
  row_.clear_report();
  row_.set_state(v1::SweepRow::FAILED);
  row_.mutable_error()->set_fault(v1::ErrorDetail::USER);
  row_.mutable_error()->set_code(3);
  row_.mutable_error()->set_what("unknown op");
  CellInput input{.row = &row_, .outcome = &row_};
  EXPECT_EQ(JudgeCell(project_, input).state(), v1::CheckCell::FAILED);
  EXPECT_FALSE(JudgeCell(project_, input).has_baseline());
  EXPECT_FALSE(NeedsWhole(project_, input));
  row_.mutable_error()->set_fault(v1::ErrorDetail::INFRA);
  row_.mutable_error()->set_code(13);
  EXPECT_EQ(JudgeCell(project_, input).state(), v1::CheckCell::ERROR);
  row_.set_state(v1::SweepRow::REFUSED);
  EXPECT_EQ(JudgeCell(project_, input).state(), v1::CheckCell::SKIPPED);
  input.outcome = nullptr;
  EXPECT_EQ(JudgeCell(project_, input).state(), v1::CheckCell::ERROR);
}

TEST_F(JudgeTest, WholeReportsAreFetchedOnlyWhereTheyAreNeeded) {
  *row_.mutable_report() = Report();
  CellInput input{.row = &row_, .outcome = &row_};
  EXPECT_FALSE(NeedsWhole(project_, input));
  input.baseline = "";
  EXPECT_TRUE(NeedsWhole(project_, input));
  input.baseline.reset();
  input.update = true;
  EXPECT_TRUE(NeedsWhole(project_, input));
  input.update = false;
  row_.mutable_report()->mutable_totals()->set_cycles(101);
  EXPECT_TRUE(NeedsWhole(project_, input));
}

}  // namespace
}  // namespace edgekiln::client
