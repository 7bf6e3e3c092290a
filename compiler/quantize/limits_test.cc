#include "compiler/quantize/limits.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "compiler/ir/text.h"
#include "compiler/passes/clamps.h"
#include "compiler/quantize/quantize.h"
#include "compiler/quantize/testing/float_output.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

constexpr ScaleRules kShifts = {.symmetric = true, .power_of_two = true};

std::string Filled(const std::string& text) {
  return absl::StrReplaceAll(
      text,
      {{"WINDOW", "window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1}"},
       {"RELU6", "clamp {min 0 max 6}"}});
}

Graph Parse(const std::string& text) {
  absl::StatusOr<Graph> graph = ParseGraph(Filled(text));
  EXPECT_TRUE(graph.ok()) << graph.status();
  return graph.ok() ? *std::move(graph) : Graph();
}

// The upper limits of all ops that have one.
std::vector<float> LimitsOf(const Graph& graph) {
  std::vector<float> limits;
  for (const Op& op : graph.ops) {
    const v1::Clamp* clamp = ClampOf(op.attributes);
    if (clamp != nullptr && clamp->has_max()) limits.push_back(clamp->max());
  }
  return limits;
}

struct LimitsCase {
  const char* name;
  const char* text;
  ScaleRules rules;
  std::vector<float> limits;         // Afterwards.
  std::vector<std::string> changed;  // Tensors.
};

constexpr char kOneLayer[] = R"(
%x : float32[1,2,2,2] = input
%w : float32[2,1,1,2] = constant [1, 2, -3, 4]
%b : float32[2] = constant [1, 3]
%h : float32[1,2,2,2] = conv2d(%x, %w, %b) {WINDOW RELU6} id h
%v : float32[1,1,1,2] = constant [1, 2]
%y : float32[1,2,2,1] = conv2d(%h, %v) {WINDOW} id y
return %y
)";

const LimitsCase kCases[] = {
    {"BetweenTwoLayers", kOneLayer, kShifts, {7.9375f}, {"h"}},
    {"AllIntegersIfZeroPointsMayBe",
     kOneLayer,
     {.power_of_two = true},
     {7.96875f},
     {"h"}},
    {"NotWithAnyScale", kOneLayer, {.symmetric = true}, {6}, {}},
    {"NotOf16Bits",
     kOneLayer,
     {.symmetric = true, .power_of_two = true, .activations = v1::INT16},
     {6},
     {}},
    {"NotWhereItIsTheLargestIntegerAlready",
     R"(
%x : float32[1,2] = input
%w : float32[2,2] = constant [1, 2, -3, 4]
%h : float32[1,2] = fully_connected(%x, %w) {clamp {min 0 max 7.9375}} id h
%y : float32[1,2] = fully_connected(%h, %w) id y
return %y
)",
     kShifts,
     {7.9375f},
     {}},
    {"ThroughEverythingThatIsLinear",
     R"(
%x : float32[1,2,2,2] = input
%w : float32[2,1,1,2] = constant [1, 2, -3, 4]
%h : float32[1,2,2,2] = conv2d(%x, %w) {WINDOW RELU6} id h
%k : float32[1,2,2,2] = conv2d(%h, %w) {WINDOW clamp {min 0}} id k
%a : float32[1,2,2,2] = add(%h, %k) {RELU6} id a
%c : float32[1,2,2,4] = concat(%a, %h) {axis 3} id c
%t : float32[1,4,2,2] = transpose(%c) {permutation [0, 3, 1, 2]} id t
%r : float32[1,16] = reshape(%t) id r
%u : float32[1,16] = constant [1, 2, 3, 1, 1, -1, 2, 1, 0.5, 1, 1, 1, 1, 1, 1, 2]
%y : float32[1,1] = fully_connected(%r, %u) id y
return %y
)",
     kShifts,
     {7.9375f, 7.9375f},
     {"a", "c", "h", "k", "r", "t"}},
    {"LayersOnBothSidesOfTwoLimits",
     R"(
%x : float32[1,2,2,2] = input
%w : float32[2,1,1,2] = constant [1, 2, -3, 4]
%h : float32[1,2,2,2] = conv2d(%x, %w) {WINDOW RELU6} id h
%v : float32[1,1,1,4] = constant [1, -2, 3, -4]
%d : float32[1,2,2,4] = depthwise_conv2d(%h, %v) {WINDOW depth_multiplier 2 clamp {min 0 max 1}} id d
%u : float32[1,1,1,4] = constant [1, 2, 1, 2]
%y : float32[1,2,2,1] = conv2d(%d, %u) {WINDOW} id y
return %y
)",
     kShifts,
     {7.9375f, 1.984375f},
     {"d", "h"}},
    {"NotOfTwoLimits",
     R"(
%x : float32[1,2,2,2] = input
%w : float32[2,1,1,2] = constant [1, 2, -3, 4]
%h : float32[1,2,2,2] = conv2d(%x, %w) {WINDOW RELU6} id h
%k : float32[1,2,2,2] = conv2d(%h, %w) {WINDOW clamp {min 0 max 1}} id k
%a : float32[1,2,2,2] = add(%h, %k) id a
%y : float32[1,2,2,2] = conv2d(%a, %w) {WINDOW} id y
return %y
)",
     kShifts,
     {6, 1},
     {}},
    {"NotFromBelowZero",
     R"(
%x : float32[1,2] = input
%w : float32[2,2] = constant [1, 2, -3, 4]
%h : float32[1,2] = fully_connected(%x, %w) {clamp {min -1 max 6}} id h
%y : float32[1,2] = fully_connected(%h, %w) id y
return %y
)",
     kShifts,
     {6},
     {}},
    {"NotBesideALowerLimit",
     R"(
%x : float32[1,2] = input
%w : float32[2,2] = constant [1, 2, -3, 4]
%h : float32[1,2] = fully_connected(%x, %w) {RELU6} id h
%k : float32[1,2] = fully_connected(%h, %w) {clamp {min -3}} id k
%a : float32[1,2] = add(%h, %k) id a
%y : float32[1,2] = fully_connected(%a, %w) id y
return %y
)",
     kShifts,
     {6},
     {}},
    {"NotAtAnOutput",
     R"(
%x : float32[1,2] = input
%w : float32[2,2] = constant [1, 2, -3, 4]
%h : float32[1,2] = fully_connected(%x, %w) {RELU6} id h
%y : float32[1,2] = fully_connected(%h, %w) id y
return %y, %h
)",
     kShifts,
     {6},
     {}},
    {"NotBeforeACurve",
     R"(
%x : float32[1,2] = input
%w : float32[2,2] = constant [1, 2, -3, 4]
%h : float32[1,2] = fully_connected(%x, %w) {RELU6} id h
%s : float32[1,2] = softmax(%h) {beta 1 axis 1} id s
%y : float32[1,2] = fully_connected(%s, %w) id y
return %y
)",
     kShifts,
     {6},
     {}},
};

class FitLimitsTest : public testing::TestWithParam<LimitsCase> {};

TEST_P(FitLimitsTest, BecomeTheLargestInteger) {
  const Graph graph = Parse(GetParam().text);
  Graph fitted = graph;
  std::vector<std::string> changed;
  for (const auto& [name, factor] : FitLimits(GetParam().rules, fitted)) {
    changed.push_back(name);
    EXPECT_GT(factor, 1) << name;
    EXPECT_LT(factor, 2) << name;
  }
  EXPECT_EQ(changed, GetParam().changed);
  EXPECT_EQ(LimitsOf(fitted), GetParam().limits);
  EXPECT_EQ(PrintGraph(fitted) == PrintGraph(graph), changed.empty());
  ASSERT_TRUE(VerifyGraph(fitted).ok());
  const std::vector<float> before = Output(graph);
  const std::vector<float> after = Output(fitted);
  for (size_t i = 0; i < before.size(); ++i) {
    EXPECT_NEAR(after[i], before[i], 1e-5 * std::abs(before[i]) + 1e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(All, FitLimitsTest, testing::ValuesIn(kCases),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

v1::CalibrationStatistics Seen(const Graph& graph, float high) {
  v1::CalibrationStatistics statistics;
  for (const Tensor& tensor : graph.tensors) {
    if (tensor.is_constant()) continue;
    auto& range = *statistics.add_ranges();
    range.set_tensor(tensor.name);
    range.set_min(0);
    range.set_max(high);
    range.set_average_max(high / 2);
    // Bins 0, 1, and 7: values of 0, 1 and 7 steps.
    for (const int bin : {9, 4, 0, 5, 3}) {
      range.mutable_histogram()->add_positive(bin);
    }
  }
  return statistics;
}

TEST(MultipliedTest, LimitsStayLimits) {
  const Graph graph = Parse(kOneLayer);
  const v1::CalibrationStatistics seen =
      Multiplied(Seen(graph, 6), {{"h", 7.9375 / 6}});
  for (const auto& range : seen.ranges()) {
    const bool is_changed = range.tensor() == "h";
    EXPECT_EQ(range.max(), is_changed ? 7.9375f : 6) << range.tensor();
    EXPECT_EQ(range.average_max(), is_changed ? 3.96875f : 3);
    const auto& bins = range.histogram().positive();
    EXPECT_EQ(std::vector<uint64_t>(bins.begin(), bins.end()),
              is_changed ? std::vector<uint64_t>({9, 4, 0, 7, 3})
                         : std::vector<uint64_t>({9, 4, 0, 5, 3}));
  }
}

// Whatever part of the range was seen.
TEST(FitLimitsTest, IntegersSaturateAtThem) {
  for (const float high : {6.0f, 5.99f, 3.0f, 1.0f}) {
    v1::QuantizationNeeds needs;
    needs.set_symmetric_activations(true);
    needs.set_power_of_two_scales(true);
    const Graph graph = Parse(kOneLayer);
    const absl::StatusOr<Graph> quantized =
        QuantizeGraph(graph, Seen(graph, high), needs);
    ASSERT_TRUE(quantized.ok()) << quantized.status();
    bool found = false;
    for (const Op& op : quantized->ops) {
      if (op.id != "h") continue;
      found = true;
      const Tensor& made = quantized->tensors[op.outputs[0]];
      ASSERT_TRUE(made.quantization.has_value());
      EXPECT_GE(ClampOf(op.attributes)->max() / made.quantization->scale[0],
                127)
          << high;
    }
    EXPECT_TRUE(found);
  }
}

}  // namespace
}  // namespace edgekiln::compiler
