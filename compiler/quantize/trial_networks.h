#ifndef EK_COMPILER_QUANTIZE_TRIAL_NETWORKS_H_
#define EK_COMPILER_QUANTIZE_TRIAL_NETWORKS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/ir/graph.h"
#include "compiler/quantize/calibration_samples.h"
#include "compiler/quantize/equalized_network.h"
#include "compiler/quantize/fill_values.h"
#include "compiler/quantize/fit_memo.h"
#include "compiler/quantize/layer_constants.h"
#include "compiler/quantize/quantize.h"
#include "compiler/quantize/refine.h"
#include "edgekiln/v1/quantization.pb.h"
#include "edgekiln/v1/stage.pb.h"

namespace edgekiln::compiler {

// Of values that combinations share, and as many of the float network.
inline constexpr int64_t kTrialMemoBytes = int64_t{64} << 20;

// Quantizes one float network by many combinations of schemes, to compare them:
// cheaper than Quantize() for each, and nearly the same. Combinations share
// what they have in common (fit_memo.h), and the float network is equalized
// once, for the first of them. Not thread-safe.
class TrialNetworks {
 public:
  // All configs that are tried differ from options.config, the first of them,
  // in their `layers` only. Networks are fitted to `fitted` and run on
  // `judged`; more than `memo_bytes` of values, and a quarter as many of
  // rounded weights, are computed anew; `graph` and what `inputs` refers to
  // must outlive this. Errors: as of Quantize().
  static absl::StatusOr<std::unique_ptr<TrialNetworks>> Create(
      const Graph& graph, const v1::QuantizeOptions& options,
      const QuantizeInputs& inputs, CalibrationSamples fitted,
      CalibrationSamples judged, int64_t memo_bytes = kTrialMemoBytes);

  // Fits the layer with this id behind all before it, for networks that take
  // over what their layer got where its scheme was tried first. One that is not
  // in the quantized network is no error.
  absl::Status Fit(const v1::QuantizationConfig& config,
                   const std::string& layer);

  // Networks of the same equalized graph, with the first `count` samples to fit
  // to and as many to run on, a share of the memo's bytes, and what was tried
  // here so far: weights, biases, and the first samples' values of what is
  // still kept. Must not outlive this object.
  std::unique_ptr<TrialNetworks> WithFewer(int64_t count);

  struct Trial {
    Graph graph;
    std::vector<float> values;  // [judged samples, elements]
  };

  // With the real values of the tensor that has this name. Deterministic, but
  // weights and biases are those that their layer got where its scheme was
  // tried first.
  absl::StatusOr<Trial> Try(const v1::QuantizationConfig& config,
                            const std::string& tensor);

 private:
  TrialNetworks(v1::QuantizeOptions options, ops::CpuPath cpu_path,
                CalibrationSamples fitted)
      : options_(std::move(options)),
        cpu_path_(cpu_path),
        fitted_(std::move(fitted)) {}

  struct Prepared {
    Graph graph;
    RefineOptions refine;
  };
  absl::StatusOr<Prepared> Prepare(const v1::QuantizationConfig& config) const;

  const Graph& graph() const {
    return equalized_ ? equalized_->graph : *graph_;
  }

  const v1::QuantizeOptions options_;
  const ops::CpuPath cpu_path_;
  const CalibrationSamples fitted_;
  int64_t memo_bytes_ = 0;
  const Graph* graph_ = nullptr;
  const v1::CalibrationStatistics* statistics_ = nullptr;
  std::optional<ClippedFills> clipped_;
  std::optional<EqualizedNetwork> equalized_;
  std::optional<FitMemo> memo_;
  // Of all networks, before anything is fitted.
  std::shared_ptr<RoundedLayers> constants_;
};

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_QUANTIZE_TRIAL_NETWORKS_H_
