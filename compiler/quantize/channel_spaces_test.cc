#include "compiler/quantize/channel_spaces.h"

#include <cmath>
#include <string>
#include <vector>

#include "compiler/ir/text.h"
#include "compiler/quantize/testing/float_output.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

struct SpacesCase {
  const char* name;
  const char* text;
  // Ops that make the tensors of each space.
  std::vector<std::vector<std::string>> want;
};

std::string Filled(std::string text) {
  constexpr char kWindow[] =
      "window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1}";
  for (size_t at; (at = text.find("WINDOW")) != std::string::npos;) {
    text.replace(at, 6, kWindow);
  }
  return text;
}

const SpacesCase kCases[] = {
    {"ThroughAddPoolAndFlattening",
     R"(
%x : float32[1,2,2,2] = input
%w : float32[2,1,1,2] = constant [1, 2, -3, 4]
%b : float32[2] = constant [8, -0.125]
%h : float32[1,2,2,2] = conv2d(%x, %w, %b) {WINDOW clamp {min 0}} id h
%v : float32[2,1,1,2] = constant [1, -2, 0.5, 2]
%k : float32[1,2,2,2] = conv2d(%h, %v) {WINDOW} id k
%a : float32[1,2,2,2] = add(%h, %k) {clamp {min 0}} id a
%p : float32[1,1,2,2] = average_pool2d(%a) {kernel_h 2 kernel_w 1 WINDOW} id p
%f : float32[1,4] = reshape(%p) id f
%u : float32[1,4] = constant [1, 2, -0.5, 3]
%y : float32[1,1] = fully_connected(%f, %u) id y
return %y
)",
     {{"h", "k", "a", "p", "f"}}},
    {"BothSidesOfADepthwiseConvolution",
     R"(
%x : float32[1,2,2,2] = input
%w : float32[2,1,1,2] = constant [1, 2, -3, 4]
%h : float32[1,2,2,2] = conv2d(%x, %w) {WINDOW clamp {min 0}} id h
%v : float32[1,1,1,4] = constant [1, -2, 3, -4]
%d : float32[1,2,2,4] = depthwise_conv2d(%h, %v) {WINDOW depth_multiplier 2 clamp {min 0}} id d
%u : float32[1,1,1,4] = constant [1, 2, 1, 2]
%y : float32[1,2,2,1] = conv2d(%d, %u) {WINDOW} id y
return %y
)",
     {{"h"}, {"d"}}},
    {"NotWithAnUpperLimit",
     R"(
%x : float32[1,2,2,2] = input
%w : float32[2,1,1,2] = constant [1, 2, -3, 4]
%h : float32[1,2,2,2] = conv2d(%x, %w) {WINDOW clamp {min 0 max 6}} id h
%v : float32[1,1,1,2] = constant [1, 2]
%y : float32[1,2,2,1] = conv2d(%h, %v) {WINDOW} id y
return %y
)",
     {}},
    {"NotWhatMixesChannelsElsewhere",
     R"(
%x : float32[1,2,2,2] = input
%w : float32[2,1,1,2] = constant [1, 2, -3, 4]
%h : float32[1,2,2,2] = conv2d(%x, %w) {WINDOW} id h
%s : float32[1,2,2,2] = softmax(%h) {beta 1 axis 3} id s
%v : float32[1,1,1,2] = constant [1, 2]
%y : float32[1,2,2,1] = conv2d(%h, %v) {WINDOW} id y
return %y, %s
)",
     {}},
    {"NotGraphOutputs",
     R"(
%x : float32[1,2,2,2] = input
%w : float32[2,1,1,2] = constant [1, 2, -3, 4]
%h : float32[1,2,2,2] = conv2d(%x, %w) {WINDOW} id h
%v : float32[1,1,1,2] = constant [1, 2]
%y : float32[1,2,2,1] = conv2d(%h, %v) {WINDOW} id y
return %y, %h
)",
     {}},
    {"SharedWeightsAreCopied",
     R"(
%x : float32[1,2,2,2] = input
%w : float32[2,1,1,2] = constant [1, 2, -3, 4]
%h : float32[1,2,2,2] = conv2d(%x, %w) {WINDOW} id h
%y : float32[1,2,2,2] = conv2d(%h, %w) {WINDOW} id y
return %y
)",
     {{"h"}}},
};

class ChannelSpacesTest : public testing::TestWithParam<SpacesCase> {};

TEST_P(ChannelSpacesTest, AreFoundAndScaled) {
  const absl::StatusOr<Graph> graph = ParseGraph(Filled(GetParam().text));
  ASSERT_TRUE(graph.ok()) << graph.status();
  const std::vector<int32_t> producers = Producers(*graph);
  const std::vector<ChannelSpace> spaces = ChannelSpaces(*graph);
  std::vector<std::vector<std::string>> found;
  Graph scaled = *graph;
  for (const ChannelSpace& space : spaces) {
    found.emplace_back();
    for (const TensorId tensor : space.tensors) {
      found.back().push_back(graph->ops[producers[tensor]].id);
    }
    std::vector<double> factors;
    for (int64_t c = 0; c < space.channels; ++c) {
      factors.push_back(c % 2 == 0 ? 0.25 : 3);
    }
    ScaleChannels(space, factors, scaled);
  }
  EXPECT_EQ(found, GetParam().want);
  ASSERT_TRUE(VerifyGraph(scaled).ok());
  EXPECT_EQ(PrintGraph(scaled) == PrintGraph(*graph), spaces.empty());
  const std::vector<float> before = Output(*graph);
  const std::vector<float> after = Output(scaled);
  for (size_t i = 0; i < before.size(); ++i) {
    EXPECT_NEAR(after[i], before[i], 1e-5 * std::abs(before[i]) + 1e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(All, ChannelSpacesTest, testing::ValuesIn(kCases),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace edgekiln::compiler
