#include "target/quantization_needs.h"

#include <algorithm>
#include <set>
#include <string>

namespace edgekiln::target {
namespace {

template <typename Types>
bool HasInt8(const Types& types) {
  return std::find(types.begin(), types.end(), v1::INT8) != types.end();
}

bool TakesInt8(const v1::Numerics& numerics) {
  return HasInt8(numerics.activations()) &&
         (numerics.weights().empty() || HasInt8(numerics.weights()));
}

// Ops whose weights can have a scale per channel.
bool HasChannelScales(const std::string& op) {
  return op == "conv2d" || op == "depthwise_conv2d" || op == "fully_connected";
}

}  // namespace

v1::QuantizationNeeds QuantizationNeedsOf(
    const v1::Capabilities& capabilities) {
  std::set<std::string> one_scale;
  std::set<std::string> per_channel;
  bool has_patterns = false;
  bool zero_points = false;
  bool shifts = false;
  bool multiplies = false;
  for (const v1::Capabilities::Engine& engine : capabilities.engines()) {
    for (const v1::OpPattern& pattern : engine.patterns()) {
      const v1::Numerics& numerics = pattern.numerics();
      if (!TakesInt8(numerics)) continue;
      has_patterns = true;
      zero_points |= numerics.activation_zero_points();
      shifts |= numerics.requantization() == v1::Numerics::SHIFT;
      multiplies |=
          numerics.requantization() == v1::Numerics::MULTIPLIER_AND_SHIFT;
      for (const std::string& op : pattern.ops()) {
        if (!HasChannelScales(op)) continue;
        (numerics.per_channel() ? per_channel : one_scale).insert(op);
      }
    }
  }
  v1::QuantizationNeeds needs;
  for (const std::string& op : one_scale) {
    if (per_channel.count(op) == 0) needs.add_per_tensor(op);
  }
  needs.set_symmetric_activations(has_patterns && !zero_points);
  needs.set_power_of_two_scales(shifts && !multiplies);
  return needs;
}

}  // namespace edgekiln::target
