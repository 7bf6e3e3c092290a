#include "compiler/choose/answers.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "compiler/quantize/noise.h"
#include "compiler/quantize/sample_batch.h"
#include "ops/real_math.h"

namespace edgekiln::compiler {
namespace {

// Samples that are run at once, at most: all their values are in memory.
constexpr int64_t kBatch = 128;
constexpr int64_t kBatchBytes = int64_t{256} << 20;

// The tensor that tells the answer: the first output, or what a softmax, a
// dequantization or a cast makes it of.
TensorId ScoresOf(const Graph& graph) {
  if (graph.outputs.empty()) return kNoTensor;
  const std::vector<int32_t> producers = Producers(graph);
  TensorId at = graph.outputs[0];
  while (producers[at] >= 0) {
    const Op& op = graph.ops[producers[at]];
    if (!op.attributes.has_softmax() && !op.attributes.has_cast()) break;
    at = op.inputs[0];
  }
  return graph.tensors[at].type == v1::FLOAT32 ? at : kNoTensor;
}

bool IsVector(const std::vector<int64_t>& shape, int64_t elements) {
  return elements > 1 &&
         std::find(shape.begin(), shape.end(), elements) != shape.end();
}

// Values of `tensor`, by name, for each sample in real numbers.
absl::StatusOr<std::vector<float>> ValuesOf(const Graph& graph,
                                            const std::string& name,
                                            const CalibrationSamples& samples,
                                            ops::CpuPath cpu_path) {
  TensorId tensor = kNoTensor;
  for (TensorId id = 0; id < std::ssize(graph.tensors); ++id) {
    if (graph.tensors[id].name == name) tensor = id;
  }
  if (tensor == kNoTensor) {
    return absl::InternalError("a quantized graph without the scores' tensor");
  }
  const int32_t last = Producers(graph)[tensor];
  const Tensor& type = graph.tensors[tensor];
  std::vector<float> values;
  const int64_t at_once = std::min(kBatch, SamplesWithin(graph, kBatchBytes));
  for (int64_t first = 0; first < samples.size(); first += at_once) {
    CalibrationSamples some = samples;
    some.Keep(first, 1);
    some.Limit(at_once);
    SampleBatch batch(graph, some.size(), cpu_path, {tensor});
    EK_RETURN_IF_ERROR(batch.SetInputs(some));
    for (int32_t i = 0; i <= last; ++i) {
      EK_RETURN_IF_ERROR(batch.Run(i));
      batch.Release(i);
    }
    for (int64_t sample = 0; sample < some.size(); ++sample) {
      AppendRealValues(type, batch.value(tensor, sample), values);
    }
  }
  return values;
}

// The lower end of the 95 % interval of a share.
double LeastShare(int64_t count, int64_t of) {
  constexpr double kZ = 1.959963984540054;
  const auto n = static_cast<double>(of);
  const double share = static_cast<double>(count) / n;
  const double middle = share + kZ * kZ / (2 * n);
  const double half =
      kZ * std::sqrt((share * (1 - share) + kZ * kZ / (4 * n)) / n);
  return std::max(0.0, (middle - half) / (1 + kZ * kZ / n));
}

double Normal(double x) {
  constexpr double kSqrtHalf = 0.70710678118654752440;
  return 0.5 * (1 + ops::Erf(x * kSqrtHalf));
}

}  // namespace

absl::StatusOr<Answers> Answers::Create(const Graph& graph,
                                        CalibrationSamples samples,
                                        ops::CpuPath cpu_path) {
  const TensorId scores = ScoresOf(graph);
  if (scores == kNoTensor || samples.size() == 0) {
    return absl::FailedPreconditionError("no output to compare");
  }
  Answers answers(std::move(samples), cpu_path);
  const Tensor& tensor = graph.tensors[scores];
  answers.tensor_ = tensor.name;
  answers.elements_ = tensor.num_elements();
  const bool reconstructs =
      !graph.inputs.empty() &&
      graph.tensors[graph.inputs[0]].shape == tensor.shape;
  answers.has_scores_ =
      IsVector(tensor.shape, answers.elements_) && !reconstructs;
  EK_ASSIGN_OR_RETURN(answers.real_, ValuesOf(graph, answers.tensor_,
                                              answers.samples_, cpu_path));
  double sum = 0;
  for (const float value : answers.real_) sum += double{value} * value;
  answers.power_ = sum / static_cast<double>(answers.real_.size());
  if (!answers.has_scores_) return answers;
  for (int64_t sample = 0; sample < answers.samples(); ++sample) {
    const float* values = answers.real_.data() + sample * answers.elements_;
    int64_t best = 0;
    for (int64_t i = 1; i < answers.elements_; ++i) {
      if (values[i] > values[best]) best = i;
    }
    answers.best_.push_back(best);
  }
  return answers;
}

double Answers::ExpectedDisagreement(double noise_power) const {
  if (!has_scores_) return power_ > 0 ? noise_power / power_ : 0;
  if (!(noise_power > 0)) return 0;
  const double deviation = std::sqrt(noise_power);
  double sum = 0;
  for (int64_t sample = 0; sample < samples(); ++sample) {
    const float* values = real_.data() + sample * elements_;
    double changes = 0;
    for (int64_t i = 0; i < elements_; ++i) {
      if (i == best_[sample]) continue;
      const double lead = double{values[best_[sample]]} - values[i];
      changes += Normal(-lead / deviation);
    }
    sum += std::min(changes, 1.0);
  }
  return sum / static_cast<double>(samples());
}

Difference Answers::CompareScores(absl::Span<const float> values) const {
  Difference difference;
  const int64_t count = std::ssize(values) / elements_;
  double squares = 0;
  int64_t changed = 0;
  for (int64_t sample = 0; sample < count; ++sample) {
    const float* real = real_.data() + sample * elements_;
    const float* ours = values.data() + sample * elements_;
    const int64_t best = best_[sample];
    for (int64_t i = 0; i < elements_; ++i) {
      const double error =
          (double{ours[best]} - ours[i]) - (double{real[best]} - real[i]);
      squares += error * error;
    }
    // A tie goes to the smaller index, as it does for everybody.
    if (std::max_element(ours, ours + elements_) - ours != best) ++changed;
  }
  difference.noise_power =
      squares / static_cast<double>(count * (elements_ - 1));
  difference.disagreement = std::max(
      LeastShare(changed, count), ExpectedDisagreement(difference.noise_power));
  return difference;
}

absl::StatusOr<Difference> Answers::Compare(const Graph& quantized) const {
  EK_ASSIGN_OR_RETURN(const std::vector<float> values,
                      ValuesOf(quantized, tensor_, samples_, cpu_path_));
  return CompareValues(values);
}

Difference Answers::CompareValues(absl::Span<const float> values) const {
  Noise noise;
  double squares = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    noise.AddPair(real_[i], values[i]);
    const double error = double{real_[i]} - values[i];
    squares += error * error;
  }
  Difference difference;
  if (has_scores_) {
    difference = CompareScores(values);
  } else {
    difference.noise_power = squares / static_cast<double>(values.size());
    difference.disagreement = ExpectedDisagreement(difference.noise_power);
  }
  difference.sqnr_db = noise.decibels();
  return difference;
}

}  // namespace edgekiln::compiler
