#include "compiler/quantize/tensor_quantizations.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "absl/algorithm/container.h"
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

absl::StatusOr<const v1::CalibrationStatistics::TensorRange*> SeenOfActivation(
    const Tensor& tensor, const RangeOfName& calibrated) {
  const auto found = calibrated.find(tensor.name);
  if (found == calibrated.end() || !std::isfinite(found->second->min()) ||
      !std::isfinite(found->second->max()) ||
      found->second->min() > found->second->max()) {
    return MakeError(
        absl::StatusCode::kInvalidArgument,
        {.fault = Fault::kUser,
         .reason = "CALIBRATION_INVALID",
         .what = "the calibration statistics have no range for a tensor",
         .where = absl::StrCat("tensor '", tensor.name, "'"),
         .need = "statistics of this very graph",
         .fix = "calibrate again"});
  }
  return found->second;
}

absl::Status Include(const Tensor& tensor, const RangeOfName& calibrated,
                     SeenValues& values) {
  if (tensor.is_constant()) {
    EK_ASSIGN_OR_RETURN(const RealRange range, RangeOfConstant(tensor));
    values.IncludeWhole(range);
    return absl::OkStatus();
  }
  EK_ASSIGN_OR_RETURN(const auto* seen, SeenOfActivation(tensor, calibrated));
  values.Include(*seen);
  return absl::OkStatus();
}

double Width(const RealRange& range) { return range.high - range.low; }

// Whether one scale for all operands and the result is at most twice as wide as
// that of each alone.
absl::StatusOr<bool> AreClose(const Graph& graph, const Op& op,
                              const RangeOfName& calibrated,
                              const v1::CalibrateOptions& method,
                              v1::ElementType type) {
  RealRange all;
  double narrowest = std::numeric_limits<double>::infinity();
  std::vector<TensorId> tensors = op.inputs;
  tensors.push_back(op.outputs[0]);
  for (const TensorId id : tensors) {
    SeenValues values;
    EK_RETURN_IF_ERROR(Include(graph.tensors[id], calibrated, values));
    RealRange range = values.Kept(method, type);
    range.Include({0, 0});
    narrowest = std::min(narrowest, Width(range));
    all.Include(range);
  }
  return Width(all) <= 2 * narrowest;
}

// A group of parts, see JoinConcatenated().
struct JoinedParts {
  RealRange range;
  // Widths of the parts that are read by others than the concatenations that
  // joined them.
  std::multiset<double> read;

  // Whether none of these loses more than a bit by `range`.
  bool Allows(const RealRange& wider) const {
    return read.empty() || Width(wider) <= 2 * *read.begin();
  }
  void Forget(double width) { read.erase(read.find(width)); }
  void Include(JoinedParts other) {
    range.Include(other.range);
    if (read.size() < other.read.size()) read.swap(other.read);
    read.merge(other.read);
  }
};

}  // namespace

TensorQuantizations::TensorQuantizations(const Graph& graph,
                                         const std::vector<bool>& integer,
                                         ScaleRules rules)
    : graph_(graph),
      integer_(integer),
      parent_(graph.tensors.size()),
      rules_(rules) {
  std::iota(parent_.begin(), parent_.end(), 0);
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const Op& op = graph.ops[i];
    if (!integer[i]) continue;
    if (SharesQuantization(graph, op, rules.activations)) JoinOperands(op);
    if (HasEqualAddends(i)) Join(op.inputs[0], op.inputs[1]);
  }
}

// Of the engine's additions. Those of constants are the host's.
bool TensorQuantizations::HasEqualAddends(size_t index) const {
  const Op& op = graph_.ops[index];
  const auto is_activation = [this](TensorId id) {
    return !graph_.tensors[id].is_constant();
  };
  return rules_.equal_addends && integer_[index] && op.attributes.has_add() &&
         absl::c_all_of(op.inputs, is_activation);
}

std::vector<RisingScales> TensorQuantizations::Rising() const {
  std::vector<RisingScales> rising;
  for (size_t i = 0; i < graph_.ops.size(); ++i) {
    if (!HasEqualAddends(i)) continue;
    const Op& op = graph_.ops[i];
    if (AreOne(op.inputs[0], op.outputs[0])) continue;
    rising.push_back(
        {.below = GroupOf(op.inputs[0]), .above = GroupOf(op.outputs[0])});
  }
  return rising;
}

void TensorQuantizations::RaiseResults(
    const std::vector<double>& weight_scales) {
  // Scales only grow, and in most networks once; where a result shares a group
  // with an operand, nothing helps.
  bool raised = true;
  for (size_t round = 0; raised && round <= graph_.ops.size(); ++round) {
    raised = false;
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      const double weights = rules_.power_of_two ? weight_scales[i] : 0;
      const double factor = HasEqualAddends(i) ? 1 : weights;
      const Op& op = graph_.ops[i];
      if (factor == 0 || AreOne(op.inputs[0], op.outputs[0])) continue;
      const auto least = static_cast<float>(factor * Of(op.inputs[0]).scale[0]);
      float& scale = quantization_.at(GroupOf(op.outputs[0])).scale[0];
      if (!(scale < least) || !std::isfinite(least)) continue;
      scale = least;
      raised = true;
    }
  }
}

// With the result.
void TensorQuantizations::JoinOperands(const Op& op) {
  for (const TensorId input : op.inputs) {
    if (input == kNoTensor) continue;
    if (graph_.tensors[input].type == v1::FLOAT32) Join(input, op.outputs[0]);
  }
}

// Each once, however many ops read it.
std::vector<bool> TensorQuantizations::UsedTensors() const {
  std::vector<bool> is_used(graph_.tensors.size(), false);
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
      is_used[input] = true;
    }
    is_used[op.outputs[0]] = true;
  }
  return is_used;
}

// By group.
std::map<TensorId, int64_t> TensorQuantizations::Readers() const {
  std::map<TensorId, int64_t> readers;
  for (const Op& op : graph_.ops) {
    std::set<TensorId> groups;
    for (const TensorId id : op.inputs) {
      if (id != kNoTensor) groups.insert(GroupOf(id));
    }
    for (const TensorId id : op.outputs) {
      if (id != kNoTensor) groups.erase(GroupOf(id));
    }
    for (const TensorId group : groups) ++readers[group];
  }
  for (const TensorId id : graph_.outputs) ++readers[GroupOf(id)];
  return readers;
}

absl::Status TensorQuantizations::JoinConcatenated(RangeOfTensors range_of) {
  std::vector<TensorId> part;
  std::map<TensorId, std::vector<TensorId>> members;  // By part.
  const std::vector<bool> used = UsedTensors();
  for (TensorId id = 0; id < std::ssize(used); ++id) {
    part.push_back(GroupOf(id));
    if (used[id]) members[part[id]].push_back(id);
  }
  std::map<TensorId, int64_t> readers = Readers();
  std::map<TensorId, double> widths;  // By part.
  std::map<TensorId, JoinedParts> groups;
  const auto group_of = [&](TensorId id) -> absl::StatusOr<JoinedParts*> {
    JoinedParts& group = groups[GroupOf(id)];
    const auto [width, is_new] = widths.try_emplace(part[id], 0);
    if (!is_new) return &group;
    EK_ASSIGN_OR_RETURN(group.range, range_of(members[part[id]]));
    width->second = Width(group.range);
    if (readers[part[id]] > 0) group.read.insert(width->second);
    return &group;
  };
  for (size_t i = 0; i < graph_.ops.size(); ++i) {
    const Op& op = graph_.ops[i];
    if (!integer_[i] || !op.attributes.has_concat()) continue;
    const TensorId result = part[op.outputs[0]];
    EK_ASSIGN_OR_RETURN(JoinedParts * whole, group_of(result));
    // The result holds its operands: none of them widens it.
    if (readers[result] > 0) whole->Forget(widths[result]);
    std::set<TensorId> met = {result};
    for (const TensorId id : op.inputs) {
      if (id == kNoTensor || graph_.tensors[id].type != v1::FLOAT32) continue;
      const TensorId operand = part[id];
      if (!met.insert(operand).second) continue;
      EK_ASSIGN_OR_RETURN(JoinedParts * group, group_of(operand));
      const bool read_by_others = --readers[operand] > 0;
      if (!read_by_others) group->Forget(widths[operand]);
      if (group == whole) continue;
      RealRange all = whole->range;
      all.Include(group->range);
      if (!group->Allows(all) || !whole->Allows(all)) {
        ++readers[operand];
        if (!read_by_others) group->read.insert(widths[operand]);
        continue;
      }
      JoinedParts joined = std::move(*whole);
      joined.Include(std::move(*group));
      Join(operand, result);
      whole = &(groups[GroupOf(result)] = std::move(joined));
    }
    if (readers[result] > 0) whole->read.insert(widths[result]);
  }
  return absl::OkStatus();
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

const SeenValues* TensorQuantizations::SeenOf(TensorId id) const {
  const auto found = seen_.find(GroupOf(id));
  return found == seen_.end() ? nullptr : &found->second;
}

ScaleRules TensorQuantizations::RulesOf(TensorId id) const {
  ScaleRules rules = rules_;
  rules.symmetric = rules.symmetric || symmetric_.contains(GroupOf(id));
  return rules;
}

absl::Status TensorQuantizations::Choose(
    const v1::CalibrationStatistics* statistics,
    const v1::CalibrateOptions& method, const std::set<TensorId>& symmetric) {
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
      EK_ASSIGN_OR_RETURN(
          close, AreClose(graph_, op, calibrated, method, rules_.activations));
    }
    if (close) JoinOperands(op);
  }
  EK_RETURN_IF_ERROR(JoinConcatenated(
      [&](absl::Span<const TensorId> tensors) -> absl::StatusOr<RealRange> {
        if (statistics == nullptr) return RealRange{-1, 1};
        SeenValues values;
        for (const TensorId id : tensors) {
          EK_RETURN_IF_ERROR(Include(graph_.tensors[id], calibrated, values));
        }
        RealRange range = values.Kept(method, rules_.activations);
        range.Include({0, 0});
        return range;
      }));
  for (const TensorId id : symmetric) symmetric_.insert(GroupOf(id));
  std::map<TensorId, bool> has_softmax;
  for (size_t index = 0; index < graph_.ops.size(); ++index) {
    const Op& op = graph_.ops[index];
    if (!integer_[index] || !op.attributes.has_softmax()) continue;
    has_softmax[GroupOf(op.outputs[0])] = true;
  }
  const std::vector<bool> is_used = UsedTensors();
  for (TensorId id = 0; id < std::ssize(is_used); ++id) {
    if (!is_used[id]) continue;
    if (statistics == nullptr) {
      quantization_[GroupOf(id)] = ActivationQuantization({-1, 1}, RulesOf(id));
      continue;
    }
    EK_RETURN_IF_ERROR(
        Include(graph_.tensors[id], calibrated, seen_[GroupOf(id)]));
  }
  for (const auto& [group, values] : seen_) {
    const bool probabilities = has_softmax.contains(group) &&
                               values.all().low >= 0 && values.all().high <= 1;
    if (probabilities) fixed_.insert(group);
    quantization_[group] = probabilities
                               ? ProbabilityQuantization(RulesOf(group))
                               : values.QuantizationFor(method, RulesOf(group));
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::compiler
