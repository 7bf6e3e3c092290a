#include "compiler/partition/one_channel.h"

#include <google/protobuf/text_format.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compiler/ir/interpreter.h"
#include "compiler/ir/text.h"
#include "compiler/partition/partition.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

constexpr char kNumerics[] =
    " numerics { activations: INT8 weights: INT8 roundings: HALF_UP roundings: "
    "HALF_EVEN "
    "requantization: MULTIPLIER_AND_SHIFT accumulator_bits: 32 "
    "per_channel: true activation_zero_points: true "
    "weight_zero_points: true }";

// Of one engine that has these ops.
v1::Capabilities Engine(const std::vector<std::string>& ops) {
  std::string patterns;
  for (const std::string& op : ops) {
    absl::StrAppend(&patterns, " patterns { ops: '", op, "'", kNumerics, " }");
  }
  v1::Capabilities capabilities;
  EXPECT_TRUE(google::protobuf::TextFormat::MergeFromString(
      absl::StrCat("engines { name: 'e'", patterns, " }"), &capabilities));
  return capabilities;
}

// Two layers that share weights with zero points of their own, by channel.
constexpr char kLayers[] = R"(
%x : int8[1,3,2,1] scale 0.5 zero 3 = input
%w : int8[1,2,1,3] axis 3 scale [0.25, 0.5, 1] zero [5, -3, 0] = constant [1, -2, 3, -4, 5, -6]
%b : int32[3] = constant [10, -20, 30]
%y : int8[1,2,2,3] scale 3 zero 1 = depthwise_conv2d(%x, %w, %b) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1} depth_multiplier 3 clamp {min 0 max 60}} id y
%z : int8[1,1,2,3] scale 3 zero 1 = depthwise_conv2d(%x, %w, %b) {window {stride_h 2 stride_w 1 dilation_h 1 dilation_w 1} depth_multiplier 3 rounding HALF_EVEN} id z
return %y, %z
)";

std::vector<std::string> KindsOf(const Graph& graph) {
  std::vector<std::string> kinds;
  for (const Op& op : graph.ops) kinds.emplace_back(op.kind());
  return kinds;
}

std::vector<std::string> KindsAfter(const std::string& text,
                                    const std::vector<std::string>& ops) {
  absl::StatusOr<Graph> graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  const absl::Status done = ConvolveOneChannel(Engine(ops), *graph);
  EXPECT_TRUE(done.ok()) << done;
  return KindsOf(*graph);
}

const std::vector<std::string> kStay = {"depthwise_conv2d", "depthwise_conv2d"};
const std::vector<std::string> kChange = {"conv2d", "conv2d"};

TEST(ConvolveOneChannelTest, WhereAnEngineThenTakesIt) {
  EXPECT_EQ(KindsAfter(kLayers, {"conv2d"}), kChange);
  EXPECT_EQ(KindsAfter(kLayers, {"add"}), kStay);
  EXPECT_EQ(KindsAfter(kLayers, {"depthwise_conv2d", "conv2d"}), kStay);
  EXPECT_EQ(KindsAfter(kLayers, {}), kStay);
}

TEST(ConvolveOneChannelTest, ComputesTheSame) {
  const absl::StatusOr<Graph> graph = ParseGraph(kLayers);
  ASSERT_TRUE(graph.ok()) << graph.status();
  Graph dense = *graph;
  ASSERT_TRUE(ConvolveOneChannel(Engine({"conv2d"}), dense).ok());
  ASSERT_EQ(KindsOf(dense), kChange);
  const absl::Status verified = VerifyGraph(dense);
  ASSERT_TRUE(verified.ok()) << verified;
  for (size_t i = 0; i < graph->tensors.size(); ++i) {
    if (graph->tensors[i].name == "w") continue;
    EXPECT_EQ(dense.tensors[i].name, graph->tensors[i].name) << i;
  }
  const std::string input("\x05\x80\x7f\x11\x22\xf3", 6);
  const auto want = Evaluate(*graph, {input});
  const auto got = Evaluate(dense, {input});
  ASSERT_TRUE(want.ok()) << want.status();
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(*got, *want);
}

TEST(ConvolveOneChannelTest, PartitionsHaveThem) {
  const absl::StatusOr<Graph> graph = ParseGraph(kLayers);
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto partition = PartitionGraph(*graph, Engine({"conv2d"}));
  ASSERT_TRUE(partition.ok()) << partition.status();
  for (const auto& placement : partition->placements()) {
    EXPECT_EQ(placement.engine(), 0) << placement.reason();
  }
}

TEST(ConvolveOneChannelTest, MoreChannelsStay) {
  EXPECT_EQ(KindsAfter(R"(
%x : int8[1,1,1,2] scale 0.5 zero 3 = input
%w : int8[1,1,1,4] scale 0.25 zero 0 = constant [1, -2, 3, -4]
%y : int8[1,1,1,4] scale 3 zero 1 = depthwise_conv2d(%x, %w) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1} depth_multiplier 2} id y
return %y
)",
                       {"conv2d"}),
            std::vector<std::string>{"depthwise_conv2d"});
}

}  // namespace
}  // namespace edgekiln::compiler
