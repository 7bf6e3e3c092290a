// Quantization with samples: what it measures, and that it depends on nothing
// else.

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "base/rng.h"
#include "compiler/quantize/calibrate.h"
#include "compiler/quantize/quantize.h"
#include "compiler/quantize/testing/random_samples.h"
#include "compiler/quantize/testing/splat.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "tests/support/heap_peak.h"

namespace edgekiln::compiler {
namespace {

constexpr char kNetwork[] = R"(
%x : float32[1,6,6,2] = input
%w : float32[4,3,3,2] = constant splat 0.25
%h : float32[1,6,6,4] = conv2d(%x, %w) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1 pad_top 1 pad_bottom 1 pad_left 1 pad_right 1} clamp {min 0}} id conv
%d : float32[1,3,3,4] = constant splat 0.5
%e : float32[4] = constant [1, 0, -1, 3]
%k : float32[1,6,6,4] = depthwise_conv2d(%h, %d, %e) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1 pad_top 1 pad_bottom 1 pad_left 1 pad_right 1} depth_multiplier 1 clamp {min 0}} id depthwise
%p : float32[1,1,1,4] = average_pool2d(%k) {kernel_h 6 kernel_w 6 window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1}} id pool
%f : float32[1,4] = reshape(%p) id flat
%v : float32[3,4] = constant splat 0.1
%y : float32[1,3] = fully_connected(%f, %v) id dense
return %y
)";

Graph Network() { return WithRandomWeights(ParseWithSplats(kNetwork)); }

struct Result {
  Graph graph;
  std::string bytes;
  v1::QuantizationReport report;
};

Result Quantized(const Graph& graph, const std::vector<v1::Chunk>& chunks,
                 const std::string& config = "", const std::string& needs = "",
                 ops::CpuPath path = ops::CpuPath::kAuto) {
  v1::QuantizeOptions options;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      config, options.mutable_config()));
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      needs, options.mutable_needs()));
  const auto statistics = Calibrate(graph, chunks, nullptr, path);
  EXPECT_TRUE(statistics.ok()) << statistics.status();
  const auto network = Quantize(
      graph, options,
      {.statistics = *statistics, .samples = chunks, .cpu_path = path});
  EXPECT_TRUE(network.ok()) << network.status();
  return {network->graph,
          GraphToProto(network->graph).SerializeAsString() +
              network->report.SerializeAsString(),
          network->report};
}

constexpr char kShiftNeeds[] =
    "per_tensor: 'conv2d' per_tensor: 'depthwise_conv2d' "
    "per_tensor: 'fully_connected' symmetric_activations: true "
    "power_of_two_scales: true rounding: FLOOR";

constexpr char kConverterNeeds[] =
    "ops { op: 'conv2d' narrower { weight_values: WEIGHTS_TERNARY"
    "  converter { min: -32 max: 31 max_gain: 4096 max_shift: 15 } } }";

TEST(FittedTest, NothingButTheSamplesCounts) {
  const Graph graph = Network();
  std::vector<int> shuffled = InOrder(24);
  std::rotate(shuffled.begin(), shuffled.begin() + 7, shuffled.end());
  std::swap(shuffled[3], shuffled[20]);
  for (const char* needs : {"", kShiftNeeds, kConverterNeeds}) {
    for (const char* config :
         {"", "scheme { weights: INT4 }", "activations: ACTIVATIONS_INT16",
          "layers { layer: 'conv' scheme { weights: TERNARY } }"}) {
      const Result want = Quantized(
          graph, RandomSamples(graph, InOrder(24), 24), config, needs);
      EXPECT_EQ(
          Quantized(graph, RandomSamples(graph, shuffled, 5), config, needs)
              .bytes,
          want.bytes);
      for (const ops::CpuPath path :
           {ops::CpuPath::kScalar, ops::CpuPath::kAvx2,
            ops::CpuPath::kAvx512}) {
        EXPECT_EQ(Quantized(graph, RandomSamples(graph, InOrder(24), 24),
                            config, needs, path)
                      .bytes,
                  want.bytes);
      }
    }
  }
}

// Whatever is switched off: valid graphs, and each method makes outputs better.
TEST(FittedTest, EachMethodHelps) {
  const Graph graph = Network();
  const std::vector<v1::Chunk> chunks = RandomSamples(graph, InOrder(64), 64);
  const auto last = [&](const char* config) {
    const Result result = Quantized(graph, chunks, config, kShiftNeeds);
    EXPECT_TRUE(VerifyGraph(result.graph).ok());
    EXPECT_EQ(result.report.samples(), 64);
    return result.report.layers().rbegin()->output_sqnr_db();
  };
  const double all = last("");
  EXPECT_GT(all, last("scheme { rounding: NEAREST } bias_correction: OFF "
                      "equalization: OFF ranges { method: MIN_MAX }") +
                     3);
  // Noise is all that is left of the mean.
  EXPECT_GT(all, last("bias_correction: OFF") - 0.5);
}

TEST(FittedTest, ReportsWhatWasDone) {
  const Graph graph = Network();
  const Result result =
      Quantized(graph, RandomSamples(graph, InOrder(16), 16),
                "layers { layer: 'conv' scheme { weights: INT4 } } "
                "layers { layer: 'dense' scheme { keep_float: ON } }");
  ASSERT_EQ(result.report.layers_size(), 5);
  const v1::QuantizedLayer& conv = result.report.layers(0);
  EXPECT_EQ(conv.id(), "conv");
  EXPECT_EQ(conv.op(), "conv2d");
  EXPECT_EQ(conv.weights(), v1::LayerScheme::INT4);
  EXPECT_EQ(conv.rounding(), v1::ADAPTIVE);
  EXPECT_GT(conv.weight_sqnr_db(), 10);
  EXPECT_LT(conv.weight_sqnr_db(), 30);
  EXPECT_LE(conv.worst_channel_sqnr_db(), conv.weight_sqnr_db());
  EXPECT_GT(conv.output_sqnr_db(), 10);
  EXPECT_GT(result.report.layers(1).adapted_weights(), 0);
  EXPECT_EQ(conv.range_low(), 0);
  EXPECT_GT(conv.range_high(), 0);
  const v1::QuantizedLayer& depthwise = result.report.layers(1);
  EXPECT_GT(depthwise.weight_sqnr_db(), 35);
  const v1::QuantizedLayer& dense = result.report.layers(4);
  EXPECT_TRUE(dense.is_float());
  EXPECT_NE(dense.reason(), "");
}

// In place of factors and a bias; what follows has zero points.
TEST(FittedTest, ConvertersMakeResultsWhereTheEngineHasOne) {
  const Graph graph = Network();
  const auto quantized = [&](int samples) {
    return Quantized(graph, RandomSamples(graph, InOrder(samples), 64),
                     "layers { layer: 'conv' scheme { weights: TERNARY } }",
                     kConverterNeeds);
  };
  const Result fitted = quantized(64);
  ASSERT_TRUE(VerifyGraph(fitted.graph).ok());
  for (const Op& op : fitted.graph.ops) {
    EXPECT_EQ(op.attributes.has_converter(), op.id == "conv") << op.id;
    if (op.id != "conv") continue;
    EXPECT_EQ(op.inputs.size(), 2u);
    EXPECT_EQ(op.attributes.rounding(), v1::FLOOR);
    const v1::Converter& converter = op.attributes.converter();
    EXPECT_EQ(converter.min(), -32);
    EXPECT_EQ(converter.max(), 31);
    EXPECT_EQ(converter.scale_size(), 4);
    EXPECT_EQ(converter.offset_size(), 4);
    EXPECT_GT(converter.gain(), 1);
    const Tensor& result = fitted.graph.tensors[op.outputs[0]];
    EXPECT_EQ(result.quantization->zero_point[0], 0);
  }
  const v1::QuantizedLayer& conv = fitted.report.layers(0);
  EXPECT_TRUE(conv.converter());
  // Ternary weights of a uniform distribution and 6 bits.
  EXPECT_GT(conv.output_sqnr_db(), 6);
  EXPECT_FALSE(fitted.report.layers(1).converter());
  // Without samples: by ranges.
  v1::QuantizeOptions options;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      kConverterNeeds, options.mutable_needs()));
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      "layers { layer: 'conv' scheme { weights: TERNARY } }",
      options.mutable_config()));
  const auto statistics = Calibrate(graph, RandomSamples(graph, InOrder(8), 8));
  ASSERT_TRUE(statistics.ok());
  const auto unfitted = Quantize(graph, options, {.statistics = *statistics});
  ASSERT_TRUE(unfitted.ok()) << unfitted.status();
  EXPECT_TRUE(VerifyGraph(unfitted->graph).ok());
}

TEST(FittedTest, FewerSamplesCanBeAskedFor) {
  const Graph graph = Network();
  EXPECT_EQ(
      Quantized(graph, RandomSamples(graph, InOrder(16), 16), "samples: 5")
          .report.samples(),
      5);
}

// Thousands of layers: what is alive at a time counts, not what there is.
TEST(FittedTest, ManyLayersTakeLittleMemory) {
  Graph graph = ParseWithSplats(R"(
%x : float32[1,1,16,8] = input
%w : float32[8,1,1,8] = constant splat 0.3
%y : float32[1,1,16,8] = conv2d(%x, %w) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1} clamp {min 0 max 6}} id y
return %y
)");
  for (int i = 1; i < 3200; ++i) {
    Op op = graph.ops.back();
    Tensor tensor = graph.tensors[op.outputs[0]];
    tensor.name = "y" + std::to_string(i);
    op.id = tensor.name;
    op.inputs[0] = op.outputs[0];
    op.outputs = {static_cast<TensorId>(graph.tensors.size())};
    graph.tensors.push_back(tensor);
    graph.ops.push_back(op);
  }
  graph.outputs = graph.ops.back().outputs;
  const std::vector<v1::Chunk> chunks = RandomSamples(graph, InOrder(8), 8);
  const tests::HeapPeak peak;
  Quantized(graph, chunks);
  EXPECT_LT(peak.bytes(), int64_t{100} << 20);
}

}  // namespace
}  // namespace edgekiln::compiler
