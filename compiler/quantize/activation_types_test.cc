// Float networks whose activations become uint8 or int16.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compiler/ir/interpreter.h"
#include "compiler/ir/text.h"
#include "compiler/quantize/calibrate.h"
#include "compiler/quantize/input_moments.h"
#include "compiler/quantize/integer_choice.h"
#include "compiler/quantize/quantize.h"
#include "compiler/quantize/testing/random_samples.h"
#include "compiler/quantize/testing/splat.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

constexpr char kNetwork[] = R"(
%x : float32[1,6,6,2] = input
%w : float32[4,3,3,2] = constant splat 0.25
%h : float32[1,6,6,4] = conv2d(%x, %w) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1 pad_top 1 pad_bottom 1 pad_left 1 pad_right 1} clamp {min 0}} id conv
%d : float32[1,3,3,4] = constant splat 0.5
%e : float32[4] = constant [1, 0, -1, 3]
%k : float32[1,6,6,4] = depthwise_conv2d(%h, %d, %e) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1 pad_top 1 pad_bottom 1 pad_left 1 pad_right 1} depth_multiplier 1} id depthwise
%s : float32[1,6,6,4] = add(%h, %k) id add
%c : float32[4] = constant [0.5, -0.25, 1, 2]
%m : float32[1,6,6,4] = mul(%s, %c) id mul
%p : float32[1,2,2,4] = average_pool2d(%m) {kernel_h 3 kernel_w 3 window {stride_h 3 stride_w 3 dilation_h 1 dilation_w 1}} id pool
%f : float32[1,16] = reshape(%p) id flat
%v : float32[3,16] = constant splat 0.1
%z : float32[1,3] = fully_connected(%f, %v) id dense
%y : float32[1,3] = softmax(%z) {axis 1 beta 1} id scores
return %y
)";

Graph Network() { return WithRandomWeights(ParseWithSplats(kNetwork)); }

v1::QuantizeOptions OptionsOf(const std::string& config,
                              const std::string& needs = "") {
  v1::QuantizeOptions options;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      config, options.mutable_config()));
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      needs, options.mutable_needs()));
  return options;
}

QuantizedNetwork Quantized(const std::string& config,
                           const std::string& needs = "") {
  const Graph graph = Network();
  const std::vector<v1::Chunk> chunks = RandomSamples(graph, InOrder(24), 24);
  const auto statistics = Calibrate(graph, chunks);
  EXPECT_TRUE(statistics.ok()) << statistics.status();
  auto network = Quantize(graph, OptionsOf(config, needs),
                          {.statistics = *statistics, .samples = chunks});
  EXPECT_TRUE(network.ok()) << network.status();
  return network.ok() ? *std::move(network) : QuantizedNetwork();
}

std::vector<std::string> Outputs(const Graph& graph) {
  std::vector<std::string> outputs;
  const std::vector<v1::Chunk> chunks = RandomSamples(graph, InOrder(24), 1);
  for (const v1::Chunk& chunk : chunks) {
    const std::string& bytes = chunk.arrays(0).data();
    const auto made = Evaluate(graph, {bytes});
    EXPECT_TRUE(made.ok()) << made.status();
    if (made.ok()) outputs.push_back((*made)[0]);
  }
  return outputs;
}

// Types of what ops read and make as integers, without weights and biases.
std::vector<const Tensor*> Activations(const Graph& graph) {
  std::vector<const Tensor*> activations;
  for (const Op& op : graph.ops) {
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const Tensor& tensor = graph.tensors[op.inputs[i]];
      const bool weights = WeightAxis(op) >= 0 && i > 0;
      if (!weights && tensor.quantization) activations.push_back(&tensor);
    }
    const Tensor& made = graph.tensors[op.outputs[0]];
    if (made.quantization) activations.push_back(&made);
  }
  return activations;
}

const Op* Find(const Graph& graph, const std::string& id) {
  for (const Op& op : graph.ops) {
    if (op.id == id) return &op;
  }
  ADD_FAILURE() << "no layer " << id;
  return nullptr;
}

TEST(ActivationTypesTest, Uint8IsInt8WithAnotherZero) {
  const QuantizedNetwork eight = Quantized("");
  const QuantizedNetwork moved = Quantized("activations: ACTIVATIONS_UINT8");
  const auto signed_ones = Activations(eight.graph);
  const auto unsigned_ones = Activations(moved.graph);
  ASSERT_EQ(signed_ones.size(), unsigned_ones.size());
  ASSERT_GT(signed_ones.size(), 10u);
  for (size_t i = 0; i < signed_ones.size(); ++i) {
    EXPECT_EQ(unsigned_ones[i]->type, v1::UINT8) << unsigned_ones[i]->name;
    EXPECT_EQ(unsigned_ones[i]->quantization->scale,
              signed_ones[i]->quantization->scale);
    EXPECT_EQ(unsigned_ones[i]->quantization->zero_point[0],
              signed_ones[i]->quantization->zero_point[0] + 128);
  }
  EXPECT_EQ(Outputs(moved.graph), Outputs(eight.graph));
  for (int i = 0; i < eight.report.layers_size(); ++i) {
    EXPECT_EQ(moved.report.layers(i).range_low(),
              eight.report.layers(i).range_low());
    EXPECT_EQ(moved.report.layers(i).saturated(),
              eight.report.layers(i).saturated());
    EXPECT_EQ(moved.report.layers(i).output_sqnr_db(),
              eight.report.layers(i).output_sqnr_db());
  }
}

TEST(ActivationTypesTest, Int16IsSymmetricAndKeepsMore) {
  const QuantizedNetwork eight = Quantized("");
  const QuantizedNetwork wide = Quantized("activations: ACTIVATIONS_INT16");
  for (const Tensor* tensor : Activations(wide.graph)) {
    EXPECT_EQ(tensor->type, v1::INT16) << tensor->name;
    EXPECT_EQ(tensor->quantization->zero_point[0], 0) << tensor->name;
  }
  const Tensor& scores =
      wide.graph.tensors[Find(wide.graph, "scores")->outputs[0]];
  EXPECT_EQ(scores.quantization->scale[0], 0x1p-15f);
  // What is left is the rounding of weights.
  EXPECT_GT(wide.report.output_sqnr_db(), eight.report.output_sqnr_db() + 4);
  // Additions and products round activations alone.
  for (int i = 0; i < wide.report.layers_size(); ++i) {
    EXPECT_EQ(wide.report.layers(i).saturated(), 0);
    EXPECT_FALSE(wide.report.layers(i).is_float());
  }
  double adapted = 0;
  for (const auto& layer : wide.report.layers()) {
    adapted += layer.adapted_weights();
  }
  EXPECT_GT(adapted, 0);
}

// The largest sum that any input gives a channel of the layer.
double LargestSum(const Graph& graph, const std::string& id) {
  const Op& op = *Find(graph, id);
  EXPECT_EQ(op.inputs.size(), 3u) << id;
  if (op.inputs.size() != 3) return 0;
  const Tensor& weights = graph.tensors[op.inputs[1]];
  const Tensor& bias = graph.tensors[op.inputs[2]];
  EXPECT_EQ(weights.type, v1::INT8) << id;
  EXPECT_EQ(bias.type, v1::INT32) << id;
  if (bias.type != v1::INT32) return 0;
  std::vector<int32_t> biases(bias.data->size() / sizeof(int32_t));
  std::memcpy(biases.data(), bias.data->data(), bias.data->size());
  double largest = 0;
  for (size_t c = 0; c < biases.size(); ++c) {
    double sum = std::abs(static_cast<double>(biases[c]));
    for (const int64_t i :
         WeightsOfChannel(graph, op, static_cast<int64_t>(c))) {
      sum += 32768.0 * std::abs(static_cast<int8_t>((*weights.data)[i]));
    }
    largest = std::max(largest, sum);
  }
  return largest;
}

TEST(ActivationTypesTest, LayersOfInt16HaveBiasesWhoseSumsFitInt32) {
  for (const char* correction : {"ON", "OFF"}) {
    const Graph graph =
        Quantized(absl::StrCat("activations: ACTIVATIONS_INT16 ",
                               "bias_correction: ", correction))
            .graph;
    for (const char* id : {"conv", "depthwise", "dense"}) {
      const double most = LargestSum(graph, id);
      EXPECT_GT(most, 0) << id;
      EXPECT_LE(most, 0x7fffffff) << id;
    }
  }
}

// 127 * 32768 fits int32 516 times.
TEST(ActivationTypesTest, ScalesOfInt16AreRaisedUntilSumsFitInt32) {
  const Graph graph = ParseWithSplats(R"(
%x : float32[1,800] = input
%w : float32[2,800] = constant splat 0.25
%b : float32[2] = constant [3, -3]
%y : float32[1,2] = fully_connected(%x, %w, %b) id dense
return %y
)");
  const std::vector<v1::Chunk> chunks = RandomSamples(graph, InOrder(24), 24);
  const auto statistics = Calibrate(graph, chunks);
  ASSERT_TRUE(statistics.ok()) << statistics.status();
  for (const char* correction : {"ON", "OFF"}) {
    const auto network =
        Quantize(graph,
                 OptionsOf(absl::StrCat("activations: ACTIVATIONS_INT16 ",
                                        "bias_correction: ", correction)),
                 {.statistics = *statistics, .samples = chunks});
    ASSERT_TRUE(network.ok()) << network.status();
    const double most = LargestSum(network->graph, "dense");
    EXPECT_LE(most, 0x7fffffff);
    EXPECT_GT(most, 0x7fffffff * 0.9);  // No more than is needed.
  }
}

// More products than int32 holds without losing a bit of the weights.
TEST(ActivationTypesTest, ManyProductsGetWideSums) {
  std::string weights = "0.25";
  for (int i = 1; i < 9000; ++i) weights += ", 0.25";
  const auto parsed = ParseGraph(absl::StrCat(
      "%x : float32[1,3000] = input\n%w : float32[3,3000] = constant [",
      weights,
      "]\n%b : float32[3] = constant [1, -20, 300]\n"
      "%y : float32[1,3] = fully_connected(%x, %w, %b) id dense\nreturn %y\n"));
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  const Graph graph = WithRandomWeights(*parsed);
  const std::vector<v1::Chunk> chunks = RandomSamples(graph, InOrder(24), 24);
  const auto statistics = Calibrate(graph, chunks);
  ASSERT_TRUE(statistics.ok()) << statistics.status();
  const auto quantized = [&](const std::string& needs) {
    const auto network =
        Quantize(graph, OptionsOf("activations: ACTIVATIONS_INT16", needs),
                 {.statistics = *statistics, .samples = chunks});
    EXPECT_TRUE(network.ok()) << network.status();
    return *network;
  };
  const QuantizedNetwork wide = quantized("");
  const Op& op = *Find(wide.graph, "dense");
  EXPECT_EQ(wide.graph.tensors[op.inputs[2]].type, v1::INT64);
  // Engines have no such sums.
  const QuantizedNetwork narrow = quantized("activations: INT16");
  const Op& taken = *Find(narrow.graph, "dense");
  EXPECT_EQ(narrow.graph.tensors[taken.inputs[2]].type, v1::INT32);
  EXPECT_GT(wide.report.output_sqnr_db(), 40);
  EXPECT_GT(narrow.report.output_sqnr_db(), 25);
  EXPECT_GT(wide.report.layers(0).weight_sqnr_db(),
            narrow.report.layers(0).weight_sqnr_db() + 6);
}

// What a chip needs of int8 is not what the host needs of int16, nor are the
// results of its converters uint8.
TEST(ActivationTypesTest, ConvertersMakeInt8Alone) {
  const std::string needs =
      "ops { op: 'conv2d' narrower { weight_values: WEIGHTS_TERNARY"
      "  converter { min: -32 max: 31 max_gain: 4096 max_shift: 15 } } }"
      "ops { op: 'fully_connected' weight_values: WEIGHTS_INT4 }";
  const std::string ternary =
      "layers { layer: 'conv' scheme { weights: TERNARY } }";
  const auto is_converted = [&](const std::string& config) {
    const QuantizedNetwork network = Quantized(config + ternary, needs);
    const Op* const conv = Find(network.graph, "conv");
    return conv != nullptr && conv->attributes.has_converter();
  };
  const auto weights = [&](const std::string& config) {
    const QuantizedNetwork network = Quantized(config, needs);
    for (const auto& layer : network.report.layers()) {
      if (layer.id() == "dense") return layer.weights();
    }
    return v1::LayerScheme::WEIGHTS_UNSPECIFIED;
  };
  EXPECT_TRUE(is_converted(""));
  EXPECT_FALSE(is_converted("activations: ACTIVATIONS_UINT8 "));
  EXPECT_FALSE(is_converted("activations: ACTIVATIONS_INT16 "));
  EXPECT_EQ(weights(""), v1::LayerScheme::INT4);
  EXPECT_EQ(weights("activations: ACTIVATIONS_UINT8"), v1::LayerScheme::INT4);
  EXPECT_EQ(weights("activations: ACTIVATIONS_INT16"), v1::LayerScheme::INT8);
}

// Limits of engines that only shift are none of a network that they do not
// take.
TEST(ActivationTypesTest, NeedsOfEnginesAreNotThoseOfInt16) {
  const std::string needs =
      "per_tensor: 'conv2d' per_tensor: 'fully_connected' "
      "symmetric_activations: true power_of_two_scales: true rounding: FLOOR "
      "equal_addends: true";
  const std::string config = "activations: ACTIVATIONS_INT16";
  EXPECT_EQ(PrintGraph(Quantized(config, needs).graph),
            PrintGraph(Quantized(config).graph));
  EXPECT_NE(PrintGraph(Quantized("", needs).graph),
            PrintGraph(Quantized("").graph));
}

TEST(ActivationTypesTest, TargetsThatTakeOthersGetThem) {
  for (const auto* const tensor :
       Activations(Quantized("", "activations: INT16").graph)) {
    EXPECT_EQ(tensor->type, v1::INT16);
  }
  for (const auto* const tensor : Activations(
           Quantized("activations: ACTIVATIONS_INT8", "activations: INT16")
               .graph)) {
    EXPECT_EQ(tensor->type, v1::INT8);
  }
}

TEST(ActivationTypesTest, TheFormHasTheTypesOfTheResult) {
  for (const char* activations : {"ACTIVATIONS_UINT8", "ACTIVATIONS_INT16"}) {
    const std::string config = std::string("activations: ") + activations;
    const Graph graph = Network();
    const auto form = QuantizedForm(graph, {}, OptionsOf(config).config());
    ASSERT_TRUE(form.ok()) << form.status();
    const QuantizedNetwork result = Quantized(config);
    ASSERT_EQ(form->ops.size(), result.graph.ops.size());
    for (size_t i = 0; i < form->ops.size(); ++i) {
      const Tensor& of_form = form->tensors[form->ops[i].outputs[0]];
      const Tensor& of_result =
          result.graph.tensors[result.graph.ops[i].outputs[0]];
      EXPECT_EQ(of_form.type, of_result.type) << form->ops[i].id;
      EXPECT_EQ(of_form.name, of_result.name);
    }
    for (const Tensor& tensor : form->tensors) {
      if (!tensor.is_constant()) continue;
      EXPECT_EQ(std::ssize(*tensor.data),
                tensor.num_elements() * ElementBytes(tensor.type))
          << tensor.name;
    }
  }
}

}  // namespace
}  // namespace edgekiln::compiler
