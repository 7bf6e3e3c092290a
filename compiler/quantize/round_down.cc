#include "compiler/quantize/round_down.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "compiler/passes/clamps.h"
#include "compiler/passes/graph_edit.h"
#include "compiler/quantize/input_moments.h"
#include "compiler/quantize/integer_choice.h"
#include "compiler/quantize/layer_weights.h"
#include "compiler/quantize/real_ports.h"

namespace edgekiln::compiler {
namespace {

constexpr int kMostShift = 31;  // Of int32 sums.
// Of additions of which the rounding is made up for: a layer's result holds no
// more.
constexpr int kMostAdded = 7;

// The n of a factor 2^-n that an engine shifts by.
std::optional<int> ShiftOf(double factor) {
  int exponent = 0;
  if (std::frexp(factor, &exponent) != 0.5) return std::nullopt;
  const int shift = 1 - exponent;
  if (shift < 0 || shift > kMostShift) return std::nullopt;
  return shift;
}

bool HasOneScale(const Tensor& tensor) {
  return tensor.type == v1::INT8 && tensor.quantization &&
         tensor.quantization->scale.size() == 1;
}

double ScaleOf(const Tensor& tensor) { return tensor.quantization->scale[0]; }

class Rounder {
 public:
  Rounder(const Graph& graph, const v1::QuantizationNeeds& needs)
      : graph_(graph),
        needs_(needs),
        names_(graph),
        producers_(Producers(graph)),
        consumers_(Consumers(graph)) {}

  std::optional<Graph> Run() {
    // Additions first: layers before them hold what they leave out.
    std::vector<int64_t> more(graph_.ops.size(), 0);
    for (const Op& op : graph_.ops) {
      if (op.attributes.has_add() && !AddIsTaken(op, more)) return std::nullopt;
    }
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      Op& op = graph_.ops[i];
      if (WeightAxis(op) >= 0 && !RoundLayerDown(op, more[i])) {
        return std::nullopt;
      }
      if (op.attributes.has_add() && !IsTheHosts(op)) {
        op.attributes.set_rounding(v1::FLOOR);
      }
      // The same: an average of as many values as half to even is made for has
      // no halves (docs/numerics.md).
      if (op.attributes.has_average_pool2d() &&
          HasOneScale(graph_.tensors[op.inputs[0]])) {
        op.attributes.clear_rounding();
      }
    }
    RemoveUnusedTensors(graph_);
    Graph real = WithRealPorts(graph_);
    if (!VerifyGraph(real).ok()) return std::nullopt;
    return real;
  }

 private:
  bool IsActivation(TensorId id) const {
    const Tensor& tensor = graph_.tensors[id];
    return HasOneScale(tensor) && !tensor.is_constant() &&
           (!needs_.symmetric_activations() ||
            tensor.quantization->zero_point[0] == 0);
  }

  // An addition that engines do not take however it is quantized.
  bool IsTheHosts(const Op& op) const {
    return std::any_of(op.inputs.begin(), op.inputs.end(), [&](TensorId id) {
      const Tensor& tensor = graph_.tensors[id];
      return tensor.is_constant() ||
             (!tensor.quantization && tensor.type != v1::FLOAT32);
    });
  }

  // `more`: by op, in steps of its result.
  bool AddIsTaken(const Op& op, std::vector<int64_t>& more) const {
    if (IsTheHosts(op)) return true;
    const TensorId result = op.outputs[0];
    if (!IsActivation(op.inputs[0]) || !IsActivation(op.inputs[1]) ||
        !IsActivation(result)) {
      return false;
    }
    const Tensor& a = graph_.tensors[op.inputs[0]];
    const Tensor& b = graph_.tensors[op.inputs[1]];
    if (needs_.equal_addends() &&
        (ScaleOf(a) != ScaleOf(b) ||
         a.quantization->zero_point != b.quantization->zero_point)) {
      return false;
    }
    const double out = ScaleOf(graph_.tensors[result]);
    for (const TensorId operand : op.inputs) {
      if (!ShiftOf(ScaleOf(graph_.tensors[operand]) / out)) return false;
    }
    if (op.inputs[0] == op.inputs[1]) return true;
    for (const TensorId operand : op.inputs) {
      const int shift = *ShiftOf(ScaleOf(graph_.tensors[operand]) / out);
      const int32_t layer = producers_[operand];
      if (shift == 0 || shift > kMostAdded || !MayHoldMore(operand)) continue;
      more[layer] = int64_t{1} << (shift - 1);
      break;
    }
    return true;
  }

  // Whether all that reads the tensor is one addition, and a layer makes it of
  // sums that nothing limits from below.
  bool MayHoldMore(TensorId id) const {
    const int32_t by = producers_[id];
    if (by < 0 || WeightAxis(graph_.ops[by]) < 0) return false;
    const v1::Clamp* clamp = ClampOf(graph_.ops[by].attributes);
    return consumers_[id].size() == 1 &&
           std::count(graph_.outputs.begin(), graph_.outputs.end(), id) == 0 &&
           (clamp == nullptr || !clamp->has_min());
  }

  // Weights as engines have them, by the needs of this kind of op.
  bool WeightsAreTaken(const Op& op) const {
    const Tensor& weights = graph_.tensors[op.inputs[1]];
    if (weights.type != v1::INT8 || !weights.is_constant() ||
        !weights.quantization ||
        std::any_of(weights.quantization->zero_point.begin(),
                    weights.quantization->zero_point.end(),
                    [](int32_t zero) { return zero != 0; })) {
      return false;
    }
    const bool one_scale = std::count(needs_.per_tensor().begin(),
                                      needs_.per_tensor().end(), op.kind()) > 0;
    if (one_scale && weights.quantization->per_channel()) return false;
    for (const v1::QuantizationNeeds::Op& need : needs_.ops()) {
      if (need.op() == op.kind() &&
          (need.has_converter() || need.weight_values() != v1::WEIGHTS_ANY)) {
        return false;
      }
    }
    return true;
  }

  bool RoundLayerDown(Op& op, int64_t more) {
    if (op.attributes.has_converter() || !IsActivation(op.inputs[0]) ||
        !IsActivation(op.outputs[0]) || !WeightsAreTaken(op)) {
      return false;
    }
    const Tensor& weights = graph_.tensors[op.inputs[1]];
    const double in = ScaleOf(graph_.tensors[op.inputs[0]]);
    const double out = ScaleOf(graph_.tensors[op.outputs[0]]);
    std::vector<int> shifts;
    for (const double scale : weights.quantization->scale) {
      const std::optional<int> shift = ShiftOf(in * scale / out);
      if (!shift) return false;
      shifts.push_back(*shift);
    }
    if (op.attributes.rounding() == v1::FLOOR && more == 0) return true;
    const bool halves = op.attributes.rounding() != v1::FLOOR;
    op.attributes.set_rounding(v1::FLOOR);
    const int64_t channels = weights.shape[WeightAxis(op)];
    std::vector<int32_t> bias(static_cast<size_t>(channels), 0);
    Tensor tensor;
    if (op.inputs.size() > 2 && op.inputs[2] != kNoTensor) {
      tensor = graph_.tensors[op.inputs[2]];
      if (tensor.type != v1::INT32 || !tensor.is_constant()) return false;
      std::memcpy(bias.data(), tensor.data->data(), tensor.data->size());
    } else {
      tensor.name = weights.name + ".bias";
      tensor.type = v1::INT32;
      tensor.shape = {channels};
    }
    for (int64_t c = 0; c < channels; ++c) {
      const int shift = shifts[shifts.size() == 1 ? 0 : c];
      const int64_t half = halves && shift > 0 ? int64_t{1} << (shift - 1) : 0;
      const int64_t sum = bias[c] + half + (more << shift);
      if (std::abs(sum) > RoomOf(op, c)) return false;
      bias[c] = static_cast<int32_t>(sum);
    }
    tensor.name = names_.TensorName(tensor.name);
    tensor.data =
        ConstantData(std::string(reinterpret_cast<const char*>(bias.data()),
                                 bias.size() * sizeof(int32_t)));
    op.inputs.resize(3, kNoTensor);
    op.inputs[2] = static_cast<TensorId>(graph_.tensors.size());
    graph_.tensors.push_back(std::move(tensor));
    return true;
  }

  // Of a channel's bias, for sums within int32.
  int64_t RoomOf(const Op& op, int64_t channel) const {
    const ConstantData& data = graph_.tensors[op.inputs[1]].data;
    std::vector<int8_t> integers;
    for (const int64_t i : WeightsOfChannel(graph_, op, channel)) {
      integers.push_back(static_cast<int8_t>((*data)[i]));
    }
    return static_cast<int64_t>(LargestBias(integers));
  }

  Graph graph_;
  const v1::QuantizationNeeds& needs_;
  FreshNames names_;
  const std::vector<int32_t> producers_;
  const std::vector<std::vector<int32_t>> consumers_;
};

}  // namespace

std::optional<Graph> RoundedDown(const Graph& quantized,
                                 const v1::QuantizationNeeds& needs) {
  if (needs.rounding() != v1::FLOOR || !needs.power_of_two_scales() ||
      !quantized.states.empty()) {
    return std::nullopt;
  }
  return Rounder(quantized, needs).Run();
}

v1::QuantizationReport ReportOfKept(const Graph& kept) {
  v1::QuantizationReport report;
  for (const Op& op : kept.ops) {
    if (op.attributes.has_quantize() || op.attributes.has_dequantize() ||
        op.outputs.empty() || op.outputs[0] == kNoTensor) {
      continue;
    }
    v1::QuantizedLayer& layer = *report.add_layers();
    layer.set_id(op.id);
    layer.set_op(std::string(op.kind()));
    const Tensor& result = kept.tensors[op.outputs[0]];
    if (!HasOneScale(result)) {
      layer.set_is_float(true);
      layer.set_reason("it is float in the model");
      continue;
    }
    if (WeightAxis(op) >= 0) {
      const Tensor& weights = kept.tensors[op.inputs[1]];
      layer.set_weights(v1::LayerScheme::INT8);
      layer.set_rounding(v1::NEAREST);
      layer.set_per_tensor(weights.shape[WeightAxis(op)] > 1 &&
                           !weights.quantization->per_channel());
    }
    const double scale = ScaleOf(result);
    const int32_t zero = result.quantization->zero_point[0];
    layer.set_scale(scale);
    layer.set_zero_point(zero);
    layer.set_range_low(scale * (-128.0 - zero));
    layer.set_range_high(scale * (127.0 - zero));
  }
  return report;
}

}  // namespace edgekiln::compiler
