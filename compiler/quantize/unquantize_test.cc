#include "compiler/quantize/unquantize.h"

#include <cstring>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "base/error.h"
#include "compiler/ir/text.h"
#include "compiler/quantize/quantize.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

struct UnquantizeCase {
  const char* name;
  const char* before;
  const char* after;
};

void PrintTo(const UnquantizeCase& row, std::ostream* out) { *out << row.name; }

class UnquantizeTest : public testing::TestWithParam<UnquantizeCase> {};

TEST_P(UnquantizeTest, MakesFloats) {
  const absl::StatusOr<Graph> graph = ParseGraph(GetParam().before);
  ASSERT_TRUE(graph.ok()) << graph.status();
  const absl::StatusOr<FloatForm> form = Unquantize(*graph);
  ASSERT_TRUE(form.ok()) << form.status();
  const absl::StatusOr<Graph> expected = ParseGraph(GetParam().after);
  ASSERT_TRUE(expected.ok()) << expected.status();
  EXPECT_EQ(PrintGraph(form->graph), PrintGraph(*expected));
}

const UnquantizeCase kCases[] = {
    {"ScalesPerChannelAndABiasInStepsOfProducts",
     R"(
%x : int8[1,2] scale 0.5 zero -3 = input
%w : int8[2,2] axis 0 scale [0.25, 2] zero [0, 0] = constant [4, -8, 1, 3]
%b : int32[2] scale 7 zero 0 = constant [16, -3]
%y : int8[1,2] scale 1 zero 5 = fully_connected(%x, %w, %b) {rounding HALF_EVEN} id fc
return %y
)",
     R"(
%x : float32[1,2] = input
%w : float32[2,2] = constant [1, -2, 2, 6]
%b-2 : float32[2] = constant [2, -3]
%y : float32[1,2] = fully_connected(%x, %w, %b-2) id fc
return %y
)"},
    {"WeightsOfUint8HaveZeroPoints",
     R"(
%x : uint8[1,2] scale 0.5 zero 128 = input
%w : uint8[1,2] scale 0.5 zero 130 = constant [132, 128]
%y : uint8[1,1] scale 1 zero 100 = fully_connected(%x, %w) id fc
return %y
)",
     R"(
%x : float32[1,2] = input
%w : float32[1,2] = constant [1, -1]
%y : float32[1,1] = fully_connected(%x, %w) id fc
return %y
)"},
    {"Int16KeepsLongBiases",
     R"(
%x : int16[1,1] scale 0.5 zero 0 = input
%w : int8[1,1] scale 0.5 zero 0 = constant [2]
%b : int64[1] scale 0.25 zero 0 = constant [1099511627776]
%y : int16[1,1] scale 1 zero 0 = fully_connected(%x, %w, %b) id fc
return %y
)",
     R"(
%x : float32[1,1] = input
%w : float32[1,1] = constant [1]
%b-2 : float32[1] = constant [2.7487790694e11]
%y : float32[1,1] = fully_connected(%x, %w, %b-2) id fc
return %y
)"},
    {"ClampsStayAndSaturationAtZeroIsSaid",
     R"(
%x : int8[1,1] scale 0.5 zero 0 = input
%w : int8[1,1] scale 0.5 zero 0 = constant [2]
%a : int8[1,1] scale 0.25 zero -128 = fully_connected(%x, %w) {clamp {min 0 max 6}} id a
%c : int8[1,1] scale 0.25 zero -128 = fully_connected(%a, %w) id c
%s : int8[1,1] scale 0.5 zero -128 = add(%a, %c) id s
%y : int8[1,1] scale 0.5 zero -128 = add(%s, %x) id y
return %y
)",
     R"(
%x : float32[1,1] = input
%w : float32[1,1] = constant [1]
%a : float32[1,1] = fully_connected(%x, %w) {clamp {min 0 max 6}} id a
%c : float32[1,1] = fully_connected(%a, %w) {clamp {min 0}} id c
%s : float32[1,1] = add(%a, %c) id s
%y : float32[1,1] = add(%s, %x) {clamp {min 0}} id y
return %y
)"},
    // Fixed scales, tables and moves are ops like any other.
    {"FunctionsAreThemselves",
     R"(
%x : int8[1,4] scale 0.5 zero 1 = input
%g : int8[1,4] scale 0.00390625 zero -128 = unary(%x) {function SIGMOID} id g
%s : int8[1,4] scale 0.00390625 zero -128 = softmax(%g) {beta 1 axis 1} id s
return %s
)",
     R"(
%x : float32[1,4] = input
%g : float32[1,4] = unary(%x) {function SIGMOID} id g
%s : float32[1,4] = softmax(%g) {beta 1 axis 1} id s
return %s
)"},
    {"ConversionsGo",
     R"(
%x : float32[1,2] = input
%u : uint8[1,2] scale 0.5 zero 128 = quantize(%x) id q1
%q : int8[1,2] scale 0.25 zero 0 = quantize(%u) id q2
%t : int8[1,2] scale 0.25 zero 0 = unary(%q) {function TANH} id t
%y : float32[1,2] = dequantize(%t) id d
return %y
)",
     R"(
%x : float32[1,2] = input
%y : float32[1,2] = unary(%x) {function TANH} id t
return %y
)"},
    // The least integer is 0 there: what is negative is cut off.
    {"ConversionsThatCutOffAreReLUs",
     R"(
%x : int8[1,2] scale 0.25 zero 0 = input
%q : int8[1,2] scale 0.25 zero -128 = quantize(%x) id q
%y : int8[1,2] scale 0.25 zero -128 = unary(%q) {function SQRT} id y
return %y
)",
     R"(
%x : float32[1,2] = input
%q : float32[1,2] = clip(%x) {clamp {min 0}} id q
%y : float32[1,2] = unary(%q) {function SQRT} id y
return %y
)"},
    {"SumsOfTheirOwnAreRequantizedNoMore",
     R"(
%x : int8[1,2] scale 0.5 zero 0 = input
%w : int8[2,2] scale 0.25 zero 0 = constant [4, 0, 0, 4]
%a : int32[1,2] scale 0.125 zero 0 = fully_connected(%x, %w) id a
%y : int8[1,2] scale 0.5 zero 0 = requantize(%a) {multiplier [1073741824] shift [-1] clamp {max 3}} id r
return %y
)",
     R"(
%x : float32[1,2] = input
%w : float32[2,2] = constant [1, 0, 0, 1]
%y : float32[1,2] = fully_connected(%x, %w) {clamp {max 3}} id a
return %y
)"},
    {"WhatHasNoScaleStays",
     R"(
%x : int8[4,2] scale 0.5 zero 0 = input
%i : int32[3] = input
%y : int8[3,2] scale 0.5 zero 0 = gather(%x, %i) id g
return %y
)",
     R"(
%x : float32[4,2] = input
%i : int32[3] = input
%y : float32[3,2] = gather(%x, %i) id g
return %y
)"},
};

INSTANTIATE_TEST_SUITE_P(All, UnquantizeTest, testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

FloatForm FormOf(const char* text) {
  const absl::StatusOr<Graph> graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  if (!graph.ok()) return {};
  absl::StatusOr<FloatForm> form = Unquantize(*graph);
  EXPECT_TRUE(form.ok()) << form.status();
  return form.ok() ? *std::move(form) : FloatForm();
}

TEST(UnquantizedRangesTest, AreWhatIntegersHold) {
  const FloatForm form = FormOf(R"(
%x : int8[1,2] scale 0.5 zero 28 = input
%t : int8[1,2] scale 0.25 zero -128 = unary(%x) {function EXP} id t
%y : int16[1,2] scale 0.25 zero 0 = quantize(%t) id y
return %y
)");
  ASSERT_TRUE(form.ranges.has_value());
  ASSERT_EQ(form.ranges->ranges_size(), 2);
  const auto& x = form.ranges->ranges(0);
  EXPECT_EQ(x.tensor(), "x");
  EXPECT_EQ(x.min(), -78);
  EXPECT_EQ(x.max(), 49.5);
  EXPECT_EQ(x.average_min(), x.min());
  EXPECT_EQ(x.average_max(), x.max());
  // Of 255 steps above 0 two are left out: with a zero point of 0 the rest
  // takes steps of just 0.5.
  const auto& y = form.ranges->ranges(1);
  EXPECT_EQ(y.tensor(), form.graph.tensors[form.graph.outputs[0]].name);
  EXPECT_EQ(y.min(), 0);
  EXPECT_EQ(y.max(), 253 * 0.25);
  v1::QuantizationNeeds needs;
  needs.set_symmetric_activations(true);
  needs.set_power_of_two_scales(true);
  const auto anew = QuantizeGraph(form.graph, *form.ranges, needs);
  ASSERT_TRUE(anew.ok()) << anew.status();
  bool found = false;
  for (const Tensor& tensor : anew->tensors) {
    if (!tensor.quantization || tensor.quantization->scale[0] != 0.5f) continue;
    found = true;
    EXPECT_EQ(tensor.quantization->zero_point[0], 0);
  }
  EXPECT_TRUE(found);
}

// A network that ends with a softmax of floats.
TEST(UnquantizedRangesTest, OfFloatsAreWhatTheOpGives) {
  const FloatForm form = FormOf(R"(
%x : float32[1,2] = input
%q : int8[1,2] scale 0.5 zero 0 = quantize(%x) id q
%t : int8[1,2] scale 0.25 zero 0 = unary(%q) {function TANH} id t
%r : float32[1,2] = dequantize(%t) id d
%y : float32[1,2] = softmax(%r) {beta 1 axis 1} id y
return %y
)");
  ASSERT_TRUE(form.ranges.has_value());
  ASSERT_EQ(form.ranges->ranges_size(), 3);
  EXPECT_EQ(form.ranges->ranges(0).tensor(), "x");
  EXPECT_EQ(form.ranges->ranges(0).min(), -64);
  EXPECT_EQ(form.ranges->ranges(1).max(), 127 * 0.25);
  EXPECT_EQ(form.ranges->ranges(2).tensor(), "y");
  EXPECT_EQ(form.ranges->ranges(2).min(), 0);
  EXPECT_EQ(form.ranges->ranges(2).max(), 1);
}

TEST(UnquantizedRangesTest, OfFloatsInBetweenAreUnknown) {
  EXPECT_FALSE(FormOf(R"(
%x : int8[1,2] scale 0.5 zero 0 = input
%r : float32[1,2] = dequantize(%x) id d
%t : float32[1,2] = unary(%r) {function EXP} id t
%m : float32[1,2] = unary(%t) {function TANH} id m
%q : int8[1,2] scale 0.25 zero 0 = quantize(%m) id q
%y : int8[1,2] scale 0.25 zero 0 = unary(%q) {function TANH} id y
return %y
)")
                   .ranges.has_value());
}

TEST(UnquantizeRefusesTest, WhatHasNoFloatForm) {
  const absl::StatusOr<Graph> graph = ParseGraph(R"(
%x : int8[1,2] scale 0.5 zero 0 = input
%w : int8[1,2] scale 1 zero 0 = constant [1, -1]
%y : int8[1,1] scale 1 zero 0 = fully_connected(%x, %w) {rounding FLOOR converter {gain 1 min -16 max 15 scale [1] offset [0]}} id adc
return %y
)");
  ASSERT_TRUE(graph.ok()) << graph.status();
  const absl::Status status = Unquantize(*graph).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  const auto detail = GetErrorDetail(status);
  ASSERT_TRUE(detail.has_value());
  EXPECT_EQ(detail->fault, Fault::kUser);
  EXPECT_TRUE(absl::StrContains(detail->where, "adc")) << detail->where;
}

// int8 ends at -7, where int16 with zero point 0 would go on to -56.75.
TEST(UnquantizedRangesTest, Int16SaturatesWhereTheIntegersDid) {
  const absl::StatusOr<Graph> graph = ParseGraph(R"(
%x : int8[1,2] scale 0.5 zero -3 = input
%w : int8[2,2] scale 0.25 zero 0 = constant [40, -80, 100, 30]
%y : int8[1,2] scale 0.25 zero -100 = fully_connected(%x, %w) id fc
return %y
)");
  ASSERT_TRUE(graph.ok()) << graph.status();
  const absl::StatusOr<FloatForm> form = Unquantize(*graph);
  ASSERT_TRUE(form.ok()) << form.status();
  ASSERT_TRUE(form->ranges.has_value());
  for (const bool wide : {true, false}) {
    v1::QuantizeOptions options;
    if (wide) {
      options.mutable_config()->set_activations(
          v1::QuantizationConfig::ACTIVATIONS_INT16);
    }
    const auto network =
        Quantize(form->graph, options, {.statistics = *form->ranges});
    ASSERT_TRUE(network.ok()) << network.status();
    bool found = false;
    for (const Op& op : network->graph.ops) {
      if (!op.attributes.has_fully_connected()) continue;
      found = true;
      const v1::Clamp& clamp = op.attributes.fully_connected().clamp();
      EXPECT_EQ(clamp.has_min(), wide);
      EXPECT_EQ(clamp.has_max(), wide);
      if (!wide) continue;
      EXPECT_EQ(clamp.min(), -7);
      EXPECT_EQ(clamp.max(), 56.75f);
    }
    EXPECT_TRUE(found);
  }
}

}  // namespace
}  // namespace edgekiln::compiler
