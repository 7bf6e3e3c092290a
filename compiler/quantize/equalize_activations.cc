#include "compiler/quantize/equalize_activations.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>

#include "base/status_macros.h"
#include "compiler/ir/buffer_layout.h"
#include "compiler/passes/graph_edit.h"
#include "compiler/quantize/activation_range.h"
#include "compiler/quantize/channel_spaces.h"
#include "compiler/quantize/extremes.h"
#include "compiler/quantize/histogram.h"
#include "compiler/quantize/integer_choice.h"
#include "compiler/quantize/layer_weights.h"
#include "compiler/quantize/output_error.h"
#include "compiler/quantize/round_to_steps.h"
#include "compiler/quantize/sample_batch.h"
#include "compiler/quantize/tensor_quantizations.h"
#include "ops/real_math.h"

namespace edgekiln::compiler {
namespace {

constexpr int64_t kMostSamples = 32;
constexpr int64_t kFewestSamples = 8;
constexpr int64_t kSampleBytes = int64_t{64} << 20;
constexpr size_t kMostSpaces = 8;
// The smallest factor, of the largest. What samples leave dark stays.
constexpr double kSmallestFactor = 1.0 / 32;
// Better by this much, or left alone.
constexpr double kWorthIt = 0.95;
// Of the error that rounding weights to nearest makes: fitting them to what
// they are multiplied with leaves about so much.
constexpr double kFitted = 0.5;
// Shares of values that are kept, in parts per million.
constexpr int kPercentiles[] = {999'900, 999'000};

using Factors = std::vector<double>;

// Values of all channels in turn.
void Divide(const Factors& factors, float* values, int64_t count) {
  std::vector<float> inverse;
  for (const double factor : factors) {
    inverse.push_back(static_cast<float>(1 / factor));
  }
  const auto channels = static_cast<int64_t>(factors.size());
  for (int64_t i = 0; i < count; i += channels) {
    for (int64_t c = 0; c < channels; ++c) values[i + c] *= inverse[c];
  }
}

class Equalization {
 public:
  Equalization(const std::vector<v1::LayerScheme>& schemes, ScaleRules rules,
               ops::CpuPath cpu_path, Graph& graph)
      : graph_(graph),
        trial_(graph),
        schemes_(schemes),
        rules_(rules),
        cpu_path_(cpu_path),
        outputs_(graph),
        integer_(graph.ops.size(), true),
        quantizations_(graph, integer_, rules) {
    for (ChannelSpace& space : ChannelSpaces(graph)) {
      if (IsWorthTrying(space)) spaces_.push_back(std::move(space));
    }
  }

  // Of `samples`; 0: there is nothing to do, or too much.
  int64_t SamplesToTake(int64_t samples) const {
    if (spaces_.empty() || spaces_.size() > kMostSpaces) return 0;
    int64_t bytes = 2 * LayOutBuffers(graph_, /*keep_all=*/false).bytes;
    for (const ChannelSpace& space : spaces_) {
      for (const TensorId id : space.tensors) {
        bytes += graph_.tensors[id].num_elements() *
                 static_cast<int64_t>(sizeof(float));
      }
    }
    const int64_t count =
        std::min({samples, kMostSamples, kSampleBytes / bytes});
    return count < kFewestSamples ? 0 : count;
  }

  absl::StatusOr<bool> Run(const CalibrationSamples& samples) {
    std::vector<TensorId> kept = outputs_.tensors();
    for (const ChannelSpace& space : spaces_) {
      kept.insert(kept.end(), space.tensors.begin(), space.tensors.end());
    }
    SampleBatch batch(trial_, samples.size(), cpu_path_, kept);
    EK_RETURN_IF_ERROR(batch.SetInputs(samples));
    std::vector<SampleBatch> at;  // After the last producer of each space.
    for (int32_t i = 0; i <= outputs_.last_op(); ++i) {
      EK_RETURN_IF_ERROR(batch.Run(i));
      batch.Release(i);
      for (const ChannelSpace& space : spaces_) {
        if (space.producers.back() == i) at.push_back(batch);
      }
    }
    soft_ = outputs_.SoftValuesOf(batch);
    std::sort(spaces_.begin(), spaces_.end(),
              [](const ChannelSpace& a, const ChannelSpace& b) {
                return a.producers.back() < b.producers.back();
              });
    bool changed = false;
    for (size_t i = 0; i < spaces_.size(); ++i) {
      EK_ASSIGN_OR_RETURN(const Factors factors,
                          Choose(spaces_[i], at[i], batch));
      if (factors.empty()) continue;
      ScaleChannels(spaces_[i], factors, graph_);
      changed = true;
    }
    return changed;
  }

 private:
  // What an average pool makes has the scale of its input, and its rounding is
  // not averaged. Producers with one scale for all weights would lose what the
  // activations gain.
  bool IsWorthTrying(const ChannelSpace& space) const {
    const auto has_one_scale = [&](int32_t op) {
      return schemes_[op].per_tensor() == v1::ON;
    };
    if (space.producers.back() >= outputs_.last_op() ||
        std::any_of(space.producers.begin(), space.producers.end(),
                    has_one_scale)) {
      return false;
    }
    return std::any_of(graph_.ops.begin(), graph_.ops.end(), [&](const Op& op) {
      return op.attributes.has_average_pool2d() && Has(space, op.outputs[0]);
    });
  }

  static bool Has(const ChannelSpace& space, TensorId tensor) {
    return std::find(space.tensors.begin(), space.tensors.end(), tensor) !=
           space.tensors.end();
  }

  // The largest magnitude of each channel of the tensor.
  std::vector<double> LargestOf(const ChannelSpace& space, TensorId tensor,
                                const SampleBatch& whole) const {
    std::vector<double> largest(static_cast<size_t>(space.channels), 0);
    const int64_t count = graph_.tensors[tensor].num_elements();
    for (int64_t sample = 0; sample < whole.samples(); ++sample) {
      const auto* values =
          reinterpret_cast<const float*>(whole.value(tensor, sample));
      for (int64_t i = 0; i < count; i += space.channels) {
        for (int64_t c = 0; c < space.channels; ++c) {
          largest[c] = std::max(largest[c], std::abs(double{values[i + c]}));
        }
      }
    }
    return largest;
  }

  static Factors FactorsOf(const std::vector<double>& largest, double power) {
    const double most = *std::max_element(largest.begin(), largest.end());
    Factors factors;
    for (const double one : largest) {
      factors.push_back(
          one > 0 ? ops::Pow(std::max(one / most, kSmallestFactor), power) : 1);
    }
    return factors;
  }

  // From the largest values of what is pooled, and from the mean of those of
  // all tensors; whole and in half. None first.
  std::vector<Factors> Candidates(const ChannelSpace& space,
                                  const SampleBatch& whole) const {
    const auto channels = static_cast<size_t>(space.channels);
    std::vector<Factors> candidates = {Factors(channels, 1)};
    std::vector<std::vector<double>> profiles = {Factors(channels, 1)};
    for (const TensorId tensor : space.tensors) {
      const std::vector<double> largest = LargestOf(space, tensor, whole);
      const double power = 1.0 / static_cast<double>(space.tensors.size());
      for (size_t c = 0; c < channels; ++c) {
        profiles[0][c] *= ops::Pow(largest[c], power);
      }
      for (const Op& op : graph_.ops) {
        if (op.attributes.has_average_pool2d() && op.inputs[0] == tensor) {
          profiles.push_back(largest);
        }
      }
    }
    for (const std::vector<double>& profile : profiles) {
      if (!(*std::max_element(profile.begin(), profile.end()) > 0)) continue;
      candidates.push_back(FactorsOf(profile, 1));
      candidates.push_back(FactorsOf(profile, 0.5));
    }
    return candidates;
  }

  // What each group of the space's tensors holds with `factors`.
  std::map<TensorId, SeenValues> SeenWith(const ChannelSpace& space,
                                          const Factors& factors,
                                          const SampleBatch& whole) const {
    std::map<TensorId, SeenValues> seen;
    std::vector<float> scaled;
    for (const TensorId tensor : space.tensors) {
      Histogram histogram;
      v1::CalibrationStatistics::TensorRange range;
      float low = 0;
      float high = 0;
      const int64_t count = graph_.tensors[tensor].num_elements();
      for (int64_t sample = 0; sample < whole.samples(); ++sample) {
        const auto* values =
            reinterpret_cast<const float*>(whole.value(tensor, sample));
        scaled.assign(values, values + count);
        Divide(factors, scaled.data(), count);
        if (scaled.empty()) continue;
        const Extremes extremes = ExtremesOf(scaled, cpu_path_);
        low = std::min(low, extremes.low);
        high = std::max(high, extremes.high);
        histogram.Add(scaled, cpu_path_);
      }
      range.set_min(low);
      range.set_max(high);
      range.set_average_min(low);
      range.set_average_max(high);
      *range.mutable_histogram() = histogram.ToProto();
      seen[quantizations_.GroupOf(tensor)].Include(range);
    }
    return seen;
  }

  // Rounds the weights of the layer in trial_, nearly.
  void RoundWeights(int32_t index) {
    Op& op = trial_.ops[index];
    Tensor& tensor = trial_.tensors[op.inputs[1]];
    std::vector<float> values = *FloatConstantValues(tensor);
    RealWeights real = {.weights = values,
                        .channels = tensor.shape[WeightAxis(op)],
                        .bias = {},
                        .axis = WeightAxis(op)};
    for (size_t i = real.axis + 1; i < tensor.shape.size(); ++i) {
      real.inner *= tensor.shape[i];
    }
    const v1::LayerScheme& scheme = schemes_[index];
    const LayerWeights integers =
        QuantizeWeights(real, scheme.per_tensor() == v1::ON,
                        {.form = scheme.weights(),
                         .range = scheme.weight_range(),
                         .power_of_two = rules_.power_of_two});
    for (size_t i = 0; i < values.size(); ++i) {
      const size_t c = i / static_cast<size_t>(real.inner) %
                       static_cast<size_t>(real.channels);
      const double scale =
          integers.weights.scale[scheme.per_tensor() == v1::ON ? 0 : c];
      const double rounded =
          scale * static_cast<int8_t>(integers.weight_data[i]);
      values[i] += static_cast<float>(kFitted * (rounded - values[i]));
    }
    tensor = FloatTensorLike(tensor, tensor.shape, values);
  }

  // The error at the outputs if the space alone is quantized, by what trial_
  // makes of its values.
  absl::StatusOr<double> Try(
      const ChannelSpace& space, const Factors& factors,
      const std::map<TensorId, Quantization>& quantizations,
      const SampleBatch& at, const SampleBatch& whole) const {
    SampleBatch fork = at;
    const auto change = [&](TensorId tensor, bool scale_it) {
      const Quantization& of = quantizations.at(quantizations_.GroupOf(tensor));
      fork.Change(tensor, [&](char* bytes, int64_t size) {
        auto* values = reinterpret_cast<float*>(bytes);
        const int64_t count = size / static_cast<int64_t>(sizeof(float));
        if (scale_it) Divide(factors, values, count);
        RoundToSteps(of, values, count, rules_.activations);
      });
    };
    // Made already, as it is.
    const int32_t last = space.producers.back();
    for (int32_t i = 0; i <= last; ++i) {
      for (const TensorId made : graph_.ops[i].outputs) {
        if (Has(space, made)) change(made, true);
      }
    }
    for (int32_t i = last + 1; i <= outputs_.last_op(); ++i) {
      EK_RETURN_IF_ERROR(fork.Run(i));
      for (const TensorId made : graph_.ops[i].outputs) {
        if (Has(space, made)) change(made, false);
      }
      fork.Release(i);
    }
    return outputs_.Of(whole, soft_, fork);
  }

  // The least error with `factors`.
  absl::StatusOr<double> LeastError(const ChannelSpace& space,
                                    const Factors& factors,
                                    const SampleBatch& at,
                                    const SampleBatch& whole) {
    ScaleChannels(space, factors, trial_);
    for (const int32_t layer : space.consumers) RoundWeights(layer);
    const std::map<TensorId, SeenValues> seen = SeenWith(space, factors, whole);
    v1::CalibrateOptions method;
    method.set_method(v1::CalibrateOptions::PERCENTILE);
    double least = std::numeric_limits<double>::infinity();
    for (const int ppm : kPercentiles) {
      method.set_percentile_ppm(ppm);
      std::map<TensorId, Quantization> quantizations;
      for (const auto& [group, values] : seen) {
        quantizations[group] = values.QuantizationFor(method, rules_);
      }
      EK_ASSIGN_OR_RETURN(const double error,
                          Try(space, factors, quantizations, at, whole));
      least = std::min(least, error);
    }
    // Only constants of these layers have changed.
    trial_.tensors.resize(graph_.tensors.size());
    for (const auto* layers : {&space.producers, &space.consumers}) {
      for (const int32_t layer : *layers) {
        trial_.ops[layer].inputs = graph_.ops[layer].inputs;
        for (const TensorId input : graph_.ops[layer].inputs) {
          if (input != kNoTensor) trial_.tensors[input] = graph_.tensors[input];
        }
      }
    }
    return least;
  }

  // Empty: stays as it is.
  absl::StatusOr<Factors> Choose(const ChannelSpace& space,
                                 const SampleBatch& at,
                                 const SampleBatch& whole) {
    Factors best;
    double least = std::numeric_limits<double>::infinity();
    const std::vector<Factors> candidates = Candidates(space, whole);
    for (size_t i = 0; i < candidates.size(); ++i) {
      EK_ASSIGN_OR_RETURN(const double error,
                          LeastError(space, candidates[i], at, whole));
      if (i == 0) {
        least = error * kWorthIt;
      } else if (error < least) {
        least = error;
        best = candidates[i];
      }
    }
    return best;
  }

  Graph& graph_;
  Graph trial_;
  const std::vector<v1::LayerScheme>& schemes_;
  const ScaleRules rules_;
  const ops::CpuPath cpu_path_;
  const OutputError outputs_;
  OutputError::SoftValues soft_;      // Of all samples.
  std::vector<ChannelSpace> spaces_;  // By their last producers, once run.
  const std::vector<bool> integer_;
  const TensorQuantizations quantizations_;
};

}  // namespace

absl::StatusOr<bool> EqualizeActivations(
    const std::vector<v1::LayerScheme>& schemes, CalibrationSamples samples,
    ScaleRules rules, ops::CpuPath cpu_path, Graph& graph) {
  // Rounding to 16 bits is no loss that a pool could make worse.
  if (rules.activations == v1::INT16) return false;
  Equalization equalization(schemes, rules, cpu_path, graph);
  samples.Limit(equalization.SamplesToTake(samples.size()));
  if (samples.size() == 0) return false;
  return equalization.Run(samples);
}

}  // namespace edgekiln::compiler
