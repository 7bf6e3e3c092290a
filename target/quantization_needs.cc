#include "target/quantization_needs.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>

namespace edgekiln::target {
namespace {

template <typename Values, typename Value>
bool Has(const Values& values, const Value& value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

bool Takes(const v1::Numerics& numerics, v1::ElementType activations) {
  return Has(numerics.activations(), activations) &&
         (numerics.weights().empty() || Has(numerics.weights(), v1::INT8));
}

// Ops whose weights can have a scale per channel.
bool HasChannelScales(const std::string& op) {
  return op == "conv2d" || op == "depthwise_conv2d" || op == "fully_connected";
}

// Calls `visit` for each pattern that takes these activations.
template <typename Visit>
void ForPatterns(const v1::Capabilities& capabilities,
                 v1::ElementType activations, const Visit& visit) {
  for (const v1::Capabilities::Engine& engine : capabilities.engines()) {
    for (const v1::OpPattern& pattern : engine.patterns()) {
      if (Takes(pattern.numerics(), activations)) visit(pattern);
    }
  }
}

// What patterns of one kind of op, with weights of one kind, have in common.
struct OpPatterns {
  bool converts = true;          // All of them.
  int32_t accumulator_bits = 0;  // The most.
  v1::Numerics::Converter converter;
};

// 0: all that int32 holds.
int32_t BitsBelow32(const OpPatterns& patterns) {
  return patterns.accumulator_bits < 32 ? patterns.accumulator_bits : 0;
}

// Of ops with weights; the enumeration of weights goes from all values to the
// fewest.
std::map<std::string, std::map<v1::WeightValues, OpPatterns>> PatternsByOp(
    const v1::Capabilities& capabilities, v1::ElementType activations) {
  std::map<std::string, std::map<v1::WeightValues, OpPatterns>> by_op;
  ForPatterns(capabilities, activations, [&](const v1::OpPattern& pattern) {
    const v1::Numerics& numerics = pattern.numerics();
    for (const std::string& op : pattern.ops()) {
      if (!HasChannelScales(op)) continue;
      const auto [at, is_new] = by_op[op].try_emplace(numerics.weight_values());
      OpPatterns& patterns = at->second;
      patterns.converts =
          patterns.converts && numerics.requantization() == v1::Numerics::ADC;
      patterns.accumulator_bits =
          std::max(patterns.accumulator_bits, numerics.accumulator_bits());
      if (is_new) patterns.converter = numerics.converter();
    }
  });
  return by_op;
}

v1::ElementType ActivationsOf(const v1::Capabilities& capabilities) {
  for (const v1::ElementType type : {v1::INT8, v1::INT16, v1::UINT8}) {
    bool taken = false;
    ForPatterns(capabilities, type,
                [&taken](const v1::OpPattern&) { taken = true; });
    if (taken) return type;
  }
  return v1::INT8;
}

// FLOOR if no pattern that multiplies by factors rounds otherwise.
v1::Rounding RoundingOf(const v1::Capabilities& capabilities,
                        v1::ElementType activations) {
  bool floors = false;
  bool others = false;
  ForPatterns(capabilities, activations, [&](const v1::OpPattern& pattern) {
    const v1::Numerics& numerics = pattern.numerics();
    if (numerics.requantization() != v1::Numerics::SHIFT &&
        numerics.requantization() != v1::Numerics::MULTIPLIER_AND_SHIFT) {
      return;
    }
    const bool only_down =
        numerics.roundings_size() == 1 && numerics.roundings(0) == v1::FLOOR;
    (only_down ? floors : others) = true;
  });
  return floors && !others ? v1::FLOOR : v1::HALF_UP;
}

// Whether no pattern adds tensors of two scales, and some add.
bool NeedsEqualAddends(const v1::Capabilities& capabilities,
                       v1::ElementType activations) {
  bool adds = false;
  bool any_scales = false;
  ForPatterns(capabilities, activations, [&](const v1::OpPattern& pattern) {
    if (!Has(pattern.ops(), "add")) return;
    adds = true;
    any_scales = any_scales || !pattern.numerics().one_input_scale();
  });
  return adds && !any_scales;
}

}  // namespace

v1::QuantizationNeeds QuantizationNeedsOf(
    const v1::Capabilities& capabilities) {
  const v1::ElementType activations = ActivationsOf(capabilities);
  std::set<std::string> one_scale;
  std::set<std::string> per_channel;
  bool has_patterns = false;
  bool zero_points = false;
  bool shifts = false;
  bool multiplies = false;
  ForPatterns(capabilities, activations, [&](const v1::OpPattern& pattern) {
    const v1::Numerics& numerics = pattern.numerics();
    has_patterns = true;
    zero_points |= numerics.activation_zero_points();
    shifts |= numerics.requantization() == v1::Numerics::SHIFT;
    multiplies |=
        numerics.requantization() == v1::Numerics::MULTIPLIER_AND_SHIFT;
    for (const std::string& op : pattern.ops()) {
      if (!HasChannelScales(op)) continue;
      (numerics.per_channel() ? per_channel : one_scale).insert(op);
    }
  });
  v1::QuantizationNeeds needs;
  for (const std::string& op : one_scale) {
    if (per_channel.count(op) == 0) needs.add_per_tensor(op);
  }
  needs.set_symmetric_activations(has_patterns && !zero_points);
  needs.set_power_of_two_scales(shifts && !multiplies);
  for (const auto& [op, by_values] : PatternsByOp(capabilities, activations)) {
    const auto& [widest, patterns] = *by_values.begin();
    if (widest == v1::WEIGHTS_ANY && !patterns.converts &&
        BitsBelow32(patterns) == 0 && by_values.size() == 1) {
      continue;
    }
    v1::QuantizationNeeds::Op& need = *needs.add_ops();
    need.set_op(op);
    need.set_weight_values(widest);
    if (patterns.converts) *need.mutable_converter() = patterns.converter;
    need.set_accumulator_bits(BitsBelow32(patterns));
    for (auto at = std::next(by_values.begin()); at != by_values.end(); ++at) {
      v1::QuantizationNeeds::Op::Form& form = *need.add_narrower();
      form.set_weight_values(at->first);
      if (at->second.converts) *form.mutable_converter() = at->second.converter;
      form.set_accumulator_bits(BitsBelow32(at->second));
    }
  }
  if (activations != v1::INT8) needs.set_activations(activations);
  needs.set_rounding(RoundingOf(capabilities, activations));
  needs.set_equal_addends(NeedsEqualAddends(capabilities, activations));
  return needs;
}

}  // namespace edgekiln::target
