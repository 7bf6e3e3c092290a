#include "compiler/quantize/equalize_activations.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/rng.h"
#include "compiler/ir/text.h"
#include "compiler/passes/graph_edit.h"
#include "compiler/quantize/layer_schemes.h"
#include "compiler/quantize/testing/splat.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

// Channel c of what is pooled is 16^-c as large as the first one, but counts
// as much.
constexpr char kNetwork[] = R"(
%x : float32[1,4,4,2] = input
%w : float32[2,1,1,2] = constant [4, -4, 0.25, 0.25]
%h : float32[1,4,4,2] = conv2d(%x, %w) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1} clamp {min 0 LIMIT}} id h
%p : float32[1,1,1,2] = average_pool2d(%h) {kernel_h 4 kernel_w 4 window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1}} id p
%f : float32[1,2] = reshape(%p) id f
%u : float32[2,2] = constant [0.25, 4, -0.25, 3]
%y : float32[1,2] = fully_connected(%f, %u) id y
return %y
)";

Graph Network(const std::string& limit) {
  std::string text = kNetwork;
  text.replace(text.find("LIMIT"), 5, limit);
  return ParseWithSplats(text);
}

struct Outcome {
  bool changed = false;
  std::string text;
  std::vector<float> weights;
};

Outcome Equalized(Graph graph, bool per_tensor = false) {
  Rng rng(1);
  v1::Chunk chunk;
  chunk.set_samples(16);
  std::string& data = *chunk.add_arrays()->mutable_data();
  for (int i = 0; i < 16 * 32; ++i) {
    const float value = static_cast<float>(rng.Next() >> 40) * 0x1p-24f;
    data.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  v1::QuantizationConfig config;
  config.mutable_scheme()->set_per_tensor(per_tensor ? v1::ON : v1::OFF);
  const auto schemes = LayerSchemes(graph, config, {}, true);
  EXPECT_TRUE(schemes.ok()) << schemes.status();
  const std::vector<v1::Chunk> chunks = {chunk};
  const auto samples = CalibrationSamples::Create(graph, chunks);
  EXPECT_TRUE(samples.ok()) << samples.status();
  const auto changed =
      EqualizeActivations(*schemes, *samples, {}, ops::CpuPath::kAuto, graph);
  EXPECT_TRUE(changed.ok()) << changed.status();
  return {*changed, PrintGraph(graph),
          *FloatConstantValues(graph.tensors[graph.ops[0].inputs[1]])};
}

TEST(EqualizeActivationsTest, EvensOutWhatIsPooled) {
  const Outcome result = Equalized(Network(""));
  ASSERT_TRUE(result.changed);
  EXPECT_LT(result.weights[0] / result.weights[2], 8);
  EXPECT_EQ(Equalized(Network("")).text, result.text);
}

TEST(EqualizeActivationsTest, LeavesAloneWhatCannotGain) {
  for (const bool per_tensor : {false, true}) {
    const Graph graph = Network(per_tensor ? "" : "max 6");
    const Outcome result = Equalized(graph, per_tensor);
    EXPECT_FALSE(result.changed);
    EXPECT_EQ(result.text, PrintGraph(graph));
  }
}

}  // namespace
}  // namespace edgekiln::compiler
