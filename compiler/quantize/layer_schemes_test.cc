#include "compiler/quantize/layer_schemes.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "compiler/ir/text.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

Graph Network() {
  return *ParseGraph(R"(
%x : float32[1,2] = input
%w : float32[2,2] = constant [1, 2, 3, 4]
%a : float32[1,2] = fully_connected(%x, %w) id dense_1
%b : float32[1,2] = fully_connected(%a, %w) id dense_2
%y : float32[1,2] = softmax(%b) {beta 1 axis 1} id softmax
return %y
)");
}

v1::QuantizationConfig Config(const std::string& text) {
  v1::QuantizationConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config));
  return config;
}

v1::QuantizationNeeds Needs(const std::string& text) {
  v1::QuantizationNeeds needs;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &needs));
  return needs;
}

TEST(LayerSchemesTest, DefaultsFollowSamples) {
  const auto with = LayerSchemes(Network(), {}, {}, true);
  const auto without = LayerSchemes(Network(), {}, {}, false);
  const auto int4 =
      LayerSchemes(Network(), Config("scheme { weights: INT4 }"), {}, true);
  ASSERT_TRUE(with.ok() && without.ok() && int4.ok());
  EXPECT_EQ((*with)[0].rounding(), v1::ADAPTIVE);
  EXPECT_EQ((*with)[0].weight_range(), v1::LARGEST_WEIGHT);
  EXPECT_EQ((*int4)[0].weight_range(), v1::LEAST_OUTPUT_ERROR);
  EXPECT_EQ((*with)[0].weights(), v1::LayerScheme::INT8);
  EXPECT_EQ((*with)[0].per_tensor(), v1::OFF);
  EXPECT_EQ((*without)[0].rounding(), v1::NEAREST);
  EXPECT_EQ((*without)[0].weight_range(), v1::LARGEST_WEIGHT);
}

TEST(LayerSchemesTest, AccumulatorsAreThoseOfTheEngineThatTakesTheWeights) {
  const v1::QuantizationNeeds needs = Needs(
      "ops { op: 'fully_connected' accumulator_bits: 20 "
      "narrower { weight_values: WEIGHTS_TERNARY accumulator_bits: 12 } "
      "}");
  const struct {
    const char* config;
    int32_t bits;
  } kRows[] = {
      {"", 20},
      {"scheme { weights: INT4 }", 20},
      {"scheme { weights: TERNARY }", 12},
      {"scheme { accumulator_bits: 16 }", 16},
      {"scheme { weights: TERNARY accumulator_bits: 24 }", 24},
      {"scheme { accumulator_bits: 32 }", 0},  // Nothing to adapt.
      // Int8 layers run on the host.
      {"activations: ACTIVATIONS_INT16", 0},
  };
  for (const auto& row : kRows) {
    const v1::QuantizationConfig config = Config(row.config);
    const auto schemes =
        LayerSchemes(Network(), config,
                     NeedsWith(ActivationsOf(config, needs), needs), true);
    ASSERT_TRUE(schemes.ok()) << schemes.status();
    EXPECT_EQ((*schemes)[0].accumulator_bits(), row.bits) << row.config;
  }
  EXPECT_FALSE(
      LayerSchemes(
          Network(),
          Config("layers { layer: 'softmax' scheme { accumulator_bits: 16 } }"),
          {}, true)
          .ok());
}

TEST(LayerSchemesTest, AccumulatorsHave8To32Bits) {
  for (const int bits : {-1, 7, 33}) {
    const std::string scheme =
        absl::StrCat("scheme { accumulator_bits: ", bits, " }");
    for (const std::string& config :
         {scheme, absl::StrCat("layers { layer: '*' ", scheme, " }")}) {
      const auto error =
          GetErrorDetail(CheckQuantizationConfig(Config(config)));
      ASSERT_TRUE(error.has_value()) << config;
      EXPECT_EQ(error->reason, "QUANTIZATION_INVALID");
      EXPECT_EQ(error->what, absl::StrCat("accumulator_bits: ", bits));
      EXPECT_EQ(error->limit, "8 to 32");
    }
  }
  for (const int bits : {8, 32}) {
    EXPECT_TRUE(
        CheckQuantizationConfig(
            Config(absl::StrCat("scheme { accumulator_bits: ", bits, " }")))
            .ok());
  }
}

TEST(LayerSchemesTest, TheLastRuleThatSetsAFieldCounts) {
  const auto schemes = LayerSchemes(
      Network(),
      Config("scheme { rounding: NEAREST } "
             "layers { layer: 'dense_*' scheme { weights: INT4 } } "
             "layers { layer: 'dense_2' scheme { weights: TERNARY } } "
             "layers { layer: '*_2' scheme { per_tensor: ON } }"),
      {}, true);
  ASSERT_TRUE(schemes.ok()) << schemes.status();
  EXPECT_EQ((*schemes)[0].weights(), v1::LayerScheme::INT4);
  EXPECT_EQ((*schemes)[0].per_tensor(), v1::OFF);
  EXPECT_EQ((*schemes)[1].weights(), v1::LayerScheme::TERNARY);
  EXPECT_EQ((*schemes)[1].per_tensor(), v1::ON);
  EXPECT_EQ((*schemes)[1].rounding(), v1::NEAREST);
}

TEST(LayerSchemesTest, TargetsDecideWhatNobodyAskedFor) {
  const v1::QuantizationNeeds needs = Needs(
      "per_tensor: 'fully_connected' "
      "ops { op: 'fully_connected' weight_values: WEIGHTS_INT4 }");
  auto schemes = LayerSchemes(Network(), {}, needs, false);
  ASSERT_TRUE(schemes.ok()) << schemes.status();
  EXPECT_EQ((*schemes)[0].per_tensor(), v1::ON);
  EXPECT_EQ((*schemes)[0].weights(), v1::LayerScheme::INT4);
  EXPECT_EQ((*schemes)[0].weight_range(), v1::LEAST_WEIGHT_ERROR);
  // Without training these ruin a network: only who asks for them gets them.
  schemes = LayerSchemes(
      Network(), {},
      Needs("ops { op: 'fully_connected' weight_values: WEIGHTS_TERNARY }"),
      true);
  ASSERT_TRUE(schemes.ok()) << schemes.status();
  EXPECT_EQ((*schemes)[0].weights(), v1::LayerScheme::INT8);
}

TEST(NeedsWithTest, HoldForTheEnginesTypeAlone) {
  const v1::QuantizationNeeds needs = Needs(
      "per_tensor: 'conv2d' symmetric_activations: true "
      "power_of_two_scales: true rounding: FLOOR equal_addends: true "
      "ops { op: 'conv2d' narrower { weight_values: WEIGHTS_TERNARY"
      "  converter { max_gain: 9 } } narrower { weight_values: WEIGHTS_INT4 } }"
      "ops { op: 'depthwise_conv2d' converter { max_gain: 9 } }");
  EXPECT_EQ(NeedsWith(v1::INT8, needs).DebugString(), needs.DebugString());
  const v1::QuantizationNeeds none;
  EXPECT_EQ(NeedsWith(v1::INT16, needs).DebugString(), none.DebugString());
  v1::QuantizationNeeds moved = needs;
  moved.mutable_ops(0)->mutable_narrower()->DeleteSubrange(0, 1);
  moved.mutable_ops()->DeleteSubrange(1, 1);
  EXPECT_EQ(NeedsWith(v1::UINT8, needs).DebugString(), moved.DebugString());
  v1::QuantizationNeeds wide = needs;
  wide.set_activations(v1::INT16);
  EXPECT_EQ(NeedsWith(v1::INT16, wide).DebugString(), wide.DebugString());
  EXPECT_EQ(NeedsWith(v1::INT8, wide).DebugString(),
            Needs("activations: INT16").DebugString());
  EXPECT_TRUE(MayBeWide(v1::INT16, none));
  EXPECT_FALSE(MayBeWide(v1::INT16, wide));
  EXPECT_FALSE(MayBeWide(v1::INT8, none));
}

TEST(ConverterOfTest, GoesWithTheFewestValuesThatHoldTheWeights) {
  const Graph graph = Network();
  const Op& op = graph.ops[0];
  const auto gain = [&](const std::string& needs,
                        v1::LayerScheme::Weights weights) {
    const v1::QuantizationNeeds parsed = Needs(needs);
    const v1::Numerics::Converter* converter = ConverterOf(parsed, op, weights);
    return converter == nullptr ? 0 : converter->max_gain();
  };
  using Scheme = v1::LayerScheme;
  const std::string ternary =
      "ops { op: 'fully_connected' weight_values: WEIGHTS_TERNARY"
      "  converter { max_gain: 7 } }";
  EXPECT_EQ(gain(ternary, Scheme::TERNARY), 7);
  EXPECT_EQ(gain(ternary, Scheme::INT8), 0);  // Of the host.
  const std::string both =
      "ops { op: 'fully_connected'"
      "  narrower { weight_values: WEIGHTS_TERNARY"
      "    converter { max_gain: 9 } } }";
  EXPECT_EQ(gain(both, Scheme::TERNARY), 9);
  EXPECT_EQ(gain(both, Scheme::INT4), 0);
  EXPECT_EQ(gain(both, Scheme::INT8), 0);
  EXPECT_EQ(gain("", Scheme::TERNARY), 0);
}

TEST(LayerSchemesTest, SaysWhatIsWrong) {
  const struct {
    const char* config;
    const char* needs;
    const char* says;
  } kCases[] = {
      {"layers { layer: 'dense_3' scheme { weights: INT4 } }", "",
       "did you mean \"dense_1\"?"},
      {"layers { layer: 'nothing' }", "", "inspect"},
      {"layers { layer: 'softmax' scheme { weights: INT4 } }", "",
       "layer softmax"},
      {"scheme { per_tensor: OFF }", "per_tensor: 'fully_connected'",
       "layer dense_1"},
      {"symmetric_activations: OFF", "symmetric_activations: true",
       "none but 0"},
      {"scheme { weights: INT8 }",
       "ops { op: 'fully_connected' weight_values: WEIGHTS_INT4 }",
       "layer dense_1"},
      {"ranges { method: PERCENTILE percentile_ppm: 3 }", "",
       "percentile_ppm is 3"},
      {"ranges { percentile_ppm: 990000 }", "", "another method"},
      {"samples: -1", "", "samples is -1"},
      {"activations: ACTIVATIONS_INT16 symmetric_activations: OFF", "",
       "int16 has zero points of 0"},
      {"activations: ACTIVATIONS_INT16 ranges { method: KL }", "",
       "ranges by KL of int16"},
      {"ranges { method: KL }", "activations: INT16", "ranges by KL of int16"},
      {"accuracy_budget_ppm: 1000001", "", "accuracy_budget_ppm is 1000001"},
      {"scheme { per_tensor: ON channels_per_scale: 4 }", "",
       "channels_per_scale: 4 for layer dense_1"},
      {"scheme { channels_per_scale: 4 }", "per_tensor: 'fully_connected'",
       "layer dense_1"},
      {"scheme { channels_per_scale: -1 }", "", "channels_per_scale: -1"},
  };
  for (const auto& row : kCases) {
    const auto schemes =
        LayerSchemes(Network(), Config(row.config), Needs(row.needs), true);
    ASSERT_FALSE(schemes.ok()) << row.config;
    EXPECT_NE(schemes.status().ToString().find(row.says), std::string::npos)
        << schemes.status();
  }
  v1::QuantizationConfig unknown;
  unknown.mutable_scheme()->set_rounding(static_cast<v1::WeightRounding>(77));
  EXPECT_FALSE(LayerSchemes(Network(), unknown, {}, true).ok());
}

}  // namespace
}  // namespace edgekiln::compiler
