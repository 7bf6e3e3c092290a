#include "compiler/passes/integer_dot.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compiler/ir/tensor_views.h"
#include "compiler/passes/graph_edit.h"
#include "compiler/passes/integer_rounding.h"
#include "ops/shape_inference.h"

namespace edgekiln::compiler {
namespace {

// A stored bias scale and the product it stands for may differ by this much,
// relatively: both are floats that went through other arithmetic.
constexpr double kSameScale = 1e-5;
// Leaves room for the products that are added to the bias.
constexpr double kMaxBias = 1 << 30;

double ScaleOf(const Quantization& quantization, size_t channel) {
  return quantization.scale[quantization.per_channel() ? channel : 0];
}

// A bias as integers with scales, or as real values.
struct Bias {
  std::vector<double> values;
  std::optional<Quantization> quantization;

  double Real(size_t channel) const {
    if (!quantization.has_value()) return values[channel];
    const size_t c = quantization->per_channel() ? channel : 0;
    return (values[channel] - quantization->zero_point[c]) *
           double{quantization->scale[c]};
  }
};

template <typename T>
std::vector<double> ValuesOf(absl::string_view data) {
  std::vector<double> values(data.size() / sizeof(T));
  for (size_t i = 0; i < values.size(); ++i) {
    T value;
    std::memcpy(&value, data.data() + i * sizeof(T), sizeof(T));
    values[i] = static_cast<double>(value);
  }
  return values;
}

std::optional<Bias> ReadBias(const Graph& graph, const IntegerSources& sources,
                             TensorId id) {
  const std::optional<std::vector<float>> floats =
      FloatConstantValues(graph.tensors[id]);
  if (floats.has_value()) {
    return Bias{{floats->begin(), floats->end()}, std::nullopt};
  }
  const std::optional<Tensor> integers = sources.ConstantOf(id);
  if (!integers.has_value()) return std::nullopt;
  switch (integers->type) {
    case v1::INT32:
      return Bias{ValuesOf<int32_t>(*integers->data), integers->quantization};
    case v1::INT8:
      return Bias{ValuesOf<int8_t>(*integers->data), integers->quantization};
    default:
      return std::nullopt;
  }
}

// The bias in steps of input scale * weight scale; empty if it is too large.
std::optional<Tensor> BiasInSteps(const Graph& graph,
                                  const IntegerSources& sources, TensorId id,
                                  double input_scale,
                                  const Quantization& weights) {
  const std::optional<Bias> bias = ReadBias(graph, sources, id);
  if (!bias.has_value()) return std::nullopt;
  Tensor tensor = graph.tensors[id];
  tensor.name = absl::StrCat(tensor.name, ".int32");
  tensor.type = v1::INT32;
  Quantization steps;
  std::string data;
  for (size_t c = 0; c < bias->values.size(); ++c) {
    const double step = input_scale * ScaleOf(weights, c);
    const bool same =
        bias->quantization.has_value() &&
        bias->quantization->zero_point[0] == 0 &&
        std::abs(ScaleOf(*bias->quantization, c) - step) <= kSameScale * step;
    const double value =
        same ? bias->values[c] : std::floor(bias->Real(c) / step + 0.5);
    // Written so that NaN fails.
    if (!(std::abs(value) <= kMaxBias) && !same) return std::nullopt;
    const int32_t integer = static_cast<int32_t>(value);
    data.append(reinterpret_cast<const char*>(&integer), sizeof(integer));
    steps.scale.push_back(
        std::max(static_cast<float>(step), std::numeric_limits<float>::min()));
    steps.zero_point.push_back(0);
  }
  tensor.quantization = std::move(steps);
  tensor.data = ConstantData(std::move(data));
  return tensor;
}

}  // namespace

bool IsDot(const Op& op) {
  const v1::OpAttributes& attributes = op.attributes;
  return attributes.has_conv2d() || attributes.has_depthwise_conv2d() ||
         attributes.has_fully_connected();
}

std::optional<IntegerDot> MakeIntegerDot(const Graph& graph,
                                         const IntegerSources& sources,
                                         const Op& op, const Tensor& output) {
  const std::optional<Tensor> input = sources.TypeOf(op.inputs[0]);
  std::optional<Tensor> weights = sources.ConstantOf(op.inputs[1]);
  if (!input.has_value() || input->quantization->per_channel() ||
      !weights.has_value()) {
    return std::nullopt;
  }
  IntegerDot dot;
  dot.attributes = op.attributes;
  dot.weights = *std::move(weights);
  std::vector<ops::TensorView> views = {ViewOf(*input), ViewOf(dot.weights)};
  if (op.inputs.size() > 2 && op.inputs[2] != kNoTensor) {
    dot.bias =
        BiasInSteps(graph, sources, op.inputs[2], input->quantization->scale[0],
                    *dot.weights.quantization);
    if (!dot.bias.has_value()) return std::nullopt;
    views.push_back(ViewOf(*dot.bias));
  }
  if (!ops::CheckOp(dot.attributes, views, {ViewOf(output)}).ok()) {
    return std::nullopt;
  }
  dot.attributes.set_rounding(
      IntegerRounding(dot.attributes, views, ViewOf(output)));
  return dot;
}

}  // namespace edgekiln::compiler
