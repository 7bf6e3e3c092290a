#include "target/op_variables.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace edgekiln::target {
namespace {

using V = OpVariable;
using Shape = std::vector<int64_t>;

v1::OpAttributes Parse(const std::string& text) {
  v1::OpAttributes attributes;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &attributes));
  return attributes;
}

absl::StatusOr<OpVariables> Of(const std::string& attributes,
                               const std::vector<Shape>& inputs,
                               const Shape& output) {
  const std::vector<ShapeSpan> in(inputs.begin(), inputs.end());
  return VariablesOf(Parse(attributes), in, {ShapeSpan(output)});
}

// "name=value" of all that are neither 0 nor 1.
std::vector<std::string> Said(const OpVariables& variables) {
  std::vector<std::string> said;
  for (int i = 0; i < kNumOpVariables; ++i) {
    const int64_t value = variables.values()[i];
    if (value == 0 || value == 1) continue;
    said.push_back(OpVariableNames()[i] + "=" + std::to_string(value));
  }
  return said;
}

TEST(OpVariablesTest, EachHasItsName) {
  ASSERT_EQ(OpVariableNames().size(), kNumOpVariables);
  const auto name = [](V variable) {
    return OpVariableNames()[static_cast<size_t>(variable)];
  };
  EXPECT_EQ(name(V::kBatch), "batch");
  EXPECT_EQ(name(V::kIn2C), "in2_c");
  EXPECT_EQ(name(V::kOutC), "out_c");
  EXPECT_EQ(name(V::kDilationW), "dilation_w");
  EXPECT_EQ(name(V::kPadRight), "pad_right");
  EXPECT_EQ(name(V::kDepthMultiplier), "depth_multiplier");
  EXPECT_EQ(name(V::kIn2Elements), "in2_elements");
  EXPECT_EQ(name(V::kElements), "elements");
}

TEST(OpVariablesTest, OfAConvolution) {
  const auto variables =
      Of("conv2d { groups: 2 window { stride_h: 2 stride_w: 3 dilation_h: 4 "
         "dilation_w: 5 pad_top: 6 pad_bottom: 7 pad_left: 8 pad_right: 9 } }",
         {{2, 30, 20, 4}, {8, 5, 3, 2}, {}}, {2, 14, 9, 8});
  ASSERT_TRUE(variables.ok()) << variables.status();
  EXPECT_THAT(
      Said(*variables),
      testing::ElementsAre(
          "batch=2", "in_h=30", "in_w=20", "in_c=4", "out_h=14", "out_w=9",
          "out_c=8", "kernel_h=5", "kernel_w=3", "stride_h=2", "stride_w=3",
          "dilation_h=4", "dilation_w=5", "pad_top=6", "pad_bottom=7",
          "pad_left=8", "pad_right=9", "groups=2", "in_elements=4800",
          "out_elements=2016", "macs=60480", "elements=60480"));
}

TEST(OpVariablesTest, OfADepthwiseConvolution) {
  const auto variables = Of(
      "depthwise_conv2d { depth_multiplier: 2 window { stride_h: 1 stride_w: 1 "
      "dilation_h: 1 dilation_w: 1 } }",
      {{1, 4, 4, 4}, {1, 3, 2, 8}}, {1, 2, 3, 8});
  ASSERT_TRUE(variables.ok()) << variables.status();
  EXPECT_THAT(
      Said(*variables),
      testing::ElementsAre("in_h=4", "in_w=4", "in_c=4", "out_h=2", "out_w=3",
                           "out_c=8", "kernel_h=3", "kernel_w=2",
                           "depth_multiplier=2", "in_elements=64",
                           "out_elements=48", "macs=288", "elements=288"));
}

// Flattened to rows.
TEST(OpVariablesTest, OfAFullyConnectedLayer) {
  const auto variables =
      Of("fully_connected {}", {{3, 2, 2, 4}, {10, 8}}, {6, 10});
  ASSERT_TRUE(variables.ok()) << variables.status();
  EXPECT_THAT(Said(*variables),
              testing::ElementsAre("in_w=6", "in_c=8", "out_w=6", "out_c=10",
                                   "in_elements=48", "out_elements=60",
                                   "macs=480", "elements=480"));
  EXPECT_EQ((*variables)[V::kBatch], 1);
  EXPECT_EQ((*variables)[V::kInH], 1);
}

TEST(OpVariablesTest, OfOpsWithTwoOperands) {
  const auto variables = Of("add {}", {{1, 5, 6, 7}, {7}}, {1, 5, 6, 7});
  ASSERT_TRUE(variables.ok()) << variables.status();
  EXPECT_THAT(Said(*variables),
              testing::ElementsAre("in_h=5", "in_w=6", "in_c=7", "in2_c=7",
                                   "out_h=5", "out_w=6", "out_c=7",
                                   "in_elements=210", "in2_elements=7",
                                   "out_elements=210", "elements=210"));
  EXPECT_EQ((*variables)[V::kIn2H], 1);
}

TEST(OpVariablesTest, TellWhetherAllShapesAreOne) {
  const auto one = [](const std::vector<Shape>& inputs) {
    return (*Of("add {}", inputs, {1, 2, 3}))[V::kOneShape];
  };
  EXPECT_EQ(one({{1, 2, 3}, {1, 2, 3}}), 1);
  EXPECT_EQ(one({{1, 2, 3}, {2, 3}}), 0);
  EXPECT_EQ(one({{1, 1, 3}, {1, 2, 3}}), 0);
}

TEST(OpVariablesTest, OfAPool) {
  const auto variables =
      Of("average_pool2d { kernel_h: 3 kernel_w: 2 count_include_pad: true "
         "window { stride_h: 1 stride_w: 2 dilation_h: 1 dilation_w: 1 } }",
         {{1, 8, 8, 2}}, {1, 6, 4, 2});
  ASSERT_TRUE(variables.ok()) << variables.status();
  EXPECT_THAT(Said(*variables),
              testing::ElementsAre(
                  "in_h=8", "in_w=8", "in_c=2", "out_h=6", "out_w=4", "out_c=2",
                  "kernel_h=3", "kernel_w=2", "stride_w=2", "in_elements=128",
                  "out_elements=48", "elements=128"));
  EXPECT_EQ((*variables)[V::kCountPad], 1);
}

TEST(OpVariablesTest, TellWhetherAClipIsARelu) {
  const auto relu = [](const std::string& op) {
    return (*Of(op, {{1, 2, 3}}, {1, 2, 3}))[V::kRelu];
  };
  EXPECT_EQ(relu("clip { clamp { min: 0 } }"), 1);
  EXPECT_EQ(relu("clip { clamp { min: 0 max: 6 } }"), 0);
  EXPECT_EQ(relu("clip { clamp { min: -1 } }"), 0);
  EXPECT_EQ(relu("clip { clamp { max: 6 } }"), 0);
  EXPECT_EQ(relu("clip {}"), 0);
  EXPECT_EQ(relu("unary { function: ABS }"), 0);
}

TEST(OpVariablesTest, AnyShapesAreTakenUnlessTheyOverflow) {
  EXPECT_TRUE(Of("conv2d {}", {}, {}).ok());
  EXPECT_TRUE(Of("conv2d {}", {{}, {}}, {}).ok());
  EXPECT_TRUE(Of("fully_connected {}", {{0}, {0, 0}}, {0}).ok());
  EXPECT_TRUE(Of("depthwise_conv2d {}", {{1}, {2}}, {3}).ok());
  const int64_t huge = int64_t{1} << 32;
  EXPECT_TRUE(
      absl::IsInvalidArgument(Of("softmax {}", {{huge, huge}}, {1}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(Of("add {}", {{1}}, {-1}).status()));
  EXPECT_TRUE(absl::IsOutOfRange(
      Of("mat_mul {}", {{huge, huge / 4}, {huge / 4, 1}}, {huge, huge / 4})
          .status()));
}

struct ElementsCase {
  const char* attributes;
  std::vector<Shape> inputs;
  Shape output;
  int64_t want;
};

TEST(OpVariablesTest, ElementsAreMacsOrTheLargestOperand) {
  const ElementsCase kCases[] = {
      {"conv2d {}", {{1, 4, 4, 3}, {8, 3, 3, 3}}, {1, 4, 4, 8}, 4 * 4 * 8 * 27},
      {"depthwise_conv2d {}",
       {{1, 4, 4, 8}, {1, 3, 3, 8}},
       {1, 4, 4, 8},
       4 * 4 * 8 * 9},
      {"fully_connected {}", {{1, 64}, {10, 64}}, {1, 10}, 640},
      {"mat_mul {}", {{2, 5, 3}, {2, 3, 7}}, {2, 5, 7}, 2 * 5 * 7 * 3},
      {"conv2d { groups: 2 }",
       {{1, 4, 4, 4}, {8, 3, 3, 2}},
       {1, 4, 4, 8},
       4 * 4 * 8 * 18},
      {"conv3d {}",
       {{1, 2, 4, 4, 3}, {5, 2, 3, 3, 3}},
       {1, 2, 4, 4, 5},
       2 * 4 * 4 * 5 * 54},
      {"transposed_conv { groups: 2 }",
       {{1, 3, 4}, {6, 5, 2}},
       {1, 7, 6},
       3 * 4 * 5 * 6 / 2},
      {"lstm {}", {{7, 2, 3}, {20, 3}, {20, 5}}, {7, 2, 5}, 7 * 2 * (60 + 100)},
      {"gru {}", {{7, 2, 3}, {15, 3}, {15, 5}}, {7, 2, 5}, 7 * 2 * (45 + 75)},
      {"rnn {}", {{7, 2, 3}, {5, 3}, {5, 5}}, {7, 2, 5}, 7 * 2 * (15 + 25)},
      {"svdf {}", {{2, 3}, {4, 3}, {4, 9}}, {2, 4}, 2 * (12 + 36)},
      {"softmax {}", {{1, 10}}, {1, 10}, 10},
      {"average_pool2d {}", {{1, 8, 8, 2}}, {1, 1, 1, 2}, 128},
  };
  for (ElementsCase c : kCases) {
    c.inputs.emplace_back();  // An absent bias.
    const auto variables = Of(c.attributes, c.inputs, c.output);
    ASSERT_TRUE(variables.ok()) << variables.status();
    EXPECT_EQ((*variables)[V::kElements], c.want) << c.attributes;
  }
}

}  // namespace
}  // namespace edgekiln::target
