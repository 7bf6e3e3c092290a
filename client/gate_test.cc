#include "client/gate.h"

#include <google/protobuf/text_format.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "base/error.h"
#include "client/error_detail.h"
#include "client/exit_code.h"
#include "gtest/gtest.h"

namespace edgekiln::client {
namespace {

v1::Report Report(const std::string& target = "chip",
                  bool with_accuracy = false) {
  v1::Report report;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"pb(
        totals { cycles: 1000 latency_ms: 2.5 }
        layers { id: "conv1" cycles: 300 sram_bytes: 64 }
        layers { id: "conv2" cycles: 600 sram_bytes: 512 }
        layers { id: "conv3" cycles: 100 sram_bytes: 256 }
        memory {
          ram_bytes: 96
          memories { name: "flash" used_bytes: 4096 capacity_bytes: 8192 }
          memories { name: "dtcm" used_bytes: 96 capacity_bytes: 8192 }
          memories { name: "sram" used_bytes: 512 capacity_bytes: 8192 }
        }
      )pb",
      &report));
  report.set_job_id("7");
  report.set_target_name(target);
  if (with_accuracy) report.mutable_accuracy()->set_value(0.9);
  return report;
}

std::string TextOf(const v1::Report::Gate& gate) {
  return gate.ShortDebugString();
}

struct GateCase {
  const char* name;
  Gates gates;
  bool with_accuracy;
  const char* gate;   // ShortDebugString of the only one.
  const char* error;  // `what`; empty: passes.

  friend void PrintTo(const GateCase& test, std::ostream* out) {
    *out << test.name;
  }
};

class GateTest : public testing::TestWithParam<GateCase> {};

TEST_P(GateTest, IsInTheReportAndFailsIfBroken) {
  const GateCase& param = GetParam();
  std::vector<v1::Report> reports = {Report("chip", param.with_accuracy)};
  const absl::Status applied = ApplyGates(param.gates, reports);
  ASSERT_TRUE(applied.ok()) << applied;
  ASSERT_EQ(reports[0].gates_size(), 1);
  EXPECT_EQ(TextOf(reports[0].gates(0)), param.gate);
  const absl::Status status = CheckGates(reports);
  EXPECT_EQ(status.ok(), std::string(param.error).empty()) << status;
  if (status.ok()) return;
  EXPECT_EQ(ExitCodeFor(status), ExitCode::kGate) << status;
  const ErrorDetail detail = *GetErrorDetail(status);
  EXPECT_EQ(detail.what, param.error);
  EXPECT_EQ(detail.where, "chip");
  EXPECT_FALSE(detail.fix.empty());
  EXPECT_TRUE(LinesOf(status).empty());
}

const GateCase kCases[] = {
    {"CyclesAtTheLimit",
     {.max_cycles = 1000},
     false,
     R"(name: "cycles" limit: 1000 value: 1000 unit: "cycles" target: "chip" layer: "conv2" passed: true)",
     ""},
    {"CyclesAbove",
     {.max_cycles = 800},
     false,
     R"(name: "cycles" limit: 800 value: 1000 unit: "cycles" target: "chip" layer: "conv2")",
     "cycles 1 000, at most 800: 200 too many (+25.0 %), most in conv2"},
    {"LatencyAtTheLimit",
     {.max_latency_ms = 2.5},
     false,
     R"(name: "latency_ms" limit: 2.5 value: 2.5 unit: "ms" target: "chip" layer: "conv2" passed: true)",
     ""},
    {"LatencyAbove",
     {.max_latency_ms = 2},
     false,
     R"(name: "latency_ms" limit: 2 value: 2.5 unit: "ms" target: "chip" layer: "conv2")",
     "latency 2.5 ms, at most 2 ms: 0.5 ms too long (+25.0 %), most in "
     "conv2"},
    {"FlashAtTheLimit",
     {.max_memory = {{"flash", 4096}}},
     false,
     R"(name: "memory.flash" limit: 4096 value: 4096 unit: "bytes" target: "chip" passed: true)",
     ""},
    {"FlashAbove",
     {.max_memory = {{"flash", 2048}}},
     false,
     R"(name: "memory.flash" limit: 2048 value: 4096 unit: "bytes" target: "chip")",
     "memory.flash 4.0 KiB, at most 2.0 KiB: 2.0 KiB too many (+100.0 %)"},
    // Rounded, both would be 4.0 KiB.
    {"FlashJustAbove",
     {.max_memory = {{"flash", 4095}}},
     false,
     R"(name: "memory.flash" limit: 4095 value: 4096 unit: "bytes" target: "chip")",
     "memory.flash 4 096 B, at most 4 095 B: 1 B too many (+0.0 %)"},
    {"LimitsThatAreNoKibibytesStayAsTheyWereGiven",
     {.max_memory = {{"flash", 4000}}},
     false,
     R"(name: "memory.flash" limit: 4000 value: 4096 unit: "bytes" target: "chip")",
     "memory.flash 4 096 B, at most 4 000 B: 96 B too many (+2.4 %)"},
    {"ScratchpadAboveNamesTheLayerAtItsPeak",
     {.max_memory = {{"sram", 500}}},
     false,
     R"(name: "memory.sram" limit: 500 value: 512 unit: "bytes" target: "chip" layer: "conv2")",
     "memory.sram 512 B, at most 500 B: 12 B too many (+2.4 %), most in conv2"},
    {"RamUnderWhateverName",
     {.max_ram_bytes = 95},
     false,
     R"(name: "ram_bytes" limit: 95 value: 96 unit: "bytes" target: "chip")",
     "ram 96 B, at most 95 B: 1 B too many (+1.1 %)"},
    {"NothingAllowed",
     {.max_cycles = 0},
     false,
     R"(name: "cycles" value: 1000 unit: "cycles" target: "chip" layer: "conv2")",
     "cycles 1 000, at most 0: 1 000 too many, most in conv2"},
    {"AccuracyAtTheLimit",
     {.min_accuracy = 0.9},
     true,
     R"(name: "accuracy" limit: 0.9 value: 0.9 target: "chip" passed: true)",
     ""},
    {"AccuracyBelow",
     {.min_accuracy = 0.925},
     true,
     R"(name: "accuracy" limit: 0.925 value: 0.9 target: "chip")",
     "accuracy 90.00 %, at least 92.50 %: 2.50 points too low"},
    {"NoAccuracy",
     {.min_accuracy = 0.5},
     false,
     R"(name: "accuracy" limit: 0.5 target: "chip")",
     "accuracy not in the report, at least 50.00 %"},
};

INSTANTIATE_TEST_SUITE_P(All, GateTest, testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

struct MetricGateCase {
  const char* name;
  Gates gates;
  const char* accuracy;  // Text form.
  const char* gate;
  const char* error;

  friend void PrintTo(const MetricGateCase& test, std::ostream* out) {
    *out << test.name;
  }
};

class MetricGateTest : public testing::TestWithParam<MetricGateCase> {};

TEST_P(MetricGateTest, FollowsTheMetric) {
  const MetricGateCase& param = GetParam();
  std::vector<v1::Report> reports = {Report()};
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      param.accuracy, reports[0].mutable_accuracy()));
  ASSERT_TRUE(ApplyGates(param.gates, reports).ok());
  ASSERT_EQ(reports[0].gates_size(), 1);
  EXPECT_EQ(TextOf(reports[0].gates(0)), param.gate);
  const absl::Status status = CheckGates(reports);
  EXPECT_EQ(status.ok(), std::string(param.error).empty()) << status;
  if (status.ok()) return;
  EXPECT_EQ(ExitCodeFor(status), ExitCode::kGate) << status;
  EXPECT_EQ(GetErrorDetail(status)->what, param.error);
  EXPECT_FALSE(GetErrorDetail(status)->fix.empty());
}

INSTANTIATE_TEST_SUITE_P(
    All, MetricGateTest,
    testing::Values(
        MetricGateCase{
            "AucBelow",
            {.min_accuracy = 0.85},
            R"pb(metric: "auc"
                 value: 0.8469
                 reference: FLOAT
                 reference_value: 0.86)pb",
            R"(name: "accuracy" limit: 0.85 value: 0.8469 target: "chip")",
            "accuracy 84.69 %, at least 85.00 %: 0.31 points too low; the "
            "reference has 0.8600"},
        // Labels that got lost must not let a bad network pass.
        MetricGateCase{"AgreementIsNoAccuracy",
                       {.min_accuracy = 0.5},
                       R"pb(metric: "agreement" value: 1)pb",
                       R"(name: "accuracy" limit: 0.5 target: "chip")",
                       "accuracy not in the report, at least 50.00 %"},
        MetricGateCase{"AnErrorIsNoAccuracy",
                       {.min_accuracy = 0.5},
                       R"pb(metric: "mse" value: 7 less_is_better: true)pb",
                       R"(name: "accuracy" limit: 0.5 target: "chip")",
                       "accuracy not in the report, at least 50.00 %"},
        MetricGateCase{
            "ErrorAtTheLimit",
            {.max_error = 0.25},
            R"pb(metric: "mae" value: 0.25 less_is_better: true)pb",
            R"(name: "error" limit: 0.25 value: 0.25 unit: "mae" target: "chip" passed: true)",
            ""},
        MetricGateCase{
            "ErrorAbove",
            {.max_error = 0.02},
            R"pb(metric: "mse" value: 0.031 less_is_better: true)pb",
            R"(name: "error" limit: 0.02 value: 0.031 unit: "mse" target: "chip")",
            "mse 0.031, at most 0.02: 0.011 too large (+55.0 %)"},
        MetricGateCase{"AccuracyIsNoError",
                       {.max_error = 2},
                       R"pb(metric: "top1" value: 0.9)pb",
                       R"(name: "error" limit: 2 target: "chip")",
                       "error not in the report, at most 2"},
        MetricGateCase{
            "DisagreementAtTheLimit",
            {.max_disagreement = 0.01},
            R"pb(metric: "top1"
                 disagreement { interval { value: 0.01 } })pb",
            R"(name: "disagreement" limit: 0.01 value: 0.01 target: "chip" passed: true)",
            ""},
        MetricGateCase{
            "DisagreementAbove",
            {.max_disagreement = 0.01},
            R"pb(metric: "top1"
                 disagreement { interval { value: 0.025 } })pb",
            R"(name: "disagreement" limit: 0.01 value: 0.025 target: "chip")",
            "disagreement 2.50 %, at most 1.00 %: 1.50 points too high"},
        MetricGateCase{"NoClasses",
                       {.max_disagreement = 0.01},
                       R"pb(metric: "mse" less_is_better: true)pb",
                       R"(name: "disagreement" limit: 0.01 target: "chip")",
                       "disagreement not in the report, at most 1.00 %"}),
    [](const auto& info) { return info.param.name; });

TEST(GateTest, WithoutLimitsNothingIsAddedAndAllPass) {
  std::vector<v1::Report> reports = {Report()};
  ASSERT_TRUE(ApplyGates({}, reports).ok());
  EXPECT_EQ(reports[0].gates_size(), 0);
  EXPECT_TRUE(CheckGates(reports).ok());
}

TEST(GateTest, EveryBrokenLimitOfEveryTargetIsALine) {
  std::vector<v1::Report> reports = {Report("a"), Report("b")};
  reports[1].mutable_totals()->set_cycles(700);
  const Gates gates = {.max_cycles = 800,
                       .max_memory = {{"sram", 256}, {"flash", 8192}}};
  ASSERT_TRUE(ApplyGates(gates, reports).ok());
  EXPECT_EQ(reports[0].gates_size(), 3);
  const absl::Status status = CheckGates(reports);
  EXPECT_EQ(ExitCodeFor(status), ExitCode::kGate);
  EXPECT_EQ(GetErrorDetail(status)->what, "3 of 6 limits are broken");
  EXPECT_EQ(
      LinesOf(status),
      (std::vector<std::string>{
          "a: cycles 1 000, at most 800: 200 too many (+25.0 %), most in conv2",
          "a: memory.sram 512 B, at most 256 B: 256 B too many (+100.0 %), "
          "most "
          "in conv2",
          "b: memory.sram 512 B, at most 256 B: 256 B too many (+100.0 %), "
          "most "
          "in conv2"}));
}

// Fields of an error are cut to what a gRPC trailer takes; lines are not.
TEST(GateTest, ManyBrokenLimitsAreAllTold) {
  std::vector<v1::Report> reports(200, Report());
  ASSERT_TRUE(ApplyGates({.max_cycles = 1}, reports).ok());
  EXPECT_EQ(LinesOf(CheckGates(reports)).size(), 200u);
}

TEST(GateTest, AMemoryCountsWhereATargetHasIt) {
  std::vector<v1::Report> reports = {Report("a"), Report("b")};
  reports[1].mutable_memory()->mutable_memories(1)->set_name("ram");
  ASSERT_TRUE(ApplyGates({.max_memory = {{"ram", 1}}}, reports).ok());
  EXPECT_EQ(reports[0].gates_size(), 0);
  EXPECT_EQ(reports[1].gates_size(), 1);

  const absl::Status nowhere =
      ApplyGates({.max_memory = {{"itcm", 4096}}}, reports);
  EXPECT_EQ(ExitCodeFor(nowhere), ExitCode::kUsage) << nowhere;
  const ErrorDetail detail = *GetErrorDetail(nowhere);
  EXPECT_EQ(detail.what, "no target has a memory 'itcm'");
  EXPECT_EQ(detail.need,
            "a memory of the target: a: flash, dtcm, sram; b: flash, ram, "
            "sram");
  const absl::Status typo = ApplyGates({.max_memory = {{"dtcn", 1}}}, reports);
  EXPECT_TRUE(absl::StrContains(GetErrorDetail(typo)->fix, "dtcm=1")) << typo;
}

// A failed target may be the one that has it, and gets no gates.
TEST(GateTest, FailedTargetsAreNotJudged) {
  std::vector<v1::Report> reports = {Report("a"), Report("b")};
  v1::Report failed;
  failed.mutable_error()->set_what("does not fit");
  reports[1] = failed;
  const Gates gates = {.max_cycles = 1, .max_memory = {{"itcm", 4096}}};
  ASSERT_TRUE(ApplyGates(gates, reports).ok());
  EXPECT_EQ(reports[0].gates_size(), 1);
  EXPECT_EQ(reports[1].gates_size(), 0);
}

TEST(GateTest, MemoriesThatAreNotToldBreakTheirLimit) {
  std::vector<v1::Report> reports = {Report()};
  reports[0].mutable_memory()->clear_memories();
  ASSERT_TRUE(ApplyGates({.max_memory = {{"flash", 4096}}}, reports).ok());
  const absl::Status status = CheckGates(reports);
  EXPECT_EQ(ExitCodeFor(status), ExitCode::kGate);
  EXPECT_TRUE(absl::StrContains(GetErrorDetail(status)->fix, "daemon"));
}

TEST(GateTest, MismatchesFailWhateverTheGates) {
  std::vector<v1::Report> reports = {Report("a"), Report("b")};
  reports[1].mutable_bit_exact()->set_mismatches(1);
  reports[1].mutable_bit_exact()->set_outputs_compared(2);
  reports[1].mutable_bit_exact()->set_first_mismatch("conv1 index 3");
  absl::Status status = CheckGates(reports);
  EXPECT_EQ(ExitCodeFor(status), ExitCode::kGate);
  ErrorDetail detail = *GetErrorDetail(status);
  EXPECT_EQ(detail.fault, Fault::kInfra);
  EXPECT_EQ(detail.where, "b: conv1 index 3");
  EXPECT_TRUE(absl::StrContains(detail.fix, "job 7")) << detail.fix;

  // Beside a broken limit both are told, and our fault stays ours.
  ASSERT_TRUE(ApplyGates({.max_cycles = 800}, reports).ok());
  status = CheckGates(reports);
  detail = *GetErrorDetail(status);
  EXPECT_EQ(detail.fault, Fault::kInfra);
  EXPECT_EQ(detail.what,
            "2 of 2 limits are broken, and values differ from the reference on "
            "1 target");
  EXPECT_EQ(LinesOf(status).size(), 3u);
}

// Whose the loss is decides what helps.
TEST(AccuracyGateTest, AnAccuracyBelowSaysWhatTheReferenceHas) {
  for (const auto& [reference, said, fix] :
       {std::tuple{0.97, "has 97.00 %", "calibrate"},
        std::tuple{0.92, "has 92.00 %", "train"}}) {
    std::vector<v1::Report> reports = {Report("chip", true)};
    reports[0].mutable_accuracy()->set_reference(v1::Report::Accuracy::FLOAT);
    reports[0].mutable_accuracy()->set_reference_value(reference);
    ASSERT_TRUE(ApplyGates({.min_accuracy = 0.95}, reports).ok());
    const ErrorDetail detail = *GetErrorDetail(CheckGates(reports));
    EXPECT_TRUE(absl::StrContains(detail.what, said)) << detail.what;
    EXPECT_TRUE(absl::StrContains(detail.fix, fix)) << detail.fix;
  }
}

}  // namespace
}  // namespace edgekiln::client
