#include "compiler/quantize/ternary_weights.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "compiler/passes/graph_edit.h"
#include "compiler/quantize/integer_choice.h"

namespace edgekiln::compiler {

bool HasTernaryWeights(const Graph& graph, const Op& op) {
  if (WeightAxis(op) < 0) return false;
  const std::optional<std::vector<float>> values =
      FloatConstantValues(graph.tensors[op.inputs[1]]);
  if (!values) return false;
  float size = 0;
  for (const float value : *values) size = std::max(size, std::abs(value));
  return size > 0 && std::isfinite(size) &&
         std::all_of(values->begin(), values->end(), [size](float value) {
           return value == 0 || std::abs(value) == size;
         });
}

}  // namespace edgekiln::compiler
