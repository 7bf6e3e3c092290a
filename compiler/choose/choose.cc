#include "compiler/choose/choose.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "compiler/choose/answers.h"
#include "compiler/choose/given_weights.h"
#include "compiler/choose/scheme_forms.h"
#include "compiler/ir/graph_outline.h"
#include "compiler/quantize/calibration_samples.h"
#include "compiler/quantize/layer_schemes.h"

namespace edgekiln::compiler {
namespace {

// More combinations are not listed one by one.
constexpr int64_t kMostListed = 256;
// That are quantized and measured, besides each form alone.
constexpr int kMostMeasured = 24;
// Expectations add up noise: how far they may exceed what is measured, to begin
// with, and what is allowed on top of the largest excess that was seen.
constexpr double kExcess = 2;
constexpr double kMargin = 1.5;
// Samples that all quantizations together are fitted to.
constexpr int64_t kFitted = 6000;
constexpr int64_t kFewestSamples = 16;

struct Candidate {
  Assignment assignment;
  int64_t cycles = 0;
  double noise = 0;  // Expected.
};

class Chooser {
 public:
  Chooser(const Graph& graph, const v1::QuantizationNeeds& needs,
          const v1::QuantizationConfig& config, const ChosenChip& chip,
          const QuantizeInputs& inputs, std::vector<LayerForms> layers)
      : graph_(graph),
        needs_(needs),
        config_(config),
        chip_(chip),
        inputs_(inputs),
        layers_(std::move(layers)),
        budget_((config.accuracy_budget_ppm() > 0 ? config.accuracy_budget_ppm()
                                                  : kDefaultBudgetPpm) /
                1e6) {}

  absl::StatusOr<ChosenSchemes> Run(CalibrationSamples samples);

 private:
  const std::string& IdOf(size_t layer) const {
    return graph_.ops[layers_[layer].op].id;
  }
  v1::QuantizationConfig ConfigOf(const Assignment& assignment) const {
    return ConfigFor(graph_, config_, layers_, assignment);
  }
  v1::QuantizationConfig QuickConfigOf(const Assignment& assignment) const;
  Assignment MostExact() const { return Assignment(layers_.size(), 0); }
  int64_t Forms() const {
    int64_t forms = 0;
    for (const LayerForms& layer : layers_) forms += std::ssize(layer.weights);
    return forms - std::ssize(layers_);
  }

  absl::StatusOr<PredictedNetwork> Predict(const Assignment& assignment);
  absl::StatusOr<Difference> MeasureConfig(v1::QuantizationConfig config);
  absl::StatusOr<Difference> Measure(const Assignment& assignment);
  absl::Status TryEachAlone();
  absl::StatusOr<std::vector<Candidate>> Candidates();
  absl::StatusOr<std::vector<Candidate>> AllCombinations(int64_t count);
  absl::StatusOr<std::vector<Candidate>> FewCombinations();
  double ExpectedNoise(const Assignment& assignment) const;
  absl::StatusOr<Assignment> FastestWithinBudget();
  absl::Status Unreachable(double disagreement);
  void Explain(const Assignment& chosen);
  void Progress(int64_t done) {
    if (inputs_.progress != nullptr) {
      inputs_.progress(std::min(done, total_), total_);
    }
  }

  const Graph& graph_;
  const v1::QuantizationNeeds& needs_;
  const v1::QuantizationConfig& config_;
  const ChosenChip& chip_;
  const QuantizeInputs& inputs_;
  const std::vector<LayerForms> layers_;
  const double budget_;
  std::optional<Graph> outline_;
  std::optional<Answers> answers_;
  int64_t samples_ = 0;  // That quantizations look at, before they are halved.
  int64_t done_ = 0;
  int64_t total_ = 0;
  Difference exact_;
  PredictedNetwork exact_network_;
  // By layer and form.
  std::vector<std::vector<Difference>> alone_;
  std::vector<std::vector<int64_t>> cycles_;
  std::map<Assignment, Difference> measured_;
  std::map<Assignment, PredictedNetwork> predicted_;
  EstimateMemo memo_;
  bool every_ = true;
  v1::SchemeChoice choice_;
};

absl::StatusOr<PredictedNetwork> Chooser::Predict(
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
v1::QuantizationConfig Chooser::QuickConfigOf(
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

absl::StatusOr<Difference> Chooser::MeasureConfig(
    v1::QuantizationConfig config) {
  v1::QuantizeOptions options;
  *options.mutable_needs() = needs_;
  config.set_samples(static_cast<int32_t>(samples_ / 2));
  *options.mutable_config() = std::move(config);
  QuantizeInputs inputs = inputs_;
  inputs.sample_step = 2;
  inputs.progress = nullptr;
  EK_ASSIGN_OR_RETURN(const QuantizedNetwork network,
                      Quantize(graph_, options, inputs));
  return answers_->Compare(network.graph);
}

absl::StatusOr<Difference> Chooser::Measure(const Assignment& assignment) {
  if (const auto found = measured_.find(assignment); found != measured_.end()) {
    return found->second;
  }
  EK_ASSIGN_OR_RETURN(const Difference difference,
                      MeasureConfig(QuickConfigOf(assignment)));
  Progress(++done_);
  choice_.set_assignments(choice_.assignments() + 1);
  measured_[assignment] = difference;
  return difference;
}

absl::Status Chooser::TryEachAlone() {
  for (size_t layer = 0; layer < layers_.size(); ++layer) {
    auto& differences = alone_.emplace_back();
    auto& cycles = cycles_.emplace_back();
    for (int32_t form = 0; form < std::ssize(layers_[layer].weights); ++form) {
      Assignment assignment = MostExact();
      assignment[layer] = form;
      EK_ASSIGN_OR_RETURN(const PredictedNetwork network, Predict(assignment));
      EK_ASSIGN_OR_RETURN(const Difference difference, Measure(assignment));
      differences.push_back(difference);
      cycles.push_back(network.cycles);
      v1::SchemeChoice::Layer& row =
          layer < static_cast<size_t>(choice_.layers_size())
              ? *choice_.mutable_layers(static_cast<int>(layer))
              : *choice_.add_layers();
      row.set_id(IdOf(layer));
      v1::SchemeChoice::Option& option = *row.add_options();
      option.set_weights(layers_[layer].weights[form]);
      const int32_t engine = network.engines[layers_[layer].op];
      if (engine >= 0) {
        option.set_engine(chip_.machine.engines(engine).name());
      }
      option.set_network_cycles(network.cycles);
      option.set_disagreement(difference.disagreement);
      if (difference.sqnr_db) option.set_network_sqnr_db(*difference.sqnr_db);
    }
  }
  return absl::OkStatus();
}

// Noise of layers adds up: it hardly depends on that of others.
double Chooser::ExpectedNoise(const Assignment& assignment) const {
  double noise = exact_.noise_power;
  for (size_t layer = 0; layer < assignment.size(); ++layer) {
    noise += std::max(
        0.0, alone_[layer][assignment[layer]].noise_power - exact_.noise_power);
  }
  return noise;
}

absl::StatusOr<std::vector<Candidate>> Chooser::AllCombinations(int64_t count) {
  std::vector<Candidate> candidates;
  for (int64_t number = 0; number < count; ++number) {
    Candidate candidate;
    int64_t rest = number;
    for (const LayerForms& layer : layers_) {
      candidate.assignment.push_back(
          static_cast<int32_t>(rest % std::ssize(layer.weights)));
      rest /= std::ssize(layer.weights);
    }
    EK_ASSIGN_OR_RETURN(const PredictedNetwork network,
                        Predict(candidate.assignment));
    candidate.cycles = network.cycles;
    candidate.noise = ExpectedNoise(candidate.assignment);
    candidates.push_back(std::move(candidate));
  }
  return candidates;
}

// Each has one more layer in another form than the one before: the one that
// saves most cycles for its noise.
absl::StatusOr<std::vector<Candidate>> Chooser::FewCombinations() {
  every_ = false;
  struct Step {
    size_t layer;
    int32_t form;
    double gain;
  };
  std::vector<Step> steps;
  for (size_t layer = 0; layer < layers_.size(); ++layer) {
    Step best = {layer, 0, 0};
    for (int32_t form = 1; form < std::ssize(layers_[layer].weights); ++form) {
      const auto saved =
          static_cast<double>(exact_network_.cycles - cycles_[layer][form]);
      const double noise =
          std::max(alone_[layer][form].noise_power - exact_.noise_power,
                   exact_.noise_power * 1e-6);
      const double gain = noise > 0 ? saved / noise : saved;
      if (saved > 0 && gain > best.gain) best = {layer, form, gain};
    }
    if (best.form > 0) steps.push_back(best);
  }
  std::stable_sort(
      steps.begin(), steps.end(),
      [](const Step& a, const Step& b) { return a.gain > b.gain; });
  std::vector<Candidate> candidates;
  Assignment assignment = MostExact();
  for (const Step& step : steps) {
    assignment[step.layer] = step.form;
    EK_ASSIGN_OR_RETURN(const PredictedNetwork network, Predict(assignment));
    candidates.push_back(
        {assignment, network.cycles, ExpectedNoise(assignment)});
  }
  return candidates;
}

// Those that are faster than the most exact one, the fastest first.
absl::StatusOr<std::vector<Candidate>> Chooser::Candidates() {
  int64_t count = 1;
  for (const LayerForms& layer : layers_) {
    count = std::min(count * std::ssize(layer.weights), kMostListed + 1);
  }
  EK_ASSIGN_OR_RETURN(
      std::vector<Candidate> candidates,
      count <= kMostListed ? AllCombinations(count) : FewCombinations());
  std::erase_if(candidates, [&](const Candidate& candidate) {
    return candidate.cycles >= exact_network_.cycles;
  });
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) {
                     return std::pair(a.cycles, a.noise) <
                            std::pair(b.cycles, b.noise);
                   });
  return candidates;
}

absl::StatusOr<Assignment> Chooser::FastestWithinBudget() {
  EK_ASSIGN_OR_RETURN(const std::vector<Candidate> candidates, Candidates());
  int measured = 0;
  double excess = 0;
  for (const Candidate& candidate : candidates) {
    const double expected = answers_->ExpectedDisagreement(candidate.noise);
    const double allowed = kMargin * (excess > 0 ? excess : kExcess);
    if (expected > allowed * budget_) continue;
    const bool known = measured_.contains(candidate.assignment);
    if (!known && ++measured > kMostMeasured) {
      every_ = false;
      continue;
    }
    EK_ASSIGN_OR_RETURN(const Difference difference,
                        Measure(candidate.assignment));
    if (difference.disagreement <= budget_) return candidate.assignment;
    excess = std::max(excess, expected / difference.disagreement);
  }
  return MostExact();
}

// Of a budget that was asked for.
absl::Status Chooser::Unreachable(double disagreement) {
  v1::QuantizeOptions options;
  *options.mutable_needs() = needs_;
  *options.mutable_config() = config_;
  options.set_rank(true);
  QuantizeInputs inputs = inputs_;
  inputs.progress = nullptr;
  EK_ASSIGN_OR_RETURN(const QuantizedNetwork network,
                      Quantize(graph_, options, inputs));
  const v1::QuantizedLayer* worst = nullptr;
  for (const v1::QuantizedLayer& layer : network.report.layers()) {
    if (!layer.has_network_sqnr_db()) continue;
    if (worst == nullptr ||
        layer.network_sqnr_db() < worst->network_sqnr_db()) {
      worst = &layer;
    }
  }
  return MakeError(
      absl::StatusCode::kInvalidArgument,
      {.fault = Fault::kUser,
       .reason = "ACCURACY_BUDGET",
       .what = "the accuracy budget cannot be kept: with the most exact forms "
               "that the target's engines take, the network is expected to "
               "answer more samples otherwise than the float network",
       .where = worst == nullptr ? ""
                                 : absl::StrCat("layer ", worst->id(), " (",
                                                worst->op(), ") costs most"),
       .limit = absl::StrFormat("%.4g %% of samples", 100 * budget_),
       .need = absl::StrFormat("%.4g %%", 100 * disagreement),
       .fix = absl::StrCat(
           "raise --accuracy-budget",
           worst == nullptr
               ? ""
               : absl::StrCat(", or let the host compute it in float: layers { "
                              "layer: \"",
                              worst->id(),
                              "\" scheme { keep_float: ON } } in "
                              "--quantization FILE"))});
}

// Why each layer got the form that it has.
void Chooser::Explain(const Assignment& chosen) {
  for (size_t layer = 0; layer < layers_.size(); ++layer) {
    v1::SchemeChoice::Layer& row =
        *choice_.mutable_layers(static_cast<int>(layer));
    row.set_chosen(chosen[layer]);
    const bool exact = chosen[layer] == 0;
    bool faster = false;
    bool alone = false;  // Some faster form keeps the budget by itself.
    for (int32_t form = 1; form < std::ssize(layers_[layer].weights); ++form) {
      if (cycles_[layer][form] >= exact_network_.cycles) continue;
      faster = true;
      alone = alone || alone_[layer][form].disagreement <= budget_;
    }
    row.set_reason(!exact    ? "faster, and within the budget"
                   : !faster ? "no other form is faster"
                   : alone   ? "others together use the budget"
                             : "others alone exceed the budget");
  }
}

absl::StatusOr<ChosenSchemes> Chooser::Run(CalibrationSamples samples) {
  total_ = 1 + Forms() + std::min<int64_t>(Forms(), kMostMeasured);
  const int64_t wanted = config_.samples() > 0
                             ? config_.samples()
                             : std::numeric_limits<int>::max();
  samples_ = std::min(
      {samples.size(), wanted, std::max(kFewestSamples, 2 * kFitted / total_)});
  // Quantizations are fitted to samples 0, 2, 4 ..
  CalibrationSamples judged = std::move(samples);
  judged.Limit(samples_);
  judged.Keep(1, 2);
  auto answers = Answers::Create(graph_, std::move(judged), inputs_.cpu_path);
  if (absl::IsFailedPrecondition(answers.status())) {
    return ChosenSchemes{config_, {}};
  }
  EK_RETURN_IF_ERROR(answers.status());
  answers_.emplace(*std::move(answers));
  auto outline = GraphFromOutline(OutlineOf(graph_));
  EK_RETURN_IF_ERROR(outline.status());
  outline_.emplace(*std::move(outline));
  EK_ASSIGN_OR_RETURN(exact_, Measure(MostExact()));
  EK_ASSIGN_OR_RETURN(exact_network_, Predict(MostExact()));
  Assignment chosen = MostExact();
  bool reachable = exact_.disagreement <= budget_;
  if (!reachable && config_.accuracy_budget_ppm() > 0) {
    // As it will be quantized, without haste.
    EK_ASSIGN_OR_RETURN(exact_, MeasureConfig(config_));
    if (exact_.disagreement > budget_) return Unreachable(exact_.disagreement);
    measured_[MostExact()] = exact_;
    reachable = true;
  }
  EK_RETURN_IF_ERROR(TryEachAlone());
  if (reachable) {
    EK_ASSIGN_OR_RETURN(chosen, FastestWithinBudget());
  }
  Explain(chosen);
  EK_ASSIGN_OR_RETURN(const PredictedNetwork network, Predict(chosen));
  choice_.set_accuracy_budget_ppm(
      static_cast<int32_t>(std::llround(budget_ * 1e6)));
  choice_.set_samples(answers_->samples());
  choice_.set_disagreement(measured_.at(chosen).disagreement);
  choice_.set_predicted_cycles(network.cycles);
  choice_.set_most_exact_cycles(exact_network_.cycles);
  choice_.set_every_assignment(every_);
  return ChosenSchemes{ConfigOf(chosen), std::move(choice_)};
}

}  // namespace

absl::StatusOr<ChosenSchemes> ChooseSchemes(
    const Graph& float_graph, const v1::QuantizationNeeds& of_target,
    const v1::QuantizationConfig& config, const ChosenChip& chip,
    const QuantizeInputs& inputs) {
  const v1::QuantizationNeeds needs =
      NeedsWith(ActivationsOf(config, of_target), of_target);
  EK_ASSIGN_OR_RETURN(std::vector<LayerForms> layers,
                      FormsOf(float_graph, config, needs));
  EK_ASSIGN_OR_RETURN(CalibrationSamples samples,
                      CalibrationSamples::Create(float_graph, inputs.samples));
  const bool nothing_to_choose =
      layers.empty() && config.accuracy_budget_ppm() == 0;
  // One to fit, one to judge.
  const bool cannot_judge =
      samples.size() < 2 || samples.sequential() || !float_graph.states.empty();
  const std::vector<int> ternary = TernaryLayers(float_graph, layers);
  if (!ternary.empty() && (cannot_judge || chip.recipe.narrowest_weights())) {
    EK_ASSIGN_OR_RETURN(const Graph outline,
                        GraphFromOutline(OutlineOf(float_graph)));
    EK_ASSIGN_OR_RETURN(
        const Assignment assignment,
        FormsOfGivenWeights(outline, needs, config, chip, layers, ternary));
    return ChosenSchemes{ConfigFor(float_graph, config, layers, assignment),
                         {}};
  }
  if (nothing_to_choose || cannot_judge) return ChosenSchemes{config, {}};
  return Chooser(float_graph, needs, config, chip, inputs, std::move(layers))
      .Run(std::move(samples));
}

}  // namespace edgekiln::compiler
