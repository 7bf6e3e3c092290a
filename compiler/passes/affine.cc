#include "compiler/passes/affine.h"

#include <cmath>

#include "compiler/passes/graph_edit.h"

namespace edgekiln::compiler {

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

}  // namespace edgekiln::compiler
