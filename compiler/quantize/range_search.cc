#include "compiler/quantize/range_search.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "compiler/ir/buffer_layout.h"
#include "compiler/passes/float32_form.h"
#include "compiler/quantize/sample_batch.h"

namespace edgekiln::compiler {
namespace {

// Shares of values that are kept, in parts per million.
constexpr int kPercentiles[] = {1'000'000, 999'990, 999'970, 999'900,
                                999'700,   999'000, 997'000, 990'000};
// Narrower ranges are not tried once one is so much worse than the best.
constexpr double kTooNarrow = 2;
// Ways that are tried of a tensor, on average.
constexpr int64_t kWays = 7;
// Runs of the whole network, together: about as many as calibration does with
// some hundred samples.
constexpr int64_t kRuns = 1200;
constexpr int64_t kRunsPerSample = 6;
constexpr int64_t kMostSamples = 64;
constexpr int64_t kFewestSamples = 4;
constexpr int64_t kSampleBytes = int64_t{64} << 20;

// The value that stands for `value`.
float Quantized(float value, float scale, float zero) {
  const float steps = std::clamp(value / scale, -1024.0f, 1024.0f);
  const float rounded = std::floor(steps + 0.5f) + zero;
  return scale * (std::clamp(rounded, -128.0f, 127.0f) - zero);
}

// How the tensors of a group can be quantized, and the errors so far.
struct Choice {
  std::vector<Quantization> ways;
  std::vector<double> errors;
};

class Search {
 public:
  Search(const Graph& graph, const std::vector<bool>& integer,
         TensorQuantizations& quantizations)
      : graph_(graph),
        quantizations_(quantizations),
        producers_(Producers(graph)) {
    for (TensorId output : graph.outputs) {
      int32_t by = producers_[output];
      if (by >= 0 && IsCastOfFloats(graph, graph.ops[by])) {
        output = graph.ops[by].inputs[0];
        by = producers_[output];
      }
      const bool softmax = by >= 0 && graph.ops[by].attributes.has_softmax();
      const TensorId seen = softmax ? graph.ops[by].inputs[0] : output;
      if (graph.tensors[seen].type != v1::FLOAT32) continue;
      outputs_.push_back(seen);
      if (softmax) outputs_.push_back(output);
      // Other outputs may be made later: the value has to stay.
      last_ = std::max(last_, by);
    }
    for (int32_t i = 0; i < std::ssize(graph.ops); ++i) {
      if (integer[i] && IsSource(i)) sources_.push_back(i);
    }
  }

  // Of `samples`.
  int64_t SamplesToTake(int64_t samples) const {
    const int64_t ways = kWays * std::ssize(sources_);
    const int64_t bytes = 2 * LayOutBuffers(graph_, /*keep_all=*/false).bytes;
    // Half of the network follows a tensor, on average.
    const int64_t runs = std::min(kRuns, kRunsPerSample * samples);
    return std::min({kMostSamples, 2 * runs / std::max<int64_t>(ways, 1),
                     kSampleBytes / std::max<int64_t>(bytes, 1)});
  }

  absl::Status Run(const CalibrationSamples& samples, ops::CpuPath cpu_path) {
    SampleBatch batch(graph_, samples.size(), cpu_path, outputs_);
    EK_RETURN_IF_ERROR(batch.SetInputs(samples));
    SampleBatch whole = batch;
    for (int32_t i = 0; i <= last_; ++i) {
      EK_RETURN_IF_ERROR(whole.Run(i));
      whole.Release(i);
    }
    size_t next = 0;
    for (int32_t i = 0; i <= last_; ++i) {
      EK_RETURN_IF_ERROR(batch.Run(i));
      if (next < sources_.size() && sources_[next] == i) {
        ++next;
        EK_RETURN_IF_ERROR(Try(i, batch, whole));
      }
      batch.Release(i);
    }
    for (const auto& [group, choice] : choices_) {
      const auto best =
          std::min_element(choice.errors.begin(), choice.errors.end()) -
          choice.errors.begin();
      quantizations_.Set(group, choice.ways[best]);
    }
    return absl::OkStatus();
  }

 private:
  // Makes values of its own, where others of its group are only passed on.
  bool IsSource(int32_t index) const {
    const Op& op = graph_.ops[index];
    if (graph_.tensors[op.outputs[0]].type != v1::FLOAT32 ||
        quantizations_.IsFixed(op.outputs[0])) {
      return false;
    }
    return std::none_of(op.inputs.begin(), op.inputs.end(),
                        [&](TensorId input) {
                          return input != kNoTensor &&
                                 quantizations_.AreOne(input, op.outputs[0]);
                        });
  }

  std::vector<Quantization> WaysOf(TensorId tensor) const {
    std::vector<Quantization> ways;
    const SeenValues* seen = quantizations_.SeenOf(tensor);
    if (seen == nullptr) return ways;
    const ScaleRules rules = quantizations_.RulesOf(tensor);
    const auto add = [&](const v1::CalibrateOptions& method) {
      Quantization way = seen->QuantizationFor(method, rules);
      if (std::find(ways.begin(), ways.end(), way) == ways.end()) {
        ways.push_back(std::move(way));
      }
    };
    v1::CalibrateOptions method;
    method.set_method(v1::CalibrateOptions::PERCENTILE);
    for (const int ppm : kPercentiles) {
      method.set_percentile_ppm(ppm);
      add(method);
    }
    method.set_method(v1::CalibrateOptions::MSE);
    add(method);
    return ways;
  }

  absl::Status Try(int32_t index, const SampleBatch& batch,
                   const SampleBatch& whole) {
    const TensorId tensor = graph_.ops[index].outputs[0];
    Choice& choice = choices_[quantizations_.GroupOf(tensor)];
    if (choice.ways.empty()) {
      choice.ways = WaysOf(tensor);
      choice.errors.assign(choice.ways.size(), 0);
    }
    double least = std::numeric_limits<double>::infinity();
    bool too_narrow = false;
    for (size_t way = 0; way < choice.ways.size(); ++way) {
      // The last one is by another method.
      if (too_narrow && way + 1 < choice.ways.size()) {
        choice.errors[way] = std::numeric_limits<double>::infinity();
        continue;
      }
      const float scale = choice.ways[way].scale[0];
      const auto zero = static_cast<float>(choice.ways[way].zero_point[0]);
      const auto quantize = [&](char* bytes, int64_t size) {
        auto* values = reinterpret_cast<float*>(bytes);
        for (int64_t i = 0; i < size / kFloatBytes; ++i) {
          values[i] = Quantized(values[i], scale, zero);
        }
      };
      SampleBatch fork = batch;
      fork.Change(tensor, quantize);
      fork.Release(index);
      for (int32_t i = index + 1; i <= last_; ++i) {
        EK_RETURN_IF_ERROR(fork.Run(i));
        // A pool rounds what it makes to the same steps.
        for (const TensorId made : graph_.ops[i].outputs) {
          if (quantizations_.AreOne(made, tensor)) fork.Change(made, quantize);
        }
        fork.Release(i);
      }
      double error = Error(whole, fork);
      // A logarithm of what was rounded to 0, say.
      if (!std::isfinite(error))
        error = std::numeric_limits<double>::infinity();
      choice.errors[way] += error;
      least = std::min(least, error);
      too_narrow = too_narrow || error > kTooNarrow * least;
    }
    return absl::OkStatus();
  }

  // Noise by signal, over all outputs.
  double Error(const SampleBatch& real, const SampleBatch& changed) const {
    double error = 0;
    for (const TensorId output : outputs_) {
      const int64_t count = graph_.tensors[output].num_elements();
      double signal = 0;
      double noise = 0;
      for (int64_t sample = 0; sample < real.samples(); ++sample) {
        const auto* a =
            reinterpret_cast<const float*>(real.value(output, sample));
        const auto* b =
            reinterpret_cast<const float*>(changed.value(output, sample));
        for (int64_t i = 0; i < count; ++i) {
          const double difference = double{a[i]} - b[i];
          signal += double{a[i]} * a[i];
          noise += difference * difference;
        }
      }
      if (signal > 0) error += noise / signal;
    }
    return error;
  }

  static constexpr int64_t kFloatBytes = sizeof(float);

  const Graph& graph_;
  TensorQuantizations& quantizations_;
  const std::vector<int32_t> producers_;
  std::vector<TensorId> outputs_;       // That are compared.
  std::vector<int32_t> sources_;        // Ops, rising.
  int32_t last_ = -1;                   // The last op that outputs_ need.
  std::map<TensorId, Choice> choices_;  // By group.
};

}  // namespace

absl::Status SearchRanges(const Graph& float_graph,
                          const std::vector<bool>& integer,
                          CalibrationSamples samples, ops::CpuPath cpu_path,
                          TensorQuantizations& quantizations) {
  Search search(float_graph, integer, quantizations);
  samples.Limit(std::max<int64_t>(search.SamplesToTake(samples.size()), 0));
  if (samples.size() < kFewestSamples) return absl::OkStatus();
  return search.Run(samples, cpu_path);
}

}  // namespace edgekiln::compiler
