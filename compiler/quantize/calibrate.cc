#include "compiler/quantize/calibrate.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/ir/interpreter.h"
#include "compiler/quantize/calibration_samples.h"
#include "compiler/quantize/extremes.h"
#include "compiler/quantize/histogram.h"

namespace edgekiln::compiler {
namespace {

// Of the moving averages: what each sample counts.
constexpr double kMomentum = 0.1;
// Of tensors with more values than this in all samples, the histogram counts
// about as many, spread over all samples. The extremes are those of all.
constexpr int64_t kCounted = 1 << 19;
constexpr size_t kTurn = 7919;

using TensorRange = v1::CalibrationStatistics::TensorRange;

// Everything seen of one tensor.
struct Observed {
  // If set, taken over; of the other fields, only `tensor` is used.
  const TensorRange* known = nullptr;
  TensorId tensor = kNoTensor;
  bool is_input = false;
  bool any = false;
  int64_t turn = 0;  // Samples seen.
  float min = 0;
  float max = 0;
  double average_min = 0;
  double average_max = 0;
  Histogram histogram;
};

class Observer {
 public:
  Observer(const Graph& graph, int64_t samples, ops::CpuPath cpu_path)
      : graph_(graph),
        samples_(samples),
        cpu_path_(cpu_path),
        of_tensor_(graph.tensors.size(), -1) {}

  // Those that `known` has, but for `changed` ones (by tensor), are taken from
  // there.
  void Take(const v1::CalibrationStatistics& known,
            const std::vector<bool>& changed) {
    std::map<absl::string_view, const TensorRange*> ranges;
    for (const TensorRange& range : known.ranges()) {
      ranges.emplace(range.tensor(), &range);
    }
    for (Observed& one : observed_) {
      if (changed[one.tensor]) continue;
      const auto found = ranges.find(graph_.tensors[one.tensor].name);
      if (found == ranges.end()) continue;
      one.known = found->second;
      of_tensor_[one.tensor] = -1;
    }
  }

  // INVALID_ARGUMENT for a graph that is quantized.
  absl::Status Prepare() {
    for (const TensorId id : graph_.inputs) EK_RETURN_IF_ERROR(Add(id, true));
    for (const Op& op : graph_.ops) {
      for (const TensorId id : op.outputs) {
        if (id != kNoTensor) EK_RETURN_IF_ERROR(Add(id, false));
      }
    }
    return absl::OkStatus();
  }

  absl::Status See(TensorId id, absl::string_view bytes) {
    if (of_tensor_[id] < 0 || bytes.empty()) return absl::OkStatus();
    Observed& one = observed_[of_tensor_[id]];
    // Of the interpreter, or a whole number of samples into a string: aligned.
    const absl::Span<const float> values(
        reinterpret_cast<const float*>(bytes.data()),
        bytes.size() / sizeof(float));
    EK_RETURN_IF_ERROR(SeeExtremes(values, one));
    if (!std::isfinite(one.min) || !std::isfinite(one.max)) {
      one.histogram = Histogram();
      return absl::OkStatus();
    }
    one.histogram.Add(Counted(values, graph_.tensors[id], one.turn++),
                      cpu_path_);
    return absl::OkStatus();
  }

  v1::CalibrationStatistics Statistics() const {
    v1::CalibrationStatistics statistics;
    for (const Observed& one : observed_) {
      TensorRange& range = *statistics.add_ranges();
      if (one.known != nullptr) {
        range = *one.known;
        continue;
      }
      range.set_tensor(graph_.tensors[one.tensor].name);
      range.set_min(one.min);
      range.set_max(one.max);
      range.set_average_min(static_cast<float>(one.average_min));
      range.set_average_max(static_cast<float>(one.average_max));
      if (one.any && std::isfinite(one.min) && std::isfinite(one.max)) {
        *range.mutable_histogram() = one.histogram.ToProto();
      }
    }
    return statistics;
  }

 private:
  // Tensors of other types are counts, indices and truth values: they stay.
  absl::Status Add(TensorId id, bool is_input) {
    const Tensor& tensor = graph_.tensors[id];
    if (tensor.quantization.has_value()) {
      return InvalidCalibration(
          absl::StrCat("it is a quantized ", v1::ElementType_Name(tensor.type)),
          absl::StrCat("tensor '", tensor.name, "'"), "a float32 graph",
          "calibrate the float model; a quantized one needs no calibration");
    }
    if (tensor.type != v1::FLOAT32) return absl::OkStatus();
    of_tensor_[id] = static_cast<int32_t>(observed_.size());
    observed_.emplace_back();
    observed_.back().tensor = id;
    observed_.back().is_input = is_input;
    return absl::OkStatus();
  }

  // Infinities are what masks are made of; in the data they are a mistake.
  absl::Status SeeExtremes(absl::Span<const float> values, Observed& one) {
    const auto [low, high, numbers] = ExtremesOf(values, cpu_path_);
    const bool infinite = !std::isfinite(low) || !std::isfinite(high);
    if (one.is_input && numbers && !infinite &&
        std::max(-low, high) >= kBeyondScales) {
      return InvalidCalibration(
          absl::StrCat("the calibration data holds ", -low > high ? low : high),
          absl::StrCat("tensor '", graph_.tensors[one.tensor].name, "'"),
          absl::StrCat("values below ", kBeyondScales),
          "look for what is wrong with the data, or with its --input option");
    }
    if (!numbers || (one.is_input && infinite)) {
      return InvalidCalibration(
          absl::StrCat("a tensor of the network becomes ",
                       numbers ? "infinite" : "NaN", " during calibration"),
          absl::StrCat("tensor '", graph_.tensors[one.tensor].name, "'"),
          "finite values",
          "give real samples with --calibration (random ones are between -1 "
          "and 1, and a logarithm or square root needs more than that); if "
          "you did, check them, their --input option and the model's weights");
    }
    if (!one.any) {
      one.any = true;
      one.min = low;
      one.max = high;
      one.average_min = low;
      one.average_max = high;
    }
    one.min = std::min(one.min, low);
    one.max = std::max(one.max, high);
    one.average_min += kMomentum * (low - one.average_min);
    one.average_max += kMomentum * (high - one.average_max);
    return absl::OkStatus();
  }

  // Some of the values, steps apart that make channels take turns.
  absl::Span<const float> Counted(absl::Span<const float> values,
                                  const Tensor& tensor, int64_t turn) {
    auto step = static_cast<size_t>(std::ssize(values) /
                                    std::max<int64_t>(kCounted / samples_, 1));
    if (step <= 1) return values;
    while (std::gcd(static_cast<int64_t>(step), tensor.shape.back()) != 1) {
      ++step;
    }
    // Each sample begins elsewhere.
    const size_t first = static_cast<size_t>(turn) * kTurn % step;
    some_.resize(values.size() / step + 1);
    size_t count = 0;
    for (size_t i = first; i < values.size(); i += step) {
      some_[count++] = values[i];
    }
    return absl::MakeConstSpan(some_).first(count);
  }

  const Graph& graph_;
  const int64_t samples_;
  const ops::CpuPath cpu_path_;
  std::vector<int32_t> of_tensor_;  // Index into observed_; -1: not looked at.
  std::vector<Observed> observed_;
  std::vector<float> some_;
};

bool IsSameOp(const Graph& graph, const Op& op, const Graph& before,
              const Op& was) {
  if (op.inputs.size() != was.inputs.size() || op.outputs != was.outputs ||
      op.attributes.SerializeAsString() != was.attributes.SerializeAsString()) {
    return false;
  }
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    if (op.inputs[i] == kNoTensor || was.inputs[i] == kNoTensor) {
      if (op.inputs[i] != was.inputs[i]) return false;
      continue;
    }
    const Tensor& input = graph.tensors[op.inputs[i]];
    const Tensor& old = before.tensors[was.inputs[i]];
    if (input.is_constant() != old.is_constant()) return false;
    const bool same = input.is_constant()
                          ? input.shape == old.shape &&
                                (input.data->data() == old.data->data() ||
                                 *input.data == *old.data)
                          : op.inputs[i] == was.inputs[i];
    if (!same) return false;
  }
  return true;
}

// Activations whose values may differ from those of `before`, by tensor.
std::vector<bool> ChangedTensors(const Graph& graph, const Graph& before) {
  if (graph.ops.size() != before.ops.size() || !graph.states.empty()) {
    return std::vector<bool>(graph.tensors.size(), true);
  }
  std::vector<bool> changed(graph.tensors.size(), false);
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const Op& op = graph.ops[i];
    const bool reads_changed = std::any_of(
        op.inputs.begin(), op.inputs.end(),
        [&](TensorId id) { return id != kNoTensor && changed[id]; });
    if (!reads_changed && IsSameOp(graph, op, before, before.ops[i])) continue;
    for (const TensorId id : op.outputs) {
      if (id != kNoTensor) changed[id] = true;
    }
  }
  return changed;
}

absl::StatusOr<v1::CalibrationStatistics> Observe(
    const Graph& float_graph, const CalibrationSamples& samples,
    Observer& observer, const CalibrationProgress& progress,
    ops::CpuPath cpu_path) {
  const auto after_op =
      [&](int32_t op,
          absl::Span<const absl::string_view> outputs) -> absl::Status {
    for (size_t i = 0; i < outputs.size(); ++i) {
      EK_RETURN_IF_ERROR(
          observer.See(float_graph.ops[op].outputs[i], outputs[i]));
    }
    return absl::OkStatus();
  };
  EK_ASSIGN_OR_RETURN(const std::unique_ptr<Interpreter> interpreter,
                      Interpreter::Create(float_graph, {.after_op = after_op,
                                                        .cpu_path = cpu_path}));
  for (int64_t sample = 0; sample < samples.size(); ++sample) {
    const std::vector<absl::string_view> inputs = samples.Inputs(sample);
    // What is wrong with the data is told of the data; carried states are known
    // afterwards.
    for (size_t i = 0; i < inputs.size(); ++i) {
      EK_RETURN_IF_ERROR(observer.See(float_graph.inputs[i], inputs[i]),
                         "calibrating");
    }
    EK_RETURN_IF_ERROR(interpreter->Run(inputs), "calibrating");
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i].empty()) continue;
      const TensorId id = float_graph.inputs[i];
      EK_RETURN_IF_ERROR(observer.See(id, interpreter->value(id)),
                         "calibrating");
    }
    if (progress != nullptr) progress(sample + 1, samples.size());
  }
  v1::CalibrationStatistics statistics = observer.Statistics();
  statistics.set_samples(samples.size());
  return statistics;
}

}  // namespace

absl::StatusOr<v1::CalibrationStatistics> Calibrate(
    const Graph& float_graph, absl::Span<const v1::Chunk> chunks,
    const CalibrationProgress& progress, ops::CpuPath cpu_path) {
  EK_ASSIGN_OR_RETURN(const CalibrationSamples samples,
                      CalibrationSamples::Create(float_graph, chunks));
  if (samples.size() == 0) {
    return InvalidCalibration("no samples", "calibration data",
                              "at least one sample", "give calibration data");
  }
  Observer observer(float_graph, samples.size(), cpu_path);
  EK_RETURN_IF_ERROR(observer.Prepare());
  return Observe(float_graph, samples, observer, progress, cpu_path);
}

absl::StatusOr<v1::CalibrationStatistics> Recalibrate(
    const Graph& float_graph, const Graph& before,
    const v1::CalibrationStatistics& known, absl::Span<const v1::Chunk> chunks,
    ops::CpuPath cpu_path) {
  EK_ASSIGN_OR_RETURN(const CalibrationSamples samples,
                      CalibrationSamples::Create(float_graph, chunks));
  if (samples.size() != known.samples()) {
    return Calibrate(float_graph, chunks, nullptr, cpu_path);
  }
  Observer observer(float_graph, samples.size(), cpu_path);
  EK_RETURN_IF_ERROR(observer.Prepare());
  observer.Take(known, ChangedTensors(float_graph, before));
  return Observe(float_graph, samples, observer, nullptr, cpu_path);
}

}  // namespace edgekiln::compiler
