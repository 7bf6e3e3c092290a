#include "compiler/quantize/limits.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "compiler/passes/clamps.h"
#include "compiler/passes/graph_edit.h"
#include "compiler/quantize/channel_spaces.h"
#include "compiler/quantize/histogram.h"
#include "google/protobuf/repeated_field.h"
#include "ops/quantized_parameters.h"

namespace edgekiln::compiler {
namespace {

// The upper limit of the space; 0: none, more than one, or a lower one that is
// not 0.
float LimitOf(const Graph& graph, const std::vector<int32_t>& producers,
              const ChannelSpace& space) {
  float limit = 0;
  for (const TensorId tensor : space.tensors) {
    const v1::Clamp* clamp = ClampOf(graph.ops[producers[tensor]].attributes);
    if (clamp == nullptr || !HasBounds(*clamp)) continue;
    if (!clamp->has_min() || clamp->min() != 0) return 0;
    if (!clamp->has_max()) continue;
    if (limit != 0 && clamp->max() != limit) return 0;
    limit = clamp->max();
  }
  return std::isfinite(limit) && limit > 0 ? limit : 0;
}

using Bins = google::protobuf::RepeatedField<uint64_t>;

// Moves each bin to where the middle of its values gets: a factor of 1 or more
// lets no two meet. In the form of v1::CalibrationStatistics::Histogram.
void MultiplyBins(double factor, Bins& bins) {
  Bins moved;
  int64_t from = 0;
  int64_t to = 0;  // The first one behind those in `moved`.
  for (int i = 0; i < bins.size(); ++i) {
    if (bins[i] == 0) {
      if (++i == bins.size()) break;
      from += static_cast<int64_t>(std::min(bins[i], Histogram::kMostEmpty));
      continue;
    }
    const auto at = static_cast<int64_t>(
        std::floor((static_cast<double>(from) + 0.5) * factor));
    if (at > to) {
      moved.Add(0);
      moved.Add(static_cast<uint64_t>(at - to));
    }
    moved.Add(bins[i]);
    to = at + 1;
    ++from;
  }
  bins.Swap(&moved);
}

// The least value that is not below `limit` and the largest integer of a scale
// that is a power of two: no more than 8 bits, so that a float holds it.
float SaturatedFrom(float limit, ScaleRules rules) {
  const ops::QuantizedRange integers = ops::RangeOf(v1::INT8);
  const int most = rules.symmetric ? integers.max : integers.max - integers.min;
  int exponent = 0;
  const double share = std::frexp(limit / static_cast<double>(most), &exponent);
  return static_cast<float>(
      std::ldexp(most, share == 0.5 ? exponent - 1 : exponent));
}

struct FittedSpace {
  ChannelSpace space;
  float limit = 0;    // Of what has one, afterwards.
  double factor = 1;  // From the one before.
};

// Reads no weights.
std::vector<FittedSpace> FittedSpaces(ScaleRules rules, const Graph& graph) {
  std::vector<FittedSpace> found;
  if (!rules.power_of_two || rules.activations == v1::INT16) return found;
  const std::vector<int32_t> producers = Producers(graph);
  for (ChannelSpace& space : UniformSpaces(graph)) {
    const float limit = LimitOf(graph, producers, space);
    if (limit == 0) continue;
    const float fitted = SaturatedFrom(limit, rules);
    if (fitted == limit || !std::isfinite(fitted)) continue;
    found.push_back({.space = std::move(space),
                     .limit = fitted,
                     .factor = double{fitted} / limit});
  }
  return found;
}

void SetLimits(const FittedSpace& fitted, Graph& graph) {
  const std::vector<int32_t> producers = Producers(graph);
  for (const TensorId tensor : fitted.space.tensors) {
    v1::OpAttributes& attributes = graph.ops[producers[tensor]].attributes;
    const v1::Clamp* clamp = ClampOf(attributes);
    if (clamp != nullptr && clamp->has_max()) {
      MutableClamp(attributes)->set_max(fitted.limit);
    }
  }
}

// Whether the weights and biases of the space's layers are finite and stay so,
// whatever factor below 2.
bool HasFiniteLayers(const Graph& graph, const ChannelSpace& space) {
  constexpr float kMost = std::numeric_limits<float>::max() / 2;
  const auto is_finite = [&](int32_t index) {
    const Op& op = graph.ops[index];
    for (size_t i = 1; i < op.inputs.size(); ++i) {
      if (op.inputs[i] == kNoTensor) continue;
      const auto values = FloatConstantValues(graph.tensors[op.inputs[i]]);
      if (!std::all_of(values->begin(), values->end(),
                       [](float value) { return std::abs(value) < kMost; })) {
        return false;
      }
    }
    return true;
  };
  return std::all_of(space.producers.begin(), space.producers.end(),
                     is_finite) &&
         std::all_of(space.consumers.begin(), space.consumers.end(), is_finite);
}

}  // namespace

TensorFactors FitLimits(ScaleRules rules, Graph& graph) {
  TensorFactors factors;
  for (const FittedSpace& fitted : FittedSpaces(rules, graph)) {
    const ChannelSpace& space = fitted.space;
    if (!HasFiniteLayers(graph, space)) continue;
    ScaleChannels(space, {1 / fitted.factor}, graph);
    for (const TensorId tensor : space.tensors) {
      factors[graph.tensors[tensor].name] = fitted.factor;
    }
    SetLimits(fitted, graph);
  }
  return factors;
}

void SetFittedLimits(ScaleRules rules, Graph& graph) {
  for (const FittedSpace& fitted : FittedSpaces(rules, graph)) {
    SetLimits(fitted, graph);
  }
}

v1::CalibrationStatistics Multiplied(v1::CalibrationStatistics statistics,
                                     const TensorFactors& factors) {
  for (auto& range : *statistics.mutable_ranges()) {
    const auto found = factors.find(range.tensor());
    if (found == factors.end()) continue;
    // In double: what was the limit becomes the new one, and no more.
    const auto multiplied = [&](float value) {
      return static_cast<float>(value * found->second);
    };
    range.set_min(multiplied(range.min()));
    range.set_max(multiplied(range.max()));
    range.set_average_min(multiplied(range.average_min()));
    range.set_average_max(multiplied(range.average_max()));
    if (!range.has_histogram()) continue;
    MultiplyBins(found->second, *range.mutable_histogram()->mutable_positive());
    MultiplyBins(found->second, *range.mutable_histogram()->mutable_negative());
  }
  return statistics;
}

}  // namespace edgekiln::compiler
