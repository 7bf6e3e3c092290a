#include "compiler/choose/combinations.h"

#include <algorithm>

#include "base/status_macros.h"
#include "compiler/ir/graph_outline.h"
#include "compiler/quantize/sample_batch.h"

namespace edgekiln::compiler {
namespace {

// Runs of the network on a sample that all measurements together may take, by
// the number of samples.
constexpr int64_t kRunsPerSample = 10;
// Of a measurement: half fit, half judge. Fewer are noisier, so that layers
// keep their most exact form for no reason.
constexpr int64_t kFewestMeasured = 200;
// To fit to, and as many to judge by, where forms are screened.
constexpr int64_t kScreened = 24;
// Of the values of the samples that fit, which are in memory together, and of
// those that judge.
constexpr int64_t kMostBytes = int64_t{256} << 20;

}  // namespace

absl::Status Combinations::Init(CalibrationSamples samples, int64_t expected) {
  samples_ = samples.size();
  const int64_t wanted =
      std::min(samples.size(),
               std::max(kFewestMeasured,
                        kRunsPerSample * samples.size() / expected)) /
      2;
  const int64_t few = std::min(wanted, SamplesWithin(graph_, kMostBytes));
  CalibrationSamples fitted = samples;
  fitted.Keep(0, 2);
  fitted.Limit(std::max<int64_t>(few, 1));
  fitted_samples_ = fitted.size();
  CalibrationSamples judging = std::move(samples);
  judging.Keep(1, 2);
  CalibrationSamples judged = judging;
  judged.Limit(std::max<int64_t>(few, 1));
  EK_ASSIGN_OR_RETURN(
      Answers answers,
      Answers::Create(graph_, std::move(judging), inputs_.cpu_path));
  answers_.emplace(std::move(answers));
  EK_ASSIGN_OR_RETURN(Graph outline, GraphFromOutline(OutlineOf(graph_)));
  outline_.emplace(std::move(outline));
  v1::QuantizeOptions options;
  *options.mutable_needs() = needs_;
  *options.mutable_config() = QuickConfigOf(Assignment(layers_.size(), 0));
  EK_ASSIGN_OR_RETURN(
      trials_, TrialNetworks::Create(graph_, options, inputs_,
                                     std::move(fitted), std::move(judged)));
  return absl::OkStatus();
}

absl::StatusOr<PredictedNetwork> Combinations::Predict(
    const Assignment& assignment) {
  const auto found = predicted_.find(assignment);
  if (found != predicted_.end()) return found->second;
  EK_ASSIGN_OR_RETURN(
      PredictedNetwork network,
      PredictNetwork(*outline_, needs_, ConfigOf(assignment), chip_, &memo_));
  return predicted_[assignment] = std::move(network);
}

// What takes longest saves little noise beside that of forms: ranges by
// outputs, and rounding of int8 weights other than to nearest.
v1::QuantizationConfig Combinations::QuickConfigOf(
    const Assignment& assignment) const {
  v1::QuantizationConfig config = ConfigOf(assignment);
  if (config.ranges().method() == v1::CalibrateOptions::METHOD_UNSPECIFIED) {
    config.mutable_ranges()->set_method(v1::CalibrateOptions::PERCENTILE);
  }
  if (config.scheme().rounding() == v1::WEIGHT_ROUNDING_UNSPECIFIED) {
    config.mutable_scheme()->set_rounding(v1::NEAREST);
    for (size_t i = 0; i < layers_.size(); ++i) {
      if (assignment[i] == 0) continue;
      v1::QuantizationConfig::LayerRule& rule = *config.add_layers();
      rule.set_layer(IdOf(i));
      rule.mutable_scheme()->set_rounding(v1::ADAPTIVE);
    }
  }
  return config;
}

absl::StatusOr<TrialNetworks::Trial> Combinations::Try(
    const Assignment& assignment) {
  return trials_->Try(QuickConfigOf(assignment), answers_->tensor());
}

absl::StatusOr<Difference> Combinations::Screen(const Assignment& assignment) {
  if (fitted_samples_ <= kScreened) return Measure(assignment);
  if (few_ == nullptr) few_ = trials_->WithFewer(kScreened);
  EK_ASSIGN_OR_RETURN(const TrialNetworks::Trial trial,
                      few_->Try(QuickConfigOf(assignment), answers_->tensor()));
  Difference difference = answers_->CompareValues(trial.values);
  // Few samples say nothing about shares by counting.
  difference.disagreement =
      answers_->ExpectedDisagreement(difference.noise_power);
  return difference;
}

// Those that are not yet. Trying a form alone does the same.
absl::Status Combinations::FitEachAlone(const Assignment& assignment) {
  for (size_t layer = 0; layer < layers_.size(); ++layer) {
    const int32_t form = assignment[layer];
    if (form == 0 || !fitted_.insert({layer, form}).second) continue;
    Assignment alone(layers_.size(), 0);
    alone[layer] = form;
    if (alone == assignment) continue;
    EK_RETURN_IF_ERROR(trials_->Fit(QuickConfigOf(alone), IdOf(layer)));
  }
  return absl::OkStatus();
}

absl::StatusOr<Difference> Combinations::Measure(const Assignment& assignment) {
  if (const auto found = measured_.find(assignment); found != measured_.end()) {
    return found->second;
  }
  EK_RETURN_IF_ERROR(FitEachAlone(assignment));
  EK_ASSIGN_OR_RETURN(const TrialNetworks::Trial trial, Try(assignment));
  return measured_[assignment] = answers_->CompareValues(trial.values);
}

absl::StatusOr<Difference> Combinations::Confirm(const Assignment& assignment) {
  EK_ASSIGN_OR_RETURN(const TrialNetworks::Trial trial, Try(assignment));
  if (std::ssize(trial.values) == answers_->values()) {
    return answers_->CompareValues(trial.values);
  }
  return answers_->Compare(trial.graph);
}

absl::StatusOr<Difference> Combinations::MeasureAsQuantized() {
  v1::QuantizeOptions options;
  *options.mutable_needs() = needs_;
  *options.mutable_config() = config_;
  options.mutable_config()->set_samples(static_cast<int32_t>(samples_ / 2));
  QuantizeInputs inputs = inputs_;
  inputs.sample_step = 2;
  inputs.progress = nullptr;
  EK_ASSIGN_OR_RETURN(const QuantizedNetwork network,
                      Quantize(graph_, options, inputs));
  return answers_->Compare(network.graph);
}

}  // namespace edgekiln::compiler
