// Quantization for engines that add operands of one scale and shift sums right.

#include <map>
#include <ostream>
#include <string>
#include <utility>

#include "compiler/ir/text.h"
#include "compiler/quantize/quantize.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

constexpr char kNeeds[] =
    "per_tensor: 'fully_connected' symmetric_activations: true "
    "power_of_two_scales: true rounding: FLOOR equal_addends: true";

using Ranges = std::map<std::string, float>;  // From - to + this.

struct AddendsCase {
  const char* name;
  const char* graph;
  Ranges ranges;
  std::map<std::string, float> scales;  // Of int8 tensors.
  const char* needs = kNeeds;
};

void PrintTo(const AddendsCase& row, std::ostream* out) { *out << row.name; }

absl::StatusOr<Graph> Quantized(const AddendsCase& row) {
  const absl::StatusOr<Graph> graph = ParseGraph(row.graph);
  EXPECT_TRUE(graph.ok()) << graph.status();
  v1::QuantizationNeeds needs;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(row.needs, &needs));
  v1::CalibrationStatistics statistics;
  for (const auto& [tensor, most] : row.ranges) {
    auto* range = statistics.add_ranges();
    range->set_tensor(tensor);
    range->set_min(-most);
    range->set_max(most);
  }
  return QuantizeGraph(*graph, statistics, needs);
}

class EqualAddendsTest : public testing::TestWithParam<AddendsCase> {};

TEST_P(EqualAddendsTest, HaveTheseScales) {
  const auto quantized = Quantized(GetParam());
  ASSERT_TRUE(quantized.ok()) << quantized.status();
  std::map<std::string, float> scales;
  for (const Tensor& tensor : quantized->tensors) {
    if (tensor.quantization)
      scales[tensor.name] = tensor.quantization->scale[0];
  }
  for (const auto& [tensor, scale] : GetParam().scales) {
    ASSERT_TRUE(scales.contains(tensor)) << tensor;
    EXPECT_EQ(scales[tensor], scale) << tensor;
  }
}

constexpr char kSum[] = R"(
%a : float32[1,2] = input
%b : float32[1,2] = input
%y : float32[1,2] = add(%a, %b) id y
return %y
)";

const AddendsCase kCases[] = {
    {"TheWiderRangeCounts",
     kSum,
     {{"a", 1}, {"b", 100}, {"y", 100}},
     {{"a.int8", 1}, {"b.int8", 1}, {"y.int8", 1}}},
    {"WithoutTheNeedEachHasItsOwn",
     kSum,
     {{"a", 1}, {"b", 100}, {"y", 100}},
     {{"a.int8", 1.0f / 64}, {"b.int8", 1}, {"y.int8", 1}},
     "symmetric_activations: true power_of_two_scales: true"},
    {"ASumIsNotBelow",
     kSum,
     {{"a", 100}, {"b", 100}, {"y", 1}},
     {{"a.int8", 1}, {"b.int8", 1}, {"y.int8", 1}}},
    {"ASumMayBeAbove",
     kSum,
     {{"a", 100}, {"b", 100}, {"y", 200}},
     {{"a.int8", 1}, {"b.int8", 1}, {"y.int8", 2}}},
    // Not of powers of two alone.
    {"AnyScales",
     kSum,
     {{"a", 127}, {"b", 254}, {"y", 127}},
     {{"a.int8", 508.0f / 255},
      {"b.int8", 508.0f / 255},
      {"y.int8", 508.0f / 255}},
     "equal_addends: true"},
    // b's scale reaches a through the pool and the reshape.
    {"ThroughWhatKeepsScales",
     R"(
%a : float32[1,2,2,1] = input
%b : float32[1,1] = input
%p : float32[1,1,1,1] = max_pool2d(%a) {kernel_h 2 kernel_w 2 window {stride_h 2 stride_w 2 dilation_h 1 dilation_w 1}} id p
%r : float32[1,1] = reshape(%p) id r
%y : float32[1,1] = add(%r, %b) id y
return %y
)",
     {{"a", 1}, {"b", 100}, {"p", 1}, {"r", 1}, {"y", 100}},
     {{"a.int8", 1}, {"p", 1}, {"r", 1}, {"b.int8", 1}, {"y.int8", 1}}},
    // What is joined is one, and so all that is added to it.
    {"ThroughAConcatenation",
     R"(
%a : float32[1,1] = input
%b : float32[1,1] = input
%c : float32[1,2] = input
%j : float32[1,2] = concat(%a, %b) {axis 1} id j
%y : float32[1,2] = add(%j, %c) id y
%z : float32[1,1] = add(%a, %b) id z
return %y, %z
)",
     {{"a", 1}, {"b", 2}, {"c", 3.9f}, {"j", 2}, {"y", 100}, {"z", 3}},
     {{"a.int8", 0.03125f},
      {"b.int8", 0.03125f},
      {"c.int8", 0.03125f},
      {"j", 0.03125f},
      {"y.int8", 1},
      {"z.int8", 0.03125f}}},
    // %z would see little of %a and %b in the scale of %c, which %j shares.
    {"NotThroughAConcatenationThatCostsMoreThanABit",
     R"(
%a : float32[1,1] = input
%b : float32[1,1] = input
%c : float32[1,2] = input
%j : float32[1,2] = concat(%a, %b) {axis 1} id j
%y : float32[1,2] = add(%j, %c) id y
%z : float32[1,1] = add(%a, %b) id z
return %y, %z
)",
     {{"a", 1}, {"b", 2}, {"c", 100}, {"j", 2}, {"y", 100}, {"z", 3}},
     {{"a.int8", 0.03125f},
      {"b.int8", 0.03125f},
      {"c.int8", 1},
      {"j", 1},
      {"y.int8", 1},
      {"z.int8", 0.03125f}}},
    // Each sum is what the next one adds: scales rise from one to the next.
    {"ResidualChain",
     R"(
%x : float32[1,2] = input
%v : float32[1,2] = input
%w : float32[1,2] = input
%a : float32[1,2] = add(%x, %v) id a
%b : float32[1,2] = add(%a, %w) id b
%c : float32[1,2] = add(%b, %a) id c
return %c
)",
     {{"x", 400}, {"v", 1}, {"w", 1}, {"a", 1}, {"b", 1}, {"c", 1}},
     {{"x.int8", 4},
      {"v.int8", 4},
      {"w.int8", 4},
      {"a", 4},
      {"b", 4},
      {"c.int8", 4}}},
    // The host's.
    {"OfAConstant",
     R"(
%a : float32[1,2] = input
%b : float32[1,2] = constant [100, 0]
%y : float32[1,2] = add(%a, %b) id y
return %y
)",
     {{"a", 1}, {"y", 100}},
     {{"a.int8", 1.0f / 64}, {"b.int8", 1}, {"y.int8", 1}}},
    // A sum of products in steps of 1 makes no results in steps of 1/64.
    {"NoLayerShiftsToTheLeft",
     R"(
%x : float32[1,2] = input
%w : float32[1,2] = constant [100, 0]
%y : float32[1,1] = fully_connected(%x, %w) id y
return %y
)",
     {{"x", 100}, {"y", 1}},
     {{"x.int8", 1}, {"w.int", 1}, {"y.int8", 1}}},
    // Of weights of 0, any scale will do: with the least one, biases are exact.
    {"WeightsOfZero",
     R"(
%x : float32[1,2] = input
%w : float32[1,2] = constant [0, 0]
%y : float32[1,1] = fully_connected(%x, %w) id y
return %y
)",
     {{"x", 100}, {"y", 1}},
     {{"x.int8", 1}, {"w.int", 1.0f / (1 << 30) / 128}, {"y.int8", 1.0f / 64}},
     "per_tensor: 'fully_connected' symmetric_activations: true "
     "power_of_two_scales: true"},
};

INSTANTIATE_TEST_SUITE_P(All, EqualAddendsTest, testing::ValuesIn(kCases),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

TEST(EqualAddendsTest, OnlyAdditionsAndLayersRoundDown) {
  const auto quantized = Quantized(kCases[5]);
  ASSERT_TRUE(quantized.ok()) << quantized.status();
  for (const Op& op : quantized->ops) {
    EXPECT_EQ(op.attributes.rounding() == v1::FLOOR, op.attributes.has_add())
        << op.id;
  }
}

}  // namespace
}  // namespace edgekiln::compiler
