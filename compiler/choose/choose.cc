#include "compiler/choose/choose.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "compiler/choose/answers.h"
#include "compiler/choose/budget_error.h"
#include "compiler/choose/combination_search.h"
#include "compiler/choose/combinations.h"
#include "compiler/choose/given_weights.h"
#include "compiler/choose/scheme_forms.h"
#include "compiler/ir/graph_outline.h"
#include "compiler/quantize/calibration_samples.h"
#include "compiler/quantize/layer_schemes.h"

namespace edgekiln::compiler {
namespace {

// More combinations are not listed one by one.
constexpr int64_t kMostListed = 256;
// Samples that all combinations together are fitted to, and judged by.
constexpr int64_t kSamplesOfAll = 12000;
constexpr int64_t kFewestSamples = 16;

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
        combinations_(graph, needs, config, chip, inputs, layers_),
        budget_((config.accuracy_budget_ppm() > 0 ? config.accuracy_budget_ppm()
                                                  : kDefaultBudgetPpm) /
                1e6) {}

  absl::StatusOr<ChosenSchemes> Run(CalibrationSamples samples);

 private:
  Assignment MostExact() const { return Assignment(layers_.size(), 0); }
  int64_t Forms() const {
    int64_t forms = 0;
    for (const LayerForms& layer : layers_) forms += std::ssize(layer.weights);
    return forms - std::ssize(layers_);
  }

  absl::StatusOr<Difference> Measure(const Assignment& assignment);
  absl::StatusOr<Difference> Screen(const Assignment& assignment);
  absl::Status TryEachAlone();
  std::vector<Candidate> Candidates();
  std::vector<Candidate> AllCombinations(int64_t count) const;
  std::vector<Candidate> FewCombinations();
  Candidate CandidateOf(const Assignment& assignment) const {
    return {assignment, ExpectedNoise(assignment)};
  }
  double ExpectedNoise(const Assignment& assignment) const;
  absl::StatusOr<Assignment> FastestWithinBudget();
  absl::StatusOr<bool> IsReachable();
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
  Combinations combinations_;
  const double budget_;
  int64_t done_ = 0;
  int64_t total_ = 0;
  Difference exact_;  // On some of the samples that judge.
  Difference screened_exact_;
  PredictedNetwork exact_network_;
  // By layer and form: exact_ for the first, as screened for all others. Noise
  // of these is compared with that of screened_exact_.
  std::vector<std::vector<Difference>> alone_;
  std::vector<std::vector<int64_t>> cycles_;
  bool every_ = true;
  double disagreement_ = 0;  // Of the choice, on all samples that judge.
  v1::SchemeChoice choice_;
};

// On some of the samples that judge.
absl::StatusOr<Difference> Chooser::Measure(const Assignment& assignment) {
  if (!combinations_.IsMeasured(assignment)) Progress(++done_);
  return combinations_.Measure(assignment);
}

absl::StatusOr<Difference> Chooser::Screen(const Assignment& assignment) {
  Progress(++done_);
  return combinations_.Screen(assignment);
}

// By few samples: what a form that ruins the network does shows there, too, and
// such a form is not worth measuring.
absl::Status Chooser::TryEachAlone() {
  EK_ASSIGN_OR_RETURN(screened_exact_, Screen(MostExact()));
  for (size_t layer = 0; layer < layers_.size(); ++layer) {
    auto& differences = alone_.emplace_back();
    auto& cycles = cycles_.emplace_back();
    for (int32_t form = 0; form < std::ssize(layers_[layer].weights); ++form) {
      Assignment assignment = MostExact();
      assignment[layer] = form;
      EK_ASSIGN_OR_RETURN(const PredictedNetwork network,
                          combinations_.Predict(assignment));
      Difference difference = exact_;
      if (form > 0) {
        EK_ASSIGN_OR_RETURN(difference, Screen(assignment));
      }
      differences.push_back(difference);
      cycles.push_back(network.cycles);
      v1::SchemeChoice::Layer& row =
          layer < static_cast<size_t>(choice_.layers_size())
              ? *choice_.mutable_layers(static_cast<int>(layer))
              : *choice_.add_layers();
      row.set_id(combinations_.IdOf(layer));
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
  combinations_.DoneScreening();
  return absl::OkStatus();
}

// Noise of layers adds up: it hardly depends on that of others.
double Chooser::ExpectedNoise(const Assignment& assignment) const {
  double noise = exact_.noise_power;
  for (size_t layer = 0; layer < assignment.size(); ++layer) {
    if (assignment[layer] == 0) continue;
    noise += std::max(0.0, alone_[layer][assignment[layer]].noise_power -
                               screened_exact_.noise_power);
  }
  return noise;
}

std::vector<Candidate> Chooser::AllCombinations(int64_t count) const {
  std::vector<Candidate> candidates;
  for (int64_t number = 0; number < count; ++number) {
    Assignment assignment;
    int64_t rest = number;
    for (const LayerForms& layer : layers_) {
      assignment.push_back(
          static_cast<int32_t>(rest % std::ssize(layer.weights)));
      rest /= std::ssize(layer.weights);
    }
    candidates.push_back(CandidateOf(assignment));
  }
  return candidates;
}

// Each has one more layer in another form than the one before: the one that
// saves most cycles for its noise.
std::vector<Candidate> Chooser::FewCombinations() {
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
      const double noise = std::max(
          alone_[layer][form].noise_power - screened_exact_.noise_power,
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
    candidates.push_back(CandidateOf(assignment));
  }
  return candidates;
}

std::vector<Candidate> Chooser::Candidates() {
  int64_t count = 1;
  for (const LayerForms& layer : layers_) {
    count = std::min(count * std::ssize(layer.weights), kMostListed + 1);
  }
  return count <= kMostListed ? AllCombinations(count) : FewCombinations();
}

absl::StatusOr<Assignment> Chooser::FastestWithinBudget() {
  const std::vector<Candidate> candidates = Candidates();
  const auto expected = [this](double noise) {
    return combinations_.answers().ExpectedDisagreement(noise);
  };
  const auto cycles =
      [this](const Assignment& assignment) -> absl::StatusOr<int64_t> {
    EK_ASSIGN_OR_RETURN(const PredictedNetwork network,
                        combinations_.Predict(assignment));
    return network.cycles;
  };
  const auto measure =
      [this](const Assignment& assignment) -> absl::StatusOr<double> {
    EK_ASSIGN_OR_RETURN(Difference difference, Measure(assignment));
    if (difference.disagreement <= budget_) {
      EK_ASSIGN_OR_RETURN(difference, combinations_.Confirm(assignment));
    }
    return difference.disagreement;
  };
  EK_ASSIGN_OR_RETURN(
      const FoundCombination found,
      FindFastest(candidates, {.budget = budget_,
                               .exact_cycles = exact_network_.cycles,
                               .expected = expected,
                               .cycles = cycles,
                               .measure = measure}));
  every_ = every_ && found.every;
  if (!found.assignment) return MostExact();
  disagreement_ = found.disagreement;
  return *found.assignment;
}

// Of the most exact forms.
absl::StatusOr<bool> Chooser::IsReachable() {
  EK_ASSIGN_OR_RETURN(Difference exact, combinations_.Confirm(MostExact()));
  if (exact.disagreement > budget_ && config_.accuracy_budget_ppm() > 0) {
    // As it will be quantized, without haste.
    EK_ASSIGN_OR_RETURN(exact, combinations_.MeasureAsQuantized());
    if (exact.disagreement > budget_) {
      return UnreachableBudget(graph_, needs_, config_, inputs_, budget_,
                               exact.disagreement);
    }
  }
  disagreement_ = exact.disagreement;
  return exact.disagreement <= budget_;
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
  const int64_t expected =
      1 + Forms() + std::min<int64_t>(Forms(), kMostMeasured);
  total_ = 1 + expected;  // The most exact one is screened, too.
  samples.Limit(std::max(kFewestSamples, kSamplesOfAll / expected));
  if (config_.samples() > 0) samples.Limit(std::max(2, config_.samples()));
  const absl::Status ready = combinations_.Init(std::move(samples), expected);
  if (absl::IsFailedPrecondition(ready)) return ChosenSchemes{config_, {}};
  EK_RETURN_IF_ERROR(ready);
  EK_ASSIGN_OR_RETURN(exact_, Measure(MostExact()));
  EK_ASSIGN_OR_RETURN(exact_network_, combinations_.Predict(MostExact()));
  EK_ASSIGN_OR_RETURN(const bool reachable, IsReachable());
  EK_RETURN_IF_ERROR(TryEachAlone());
  Assignment chosen = MostExact();
  if (reachable) {
    EK_ASSIGN_OR_RETURN(chosen, FastestWithinBudget());
  }
  Explain(chosen);
  EK_ASSIGN_OR_RETURN(const PredictedNetwork network,
                      combinations_.Predict(chosen));
  choice_.set_accuracy_budget_ppm(
      static_cast<int32_t>(std::llround(budget_ * 1e6)));
  choice_.set_samples(combinations_.answers().samples());
  choice_.set_assignments(static_cast<int32_t>(combinations_.measured()));
  choice_.set_disagreement(disagreement_);
  choice_.set_predicted_cycles(network.cycles);
  choice_.set_most_exact_cycles(exact_network_.cycles);
  choice_.set_every_assignment(every_);
  return ChosenSchemes{combinations_.ConfigOf(chosen), std::move(choice_)};
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
