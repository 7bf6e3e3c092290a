#include "compiler/quantize/seen_extremes.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "compiler/passes/graph_edit.h"
#include "compiler/passes/op_traits.h"
#include "compiler/quantize/calibrate.h"
#include "compiler/quantize/integer_choice.h"
#include "ops/quantized_parameters.h"

namespace edgekiln::compiler {
namespace {

constexpr double kWidestSoftmaxStep = 4;

// Marks what softmaxes read, and the same values in front of ops that only move
// them, where scores are further apart than `widest`. `widths`: of tensors, by
// name.
void MarkMaskedScores(const Graph& graph,
                      const std::map<std::string, double>& widths,
                      double widest, std::vector<bool>& unbounded) {
  const std::vector<int32_t> producers = Producers(graph);
  for (const Op& op : graph.ops) {
    if (!op.attributes.has_softmax()) continue;
    std::vector<TensorId> scores = {op.inputs[0]};
    const auto width = widths.find(graph.tensors[scores[0]].name);
    if (width == widths.end()) continue;
    const double beta = op.attributes.softmax().beta();
    if (!(beta * width->second > widest)) continue;
    int32_t producer = producers[scores[0]];
    while (producer >= 0 && MovesValues(graph.ops[producer])) {
      scores.push_back(graph.ops[producer].inputs[0]);
      producer = producers[scores.back()];
    }
    if (producer >= 0 && SumsProducts(graph.ops[producer])) continue;
    for (const TensorId id : scores) unbounded[id] = true;
  }
}

}  // namespace

std::vector<bool> UnboundedTensors(const Graph& graph,
                                   const v1::CalibrationStatistics& statistics,
                                   v1::ElementType activations) {
  const ops::QuantizedRange integers = ops::RangeOf(activations);
  const double widest =
      kWidestSoftmaxStep * static_cast<double>(integers.max - integers.min);
  const auto is_mask = [](float value) {
    return std::abs(value) >= kBeyondScales;
  };
  std::set<std::string> names;
  std::map<std::string, double> widths;
  for (const auto& range : statistics.ranges()) {
    if (is_mask(range.min()) || is_mask(range.max())) {
      names.insert(range.tensor());
    }
    widths[range.tensor()] = double{range.max()} - range.min();
  }
  std::vector<bool> unbounded;
  for (const Tensor& tensor : graph.tensors) {
    const auto values = FloatConstantValues(tensor);
    unbounded.push_back(
        names.contains(tensor.name) ||
        (values && std::any_of(values->begin(), values->end(), is_mask)));
  }
  MarkMaskedScores(graph, widths, widest, unbounded);
  return unbounded;
}

std::map<std::string, RealRange> HeldRanges(
    const v1::CalibrationStatistics& statistics) {
  std::map<std::string, RealRange> held;
  for (const auto& range : statistics.ranges()) {
    // Calibration writes none of what is empty or not finite, either.
    if (range.has_histogram() || !(range.min() < range.max()) ||
        !std::isfinite(range.min()) || !std::isfinite(range.max())) {
      continue;
    }
    held[range.tensor()] = {range.min(), range.max()};
  }
  return held;
}

}  // namespace edgekiln::compiler
