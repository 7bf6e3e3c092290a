#include "compiler/quantize/tensor_quantizations.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "compiler/passes/graph_edit.h"
#include "compiler/quantize/integer_choice.h"

namespace edgekiln::compiler {
namespace {

using RangeOfName =
    std::map<std::string, const v1::CalibrationStatistics::TensorRange*>;

absl::StatusOr<RealRange> RangeOfConstant(const Tensor& tensor) {
  const std::vector<float> values = *FloatConstantValues(tensor);
  if (!AllFinite(values)) {
    return MakeError(absl::StatusCode::kInvalidArgument,
                     {.fault = Fault::kUser,
                      .reason = "MODEL_INVALID",
                      .what = "a constant holds infinity or NaN",
                      .where = absl::StrCat("tensor '", tensor.name, "'"),
                      .need = "finite constants",
                      .fix = "train or export again"});
  }
  RealRange range;
  for (const float value : values) range.Include({value, value});
  return range;
}

absl::StatusOr<RealRange> RangeOf(const Tensor& tensor,
                                  const RangeOfName& calibrated) {
  if (tensor.is_constant()) return RangeOfConstant(tensor);
  const auto found = calibrated.find(tensor.name);
  if (found == calibrated.end() ||
      !std::isfinite(found->second->percentile_low()) ||
      !std::isfinite(found->second->percentile_high()) ||
      found->second->percentile_low() > found->second->percentile_high()) {
    return MakeError(
        absl::StatusCode::kInvalidArgument,
        {.fault = Fault::kUser,
         .reason = "CALIBRATION_INVALID",
         .what = "the calibration statistics have no range for a tensor",
         .where = absl::StrCat("tensor '", tensor.name, "'"),
         .need = "statistics of this very graph",
         .fix = "calibrate again"});
  }
  return RealRange{found->second->percentile_low(),
                   found->second->percentile_high()};
}

// Whether one scale for all operands and the result is at most twice as wide as
// that of each alone.
absl::StatusOr<bool> AreClose(const Graph& graph, const Op& op,
                              const RangeOfName& calibrated) {
  RealRange all;
  double narrowest = std::numeric_limits<double>::infinity();
  std::vector<TensorId> tensors = op.inputs;
  tensors.push_back(op.outputs[0]);
  for (const TensorId id : tensors) {
    EK_ASSIGN_OR_RETURN(RealRange range,
                        RangeOf(graph.tensors[id], calibrated));
    range.Include({0, 0});
    narrowest = std::min(narrowest, range.high - range.low);
    all.Include(range);
  }
  return all.high - all.low <= 2 * narrowest;
}

}  // namespace

TensorQuantizations::TensorQuantizations(const Graph& graph,
                                         const std::vector<bool>& integer)
    : graph_(graph), integer_(integer), parent_(graph.tensors.size()) {
  std::iota(parent_.begin(), parent_.end(), 0);
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const Op& op = graph.ops[i];
    if (integer[i] && SharesQuantization(graph, op)) JoinOperands(op);
  }
}

// With the result.
void TensorQuantizations::JoinOperands(const Op& op) {
  for (const TensorId input : op.inputs) {
    if (input == kNoTensor) continue;
    if (graph_.tensors[input].type == v1::FLOAT32) Join(input, op.outputs[0]);
  }
}

TensorId TensorQuantizations::GroupOf(TensorId id) const {
  while (parent_[id] != id) id = parent_[id];
  return id;
}

void TensorQuantizations::Join(TensorId a, TensorId b) {
  // The smaller index leads: the result does not depend on the order.
  const TensorId of_a = GroupOf(a);
  const TensorId of_b = GroupOf(b);
  const TensorId leader = std::min(of_a, of_b);
  parent_[std::max(of_a, of_b)] = leader;
  // Keeps ways to the leader short.
  parent_[a] = leader;
  parent_[b] = leader;
}

absl::Status TensorQuantizations::Choose(
    const v1::CalibrationStatistics* statistics, ScaleRules rules) {
  RangeOfName calibrated;
  if (statistics != nullptr) {
    for (const auto& range : statistics->ranges()) {
      calibrated[range.tensor()] = &range;
    }
  }
  for (size_t i = 0; i < graph_.ops.size(); ++i) {
    const Op& op = graph_.ops[i];
    if (!integer_[i] || !MayShareQuantization(graph_, op)) continue;
    bool close = true;
    if (statistics != nullptr) {
      EK_ASSIGN_OR_RETURN(close, AreClose(graph_, op, calibrated));
    }
    if (close) JoinOperands(op);
  }
  std::map<TensorId, RealRange> ranges;
  std::map<TensorId, bool> has_softmax;
  const auto add = [&](TensorId id) -> absl::Status {
    RealRange range{-1, 1};
    if (statistics != nullptr) {
      EK_ASSIGN_OR_RETURN(range, RangeOf(graph_.tensors[id], calibrated));
    }
    ranges.try_emplace(GroupOf(id), range).first->second.Include(range);
    return absl::OkStatus();
  };
  for (size_t index = 0; index < graph_.ops.size(); ++index) {
    if (!integer_[index]) continue;
    const Op& op = graph_.ops[index];
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const TensorId input = op.inputs[i];
      const bool weights = WeightAxis(op) >= 0 && i > 0;
      if (weights || input == kNoTensor ||
          graph_.tensors[input].type != v1::FLOAT32) {
        continue;
      }
      EK_RETURN_IF_ERROR(add(input));
    }
    EK_RETURN_IF_ERROR(add(op.outputs[0]));
    if (op.attributes.has_softmax()) has_softmax[GroupOf(op.outputs[0])] = true;
  }
  for (const auto& [group, range] : ranges) {
    const bool probabilities =
        has_softmax.contains(group) && range.low >= 0 && range.high <= 1;
    quantization_[group] = probabilities ? ProbabilityQuantization(rules)
                                         : ActivationQuantization(range, rules);
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::compiler
