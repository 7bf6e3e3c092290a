#include "compiler/partition/pattern_match.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "compiler/ir/graph_outline.h"
#include "compiler/ir/text.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

Graph Parse(const std::string& text) {
  const auto graph = ParseGraph(absl::StrReplaceAll(
      text,
      {{"WINDOW", "window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1}"},
       {" Q ", " scale 1 zero 0 "}}));
  EXPECT_TRUE(graph.ok()) << graph.status();
  return *graph;
}

// The patterns in text form, behind one another, of one engine.
v1::Capabilities Engine(const std::string& patterns) {
  v1::Capabilities capabilities;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      absl::StrCat("engines { ", patterns, " }"), &capabilities));
  return capabilities;
}

// What `op` is matched to, or why it is not.
Match MatchOf(const Graph& graph, int32_t op,
              const v1::Capabilities& capabilities) {
  const auto matcher = PatternMatcher::Create(graph, capabilities);
  EXPECT_TRUE(matcher.ok()) << matcher.status();
  return matcher->MatchChain(op, 0);
}

constexpr char kPool[] =
    "patterns { ops: 'max_pool2d' "
    "where { expr: 'max(kernel_h, kernel_w) <= MOST' need: 'kernels up to "
    "MOST' } numerics { activations: INT8 roundings: HALF_UP "
    "activation_zero_points: true } }";

std::string PoolUpTo(int most) {
  return absl::StrReplaceAll(kPool, {{"MOST", absl::StrCat(most)}});
}

TEST(PatternMatcherTest, NamesTheOpsOrEveryConditionThatFailed) {
  const Graph graph = Parse(R"(
%x : int8[1,4,4,1] Q = input
%p : int8[1,2,2,1] Q = max_pool2d(%x) {kernel_h 2 kernel_w 2 window {stride_h 2 stride_w 2 dilation_h 1 dilation_w 1}} id p
%c : int8[1,2,2,1] Q = clip(%p) {clamp {min 0}} id c
return %c
)");
  Match match = MatchOf(graph, 0, Engine(PoolUpTo(1)));
  EXPECT_TRUE(match.ops.empty());
  EXPECT_EQ(match.failed, std::vector<std::string>{
                              "kernels up to 1 (here kernel_h 2, kernel_w 2)"});
  // Any pattern that takes it will do.
  const v1::Capabilities two = Engine(PoolUpTo(1) + PoolUpTo(2));
  match = MatchOf(graph, 0, two);
  EXPECT_EQ(match.ops, std::vector<int32_t>{0});
  EXPECT_TRUE(match.failed.empty());
  // There is nothing to say of an op that the engine does not know.
  match = MatchOf(graph, 1, two);
  EXPECT_TRUE(match.ops.empty());
  EXPECT_TRUE(match.failed.empty());
}

// A convolution of one channel of 3 in, with that scale of the weights.
Graph Conv(const std::string& weights, const std::string& output,
           const std::string& bias = "") {
  return Parse(
      absl::StrCat("%x : int8[1,1,1,3] scale 1 zero 3 = input\n%w : ", weights,
                   bias.empty() ? "" : absl::StrCat("\n%b : ", bias),
                   "\n%y : ", output, " = conv2d(%x, %w",
                   bias.empty() ? "" : ", %b", ") {WINDOW} id y\nreturn %y\n"));
}

const char* const kWeights =
    "int8[1,1,1,3] scale 0.5 zero 0 = constant [1, 2, 3]";

std::string ConvPattern(const std::string& numerics) {
  return absl::StrCat(
      "patterns { ops: 'conv2d' numerics { activations: INT8 weights: INT8 ",
      numerics, " } }");
}

constexpr char kScales[] =
    "activation_zero_points: true requantization: MULTIPLIER_AND_SHIFT "
    "roundings: HALF_UP accumulator_bits: 32";

// What the pattern needs that the layer does not have; "" if it takes it.
std::string WhyNot(const Graph& graph, const std::string& patterns) {
  const Match match = MatchOf(graph, 0, Engine(patterns));
  if (!match.ops.empty()) return "";
  EXPECT_EQ(match.failed.size(), 1u);
  return match.failed.empty() ? "?" : match.failed[0];
}

TEST(PatternMatcherTest, ZeroPointsOfActivations) {
  const Graph graph = Conv(kWeights, "int8[1,1,1,1] scale 1 zero 0");
  EXPECT_EQ(WhyNot(graph, ConvPattern(kScales)), "");
  EXPECT_EQ(
      WhyNot(graph, ConvPattern("requantization: MULTIPLIER_AND_SHIFT "
                                "roundings: HALF_UP accumulator_bits: 32")),
      "tensors with zero point 0 (x has 3)");
}

TEST(PatternMatcherTest, ShiftsArePowersOfTwo) {
  const std::string shift = ConvPattern(
      "activation_zero_points: true per_channel: true requantization: SHIFT "
      "roundings: HALF_UP accumulator_bits: 32");
  EXPECT_EQ(WhyNot(Conv(kWeights, "int8[1,1,1,1] scale 4 zero 0"), shift), "");
  EXPECT_EQ(WhyNot(Conv(kWeights, "int8[1,1,1,1] scale 3 zero 0"), shift),
            "scales whose ratio is a power of two (here 0.166667)");
  // 0.1 is no power of two, but 0.1 / 0.4 is one.
  EXPECT_EQ(WhyNot(Conv("int8[1,1,1,3] scale 0.1 zero 0 = constant [1, 2, 3]",
                        "int8[1,1,1,1] scale 0.4 zero 0"),
                   shift),
            "");
  // One channel is enough.
  EXPECT_EQ(WhyNot(Conv("int8[2,1,1,3] axis 0 scale [0.5, 0.75] zero [0, 0] = "
                        "constant [1, 2, 3, 1, 2, 3]",
                        "int8[1,1,1,2] scale 1 zero 0"),
                   shift),
            "scales whose ratio is a power of two (here 0.75)");
}

TEST(PatternMatcherTest, ShiftsAreAsFarAsTheEngineGoes) {
  const auto shift = [](int most) {
    return ConvPattern(
        absl::StrCat("activation_zero_points: true requantization: SHIFT "
                     "roundings: HALF_UP accumulator_bits: 32 largest_shift: ",
                     most));
  };
  const struct {
    const char* output;
    int most;
    const char* why;
  } kRows[] = {
      // Sums are in steps of 0.5.
      {"0.5", 4, ""},
      {"8", 4, ""},
      {"16", 4, "shifts right by 0 to 4 bits (here by 5)"},
      {"0.25", 4, "shifts right by 0 to 4 bits (here by -1)"},
      {"3", 4, "scales whose ratio is a power of two (here 0.166667)"},
      {"0.25", 0, ""},
      {"16", 0, ""},
  };
  for (const auto& row : kRows) {
    EXPECT_EQ(WhyNot(Conv(kWeights, absl::StrCat("int8[1,1,1,1] scale ",
                                                 row.output, " zero 0")),
                     shift(row.most)),
              row.why)
        << row.output;
  }
}

// What a requantization says by multipliers.
TEST(PatternMatcherTest, ShiftsOfSumsAreThoseOfTheirMultipliers) {
  const auto layer = [](int64_t multiplier, int shift) {
    return Parse(absl::StrCat(
        "%x : int32[1,1,1,2] scale 1 zero 0 = input\n%y : int8[1,1,1,2] scale "
        "1 zero 0 = requantize(%x) {multiplier [",
        multiplier, "] shift [", shift, "]} id y\nreturn %y\n"));
  };
  const std::string pattern =
      "patterns { ops: 'requantize' numerics { activations: INT8 "
      "requantization: SHIFT largest_shift: 4 roundings: HALF_UP } }";
  EXPECT_EQ(WhyNot(layer(1 << 30, -3), pattern), "");
  EXPECT_EQ(WhyNot(layer(1 << 30, -4), pattern),
            "shifts right by 0 to 4 bits (here by 5)");
  EXPECT_EQ(WhyNot(layer(3 << 29, -3), pattern),
            "scales whose ratio is a power of two (here 0.09375)");
}

TEST(PatternMatcherTest, AddendsOfOneScale) {
  const auto sum = [](const std::string& a, const std::string& b) {
    return Parse(absl::StrCat("%a : int8[1,1,2,1] ", a,
                              " = input\n%b : int8[1,1,2,1] ", b,
                              " = input\n%y : int8[1,1,2,1] scale 1 zero 0 = "
                              "add(%a, %b) {} id y\nreturn %y\n"));
  };
  const auto adds = [](const std::string& rest) {
    return absl::StrCat(
        "patterns { ops: 'add' numerics { activations: INT8 "
        "activation_zero_points: true roundings: HALF_UP ",
        rest, " } }");
  };
  const std::string one =
      adds("one_input_scale: true requantization: SHIFT largest_shift: 31");
  EXPECT_EQ(WhyNot(sum("scale 0.5 zero 0", "scale 0.5 zero 0"), one), "");
  EXPECT_EQ(WhyNot(sum("scale 0.5 zero 0", "scale 1 zero 0"), one),
            "one scale for both operands (here 0.5 and 1)");
  EXPECT_EQ(WhyNot(sum("scale 0.5 zero 0", "scale 0.5 zero 7"), one),
            "one zero point for both operands (here 0 and 7)");
  EXPECT_EQ(WhyNot(sum("scale 2 zero 0", "scale 2 zero 0"), one),
            "shifts right by 0 to 31 bits (here by -1)");
  // However it scales the sum.
  EXPECT_EQ(WhyNot(sum("scale 0.5 zero 0", "scale 0.3 zero 0"),
                   adds("one_input_scale: true requantization: "
                        "MULTIPLIER_AND_SHIFT")),
            "one scale for both operands (here 0.5 and 0.3)");
  EXPECT_EQ(WhyNot(sum("scale 0.5 zero 0", "scale 1 zero 0"),
                   adds("requantization: SHIFT")),
            "");
}

TEST(PatternMatcherTest, WeightsOfSomeValues) {
  const auto with = [](const std::string& values) {
    return ConvPattern(absl::StrCat(kScales, " weight_values: ", values));
  };
  const auto layer = [](const std::string& values) {
    return Conv(absl::StrCat("int8[1,1,1,3] scale 0.5 zero 0 = constant [",
                             values, "]"),
                "int8[1,1,1,1] scale 1 zero 0");
  };
  EXPECT_EQ(WhyNot(layer("1, -1, 0"), with("WEIGHTS_TERNARY")), "");
  EXPECT_EQ(WhyNot(layer("1, 2, -57"), with("WEIGHTS_TERNARY")),
            "weights of -1, 0 and 1 (here up to 57)");
  EXPECT_EQ(WhyNot(layer("7, -8, 0"), with("WEIGHTS_INT4")), "");
  EXPECT_EQ(WhyNot(layer("7, 8, 0"), with("WEIGHTS_INT4")),
            "weights from -8 to 7 (here up to 8)");
  EXPECT_EQ(WhyNot(layer("7, -128, 0"), with("WEIGHTS_INT4")),
            "weights from -8 to 7 (here up to 128)");
  // An outline has zeros.
  const auto outline = GraphFromOutline(OutlineOf(layer("1, 2, -57")));
  ASSERT_TRUE(outline.ok()) << outline.status();
  EXPECT_EQ(WhyNot(*outline, with("WEIGHTS_TERNARY")), "");
}

// Inputs less their zero point lie from -131 to 124.
TEST(PatternMatcherTest, SumsOfSmallWeightsAreSmall) {
  const Graph graph =
      Conv("int8[1,1,1,3] scale 0.5 zero 0 = constant [1, -1, 1]",
           "int8[1,1,1,1] scale 1 zero 0");
  const auto with = [](const std::string& rest) {
    return ConvPattern(absl::StrCat(
        "activation_zero_points: true requantization: MULTIPLIER_AND_SHIFT "
        "roundings: HALF_UP ",
        rest));
  };
  EXPECT_EQ(WhyNot(graph, with("weight_values: WEIGHTS_TERNARY "
                               "accumulator_bits: 10")),
            "");
  EXPECT_EQ(WhyNot(graph, with("weight_values: WEIGHTS_TERNARY "
                               "accumulator_bits: 9")),
            "sums that fit 9 bits (here from -386 to 379)");
  // The weights are what counts, not what they may be.
  EXPECT_EQ(WhyNot(graph, with("accumulator_bits: 10")), "");
}

TEST(PatternMatcherTest, ConvertersAreTakenByThoseThatHaveOne) {
  const std::string converter =
      "converter {gain 7 min -32 max 31 scale [9] offset [100] shift 2}";
  const Graph converted = Parse(absl::StrCat(
      "%x : int8[1,1,1,3] scale 1 zero 3 = input\n%w : ", kWeights,
      "\n%y : int8[1,1,1,1] Q = conv2d(%x, %w) {WINDOW rounding FLOOR ",
      converter, "} id y\nreturn %y\n"));
  const auto adc = [](int min, int gain, int shift) {
    return ConvPattern(absl::StrCat(
        "activation_zero_points: true requantization: ADC roundings: FLOOR "
        "accumulator_bits: 32 converter { min: ",
        min, " max: 31 max_gain: ", gain, " max_shift: ", shift, " }"));
  };
  EXPECT_EQ(WhyNot(converted, adc(-32, 7, 2)), "");
  EXPECT_EQ(WhyNot(converted, adc(-31, 7, 2)),
            "codes from -31 to 31 (here -32 to 31)");
  EXPECT_EQ(WhyNot(converted, adc(-32, 6, 2)), "gains up to 6 (here 7)");
  EXPECT_EQ(WhyNot(converted, adc(-32, 7, 1)),
            "shifts up to 1 behind the converter (here 2)");
  EXPECT_EQ(
      WhyNot(converted,
             ConvPattern("activation_zero_points: true accumulator_bits: 32 "
                         "requantization: SHIFT roundings: FLOOR")),
      "factors for its results (here a converter)");
  EXPECT_EQ(WhyNot(converted, ConvPattern(kScales)),
            "rounding half up (here down)");
  // Its sums are like any others.
  EXPECT_EQ(WhyNot(converted, ConvPattern("activation_zero_points: true "
                                          "requantization: NOT_REQUANTIZED "
                                          "accumulator_bits: 32")),
            "");
  const Graph factors = Parse(absl::StrCat(
      "%x : int8[1,1,1,3] scale 1 zero 3 = input\n%w : ", kWeights,
      "\n%y : int8[1,1,1,1] Q = conv2d(%x, %w) {WINDOW rounding FLOOR} id "
      "y\nreturn %y\n"));
  EXPECT_EQ(WhyNot(factors, adc(-32, 7, 2)),
            "a converter for its results (here factors)");
}

// 6 * -131 and 6 * 124.
TEST(PatternMatcherTest, NarrowAccumulatorsHoldTheWorstSum) {
  const Graph graph = Conv(kWeights, "int8[1,1,1,1] scale 1 zero 0");
  const auto with = [](int bits) {
    return ConvPattern(absl::StrCat(
        "activation_zero_points: true requantization: MULTIPLIER_AND_SHIFT "
        "roundings: HALF_UP accumulator_bits: ",
        bits));
  };
  EXPECT_EQ(WhyNot(graph, with(11)), "");
  EXPECT_EQ(WhyNot(graph, with(10)),
            "sums that fit 10 bits (here from -786 to 744)");
}

TEST(PatternMatcherTest, TellsThatAnEngineGivesSumsOnly) {
  const v1::Capabilities sums =
      Engine(ConvPattern("activation_zero_points: true requantization: "
                         "NOT_REQUANTIZED accumulator_bits: 32"));
  const Graph fused = Conv(kWeights, "int8[1,1,1,1] scale 0.3 zero 0");
  Match match = MatchOf(fused, 0, sums);
  EXPECT_EQ(match.ops, std::vector<int32_t>{0});
  EXPECT_EQ(match.split, OpSplit::kSums);
  EXPECT_EQ(MatchOf(fused, 0, Engine(ConvPattern(kScales))).split,
            OpSplit::kNone);
  // Already split: the sums are what the op gives.
  const Graph split = Conv(kWeights, "int32[1,1,1,1] scale 0.5 zero 0");
  match = MatchOf(split, 0, sums);
  EXPECT_EQ(match.ops, std::vector<int32_t>{0});
  EXPECT_EQ(match.split, OpSplit::kNone);
  EXPECT_EQ(WhyNot(split, ConvPattern(kScales)), "int8 tensors (y is int32)");
}

TEST(PatternMatcherTest, TellsThatAnEngineLacksTheLimitsOnly) {
  Graph graph = Conv(kWeights, "int8[1,1,1,1] scale 0.0625 zero 0");
  graph.ops[0].attributes.mutable_conv2d()->mutable_clamp()->set_max(6);
  const std::string plain = absl::StrCat(kScales, " plain_clamps: true");
  Match match = MatchOf(graph, 0, Engine(ConvPattern(plain)));
  EXPECT_EQ(match.split, OpSplit::kClamp);
  EXPECT_EQ(match.ops, std::vector<int32_t>{0});
  EXPECT_EQ(match.failed,
            std::vector<std::string>{"results up to 127 (here 96)"});
  // A pattern that takes all of it comes first.
  match = MatchOf(graph, 0, Engine(ConvPattern(plain) + ConvPattern(kScales)));
  EXPECT_EQ(match.split, OpSplit::kNone);
  EXPECT_TRUE(match.failed.empty());
  // Other limits fail with what else fails.
  match =
      MatchOf(graph, 0,
              Engine(ConvPattern(absl::StrReplaceAll(
                  plain, {{"accumulator_bits: 32", "accumulator_bits: 8"}}))));
  EXPECT_EQ(match.split, OpSplit::kNone);
  EXPECT_TRUE(match.ops.empty());
  EXPECT_EQ(match.failed,
            std::vector<std::string>{"results up to 127 (here 96)"});
  graph.ops[0].attributes.mutable_conv2d()->clear_clamp();
  match = MatchOf(graph, 0, Engine(ConvPattern(plain)));
  EXPECT_EQ(match.split, OpSplit::kNone);
  EXPECT_EQ(match.ops, std::vector<int32_t>{0});
}

std::string ChainOf(const std::string& ops, const std::string& where = "") {
  return absl::StrCat("patterns { ", ops, where,
                      " numerics { activations: INT8 weights: INT8 "
                      "activation_zero_points: true requantization: "
                      "MULTIPLIER_AND_SHIFT roundings: HALF_UP "
                      "accumulator_bits: 32 } }");
}

std::string Chain(const std::string& where = "") {
  return ChainOf("ops: 'conv2d' ops: 'add' ops: 'add' ", where);
}

// conv2d, add, add; `between` reads what the first two make, `outputs` are
// returned.
Graph Three(const std::string& between, const std::string& outputs) {
  return Parse(absl::StrCat(R"(
%x : int8[1,1,2,1] Q = input
%w : int8[1,1,1,1] Q = constant [1]
%a : int8[1,1,2,1] Q = conv2d(%x, %w) {WINDOW} id a
)",
                            between, R"(
%b : int8[1,1,2,1] Q = add(%x, %a) {} id b
%c : int8[1,1,2,1] Q = add(%b, %b) {} id c
return )",
                            outputs, "\n"));
}

TEST(PatternMatcherTest, FollowsChains) {
  const Graph graph = Three("", "%c");
  const v1::Capabilities chain = Engine(Chain());
  EXPECT_EQ(MatchOf(graph, 0, chain).ops, (std::vector<int32_t>{0, 1, 2}));
  // In its middle, nothing begins, and nothing is wrong.
  EXPECT_TRUE(MatchOf(graph, 1, chain).ops.empty());
  EXPECT_TRUE(MatchOf(graph, 1, chain).failed.empty());
  // What another chain has is not there.
  const auto matcher = PatternMatcher::Create(graph, chain);
  ASSERT_TRUE(matcher.ok());
  const Match taken = matcher->MatchChain(0, 0, {false, false, true});
  EXPECT_EQ(taken.failed,
            std::vector<std::string>{
                "add as the only reader of add (b goes to add of another "
                "chain)"});
}

TEST(PatternMatcherTest, WhatIsBetweenTheOpsIsTheirs) {
  EXPECT_EQ(WhyNot(Three("%s : int8[1,1,2,1] Q = clip(%a) {clamp {min 0}} id s",
                         "%c, %s"),
                   Chain()),
            "add as the only reader of conv2d (a has 2 readers)");
  EXPECT_EQ(WhyNot(Three("", "%c, %a"), Chain()),
            "add as the only reader of conv2d (a is an output)");
  EXPECT_EQ(WhyNot(Three("", "%c, %b"), Chain()),
            "add as the only reader of add (b is an output)");
  EXPECT_EQ(WhyNot(Three("", "%c"), ChainOf("ops: 'conv2d' ops: 'clip' ")),
            "clip as the only reader of conv2d (a goes to add)");
  // A shorter pattern behind it takes the rest.
  EXPECT_EQ(MatchOf(Three("", "%c, %b"), 0,
                    Engine(Chain() + ChainOf("ops: 'conv2d' ops: 'add' ")))
                .ops,
            (std::vector<int32_t>{0, 1}));
}

TEST(PatternMatcherTest, ConditionsReadLaterOpsByName) {
  const Graph graph = Three("", "%c");
  const auto where = [](const std::string& expr) {
    return absl::StrCat("where { expr: '", expr, "' need: 'less' }");
  };
  EXPECT_EQ(WhyNot(graph, Chain(where("in_w * 10 + add_in_w + add2_out_w "
                                      "== 24"))),
            "");
  EXPECT_EQ(WhyNot(graph, Chain(where("add2_out_w < add_in_w"))),
            "less (here add2_out_w 2, add_in_w 2)");
  // Overflow is no consent.
  EXPECT_EQ(WhyNot(graph, Chain(where("in_w * 9223372036854775807 != 0"))),
            "less (here in_w 2)");
}

// An op that chains have behind others only: what the chain that it is in, or
// might be in, needs.
TEST(PatternMatcherTest, SaysWhyAnOpIsInNoChain) {
  const Graph alone = Parse(R"(
%x : int8[1,1,2,1] Q = input
%b : int8[1,1,2,1] Q = add(%x, %x) {} id b
return %b
)");
  EXPECT_EQ(
      MatchOf(alone, 0, Engine(ChainOf("ops: 'conv2d' ops: 'add' "))).failed,
      std::vector<std::string>{"add behind conv2d"});
  EXPECT_EQ(MatchOf(Three("", "%c, %b"), 2, Engine(Chain())).failed,
            std::vector<std::string>{
                "add as the only reader of add (b is an output)"});
}

}  // namespace
}  // namespace edgekiln::compiler
