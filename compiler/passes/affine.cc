#include "compiler/passes/affine.h"

#include <cmath>
#include <utility>

#include "compiler/passes/graph_edit.h"

namespace edgekiln::compiler {
namespace {

// Values of a float constant that broadcasts over everything but the last
// dimension, one per channel; empty for others.
std::optional<std::vector<double>> PerChannel(const Tensor& tensor,
                                              const Tensor& output) {
  const std::optional<std::vector<float>> values = FloatConstantValues(tensor);
  if (!values.has_value() || output.shape.empty() ||
      tensor.shape.size() > output.shape.size()) {
    return std::nullopt;
  }
  const int64_t channels = output.shape.back();
  const int64_t count = static_cast<int64_t>(values->size());
  if (count == 1) {
    return std::vector<double>(static_cast<size_t>(channels), (*values)[0]);
  }
  if (count != channels || tensor.shape.back() != channels) return std::nullopt;
  return std::vector<double>(values->begin(), values->end());
}

}  // namespace

std::optional<Affine> AffineOfNormalization(const Graph& graph, const Op& op) {
  std::optional<std::vector<float>> values[4];
  for (int i = 0; i < 4; ++i) {
    values[i] = FloatConstantValues(graph.tensors[op.inputs[i + 1]]);
    if (!values[i].has_value()) return std::nullopt;
  }
  const auto& [scale, bias, mean, variance] = values;
  const double epsilon = op.attributes.batch_normalization().epsilon();
  Affine affine;
  for (size_t c = 0; c < scale->size(); ++c) {
    const double factor = (*scale)[c] / std::sqrt((*variance)[c] + epsilon);
    affine.scale.push_back(factor);
    affine.offset.push_back((*bias)[c] - (*mean)[c] * factor);
  }
  return affine;
}

std::optional<Affine> ChannelAffine(const Graph& graph, const Op& op) {
  const Tensor& output = graph.tensors[op.outputs[0]];
  if (output.type != v1::FLOAT32) return std::nullopt;
  if (op.attributes.has_batch_normalization()) {
    const int axis = op.attributes.batch_normalization().axis();
    if (axis + 1 != static_cast<int>(output.shape.size())) return std::nullopt;
    return AffineOfNormalization(graph, op);
  }
  if (!op.attributes.has_add() && !op.attributes.has_mul()) {
    return std::nullopt;
  }
  std::optional<std::vector<double>> values =
      PerChannel(graph.tensors[op.inputs[1]], output);
  if (!values.has_value()) return std::nullopt;
  const size_t channels = values->size();
  if (op.attributes.has_mul()) {
    return Affine{*std::move(values), std::vector<double>(channels, 0.0)};
  }
  return Affine{std::vector<double>(channels, 1.0), *std::move(values)};
}

}  // namespace edgekiln::compiler
