// Cells of models that came quantized, as they are planned.

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "server/sweep/plan_sweep.h"

namespace edgekiln::server {
namespace {

constexpr int64_t kMaxCells = 20'000;

v1::SweepRequest ParseRequest(const std::string& text) {
  v1::SweepRequest request;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &request))
      << text;
  for (v1::SweepGroup& group : *request.mutable_groups()) {
    for (v1::SweepModel& model : *group.mutable_models()) {
      model.mutable_digest()->set_hash(model.file());
    }
  }
  return request;
}

// Of each cell, its options or the cell that it is merged into, and the keys
// that are dropped.
std::vector<std::string> StatesOf(const v1::SweepPlan& plan) {
  std::vector<std::string> states;
  for (const v1::SweepPlan::Cell& cell : plan.cells()) {
    std::string& state = states.emplace_back();
    if (cell.state() == v1::SweepPlan::MERGED) {
      state = absl::StrCat("= ", cell.same_as());
    } else {
      state = cell.options().ShortDebugString();
    }
    for (const int key : cell.dropped()) absl::StrAppend(&state, " -", key);
  }
  return states;
}

TEST(QuantizedCellsTest, AKeyWithoutMeaningForAModelIsDropped) {
  const v1::SweepRequest request = ParseRequest(
      "groups { models { file: 'int8.tflite' } models { file: 'float.onnx' } "
      "targets { name: 'dla-64-o-512k' } targets { name: 'rv32imc' } "
      "goal: SWEEP_TIMING "
      "vary { key: 'offload' values: ['all', 'none'] } "
      "vary { key: 'calibration-method' values: ['mse', 'kl'] } }");
  v1::SweepGroup quantized;
  *quantized.add_models() = request.groups(0).models(0);
  const auto plan = PlanSweep(request, {}, kMaxCells, quantized);
  ASSERT_TRUE(plan.ok()) << plan.status();
  const std::vector<std::string> of_each = {
      "offload: ALL calibrate { method: MSE }",
      "offload: ALL calibrate { method: KL }",
      "offload: NONE calibrate { method: MSE }",
      "offload: NONE calibrate { method: KL }"};
  std::vector<std::string> want = {
      // Engines may take more of it once it is quantized anew.
      of_each[0], of_each[1], "offload: NONE -1", "= 2 -1",
      // Nothing could.
      "offload: ALL -1", "= 4 -1", "offload: NONE -1", "= 6 -1"};
  // The float model.
  want.insert(want.end(), of_each.begin(), of_each.end());
  want.insert(want.end(), of_each.begin(), of_each.end());
  EXPECT_EQ(StatesOf(*plan), want);

  // Where it is not known how it came, both are planned alike.
  const auto unknown = PlanSweep(request, {}, kMaxCells);
  ASSERT_TRUE(unknown.ok()) << unknown.status();
  want = of_each;
  for (int i = 0; i < 3; ++i) {
    want.insert(want.end(), of_each.begin(), of_each.end());
  }
  EXPECT_EQ(StatesOf(*unknown), want);
}

v1::SweepPlan KeptOn(const std::string& variant) {
  v1::SweepPlan kept;
  kept.add_variants()->set_name(variant);
  kept.add_cells();
  return kept;
}

TEST(QuantizedCellsTest, WhereItWasAskedEnginesMakeNoDifference) {
  const std::string copy =
      "extends: \"dla-64-o-512k\"\nset { name: \"pes\" value: 32 }";
  v1::SweepRequest request = ParseRequest(
      "groups { models { file: 'int8.tflite' } models { file: 'other.tflite' } "
      "targets { name: 'dla-64-o-512k' } "
      "targets { name: 'copy' digest { hash: 'x' } } goal: SWEEP_TIMING "
      "vary { key: 'pes' values: ['16', '32'] } "
      "vary { key: 'calibration-method' values: ['mse', 'kl'] } }");
  const std::string mse = "calibrate { method: MSE }";
  const std::string kl = "calibrate { method: KL }";
  const auto plan = PlanSweep(request, {copy}, kMaxCells, request.groups(0),
                              KeptOn("dla-64-o-512k+pes=32"));
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(StatesOf(*plan),
            (std::vector<std::string>{
                mse, kl, " -1", "= 2 -1", "= 0", "= 1", "= 2 -1", "= 2 -1",
                // Nothing was asked about the other model.
                mse, kl, mse, kl, "= 8", "= 9", "= 10", "= 11"}));
  // Answers to other questions are none.
  v1::SweepPlan odd = KeptOn("dla-64-o-512k+pes=32");
  for (const int index : {-1, 7}) {
    odd.mutable_cells(0)->set_group(index);
    EXPECT_TRUE(
        PlanSweep(request, {copy}, kMaxCells, request.groups(0), odd).ok());
    odd.mutable_cells(0)->set_group(0);
    odd.mutable_cells(0)->set_model(index);
    EXPECT_TRUE(
        PlanSweep(request, {copy}, kMaxCells, request.groups(0), odd).ok());
    odd.mutable_cells(0)->set_model(0);
    odd.mutable_cells(0)->set_variant(index);
    EXPECT_TRUE(
        PlanSweep(request, {copy}, kMaxCells, request.groups(0), odd).ok());
  }
}

// Cells of other groups as well, and what a file says beside `requantize`.
TEST(QuantizedCellsTest,
     CellsThatKeepTheirIntegersAreMergedWhateverTheFileSays) {
  const std::string model = "models { file: 'int8.tflite' } ";
  const v1::SweepRequest request = ParseRequest(absl::StrCat(
      "groups { ", model,
      "targets { name: 'dla-64-o-512k' } goal: SWEEP_TIMING "
      "vary { key: 'quantization' values: ['default', 'a', 'b', 'c'] "
      "quantizations { } quantizations { requantize: OFF } "
      "quantizations { requantize: OFF samples: 5 } "
      "quantizations { requantize: ON } } } "
      "groups { ",
      model,
      "targets { name: 'dla-64-o-512k' } goal: SWEEP_TIMING options { "
      "calibrate { method: KL } quantization { requantize: OFF } } }"));
  v1::SweepGroup quantized;
  *quantized.add_models() = request.groups(0).models(0);
  const auto plan = PlanSweep(request, {}, kMaxCells, quantized);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(StatesOf(*plan),
            (std::vector<std::string>{
                "quantization { }", "quantization { requantize: OFF }", "= 1",
                "quantization { requantize: ON }", "= 1"}));
}

}  // namespace
}  // namespace edgekiln::server
