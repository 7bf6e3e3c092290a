#include "compiler/quantize/equalize.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "compiler/passes/clamps.h"
#include "compiler/passes/graph_edit.h"
#include "compiler/quantize/integer_choice.h"

namespace edgekiln::compiler {
namespace {

constexpr int kRounds = 20;
// Of the factors of one round: fewer is no progress.
constexpr double kSmallestChange = 0.01;
// Of all rounds together.
constexpr double kMostChange = 1e4;

// A layer's weights as numbers, with the channels of each element.
struct Layer {
  int32_t op = 0;
  std::vector<float> weights;
  std::vector<float> bias;  // Empty: none.
  bool changed = false;
};

struct Pair {
  int32_t first = 0;  // Ops.
  int32_t second = 0;
  int64_t channels = 0;  // Between them.
};

int64_t GroupsOf(const Op& op) {
  return op.attributes.has_conv2d()
             ? std::max<int64_t>(op.attributes.conv2d().groups(), 1)
             : 1;
}

// Nothing but a lower limit of 0.
bool HasNoUpperLimit(const Op& op) {
  const v1::Clamp* clamp = ClampOf(op.attributes);
  return clamp == nullptr ||
         (!clamp->has_max() && (!clamp->has_min() || clamp->min() == 0));
}

class Equalization {
 public:
  Equalization(Graph& graph, const std::vector<bool>& wanted)
      : graph_(graph),
        wanted_(wanted),
        producers_(Producers(graph)),
        consumers_(Consumers(graph)),
        layers_(graph.ops.size()) {}

  bool Run() {
    std::vector<Pair> pairs;
    for (int32_t i = 0; i < std::ssize(graph_.ops); ++i) {
      const std::optional<Pair> pair = PairOf(i);
      if (!pair) continue;
      Load(pair->first);
      Load(pair->second);
      if (IsFinite(pair->first) && IsFinite(pair->second)) {
        pairs.push_back(*pair);
      }
    }
    std::vector<std::vector<double>> total;
    for (const Pair& pair : pairs) {
      total.emplace_back(static_cast<size_t>(pair.channels), 1.0);
    }
    for (int round = 0; round < kRounds; ++round) {
      double most = 0;
      for (size_t i = 0; i < pairs.size(); ++i) {
        most = std::max(most, EvenOut(pairs[i], total[i]));
      }
      if (most < kSmallestChange) break;
    }
    bool changed = false;
    for (Layer& layer : layers_) {
      if (!layer.changed) continue;
      changed = true;
      Store(layer);
    }
    return changed;
  }

 private:
  bool IsLayer(int32_t index) const {
    const Op& op = graph_.ops[index];
    if (WeightAxis(op) < 0) return false;
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      if (op.inputs[i] == kNoTensor) continue;
      const Tensor& tensor = graph_.tensors[op.inputs[i]];
      if (tensor.type != v1::FLOAT32 || (i > 0) != tensor.is_constant()) {
        return false;
      }
    }
    return true;
  }

  // By one op and nobody else.
  bool IsRead(TensorId id) const {
    return consumers_[id].size() == 1 &&
           std::find(graph_.outputs.begin(), graph_.outputs.end(), id) ==
               graph_.outputs.end();
  }

  // With the op as the second one.
  std::optional<Pair> PairOf(int32_t second) const {
    if (!wanted_[second] || !IsLayer(second)) return std::nullopt;
    TensorId at = graph_.ops[second].inputs[0];
    const bool dense = graph_.ops[second].attributes.has_fully_connected();
    // A fully connected layer may flatten its input by itself.
    const std::vector<int64_t>& read = graph_.tensors[at].shape;
    const int64_t depth =
        dense ? graph_.tensors[graph_.ops[second].inputs[1]].shape[1]
              : read.back();
    if (read.empty() || read.back() != depth) return std::nullopt;
    bool pooled = false;
    for (;;) {
      const int32_t by = producers_[at];
      if (by < 0 || !IsRead(at)) return std::nullopt;
      const Op& op = graph_.ops[by];
      if (!HasNoUpperLimit(op)) return std::nullopt;
      if (IsLayer(by)) {
        const int64_t channels = graph_.tensors[at].shape.back();
        if (!wanted_[by] || GroupsOf(graph_.ops[second]) != 1 ||
            channels == 0 || depth % channels != 0 ||
            (depth != channels && !dense)) {
          return std::nullopt;
        }
        return Pair{by, second, channels};
      }
      const bool pool =
          op.attributes.has_average_pool2d() || op.attributes.has_max_pool2d();
      pooled = pooled || pool;
      // In front of a pool, a reshape would change which channels it pools.
      const bool passes_on = pool || op.attributes.has_clip() ||
                             (op.attributes.has_reshape() && dense && !pooled);
      if (!passes_on || op.outputs.size() != 1) return std::nullopt;
      at = op.inputs[0];
    }
  }

  void Load(int32_t index) {
    Layer& layer = layers_[index];
    const Op& op = graph_.ops[index];
    layer.op = index;
    if (!layer.weights.empty()) return;
    layer.weights = *FloatConstantValues(graph_.tensors[op.inputs[1]]);
    if (op.inputs.size() > 2 && op.inputs[2] != kNoTensor) {
      layer.bias = *FloatConstantValues(graph_.tensors[op.inputs[2]]);
    }
  }

  bool IsFinite(int32_t index) const {
    const auto finite = [](float value) { return std::isfinite(value); };
    const Layer& layer = layers_[index];
    return std::all_of(layer.weights.begin(), layer.weights.end(), finite) &&
           std::all_of(layer.bias.begin(), layer.bias.end(), finite);
  }

  // Channel that weight i of the op makes, or of the pair's that it reads.
  int64_t Made(const Op& op, int64_t i) const {
    const std::vector<int64_t>& shape = graph_.tensors[op.inputs[1]].shape;
    if (op.attributes.has_depthwise_conv2d()) return i % shape[3];
    int64_t inner = 1;
    for (size_t d = 1; d < shape.size(); ++d) inner *= shape[d];
    return i / inner;
  }
  int64_t Read(const Op& op, int64_t i, int64_t channels) const {
    const std::vector<int64_t>& shape = graph_.tensors[op.inputs[1]].shape;
    if (op.attributes.has_depthwise_conv2d()) {
      return i % shape[3] / op.attributes.depthwise_conv2d().depth_multiplier();
    }
    return i % shape.back() % channels;
  }

  // Makes the largest weights equal that channel c is made and read by; the
  // largest change of a factor.
  double EvenOut(const Pair& pair, std::vector<double>& total) {
    Layer& first = layers_[pair.first];
    Layer& second = layers_[pair.second];
    const Op& first_op = graph_.ops[pair.first];
    const Op& second_op = graph_.ops[pair.second];
    const auto channels = static_cast<size_t>(pair.channels);
    std::vector<double> made(channels, 0);
    std::vector<double> read(channels, 0);
    for (int64_t i = 0; i < std::ssize(first.weights); ++i) {
      double& largest = made[Made(first_op, i)];
      largest = std::max(largest, std::abs(double{first.weights[i]}));
    }
    for (int64_t i = 0; i < std::ssize(second.weights); ++i) {
      double& largest = read[Read(second_op, i, pair.channels)];
      largest = std::max(largest, std::abs(double{second.weights[i]}));
    }
    std::vector<double> factors(channels, 1);
    double most = 0;
    for (size_t c = 0; c < channels; ++c) {
      if (!(made[c] > 0) || !(read[c] > 0)) continue;
      const double wanted = std::sqrt(made[c] / read[c]);
      const double all =
          std::clamp(total[c] * wanted, 1 / kMostChange, kMostChange);
      factors[c] = all / total[c];
      total[c] = all;
      most = std::max(most, std::abs(factors[c] - 1));
    }
    if (most == 0) return 0;
    for (int64_t i = 0; i < std::ssize(first.weights); ++i) {
      first.weights[i] =
          static_cast<float>(first.weights[i] / factors[Made(first_op, i)]);
    }
    for (size_t c = 0; c < first.bias.size(); ++c) {
      first.bias[c] = static_cast<float>(first.bias[c] / factors[c]);
    }
    for (int64_t i = 0; i < std::ssize(second.weights); ++i) {
      second.weights[i] = static_cast<float>(
          second.weights[i] * factors[Read(second_op, i, pair.channels)]);
    }
    first.changed = second.changed = true;
    return most;
  }

  // As constants of its own: others may read what it had.
  void Store(const Layer& layer) {
    Op& op = graph_.ops[layer.op];
    const auto add = [&](size_t input, const std::vector<float>& values) {
      Tensor tensor =
          FloatTensorLike(graph_.tensors[op.inputs[input]],
                          graph_.tensors[op.inputs[input]].shape, values);
      if (IsRead(op.inputs[input])) {
        graph_.tensors[op.inputs[input]] = std::move(tensor);
        return;
      }
      if (!names_) names_.emplace(graph_);
      tensor.name = names_->TensorName(tensor.name);
      op.inputs[input] = static_cast<TensorId>(graph_.tensors.size());
      graph_.tensors.push_back(std::move(tensor));
    };
    add(1, layer.weights);
    if (!layer.bias.empty()) add(2, layer.bias);
  }

  Graph& graph_;
  const std::vector<bool>& wanted_;
  const std::vector<int32_t> producers_;
  const std::vector<std::vector<int32_t>> consumers_;
  std::vector<Layer> layers_;  // By op; empty: not in a pair.
  std::optional<FreshNames> names_;
};

}  // namespace

bool Equalize(Graph& graph, const std::vector<bool>& wanted) {
  return Equalization(graph, wanted).Run();
}

}  // namespace edgekiln::compiler
