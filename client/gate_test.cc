#include "client/gate.h"

#include <string>
#include <utility>

#include "absl/strings/str_format.h"
#include "client/exit_code.h"
#include "gtest/gtest.h"

namespace edgekiln::client {
namespace {

v1::Report Report(bool with_accuracy) {
  v1::Report report;
  report.set_target_name("chip");
  report.mutable_totals()->set_cycles(1000);
  report.mutable_memory()->set_ram_bytes(64);
  if (with_accuracy) report.mutable_accuracy()->set_value(0.9);
  return report;
}

struct GateCase {
  const char* name;
  Gates gates;
  bool with_accuracy;
  const char* limit;  // Empty: passes.
};

class GateTest : public testing::TestWithParam<GateCase> {};

TEST_P(GateTest, PassesOrNamesTheLimit) {
  const GateCase& param = GetParam();
  const absl::Status status =
      CheckGates({Report(param.with_accuracy)}, param.gates);
  const std::string limit = param.limit;
  if (limit.empty()) {
    EXPECT_TRUE(status.ok()) << status;
    return;
  }
  EXPECT_EQ(ExitCodeFor(status), ExitCode::kGate) << status;
  EXPECT_NE(status.message().find(limit), absl::string_view::npos) << status;
}

const GateCase kCases[] = {
    {"None", {}, false, ""},
    {"CyclesAtTheLimit", {.max_cycles = 1000}, false, ""},
    {"CyclesAbove", {.max_cycles = 999}, false, "--max-cycles 999"},
    {"RamAtTheLimit", {.max_ram_bytes = 64}, false, ""},
    {"RamAbove", {.max_ram_bytes = 63}, false, "--max-ram 63"},
    {"AccuracyAtTheLimit", {.min_accuracy = 0.9}, true, ""},
    {"AccuracyBelow", {.min_accuracy = 0.91}, true, "--min-accuracy 0.91"},
    {"NoAccuracy", {.min_accuracy = 0.5}, false, "--min-accuracy 0.5"},
};

INSTANTIATE_TEST_SUITE_P(All, GateTest, testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

TEST(GateTest, MismatchesFailWhateverTheGates) {
  v1::Report report = Report(true);
  report.mutable_bit_exact()->set_mismatches(1);
  report.mutable_bit_exact()->set_outputs_compared(2);
  EXPECT_EQ(ExitCodeFor(CheckGates({report}, {})), ExitCode::kGate);
}

// Whose the loss is decides what helps.
TEST(AccuracyGateTest, AnAccuracyBelowSaysWhatTheReferenceHas) {
  v1::Report report = Report(/*with_accuracy=*/true);
  for (const auto& [reference, fix] :
       {std::pair{0.97, "calibrate"}, std::pair{0.92, "train"}}) {
    report.mutable_accuracy()->set_reference_value(reference);
    const std::string said(
        CheckGates({report}, {.min_accuracy = 0.95}).message());
    EXPECT_NE(said.find(absl::StrFormat("has %.4f", reference)),
              std::string::npos)
        << said;
    EXPECT_NE(said.find(fix), std::string::npos) << said;
  }
}

}  // namespace
}  // namespace edgekiln::client
