#ifndef EK_COMPILER_CHOOSE_COMBINATIONS_H_
#define EK_COMPILER_CHOOSE_COMBINATIONS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "compiler/choose/answers.h"
#include "compiler/choose/predicted_cycles.h"
#include "compiler/choose/scheme_forms.h"
#include "compiler/ir/graph.h"
#include "compiler/quantize/calibration_samples.h"
#include "compiler/quantize/quantize.h"
#include "compiler/quantize/trial_networks.h"
#include "edgekiln/v1/quantization.pb.h"
#include "edgekiln/v1/target.pb.h"

namespace edgekiln::compiler {

// What combinations of forms of one float network come to: predicted cycles,
// and answers that differ from the float network's. Each is computed once. Not
// thread-safe.
class Combinations {
 public:
  // All references must outlive this.
  Combinations(const Graph& graph, const v1::QuantizationNeeds& needs,
               const v1::QuantizationConfig& config, const ChosenChip& chip,
               const QuantizeInputs& inputs,
               const std::vector<LayerForms>& layers)
      : graph_(graph),
        needs_(needs),
        config_(config),
        chip_(chip),
        inputs_(inputs),
        layers_(layers) {}

  // Of `samples`, at least two, networks are fitted to some of every other one
  // and judged by some of the rest: so many that `expected` combinations, each
  // measured once, cost about as much as a few interpretations of all samples.
  // FAILED_PRECONDITION if the network has no output to compare.
  absl::Status Init(CalibrationSamples samples, int64_t expected);

  absl::StatusOr<PredictedNetwork> Predict(const Assignment& assignment);
  // Nearly what Measure() finds, on a few of the samples: at a fraction of the
  // price, and mostly with more noise, as little is fitted to few samples. Its
  // disagreement is expected from that noise. The same as Measure() if there
  // are no more samples. Measure the most exact combination first.
  absl::StatusOr<Difference> Screen(const Assignment& assignment);
  // Frees what Screen() keeps; if it is called again, it begins anew.
  void DoneScreening() { few_.reset(); }
  // With ranges by percentiles and int8 weights rounded to nearest, on some of
  // the samples that judge. Measure the most exact combination first: weights
  // of every form are those that fit behind all other layers in their most
  // exact ones, so that the order of further combinations does not matter.
  absl::StatusOr<Difference> Measure(const Assignment& assignment);
  // The same on all of them.
  absl::StatusOr<Difference> Confirm(const Assignment& assignment);
  // What Quantize() makes of the config as it is, fitted to half of them.
  absl::StatusOr<Difference> MeasureAsQuantized();

  bool IsMeasured(const Assignment& assignment) const {
    return measured_.contains(assignment);
  }
  int64_t measured() const { return std::ssize(measured_); }
  const Answers& answers() const { return *answers_; }
  const std::string& IdOf(size_t layer) const {
    return graph_.ops[layers_[layer].op].id;
  }
  v1::QuantizationConfig ConfigOf(const Assignment& assignment) const {
    return ConfigFor(graph_, config_, layers_, assignment);
  }

 private:
  v1::QuantizationConfig QuickConfigOf(const Assignment& assignment) const;
  absl::StatusOr<TrialNetworks::Trial> Try(const Assignment& assignment);
  absl::Status FitEachAlone(const Assignment& assignment);

  const Graph& graph_;
  const v1::QuantizationNeeds& needs_;
  const v1::QuantizationConfig& config_;
  const ChosenChip& chip_;
  const QuantizeInputs& inputs_;
  const std::vector<LayerForms>& layers_;
  std::optional<Graph> outline_;
  std::optional<Answers> answers_;
  std::unique_ptr<TrialNetworks> trials_;
  std::unique_ptr<TrialNetworks> few_;  // Networks with few samples.
  int64_t samples_ = 0;
  int64_t fitted_samples_ = 0;
  std::set<std::pair<size_t, int32_t>> fitted_;  // Layer and form.
  std::map<Assignment, Difference> measured_;
  std::map<Assignment, PredictedNetwork> predicted_;
  EstimateMemo memo_;
};

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CHOOSE_COMBINATIONS_H_
