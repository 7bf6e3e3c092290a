#include "tests/chips/pattern_conditions.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace edgekiln::tests {
namespace {

using compiler::Graph;
using compiler::Tensor;
using compiler::TensorId;
using Pattern = v1::OpPattern;

bool IsPool(const Pattern& pattern) {
  return absl::EndsWith(pattern.ops(0), "_pool2d");
}

bool HasWindow(const Pattern& pattern) {
  return absl::EndsWith(pattern.ops(0), "conv2d") || IsPool(pattern);
}

float PowerOfTwo(float scale) {
  int exponent = 0;
  (void)std::frexp(scale, &exponent);
  return std::ldexp(1.0f, exponent);
}

// Brings weights of the first op among those that the numerics allow.
void ConformWeights(const v1::Numerics& numerics, Graph& graph) {
  const int32_t most = numerics.weight_values() == v1::WEIGHTS_TERNARY ? 1 : 7;
  if (numerics.weight_values() == v1::WEIGHTS_ANY) return;
  Tensor& weights = graph.tensors[graph.ops[0].inputs[1]];
  std::string data(*weights.data);
  for (char& value : data) value = static_cast<char>(value % (most + 1));
  weights.data = compiler::ConstantData(std::move(data));
}

// Rounding and converter of the first op as the numerics ask for.
void ConformResults(const v1::Numerics& numerics, Graph& graph) {
  v1::OpAttributes& op = graph.ops[0].attributes;
  const auto& roundings = numerics.roundings();
  if (!roundings.empty() &&
      std::count(roundings.begin(), roundings.end(), op.rounding()) == 0) {
    op.set_rounding(numerics.roundings(0));
  }
  if (numerics.requantization() != v1::Numerics::ADC) return;
  v1::Converter& converter = *op.mutable_converter();
  converter.set_gain(numerics.converter().max_gain());
  converter.set_min(numerics.converter().min());
  converter.set_max(numerics.converter().max());
  converter.set_shift(numerics.converter().max_shift());
  converter.add_scale(300);
  converter.add_offset(-7);
  Tensor& output = graph.tensors[graph.ops[0].outputs[0]];
  output.quantization->zero_point = {0};
}

// Operands of one scale, and no shifts to the left.
void ConformAdditions(const v1::Numerics& numerics, Graph& graph) {
  for (const compiler::Op& op : graph.ops) {
    if (!op.attributes.has_add()) continue;
    compiler::Quantization& a = *graph.tensors[op.inputs[0]].quantization;
    compiler::Quantization& b = *graph.tensors[op.inputs[1]].quantization;
    if (numerics.one_input_scale()) b = a;
    if (numerics.largest_shift() == 0) continue;
    float& out = graph.tensors[op.outputs[0]].quantization->scale[0];
    out = std::max({out, a.scale[0], b.scale[0]});
  }
}

// Numbers that the numerics allow.
void Conform(const Pattern& pattern, Graph& graph) {
  const v1::Numerics& numerics = pattern.numerics();
  ConformWeights(numerics, graph);
  ConformResults(numerics, graph);
  for (Tensor& tensor : graph.tensors) {
    if (!tensor.quantization) continue;
    compiler::Quantization& quantization = *tensor.quantization;
    if (tensor.is_constant() && !numerics.per_channel()) {
      quantization.scale.resize(1);
      quantization.zero_point.resize(1);
      quantization.axis = 0;
    }
    if (!numerics.activation_zero_points()) {
      for (int32_t& zero : quantization.zero_point) zero = 0;
    }
    if (numerics.requantization() != v1::Numerics::SHIFT) continue;
    for (float& scale : quantization.scale) scale = PowerOfTwo(scale);
  }
  ConformAdditions(numerics, graph);
}

// A layer that keeps the quantization of `x`; kNoTensor if `op` is none.
TensorId MapOf(const std::string& op, TensorId x,
               QuantizedGraphBuilder& builder) {
  if (op == "clip") return builder.Relu(x);
  // No product of it is a tie, in whatever floats.
  if (op == "leaky_relu") return builder.LeakyRelu(x, 0.2f);
  if (op == "abs") return builder.Abs(x);
  if (op == "minimum") return builder.Minimum(x, builder.InputLike(x));
  if (op == "maximum") return builder.Maximum(x, builder.InputLike(x));
  return compiler::kNoTensor;
}

// The op behind `x`, small.
TensorId AddLater(const std::string& op, TensorId x,
                  QuantizedGraphBuilder& builder) {
  const std::vector<int64_t> shape = builder.shape(x);
  if (op == "add") return builder.Add(x, builder.Input(shape));
  if (op == "conv2d") return builder.Conv(x, shape.back(), {}, false);
  if (op == "depthwise_conv2d") return builder.Depthwise(x, 1, {}, false);
  if (op == "fully_connected") return builder.FullyConnected(x, shape.back());
  if (op == "average_pool2d") return builder.AveragePool(x, {});
  return builder.MaxPool(x, {});
}

}  // namespace

void Shrink(LayerSizes& sizes) {
  sizes.h = sizes.w = 1;
  sizes.c = sizes.channels = 2;
  sizes.window = {};
}

void PadToFit(WindowCase& window) {
  for (const int axis : {0, 1}) {
    const auto reach =
        static_cast<int32_t>(window.kernel[axis] - 1) * window.dilation[axis];
    window.pad[axis * 2] = std::max(window.pad[axis * 2], reach);
  }
}

LayerSizes RandomSizes(const Pattern& pattern, Rng& rng) {
  LayerSizes sizes;
  sizes.h = rng.InRange(1, 7);
  sizes.w = rng.InRange(1, 7);
  sizes.c = rng.InRange(1, 9);
  sizes.channels = rng.InRange(1, 9);
  for (const int axis : {0, 1}) {
    WindowCase& window = sizes.window;
    window.kernel[axis] = rng.InRange(1, 4);
    window.stride[axis] = static_cast<int32_t>(rng.InRange(1, 3));
    if (IsPool(pattern)) continue;
    window.dilation[axis] = static_cast<int32_t>(rng.InRange(1, 3));
  }
  PadToFit(sizes.window);
  return sizes;
}

Graph LayerOf(const Pattern& pattern, const LayerSizes& sizes,
              QuantizedGraphBuilder& builder) {
  const std::string& op = pattern.ops(0);
  const std::vector<int64_t> shape =
      op == "fully_connected"
          ? std::vector<int64_t>{sizes.w, sizes.c}
          : std::vector<int64_t>{sizes.batch, sizes.h, sizes.w, sizes.c};
  const TensorId x = builder.Input(shape);
  TensorId y = MapOf(op, x, builder);
  if (y != compiler::kNoTensor) {
    // Made.
  } else if (op == "conv2d") {
    y = builder.Conv(x, sizes.channels, sizes.window, true);
  } else if (op == "depthwise_conv2d") {
    y = builder.Depthwise(x, sizes.channels, sizes.window, true);
  } else if (op == "fully_connected") {
    y = builder.FullyConnected(x, sizes.channels);
  } else if (op == "add") {
    y = builder.Add(x, builder.Input(shape));
  } else if (op == "average_pool2d") {
    y = builder.AveragePool(x, sizes.window);
  } else {
    y = builder.MaxPool(x, sizes.window);
  }
  for (int i = 1; i < pattern.ops_size(); ++i) {
    y = AddLater(pattern.ops(i), y, builder);
  }
  Graph graph = builder.Finish({y});
  Conform(pattern, graph);
  return graph;
}

bool SetVariable(const Pattern& pattern, const std::string& variable,
                 int64_t value, LayerSizes& sizes) {
  std::string name = variable;
  // Later ops read what the first one makes.
  for (int i = 1; i < pattern.ops_size(); ++i) {
    for (const absl::string_view nth : {"2_", "_"}) {
      absl::string_view rest = name;
      if (!absl::ConsumePrefix(&rest, absl::StrCat(pattern.ops(i), nth))) {
        continue;
      }
      absl::ConsumePrefix(&rest, "in_");
      absl::ConsumePrefix(&rest, "out_");
      name = absl::StrCat("out_", rest);
    }
  }
  WindowCase& window = sizes.window;
  const bool rows = pattern.ops(0) == "fully_connected";
  const bool windowed = HasWindow(pattern);
  const struct {
    const char* variable;
    bool applies;
    int64_t* wide;
    int32_t* narrow;
  } kPlaces[] = {
      {"batch", !rows, &sizes.batch, nullptr},
      {"in_h", !rows, &sizes.h, nullptr},
      {"in_w", true, &sizes.w, nullptr},
      {"in_c", true, &sizes.c, nullptr},
      {"out_h", !rows, &sizes.h, nullptr},
      {"out_w", true, &sizes.w, nullptr},
      {"out_c", true,
       pattern.ops(0) == "conv2d" || rows ? &sizes.channels : &sizes.c,
       nullptr},
      {"depth_multiplier", pattern.ops(0) == "depthwise_conv2d",
       &sizes.channels, nullptr},
      {"kernel_h", windowed, &window.kernel[0], nullptr},
      {"kernel_w", windowed, &window.kernel[1], nullptr},
      {"stride_h", windowed, nullptr, &window.stride[0]},
      {"stride_w", windowed, nullptr, &window.stride[1]},
      {"dilation_h", windowed, nullptr, &window.dilation[0]},
      {"dilation_w", windowed, nullptr, &window.dilation[1]},
      {"pad_top", windowed, nullptr, &window.pad[0]},
      {"pad_bottom", windowed, nullptr, &window.pad[1]},
      {"pad_left", windowed, nullptr, &window.pad[2]},
      {"pad_right", windowed, nullptr, &window.pad[3]}};
  for (const auto& place : kPlaces) {
    if (name != place.variable || !place.applies) continue;
    Shrink(sizes);
    if (name == "out_c" && pattern.ops(0) == "depthwise_conv2d") {
      sizes.channels = 1;
    }
    if (name == "depth_multiplier") sizes.c = 1;
    if (place.wide != nullptr) {
      *place.wide = value;
    } else {
      *place.narrow = static_cast<int32_t>(value);
    }
    // Two positions need no more than a step.
    if (absl::StartsWith(name, "dilation")) {
      window.kernel[name == "dilation_w"] = 2;
    }
    // As many steps would make a large output.
    if (absl::StartsWith(name, "pad")) {
      const bool vertical = name == "pad_top" || name == "pad_bottom";
      window.stride[vertical ? 0 : 1] =
          static_cast<int32_t>(std::max<int64_t>(value, 1));
    }
    PadToFit(window);
    return true;
  }
  return false;
}

bool SpoilVariable(const std::string& variable, Graph& graph) {
  if (variable == "groups") {
    graph.ops[0].attributes.mutable_conv2d()->set_groups(2);
    return true;
  }
  if (variable == "biased") {
    compiler::Op& op = graph.ops[0];
    op.inputs.resize(3, compiler::kNoTensor);
    if (op.inputs[2] != compiler::kNoTensor) return true;
    compiler::Tensor bias;
    bias.name = "bias";
    bias.type = v1::INT32;
    bias.shape = {graph.tensors[op.outputs[0]].shape.back()};
    bias.data = compiler::ConstantData(
        std::string(static_cast<size_t>(4 * bias.num_elements()), '\0'));
    op.inputs[2] = static_cast<compiler::TensorId>(graph.tensors.size());
    graph.tensors.push_back(std::move(bias));
    return true;
  }
  if (variable == "relu") {
    graph.ops[0].attributes.mutable_clip()->mutable_clamp()->set_max(6);
    return true;
  }
  if (!absl::EndsWith(variable, "one_shape")) return false;
  for (compiler::Op& op : graph.ops) {
    if (!op.attributes.has_add() && !op.attributes.has_binary()) continue;
    int64_t& extent = graph.tensors[op.inputs[1]].shape[1];
    extent = extent == 1 ? 2 : extent - 1;
  }
  return true;
}

}  // namespace edgekiln::tests
