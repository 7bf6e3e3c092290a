#include "compiler/quantize/range_search.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
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
// Of the price of an error, what a way pays for values that were not tried: how
// much these matter is not known.
constexpr double kUntried = 0.5;
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

// Mean squares of what a quantization does to a tensor.
struct TensorError {
  double all = 0;
  double cut_off = 0;  // Beyond the range: SeenValues::CutOff().
};

// Of a tensor that is alive in both, over the samples of `changed`, which has
// it rounded.
TensorError ErrorOf(TensorId tensor, const RealRange& held,
                    const SampleBatch& real, const SampleBatch& changed) {
  const int64_t count = real.graph().tensors[tensor].num_elements();
  TensorError error;
  for (int64_t sample = 0; sample < changed.samples(); ++sample) {
    const auto* a = reinterpret_cast<const float*>(real.value(tensor, sample));
    const auto* b =
        reinterpret_cast<const float*>(changed.value(tensor, sample));
    for (int64_t i = 0; i < count; ++i) {
      const double value = a[i];
      const double rounded = value - b[i];
      const double beyond = value - std::clamp(value, held.low, held.high);
      error.all += rounded * rounded;
      error.cut_off += beyond * beyond;
    }
  }
  const double values = static_cast<double>(count * changed.samples());
  if (values == 0) return error;
  return {.all = error.all / values, .cut_off = error.cut_off / values};
}

class Search {
 public:
  Search(const Graph& graph, const std::vector<bool>& integer,
         const v1::CalibrationStatistics& statistics,
         TensorQuantizations& quantizations)
      : graph_(graph), quantizations_(quantizations), outputs_(graph) {
    for (const auto& range : statistics.ranges()) {
      statistics_[range.tensor()] = &range;
    }
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

  // Of the tensor alone; nothing: not counted.
  SeenValues SeenAlone(TensorId tensor) const {
    SeenValues seen;
    const auto found = statistics_.find(graph_.tensors[tensor].name);
    if (found != statistics_.end()) seen.Include(*found->second);
    return seen;
  }

  struct WayError {
    double outputs = 0;
    TensorError tensor;
  };
  // Of ops[index], whose result is quantized in this way, on the samples of
  // `batch`.
  absl::StatusOr<WayError> ErrorsOf(int32_t index, const Quantization& way,
                                    const SampleBatch& batch,
                                    const SampleBatch& whole) const {
    const TensorId tensor = graph_.ops[index].outputs[0];
    const v1::ElementType type = quantizations_.RulesOf(tensor).activations;
    const auto quantize = [&](char* bytes, int64_t size) {
      RoundToSteps(way, reinterpret_cast<float*>(bytes), size / kFloatBytes,
                   type);
    };
    WayError error;
    SampleBatch fork = batch;
    fork.Change(tensor, quantize);
    error.tensor = ErrorOf(tensor, RangeHeldBy(way, type), batch, fork);
    fork.Release(index);
    for (int32_t i = index + 1; i <= outputs_.last_op(); ++i) {
      EK_RETURN_IF_ERROR(fork.Run(i));
      // A pool rounds what it makes to the same steps.
      for (const TensorId made : graph_.ops[i].outputs) {
        if (quantizations_.AreOne(made, tensor)) fork.Change(made, quantize);
      }
      fork.Release(i);
    }
    error.outputs = outputs_.Of(whole, soft_, fork);
    return error;
  }

  absl::Status Try(int32_t index, const SampleBatch& batch,
                   const SampleBatch& whole) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const TensorId tensor = graph_.ops[index].outputs[0];
    ScaleChoice& choice = choices_[quantizations_.GroupOf(tensor)];
    if (choice.ways.empty()) {
      choice.ways = WaysOf(tensor);
      choice.errors.assign(choice.ways.size(), 0);
    }
    const SeenValues seen = SeenAlone(tensor);
    const v1::ElementType type = quantizations_.RulesOf(tensor).activations;
    std::vector<double> errors(choice.ways.size(), kInfinity);
    // Cut off of the samples that are not tried.
    std::vector<double> missed(choice.ways.size(), 0);
    // At outputs, of an error of the tensor: as cheap as some way is, since
    // large values may matter less than others.
    double price = kInfinity;
    double least = kInfinity;
    bool too_narrow = false;
    for (size_t way = 0; way < choice.ways.size(); ++way) {
      // The last one is by another method.
      if (too_narrow && way + 1 < choice.ways.size()) continue;
      EK_ASSIGN_OR_RETURN(const WayError error,
                          ErrorsOf(index, choice.ways[way], batch, whole));
      errors[way] = error.outputs;
      missed[way] = seen.CutOff(choice.ways[way], type) - error.tensor.cut_off;
      if (error.outputs > 0 && error.tensor.all > 0) {
        price = std::min(price, error.outputs / error.tensor.all);
      }
      least = std::min(least, error.outputs);
      too_narrow = too_narrow || error.outputs > kTooNarrow * least;
    }
    for (size_t way = 0; way < choice.ways.size(); ++way) {
      choice.errors[way] += errors[way];
      if (missed[way] > 0 && std::isfinite(price)) {
        choice.errors[way] += kUntried * missed[way] * price;
      }
    }
    return absl::OkStatus();
  }

  static constexpr int64_t kFloatBytes = sizeof(float);

  const Graph& graph_;
  TensorQuantizations& quantizations_;
  const OutputError outputs_;
  OutputError::SoftValues soft_;  // Of all samples.
  std::map<absl::string_view, const v1::CalibrationStatistics::TensorRange*>
      statistics_;                           // By name of the tensor.
  std::vector<int32_t> sources_;             // Ops, rising.
  std::vector<int64_t> samples_;             // By source; 0: none.
  std::map<TensorId, ScaleChoice> choices_;  // By group, with errors so far.
};

}  // namespace

absl::Status SearchRanges(const Graph& float_graph,
                          const std::vector<bool>& integer,
                          const v1::CalibrationStatistics& statistics,
                          CalibrationSamples samples, ops::CpuPath cpu_path,
                          TensorQuantizations& quantizations) {
  Search search(float_graph, integer, statistics, quantizations);
  samples.Limit(search.SamplesToTake(samples.size()));
  if (samples.size() == 0) return absl::OkStatus();
  return search.Run(samples, cpu_path);
}

}  // namespace edgekiln::compiler
