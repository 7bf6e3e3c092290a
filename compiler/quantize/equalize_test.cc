#include "compiler/quantize/equalize.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "compiler/ir/text.h"
#include "compiler/passes/graph_edit.h"
#include "compiler/quantize/testing/float_output.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

// The largest weight of each channel that the first op makes.
std::vector<double> Largest(const Graph& graph, int op, size_t channels,
                            bool last) {
  const std::vector<float> weights =
      *FloatConstantValues(graph.tensors[graph.ops[op].inputs[1]]);
  std::vector<double> largest(channels, 0);
  for (size_t i = 0; i < weights.size(); ++i) {
    const size_t c = last ? i % channels : i / (weights.size() / channels);
    largest[c] = std::max(largest[c], std::abs(double{weights[i]}));
  }
  return largest;
}

struct EqualizeCase {
  const char* name;
  const char* text;
  bool changes;
};

constexpr char kWindow[] =
    "window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1}";

std::string Filled(std::string text) {
  for (size_t at; (at = text.find("WINDOW")) != std::string::npos;) {
    text.replace(at, 6, kWindow);
  }
  return text;
}

const EqualizeCase kCases[] = {
    {"ThroughARelu", R"(
%x : float32[1,2,2,2] = input
%w : float32[2,1,1,2] = constant [100, 50, 0.5, 0.25]
%b : float32[2] = constant [8, -0.125]
%h : float32[1,2,2,2] = conv2d(%x, %w, %b) {WINDOW clamp {min 0}} id h
%v : float32[1,1,1,2] = constant [1, 2]
%y : float32[1,2,2,1] = conv2d(%h, %v) {WINDOW} id y
return %y
)",
     true},
    {"ThroughADepthwiseConvolution", R"(
%x : float32[1,2,2,2] = input
%w : float32[2,1,1,2] = constant [100, 50, 0.5, 0.25]
%h : float32[1,2,2,2] = conv2d(%x, %w) {WINDOW} id h
%v : float32[1,1,1,2] = constant [1, 2]
%y : float32[1,2,2,2] = depthwise_conv2d(%h, %v) {WINDOW depth_multiplier 1} id y
return %y
)",
     true},
    {"ThroughAPoolAndAFlattening", R"(
%x : float32[1,2,4,2] = input
%w : float32[2,1,1,2] = constant [100, 50, 0.5, 0.25]
%h : float32[1,2,4,2] = conv2d(%x, %w) {WINDOW clamp {min 0}} id h
%p : float32[1,1,2,2] = max_pool2d(%h) {kernel_h 2 kernel_w 2 window {stride_h 2 stride_w 2 dilation_h 1 dilation_w 1}} id p
%f : float32[1,4] = reshape(%p) id f
%v : float32[1,4] = constant [1, 2, -0.5, 3]
%y : float32[1,1] = fully_connected(%f, %v) id y
return %y
)",
     true},
    {"NotThroughAnUpperLimit", R"(
%x : float32[1,2,2,2] = input
%w : float32[2,1,1,2] = constant [100, 50, 0.5, 0.25]
%h : float32[1,2,2,2] = conv2d(%x, %w) {WINDOW clamp {min 0 max 6}} id h
%v : float32[1,1,1,2] = constant [1, 2]
%y : float32[1,2,2,1] = conv2d(%h, %v) {WINDOW} id y
return %y
)",
     false},
    {"NotWhatOthersRead", R"(
%x : float32[1,2,2,2] = input
%w : float32[2,1,1,2] = constant [100, 50, 0.5, 0.25]
%h : float32[1,2,2,2] = conv2d(%x, %w) {WINDOW} id h
%v : float32[2,1,1,2] = constant [1, 2, 1, 1]
%k : float32[1,2,2,2] = conv2d(%h, %v) {WINDOW} id k
%y : float32[1,2,2,2] = add(%h, %k) id y
return %y
)",
     false},
};

class EqualizeTest : public testing::TestWithParam<EqualizeCase> {};

TEST_P(EqualizeTest, KeepsWhatIsComputed) {
  const absl::StatusOr<Graph> graph = ParseGraph(Filled(GetParam().text));
  ASSERT_TRUE(graph.ok()) << graph.status();
  Graph equalized = *graph;
  EXPECT_FALSE(
      Equalize(equalized, std::vector<bool>(graph->ops.size(), false)));
  ASSERT_EQ(Equalize(equalized, std::vector<bool>(graph->ops.size(), true)),
            GetParam().changes);
  ASSERT_TRUE(VerifyGraph(equalized).ok());
  std::vector<float> x;
  for (int64_t i = 0; i < graph->tensors[graph->inputs[0]].num_elements();
       ++i) {
    x.push_back(static_cast<float>(i * 7 % 5) - 1.5f);
  }
  const std::vector<float> before = OutputFor(*graph, x);
  const std::vector<float> after = OutputFor(equalized, x);
  for (size_t i = 0; i < before.size(); ++i) {
    EXPECT_NEAR(after[i], before[i], 1e-4 * std::abs(before[i]) + 1e-4);
  }
  if (!GetParam().changes) {
    EXPECT_EQ(PrintGraph(equalized), PrintGraph(*graph));
    return;
  }
  const std::vector<double> made = Largest(equalized, 0, 2, false);
  const std::vector<double> was = Largest(*graph, 0, 2, false);
  EXPECT_LT(std::max(made[0], made[1]) / std::min(made[0], made[1]),
            0.2 * std::max(was[0], was[1]) / std::min(was[0], was[1]));
}

INSTANTIATE_TEST_SUITE_P(All, EqualizeTest, testing::ValuesIn(kCases),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

// A constant that another layer reads, too, stays as it is.
TEST(EqualizeTest, SharedWeightsAreCopied) {
  absl::StatusOr<Graph> graph = ParseGraph(Filled(R"(
%x : float32[1,2,2,2] = input
%w : float32[2,1,1,2] = constant [100, 50, 0.5, 0.25]
%h : float32[1,2,2,2] = conv2d(%x, %w) {WINDOW} id h
%k : float32[1,2,2,2] = conv2d(%h, %w) {WINDOW} id k
return %k
)"));
  ASSERT_TRUE(graph.ok()) << graph.status();
  Graph equalized = *graph;
  ASSERT_TRUE(Equalize(equalized, {true, true}));
  ASSERT_TRUE(VerifyGraph(equalized).ok());
  EXPECT_NE(equalized.ops[0].inputs[1], equalized.ops[1].inputs[1]);
  const std::vector<float> x = {1, 2, 3, 4, 5, 6, 7, 8};
  const std::vector<float> before = OutputFor(*graph, x);
  const std::vector<float> after = OutputFor(equalized, x);
  for (size_t i = 0; i < before.size(); ++i) {
    EXPECT_NEAR(after[i], before[i], 1e-4 * std::abs(before[i]));
  }
}

}  // namespace
}  // namespace edgekiln::compiler
