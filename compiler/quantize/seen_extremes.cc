#include "compiler/quantize/seen_extremes.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "compiler/passes/graph_edit.h"
#include "compiler/quantize/calibrate.h"

namespace edgekiln::compiler {

std::vector<bool> UnboundedTensors(
    const Graph& graph, const v1::CalibrationStatistics& statistics) {
  const auto is_mask = [](float value) {
    return std::abs(value) >= kBeyondScales;
  };
  std::set<std::string> names;
  for (const auto& range : statistics.ranges()) {
    if (is_mask(range.min()) || is_mask(range.max())) {
      names.insert(range.tensor());
    }
  }
  std::vector<bool> unbounded;
  for (const Tensor& tensor : graph.tensors) {
    const auto values = FloatConstantValues(tensor);
    unbounded.push_back(
        names.contains(tensor.name) ||
        (values && std::any_of(values->begin(), values->end(), is_mask)));
  }
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
