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
#include "compiler/quantize/output_error.h"
#include "compiler/quantize/round_to_steps.h"
#include "compiler/quantize/sample_batch.h"
#include "compiler/quantize/scale_choice.h"

namespace edgekiln::compiler {
namespace {

// Shares of values that are kept, in parts per million.
constexpr int kPercentiles[] = {1'000'000, 999'990, 999'970, 999'900,
                                999'700,   999'000, 997'000, 990'000};
// Narrower ranges are not tried once one is so much worse than the best.
constexpr double kTooNarrow = 1.5;
// A range that is hardly narrower than the one before it is not tried.
constexpr float kNarrower = 0.95f;
// Ways that are tried of a tensor, on average.
constexpr int64_t kWays = 5;
// Runs of the whole network, together, by samples that there are; and at most.
constexpr int64_t kRunsPerSample = 3;
constexpr int64_t kRuns = 600;
constexpr int64_t kMostSamples = 40;
constexpr int64_t kFewestSamples = 4;
// Of an op, beside its products: what each value costs.
constexpr int64_t kWorkOfValue = 8;
constexpr int64_t kSampleBytes = int64_t{64} << 20;

class Search {
 public:
  Search(const Graph& graph, const std::vector<bool>& integer,
         TensorQuantizations& quantizations)
      : graph_(graph), quantizations_(quantizations), outputs_(graph) {
    for (int32_t i = 0; i < std::ssize(graph.ops); ++i) {
      if (integer[i] && IsSource(i)) sources_.push_back(i);
    }
  }

  // Of `samples`, at most for one tensor. The less of the network follows a
  // tensor, the more samples it gets: a quarter of the work, twice as many.
  int64_t SamplesToTake(int64_t samples) {
    std::vector<double> after(graph_.ops.size(), 0);  // Work.
    double work = 0;
    for (int32_t i = outputs_.last_op(); i >= 0; --i) {
      after[i] = work;
      const Op& op = graph_.ops[i];
      work += static_cast<double>(MacsOf(graph_, op));
      for (const TensorId made : op.outputs) {
        if (made == kNoTensor) continue;
        work += static_cast<double>(kWorkOfValue *
                                    graph_.tensors[made].num_elements());
      }
    }
    const int64_t bytes = 2 * LayOutBuffers(graph_, /*keep_all=*/false).bytes;
    const int64_t most = std::min(
        {samples, kMostSamples, kSampleBytes / std::max<int64_t>(bytes, 1)});
    const int64_t runs = std::min(kRuns, kRunsPerSample * samples);
    double roots = 0;
    for (const int32_t source : sources_) {
      roots += std::sqrt(after[source] / std::max(work, 1.0));
    }
    const double share = static_cast<double>(runs) /
                         (static_cast<double>(kWays) * std::max(roots, 1.0));
    int64_t all = 0;
    for (const int32_t source : sources_) {
      const double wanted =
          share * std::sqrt(work / std::max(after[source], 1.0));
      const auto count =
          static_cast<int64_t>(std::min(wanted, static_cast<double>(most)));
      samples_.push_back(count < kFewestSamples ? 0 : count);
      all = std::max(all, samples_.back());
    }
    return all;
  }

  absl::Status Run(const CalibrationSamples& samples, ops::CpuPath cpu_path) {
    SampleBatch batch(graph_, samples.size(), cpu_path, outputs_.tensors());
    EK_RETURN_IF_ERROR(batch.SetInputs(samples));
    SampleBatch whole = batch;
    for (int32_t i = 0; i <= outputs_.last_op(); ++i) {
      EK_RETURN_IF_ERROR(whole.Run(i));
      whole.Release(i);
    }
    soft_ = outputs_.SoftValuesOf(whole);
    size_t next = 0;
    for (int32_t i = 0; i <= outputs_.last_op(); ++i) {
      EK_RETURN_IF_ERROR(batch.Run(i));
      if (next < sources_.size() && sources_[next] == i) {
        if (samples_[next] > 0) {
          SampleBatch some = batch;
          some.Limit(samples_[next]);
          EK_RETURN_IF_ERROR(Try(i, some, whole));
        }
        ++next;
      }
      batch.Release(i);
    }
    const std::vector<RisingScales> rising = quantizations_.Rising();
    std::map<TensorId, float> fixed;
    for (const RisingScales& pair : rising) {
      for (const TensorId group : {pair.below, pair.above}) {
        if (choices_.contains(group)) continue;
        fixed[group] = quantizations_.Of(group).scale[0];
      }
    }
    for (const auto& [group, way] : ChooseScales(choices_, fixed, rising)) {
      quantizations_.Set(group, choices_.at(group).ways[way]);
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
      for (const Quantization& other : ways) {
        const float ratio = way.scale[0] / other.scale[0];
        if (ratio > kNarrower && ratio < 1 / kNarrower) return;
      }
      ways.push_back(std::move(way));
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
    ScaleChoice& choice = choices_[quantizations_.GroupOf(tensor)];
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
      const auto quantize = [&](char* bytes, int64_t size) {
        RoundToSteps(choice.ways[way], reinterpret_cast<float*>(bytes),
                     size / kFloatBytes,
                     quantizations_.RulesOf(tensor).activations);
      };
      SampleBatch fork = batch;
      fork.Change(tensor, quantize);
      fork.Release(index);
      for (int32_t i = index + 1; i <= outputs_.last_op(); ++i) {
        EK_RETURN_IF_ERROR(fork.Run(i));
        // A pool rounds what it makes to the same steps.
        for (const TensorId made : graph_.ops[i].outputs) {
          if (quantizations_.AreOne(made, tensor)) fork.Change(made, quantize);
        }
        fork.Release(i);
      }
      const double error = outputs_.Of(whole, soft_, fork);
      choice.errors[way] += error;
      least = std::min(least, error);
      too_narrow = too_narrow || error > kTooNarrow * least;
    }
    return absl::OkStatus();
  }

  static constexpr int64_t kFloatBytes = sizeof(float);

  const Graph& graph_;
  TensorQuantizations& quantizations_;
  const OutputError outputs_;
  OutputError::SoftValues soft_;             // Of all samples.
  std::vector<int32_t> sources_;             // Ops, rising.
  std::vector<int64_t> samples_;             // By source; 0: none.
  std::map<TensorId, ScaleChoice> choices_;  // By group, with errors so far.
};

}  // namespace

absl::Status SearchRanges(const Graph& float_graph,
                          const std::vector<bool>& integer,
                          CalibrationSamples samples, ops::CpuPath cpu_path,
                          TensorQuantizations& quantizations) {
  Search search(float_graph, integer, quantizations);
  samples.Limit(search.SamplesToTake(samples.size()));
  if (samples.size() == 0) return absl::OkStatus();
  return search.Run(samples, cpu_path);
}

}  // namespace edgekiln::compiler
