#include "target/quantization_needs.h"

#include <ostream>
#include <string>

#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace edgekiln::target {
namespace {

struct NeedsCase {
  const char* name;
  const char* capabilities;
  const char* needs;
};

void PrintTo(const NeedsCase& row, std::ostream* out) { *out << row.name; }

class QuantizationNeedsTest : public testing::TestWithParam<NeedsCase> {};

TEST_P(QuantizationNeedsTest, AreThoseOfTheNumerics) {
  v1::Capabilities capabilities;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      GetParam().capabilities, &capabilities));
  EXPECT_EQ(QuantizationNeedsOf(capabilities).ShortDebugString(),
            GetParam().needs);
}

const NeedsCase kCases[] = {
    {"NoEngines", "", ""},
    {"NoPatterns", "engines { name: 'e' }", ""},
    {"EverythingGoes",
     "engines { patterns { ops: 'conv2d' numerics {"
     "  activations: INT8 weights: INT8 per_channel: true"
     "  activation_zero_points: true requantization: MULTIPLIER_AND_SHIFT } }"
     "  patterns { ops: 'max_pool2d' numerics {"
     "  activations: INT8 activation_zero_points: true } } }",
     ""},
    // Sorted, each op once; what has no weights is not named.
    {"OneScale",
     "engines { patterns { ops: 'fully_connected' ops: 'add' numerics {"
     "  activations: INT8 weights: INT8 activation_zero_points: true"
     "  requantization: MULTIPLIER_AND_SHIFT } }"
     "  patterns { ops: 'conv2d' numerics {"
     "  activations: INT8 weights: INT8 activation_zero_points: true"
     "  requantization: MULTIPLIER_AND_SHIFT } }"
     "  patterns { ops: 'conv2d' ops: 'add' numerics {"
     "  activations: INT8 weights: INT8 activation_zero_points: true"
     "  requantization: MULTIPLIER_AND_SHIFT } } }",
     R"(per_tensor: "conv2d" per_tensor: "fully_connected")"},
    // Of another engine, or of the same one.
    {"SomePatternTakesChannels",
     "engines { patterns { ops: 'conv2d' numerics {"
     "  activations: INT8 weights: INT8 activation_zero_points: true"
     "  requantization: MULTIPLIER_AND_SHIFT } } }"
     "engines { patterns { ops: 'conv2d' numerics { per_channel: true"
     "  activations: INT8 weights: INT8 activation_zero_points: true"
     "  requantization: MULTIPLIER_AND_SHIFT } } }",
     ""},
    {"NoZeroPoints",
     "engines { patterns { ops: 'add' numerics {"
     "  activations: INT8 requantization: MULTIPLIER_AND_SHIFT } } }",
     "symmetric_activations: true"},
    {"SomePatternTakesZeroPoints",
     "engines { patterns { ops: 'add' numerics {"
     "  activations: INT8 requantization: MULTIPLIER_AND_SHIFT } }"
     "  patterns { ops: 'max_pool2d' numerics {"
     "  activations: INT8 activation_zero_points: true } } }",
     ""},
    // Pools and sums that are not requantized ask for nothing.
    {"Shifts",
     "engines { patterns { ops: 'add' numerics {"
     "  activations: INT8 activation_zero_points: true requantization: SHIFT } "
     "}"
     "  patterns { ops: 'max_pool2d' numerics {"
     "  activations: INT8 activation_zero_points: true } } }"
     "engines { patterns { ops: 'conv2d' numerics { per_channel: true"
     "  activations: INT8 weights: INT8 activation_zero_points: true"
     "  requantization: NOT_REQUANTIZED } } }",
     "power_of_two_scales: true"},
    {"ShiftsBesideMultipliers",
     "engines { patterns { ops: 'add' numerics {"
     "  activations: INT8 activation_zero_points: true requantization: SHIFT } "
     "}"
     "  patterns { ops: 'conv2d' numerics { per_channel: true"
     "  activations: INT8 weights: INT8 activation_zero_points: true"
     "  requantization: MULTIPLIER_AND_SHIFT } } }",
     ""},
    {"SumsAreNotRequantized",
     "engines { patterns { ops: 'conv2d' numerics { per_channel: true"
     "  activations: INT8 weights: INT8 activation_zero_points: true"
     "  requantization: NOT_REQUANTIZED } } }",
     ""},
    {"OtherTypes",
     "engines { patterns { ops: 'conv2d' numerics {"
     "  activations: INT16 weights: INT8 requantization: SHIFT } } }",
     R"(per_tensor: "conv2d" symmetric_activations: true )"
     "power_of_two_scales: true activations: INT16"},
    {"Int8BesideOtherTypes",
     "engines { patterns { ops: 'conv2d' numerics {"
     "  activations: INT16 weights: INT8 requantization: SHIFT } }"
     "  patterns { ops: 'conv2d' numerics { per_channel: true"
     "  activations: UINT8 activations: INT8 weights: INT8"
     "  activation_zero_points: true"
     "  requantization: MULTIPLIER_AND_SHIFT } } }",
     ""},
    {"UnsignedOnly",
     "engines { patterns { ops: 'add' numerics {"
     "  activations: UINT8 activation_zero_points: true"
     "  requantization: MULTIPLIER_AND_SHIFT } } }",
     "activations: UINT8"},
    {"RoundsDown",
     "engines { patterns { ops: 'add' numerics {"
     "  activations: INT8 activation_zero_points: true"
     "  requantization: SHIFT roundings: FLOOR } }"
     "  patterns { ops: 'average_pool2d' numerics {"
     "  activations: INT8 activation_zero_points: true"
     "  roundings: HALF_UP } } }",
     "power_of_two_scales: true rounding: FLOOR"},
    {"RoundsEitherWay",
     "engines { patterns { ops: 'add' numerics {"
     "  activations: INT8 activation_zero_points: true"
     "  requantization: SHIFT roundings: FLOOR roundings: HALF_UP } } }",
     "power_of_two_scales: true"},
    {"SomePatternRoundsUp",
     "engines { patterns { ops: 'add' numerics {"
     "  activations: INT8 activation_zero_points: true"
     "  requantization: SHIFT roundings: FLOOR } }"
     "  patterns { ops: 'mul' numerics {"
     "  activations: INT8 activation_zero_points: true"
     "  requantization: SHIFT roundings: HALF_UP } } }",
     "power_of_two_scales: true"},
    {"AddsOneScale",
     "engines { patterns { ops: 'add' numerics {"
     "  activations: INT8 activation_zero_points: true one_input_scale: true"
     "  requantization: MULTIPLIER_AND_SHIFT } }"
     "  patterns { ops: 'add' numerics {"
     "  activations: INT16 requantization: SHIFT } }"
     "  patterns { ops: 'conv2d' numerics { per_channel: true"
     "  activations: INT8 weights: INT8 activation_zero_points: true"
     "  requantization: MULTIPLIER_AND_SHIFT } } }",
     "equal_addends: true"},
    // A chain that adds, of another engine.
    {"SomePatternAddsTwoScales",
     "engines { patterns { ops: 'add' numerics {"
     "  activations: INT8 activation_zero_points: true one_input_scale: true"
     "  requantization: MULTIPLIER_AND_SHIFT } } }"
     "engines { patterns { ops: 'conv2d' ops: 'add' numerics {"
     "  activations: INT8 weights: INT8 per_channel: true"
     "  activation_zero_points: true"
     "  requantization: MULTIPLIER_AND_SHIFT } } }",
     ""},
    // The widest of what patterns take, and what is narrower.
    {"FewWeights",
     "engines { patterns { ops: 'conv2d' numerics { per_channel: true"
     "  activations: INT8 weights: INT8 activation_zero_points: true"
     "  weight_values: WEIGHTS_TERNARY requantization: MULTIPLIER_AND_SHIFT } }"
     "  patterns { ops: 'conv2d' ops: 'add' numerics { per_channel: true"
     "  activations: INT8 weights: INT8 activation_zero_points: true"
     "  weight_values: WEIGHTS_INT4 requantization: MULTIPLIER_AND_SHIFT } }"
     "  patterns { ops: 'fully_connected' numerics { per_channel: true"
     "  activations: INT8 weights: INT8 activation_zero_points: true"
     "  weight_values: WEIGHTS_TERNARY requantization: MULTIPLIER_AND_SHIFT } }"
     "  patterns { ops: 'depthwise_conv2d' numerics { per_channel: true"
     "  activations: INT8 weights: INT8 activation_zero_points: true"
     "  weight_values: WEIGHTS_TERNARY requantization: MULTIPLIER_AND_SHIFT } }"
     "  patterns { ops: 'depthwise_conv2d' numerics { per_channel: true"
     "  activations: INT8 weights: INT8 activation_zero_points: true"
     "  requantization: MULTIPLIER_AND_SHIFT } } }",
     R"(ops { op: "conv2d" weight_values: WEIGHTS_INT4 )"
     R"(narrower { weight_values: WEIGHTS_TERNARY } } )"
     R"(ops { op: "depthwise_conv2d" )"
     R"(narrower { weight_values: WEIGHTS_TERNARY } } )"
     R"(ops { op: "fully_connected" weight_values: WEIGHTS_TERNARY })"},
    // One pattern that multiplies, and nothing has to be converted.
    {"Converters",
     "engines { patterns { ops: 'conv2d' numerics { per_channel: true"
     "  activations: INT8 weights: INT8 activation_zero_points: true"
     "  requantization: ADC roundings: FLOOR"
     "  converter { min: -32 max: 31 max_gain: 9 max_shift: 4 } } }"
     "  patterns { ops: 'fully_connected' numerics { per_channel: true"
     "  activations: INT8 weights: INT8 activation_zero_points: true"
     "  requantization: ADC roundings: FLOOR"
     "  converter { min: -32 max: 31 max_gain: 9 max_shift: 4 } } }"
     "  patterns { ops: 'fully_connected' numerics { per_channel: true"
     "  activations: INT8 weights: INT8 activation_zero_points: true"
     "  requantization: MULTIPLIER_AND_SHIFT } } }",
     R"(ops { op: "conv2d" converter { min: -32 max: 31 max_gain: 9 )"
     "max_shift: 4 } }"},
    // The most of one form; 32 of some pattern is no need.
    {"NarrowAccumulators",
     "engines { patterns { ops: 'conv2d' numerics { per_channel: true"
     "  activations: INT8 weights: INT8 activation_zero_points: true"
     "  accumulator_bits: 16 requantization: MULTIPLIER_AND_SHIFT } }"
     "  patterns { ops: 'conv2d' numerics { per_channel: true"
     "  activations: INT8 weights: INT8 activation_zero_points: true"
     "  accumulator_bits: 20 requantization: MULTIPLIER_AND_SHIFT } }"
     "  patterns { ops: 'conv2d' numerics { per_channel: true"
     "  activations: INT8 weights: INT8 activation_zero_points: true"
     "  weight_values: WEIGHTS_TERNARY accumulator_bits: 12"
     "  requantization: MULTIPLIER_AND_SHIFT } }"
     "  patterns { ops: 'fully_connected' numerics { per_channel: true"
     "  activations: INT8 weights: INT8 activation_zero_points: true"
     "  accumulator_bits: 24 requantization: MULTIPLIER_AND_SHIFT } }"
     "  patterns { ops: 'average_pool2d' numerics {"
     "  activations: INT8 activation_zero_points: true"
     "  accumulator_bits: 16 } } }"
     "engines { patterns { ops: 'fully_connected' numerics { per_channel: true"
     "  activations: INT8 weights: INT8 activation_zero_points: true"
     "  accumulator_bits: 32 requantization: MULTIPLIER_AND_SHIFT } } }",
     R"(ops { op: "conv2d" narrower { weight_values: WEIGHTS_TERNARY )"
     "accumulator_bits: 12 } accumulator_bits: 20 }"},
    {"AllAtOnce",
     "engines { patterns { ops: 'depthwise_conv2d' numerics {"
     "  activations: INT8 weights: INT8 requantization: SHIFT } } }",
     R"(per_tensor: "depthwise_conv2d" symmetric_activations: true )"
     "power_of_two_scales: true"},
};

INSTANTIATE_TEST_SUITE_P(All, QuantizationNeedsTest, testing::ValuesIn(kCases),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace edgekiln::target
