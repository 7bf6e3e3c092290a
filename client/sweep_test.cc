// What the command line makes of sweeps, without a daemon.

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "client/command_line.h"
#include "client/exit_code.h"
#include "client/pareto.h"
#include "client/render/sweep_marks.h"
#include "client/render/sweep_rows_text.h"
#include "client/render/sweep_table.h"
#include "client/sweep_file.h"
#include "client/sweep_options.h"
#include "client/sweep_plan.h"
#include "client/sweep_rows.h"
#include "gtest/gtest.h"

namespace edgekiln::client {
namespace {

TEST(SweepOptionsTest, KeysAndValues) {
  const auto vary = ParseVary("pes=16,32KiB,all");
  ASSERT_TRUE(vary.ok());
  EXPECT_EQ(vary->key(), "pes");
  EXPECT_EQ(vary->values_size(), 3);
  EXPECT_EQ(vary->values(1), "32KiB");
  for (const char* bad : {"", "pes", "=1", "pes=", "pes=1,,2", "pes=1,"}) {
    EXPECT_EQ(ExitCodeFor(ParseVary(bad).status()), ExitCode::kUsage) << bad;
  }
  const auto exclude = ParseExclude(" target=dla-*  pes=64 ");
  ASSERT_TRUE(exclude.ok());
  ASSERT_EQ(exclude->when_size(), 2);
  EXPECT_EQ(exclude->when(1).key(), "pes");
  for (const char* bad : {"", " ", "pes", "=3", "a=1 b"}) {
    EXPECT_EQ(ExitCodeFor(ParseExclude(bad).status()), ExitCode::kUsage) << bad;
  }
}

TEST(SweepOptionsTest, CommandsGoBeforeModels) {
  const auto command = [](const std::vector<std::string>& args) {
    const auto line = ParseCommandLine(args);
    EXPECT_TRUE(line.ok()) << line.status();
    return line.ok() ? line->command : Command::kHelp;
  };
  EXPECT_EQ(command({"sweep", "a.onnx", "b.onnx", "--target", "t"}),
            Command::kSweep);
  EXPECT_EQ(command({"sweep", "--target", "t", "./run"}), Command::kSweep);
  EXPECT_EQ(command({"sweep", "run", "f"}), Command::kSweepRun);
  EXPECT_EQ(command({"sweep", "list"}), Command::kSweepList);
  EXPECT_EQ(command({"sweep", "show", "last"}), Command::kSweepShow);
  EXPECT_EQ(command({"sweep", "watch", "last"}), Command::kSweepWatch);
  EXPECT_EQ(command({"sweep", "cancel", "last"}), Command::kSweepCancel);
  for (const std::vector<std::string>& bad :
       std::vector<std::vector<std::string>>{
           {"sweep"},
           {"sweep", "a.onnx"},
           {"sweep", "a.onnx", "--target", "t", "--vary", "pes"},
           {"sweep", "a.onnx", "--target", "t", "--validate",
            "--timing-only"}}) {
    EXPECT_EQ(ExitCodeFor(ParseCommandLine(bad).status()), ExitCode::kUsage);
  }
}

TEST(SweepFileTest, TheSchemaIsClosed) {
  const auto good = ParseSweepFile(
      "groups { models { file: 'a' } targets { name: 'dla-*' }\n"
      "  vary { key: 'pes' values: ['1', '2'] } goal: SWEEP_TIMING }",
      "s.txtpb");
  ASSERT_TRUE(good.ok()) << good.status();
  EXPECT_EQ(good->groups(0).vary(0).values_size(), 2);
  struct Case {
    const char* text;
    const char* part;
  };
  for (const Case& c : std::vector<Case>{
           {"groups { model { file: 'a' } }", "did you mean \"models\"?"},
           {"groups {\n  recipe: 'x' }", "s.txtpb:2:"},
           {"groups { goal: SWEEP_TIME }", "SWEEP_TIME"},
           {"groups {", "s.txtpb:1:"},
           {"", "no groups"},
           {"\x01\xff", "s.txtpb:1:"}}) {
    const absl::Status status = ParseSweepFile(c.text, "s.txtpb").status();
    EXPECT_EQ(ExitCodeFor(status), ExitCode::kUsage) << c.text;
    EXPECT_NE(status.message().find(c.part), std::string::npos)
        << c.text << ": " << status;
  }
  const std::string large(kMaxSweepFileBytes + 1, ' ');
  EXPECT_FALSE(ParseSweepFile(large, "s").ok());
  std::string deep;
  for (int i = 0; i < 10'000; ++i) deep += "groups { ";
  EXPECT_FALSE(ParseSweepFile(deep, "s").ok());
}

// Parsers see bytes that nobody meant for them.
TEST(SweepFileTest, MutatedFilesAreReadOrRefused) {
  const std::string good =
      "groups { models { file: 'a' name: 'b' dimensions { name: 'N' extent: 1 }"
      " } targets { name: 'x' } vary { key: 'pes' values: '1' } exclude { when "
      "{"
      " key: 'pes' value: '1' } } options { seed: 7 } gates { max_cycles: 5 } "
      "}";
  std::mt19937 random(7);
  int read = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string text = good;
    for (unsigned n = random() % 4 + 1; n > 0; --n) {
      const size_t at = random() % text.size();
      switch (random() % 3) {
        case 0:
          text[at] = static_cast<char>(random());
          break;
        case 1:
          text.erase(at, random() % 8);
          break;
        default:
          text.insert(at, good.substr(random() % good.size(), random() % 16));
      }
      if (text.empty()) text = "g";
    }
    read += ParseSweepFile(text, "s").ok() ? 1 : 0;
  }
  EXPECT_GT(read, 0);
}

TEST(ParetoTest, IsWhatComparingAllWithAllSays) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    const size_t count = random() % 40;
    const size_t axes = random() % 4 + 1;
    std::vector<std::vector<double>> points(count);
    for (auto& point : points) {
      for (size_t i = 0; i < axes; ++i) point.push_back(random() % 8 / 8.0);
    }
    GrowingFront front;
    for (size_t known = 1; known <= count; ++known) {
      front.Add(points[known - 1]);
      for (size_t a = 0; a < known; ++a) {
        bool dominated = false;
        for (size_t b = 0; b < known; ++b) {
          bool no_worse = true;
          for (size_t i = 0; i < axes; ++i) {
            no_worse = no_worse && points[b][i] <= points[a][i];
          }
          dominated = dominated || (no_worse && points[b] != points[a]);
        }
        ASSERT_EQ(front.Has(a), !dominated)
            << "round " << round << " point " << a << " of " << known;
      }
    }
  }
}

v1::SweepRow Row(int cell, const std::string& pes, int64_t cycles) {
  v1::SweepRow row;
  row.set_cell(cell);
  row.set_state(v1::SweepRow::DONE);
  row.set_model("net");
  row.set_target("dla");
  row.set_recipe("default");
  v1::SweepRow::Value& value = *row.add_values();
  value.set_key("pes");
  value.set_value(pes);
  row.set_job("j1");
  v1::Report& report = *row.mutable_report();
  report.set_model_name("net");
  report.set_target_name("dla");
  report.mutable_totals()->set_cycles(cycles);
  report.mutable_totals()->set_latency_ms(static_cast<double>(cycles) / 1000);
  v1::MemoryUse& use = *report.mutable_memory()->add_memories();
  use.set_name("sram");
  use.set_used_bytes(1000 - cell);
  return row;
}

// Cell 0 and 1 are done, 2 the same as 0, 3 refused; a limit of 600 cycles.
SweepRows FourRows() {
  v1::SweepRequest request;
  request.add_groups()->mutable_gates()->set_max_cycles(600);
  SweepRows rows(request);
  v1::JobEvent event;
  event.mutable_planned()->add_keys("pes");
  event.mutable_planned()->mutable_summary()->set_cells(4);
  event.mutable_planned()->mutable_summary()->set_valid(2);
  event.mutable_planned()->mutable_summary()->set_refused(1);
  event.mutable_planned()->mutable_summary()->set_merged(1);
  EXPECT_FALSE(rows.Apply(event));
  v1::SweepRow refused = Row(3, "=1+2", 0);
  refused.set_state(v1::SweepRow::REFUSED);
  refused.clear_report();
  refused.clear_job();
  refused.mutable_error()->set_reason("TARGET_INVALID");
  refused.mutable_error()->set_what("out of range");
  v1::SweepRow merged = Row(2, "16", 0);
  merged.set_state(v1::SweepRow::MERGED);
  merged.clear_report();
  merged.set_same_as(0);
  for (const v1::SweepRow& row :
       {refused, merged, Row(1, "32 \"x\",y", 500), Row(0, "16", 900)}) {
    *event.mutable_row() = row;
    EXPECT_TRUE(rows.Apply(event));
  }
  return rows;
}

TEST(SweepRowsTest, LimitsAndFailuresDecideTheOutcome) {
  SweepRows rows = FourRows();
  EXPECT_EQ(rows.gates_failed(), 1);
  EXPECT_EQ(rows.summary().done(), 2);
  EXPECT_EQ(ExitCodeFor(rows.Outcome()), ExitCode::kGate);
  v1::JobEvent event;
  *event.mutable_row() = Row(4, "1", 0);
  event.mutable_row()->set_state(v1::SweepRow::FAILED);
  event.mutable_row()->mutable_error()->set_fault(v1::ErrorDetail::USER);
  event.mutable_row()->mutable_error()->set_code(3);
  event.mutable_row()->mutable_error()->set_what("bad model");
  rows.Apply(event);
  EXPECT_EQ(ExitCodeFor(rows.Outcome()), ExitCode::kModel);
  event.mutable_row()->set_cell(5);
  event.mutable_row()->mutable_error()->set_fault(v1::ErrorDetail::INFRA);
  event.mutable_row()->mutable_error()->set_code(13);
  rows.Apply(event);
  EXPECT_EQ(ExitCodeFor(rows.Outcome()), ExitCode::kInfra);
}

// Cell 1, of the second group, was merged into cell 0 of the first.
TEST(SweepRowsTest, AMergedCellKeepsTheLimitsOfItsOwnGroup) {
  const auto outcome = [](const v1::SweepGates& gates) {
    v1::SweepRequest request;
    request.add_groups();
    *request.add_groups()->mutable_gates() = gates;
    SweepRows rows(request);
    v1::JobEvent event;
    *event.mutable_row() = Row(0, "16", 900);
    rows.Apply(event);
    v1::SweepRow merged = Row(1, "16", 0);
    merged.set_state(v1::SweepRow::MERGED);
    merged.clear_report();
    merged.set_same_as(0);
    merged.set_group(1);
    *event.mutable_row() = merged;
    rows.Apply(event);
    return rows.Outcome();
  };
  v1::SweepGates gates;
  gates.set_max_cycles(1000);
  EXPECT_TRUE(outcome(gates).ok()) << outcome(gates);
  gates.set_max_cycles(600);
  EXPECT_EQ(ExitCodeFor(outcome(gates)), ExitCode::kGate);
  gates.set_max_cycles(1000);
  gates.add_max_memory()->set_name("sram");
  gates.mutable_max_memory(0)->set_bytes(1000);
  EXPECT_TRUE(outcome(gates).ok()) << outcome(gates);
  gates.mutable_max_memory(0)->set_name("srm");
  EXPECT_EQ(ExitCodeFor(outcome(gates)), ExitCode::kUsage);
}

TEST(SweepRowsTest, JsonAndCsvAreForPrograms) {
  const SweepRows rows = FourRows();
  const std::string line = RowToJsonLine(rows.InOrder()[1]);
  EXPECT_NE(line.find("\"key\": \"model=net target=dla recipe=default "
                      "pes=\\\"32 \\\\\\\"x\\\\\\\",y\\\"\""),
            std::string::npos)
      << line;
  EXPECT_NE(line.find("\"same_as\": null, \"error\": null"), std::string::npos)
      << line;
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
  EXPECT_EQ(RowsToCsv(rows),
            "cell,state,model,target,recipe,pes,cycles,latency_ms,sram_bytes,"
            "accuracy,same_as,job,error,metric,disagreement,fidelity\r\n"
            "0,done,net,dla,default,16,900,0.9,1000,,,j1,,,,\r\n"
            "1,done,net,dla,default,\"32 \"\"x\"\",y\",500,0.5,999,,,j1,,,,\r\n"
            "2,merged,net,dla,default,16,,,,,0,j1,,,,\r\n"
            "3,refused,net,dla,default,'=1+2,,,,,,,TARGET_INVALID,,,\r\n");
}

// As in the report of one target.
TEST(SweepTableTest, EstimatesAreMarked) {
  SweepRows rows = FourRows();
  v1::JobEvent event;
  *event.mutable_row() = Row(0, "16", 900);
  event.mutable_row()->mutable_report()->mutable_totals()->set_fidelity(
      v1::ESTIMATE);
  rows.Apply(event);
  const std::string text = RenderSweep(rows, {}, Style::Plain());
  EXPECT_NE(text.find(" 900 (estimate)  "), std::string::npos) << text;
  EXPECT_NE(text.find(" 500 * "), std::string::npos) << text;
  EXPECT_NE(RowsToCsv(rows).find(",,,estimate\r\n"), std::string::npos);
}

TEST(SweepTableTest, ShowsRowsMarksAndWhatWasRefused) {
  const std::string text = RenderSweep(FourRows(), {}, Style::Plain());
  EXPECT_EQ(
      text,
      "CELL  PES       CYCLES    LATENCY    SRAM  NOTE\n"
      "   0  16           900     0.9 ms  1000 B  1 limit broken\n"
      "   1  32 \"x\",y     500 *   0.5 ms   999 B  front\n"
      "* fewest cycles of the model; front: no other row of it is as good "
      "in cycles, sram and better in one\n"
      "\n"
      "refused: out of range\n"
      "  cell:  3 (model=net target=dla recipe=default pes=\"=1+2\")\n"
      "\n"
      "4 cells: 2 of 2 done, 1 refused, 1 the same as another cell\n");
  for (const int width : {40, 60, 80, 120}) {
    const std::string fitted = RenderSweep(
        FourRows(), {}, Style::Terminal([width] { return width; }, false));
    size_t begin = 0;
    // The table; prose below it is wrapped by the terminal.
    for (int line = 0; line < 3; ++line) {
      const size_t end = fitted.find('\n', begin);
      EXPECT_LE(TextWidth(fitted.substr(begin, end - begin)), width);
      begin = end + 1;
    }
  }
}

TEST(SweepTableTest, TheFrontLooksAtAccuracyWhereItWasMeasured) {
  v1::SweepRow exact = Row(0, "16", 900);
  v1::SweepRow fast = Row(1, "32", 500);
  v1::SweepRow worst = Row(2, "64", 900);
  const std::vector<std::string> memories = {"sram"};
  // Fewer cycles and bytes each: without accuracy, the first has no chance.
  fast.mutable_report()->mutable_memory()->mutable_memories(0)->set_used_bytes(
      10);
  using Front = std::map<int, bool>;
  EXPECT_EQ(MarksOf({exact, fast, worst}, memories).front,
            (Front{{0, false}, {1, true}, {2, false}}));
  const auto set = [](const char* metric, double value, v1::SweepRow& row) {
    row.mutable_report()->mutable_accuracy()->set_metric(metric);
    row.mutable_report()->mutable_accuracy()->set_value(value);
  };
  set("top1", 0.98, exact);
  set("top1", 0.97, fast);
  set("top1", 0.96, worst);
  EXPECT_EQ(MarksOf({exact, fast, worst}, memories).front,
            (Front{{0, true}, {1, true}, {2, false}}));
  EXPECT_EQ(MarksOf({exact, fast, worst}, memories).best,
            (Front{{0, false}, {1, true}, {2, false}}));
  // Of errors less is better.
  set("mse", 0.1, exact);
  set("mse", 0.1, fast);
  set("mse", 0.01, worst);
  EXPECT_EQ(MarksOf({exact, fast, worst}, memories).front,
            (Front{{0, false}, {1, true}, {2, true}}));
  // Different metrics say nothing of each other.
  set("top1", 0.1, exact);
  EXPECT_TRUE(MarksOf({exact, fast, worst}, memories).front[0]);
}

TEST(SweepPlanTest, APlanOfAnotherRequestIsNotBelieved) {
  v1::SweepRequest request;
  request.add_groups()->add_models()->set_name("net");
  v1::SweepPlan plan;
  v1::SweepPlan::Cell& cell = *plan.add_cells();
  cell.set_group(7);
  cell.set_model(-1);
  cell.set_target(3);
  cell.add_values(5);
  EXPECT_EQ(RowOfPlan(request, plan, 0).model(), "");
  cell.set_group(0);
  cell.set_model(0);
  EXPECT_EQ(RowOfPlan(request, plan, 0).model(), "net");
}

}  // namespace
}  // namespace edgekiln::client
