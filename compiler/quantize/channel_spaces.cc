#include "compiler/quantize/channel_spaces.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "compiler/passes/clamps.h"
#include "compiler/passes/graph_edit.h"
#include "compiler/quantize/integer_choice.h"

namespace edgekiln::compiler {
namespace {

// Nothing but a lower limit of 0.
bool HasNoUpperLimit(const Op& op) {
  const v1::Clamp* clamp = ClampOf(op.attributes);
  return clamp == nullptr ||
         (!clamp->has_max() && (!clamp->has_min() || clamp->min() == 0));
}

// Whether a channel's results are a multiple of its operand's.
bool WorksWithinChannels(const Op& op) {
  const v1::OpAttributes& attributes = op.attributes;
  return attributes.has_average_pool2d() || attributes.has_max_pool2d() ||
         attributes.has_clip() || attributes.has_reshape();
}

enum class Factors {
  kPerChannel,
  kOne,  // Of all channels: a space has one channel that holds everything.
};

class Finder {
 public:
  Finder(const Graph& graph, Factors factors)
      : graph_(graph),
        one_factor_(factors == Factors::kOne),
        parent_(graph.tensors.size()),
        channels_(graph.tensors.size(), 0),
        fixed_(graph.tensors.size(), false) {
    std::iota(parent_.begin(), parent_.end(), 0);
  }

  std::vector<ChannelSpace> Run() {
    for (const Op& op : graph_.ops) Visit(op);
    for (const TensorId output : graph_.outputs) fixed_[output] = true;
    std::map<TensorId, ChannelSpace> by_leader;
    std::vector<TensorId> order;
    for (int32_t i = 0; i < std::ssize(graph_.ops); ++i) {
      const Op& op = graph_.ops[i];
      const bool layer = IsLayer(op);
      if (layer && channels_[op.inputs[0]] > 0) {
        by_leader[Leader(op.inputs[0])].consumers.push_back(i);
      }
      for (const TensorId made : op.outputs) {
        if (made == kNoTensor || channels_[made] == 0) continue;
        ChannelSpace& space = by_leader[Leader(made)];
        if (space.tensors.empty()) order.push_back(Leader(made));
        space.tensors.push_back(made);
        space.channels = channels_[made];
        if (layer) space.producers.push_back(i);
      }
    }
    for (TensorId id = 0; id < std::ssize(graph_.tensors); ++id) {
      if (fixed_[id]) by_leader.erase(Leader(id));
    }
    std::vector<ChannelSpace> spaces;
    for (const TensorId leader : order) {
      const auto found = by_leader.find(leader);
      if (found == by_leader.end() || found->second.consumers.empty()) continue;
      spaces.push_back(std::move(found->second));
    }
    return spaces;
  }

 private:
  TensorId Leader(TensorId id) {
    while (parent_[id] != id) id = parent_[id] = parent_[parent_[id]];
    return id;
  }
  void Join(TensorId a, TensorId b) {
    const TensorId of_a = Leader(a);
    const TensorId of_b = Leader(b);
    parent_[std::max(of_a, of_b)] = std::min(of_a, of_b);
  }

  bool IsLayer(const Op& op) const {
    if (WeightAxis(op) < 0) return false;
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      if (op.inputs[i] == kNoTensor) continue;
      const Tensor& tensor = graph_.tensors[op.inputs[i]];
      if (tensor.type != v1::FLOAT32 || (i > 0) != tensor.is_constant()) {
        return false;
      }
      // With one factor, whoever multiplies looks at the values.
      if (i > 0 && !one_factor_ && !AllFinite(*FloatConstantValues(tensor))) {
        return false;
      }
    }
    return true;
  }
  static bool AllFinite(const std::vector<float>& values) {
    return std::all_of(values.begin(), values.end(),
                       [](float value) { return std::isfinite(value); });
  }

  // Limits are multiplied like values.
  bool LimitsPass(const Op& op) const {
    return one_factor_ || HasNoUpperLimit(op);
  }

  // Whether the layer's input channels are those of the space.
  bool ReadsChannels(const Op& op, int64_t channels) const {
    if (one_factor_) return true;
    const Tensor& weights = graph_.tensors[op.inputs[1]];
    if (op.attributes.has_fully_connected()) {
      return weights.shape[1] % channels == 0;
    }
    const bool grouped =
        op.attributes.has_conv2d() && op.attributes.conv2d().groups() > 1;
    return !grouped && ChannelsOf(op.inputs[0]) == channels;
  }

  int64_t ChannelsOf(TensorId id) const {
    if (one_factor_) return 1;
    const std::vector<int64_t>& shape = graph_.tensors[id].shape;
    return shape.empty() ? 0 : shape.back();
  }

  // Ops whose results are elements of all of their operands, or sums of them.
  bool Joins(const Op& op) const {
    return op.attributes.has_add() ||
           (one_factor_ && op.attributes.has_concat());
  }
  bool MovesOrAverages(const Op& op) const {
    return WorksWithinChannels(op) ||
           (one_factor_ &&
            (op.attributes.has_transpose() || op.attributes.has_reduce_mean()));
  }

  // Whether all of the op's operands are in spaces of the channels that its
  // result has, so that one factor per channel goes through.
  bool PassesOn(const Op& op) const {
    if (!LimitsPass(op) || op.outputs.size() != 1) return false;
    const TensorId made = op.outputs[0];
    const int64_t channels = channels_[op.inputs[0]];
    if (channels == 0) return false;
    if (Joins(op)) {
      return ChannelsOf(made) == channels &&
             std::all_of(op.inputs.begin(), op.inputs.end(), [&](TensorId id) {
               return channels_[id] == channels &&
                      (one_factor_ ||
                       graph_.tensors[id].shape == graph_.tensors[made].shape);
             });
    }
    if (!MovesOrAverages(op)) return false;
    return op.attributes.has_reshape() ? ChannelsOf(made) % channels == 0
                                       : ChannelsOf(made) == channels;
  }

  void Visit(const Op& op) {
    if (IsLayer(op)) {
      const TensorId read = op.inputs[0];
      if (channels_[read] > 0 && !ReadsChannels(op, channels_[read])) {
        fixed_[read] = true;
      }
      channels_[op.outputs[0]] = ChannelsOf(op.outputs[0]);
      if (!LimitsPass(op)) fixed_[op.outputs[0]] = true;
      return;
    }
    if (!op.inputs.empty() && op.inputs[0] != kNoTensor && PassesOn(op)) {
      const TensorId made = op.outputs[0];
      channels_[made] = channels_[op.inputs[0]];
      const size_t operands = Joins(op) ? op.inputs.size() : 1;
      for (size_t i = 0; i < operands; ++i) Join(op.inputs[i], made);
      return;
    }
    for (const TensorId id : op.inputs) {
      if (id != kNoTensor) fixed_[id] = true;
    }
  }

  const Graph& graph_;
  const bool one_factor_;
  std::vector<TensorId> parent_;
  std::vector<int64_t> channels_;  // By tensor; 0: in no space.
  std::vector<bool> fixed_;
};

// Whether `op` alone reads the constant.
bool IsItsOwn(const Graph& graph, TensorId id) {
  int uses = 0;
  for (const Op& op : graph.ops) {
    uses +=
        static_cast<int>(std::count(op.inputs.begin(), op.inputs.end(), id));
  }
  return uses == 1 && std::find(graph.outputs.begin(), graph.outputs.end(),
                                id) == graph.outputs.end();
}

void SetConstant(int32_t index, size_t input, absl::Span<const float> values,
                 Graph& graph) {
  Op& op = graph.ops[index];
  const TensorId id = op.inputs[input];
  Tensor tensor =
      FloatTensorLike(graph.tensors[id], graph.tensors[id].shape, values);
  if (IsItsOwn(graph, id)) {
    graph.tensors[id] = std::move(tensor);
    return;
  }
  tensor.name = FreshNames(graph).TensorName(tensor.name);
  op.inputs[input] = static_cast<TensorId>(graph.tensors.size());
  graph.tensors.push_back(std::move(tensor));
}

// Channel that weight `index` of the layer makes.
int64_t MadeChannel(const Graph& graph, const Op& layer, int64_t index) {
  const Tensor& weights = graph.tensors[layer.inputs[1]];
  if (layer.attributes.has_depthwise_conv2d()) return index % weights.shape[3];
  return index / (weights.num_elements() / weights.shape[0]);
}

}  // namespace

std::vector<ChannelSpace> ChannelSpaces(const Graph& graph) {
  return Finder(graph, Factors::kPerChannel).Run();
}

std::vector<ChannelSpace> UniformSpaces(const Graph& graph) {
  return Finder(graph, Factors::kOne).Run();
}

int64_t ReadChannel(const Graph& graph, const Op& consumer,
                    const ChannelSpace& space, int64_t index) {
  const std::vector<int64_t>& shape = graph.tensors[consumer.inputs[1]].shape;
  if (consumer.attributes.has_depthwise_conv2d()) {
    return index % shape[3] /
           consumer.attributes.depthwise_conv2d().depth_multiplier();
  }
  return index % shape.back() % space.channels;
}

void ScaleChannels(const ChannelSpace& space, absl::Span<const double> factors,
                   Graph& graph) {
  const auto factor_of = [&](int64_t channel) {
    return factors[channel % space.channels];
  };
  for (const int32_t index : space.producers) {
    const Op& op = graph.ops[index];
    std::vector<float> weights =
        *FloatConstantValues(graph.tensors[op.inputs[1]]);
    for (int64_t i = 0; i < std::ssize(weights); ++i) {
      weights[i] =
          static_cast<float>(weights[i] / factor_of(MadeChannel(graph, op, i)));
    }
    SetConstant(index, 1, weights, graph);
    const Op& now = graph.ops[index];
    if (now.inputs.size() < 3 || now.inputs[2] == kNoTensor) continue;
    std::vector<float> bias =
        *FloatConstantValues(graph.tensors[now.inputs[2]]);
    for (int64_t c = 0; c < std::ssize(bias); ++c) {
      bias[c] = static_cast<float>(bias[c] / factor_of(c));
    }
    SetConstant(index, 2, bias, graph);
  }
  for (const int32_t index : space.consumers) {
    const Op& op = graph.ops[index];
    std::vector<float> weights =
        *FloatConstantValues(graph.tensors[op.inputs[1]]);
    for (int64_t i = 0; i < std::ssize(weights); ++i) {
      weights[i] = static_cast<float>(
          weights[i] * factor_of(ReadChannel(graph, op, space, i)));
    }
    SetConstant(index, 1, weights, graph);
  }
}

}  // namespace edgekiln::compiler
