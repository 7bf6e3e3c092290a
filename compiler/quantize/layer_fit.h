#ifndef EK_COMPILER_QUANTIZE_LAYER_FIT_H_
#define EK_COMPILER_QUANTIZE_LAYER_FIT_H_

#include <cstdint>
#include <functional>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "compiler/ir/graph.h"
#include "compiler/passes/product_sums.h"
#include "compiler/quantize/bias_correction.h"
#include "compiler/quantize/fit_memo.h"
#include "compiler/quantize/layer_weights.h"
#include "compiler/quantize/refine.h"
#include "compiler/quantize/sample_batch.h"
#include "edgekiln/v1/quantization.pb.h"

namespace edgekiln::compiler {

// Chooses the integers of single layers by what those before them give on some
// samples. Not thread-safe.
class LayerFit {
 public:
  // All references must outlive this. `integers` runs `quantized`, `real` the
  // float graph, on the same samples. With a memo, `real` is null: the memo has
  // its own.
  LayerFit(const Graph& float_graph, const RefineOptions& options,
           Graph& quantized, SampleBatch& integers, SampleBatch* real,
           FitMemo* memo)
      : float_graph_(float_graph),
        options_(options),
        quantized_(quantized),
        ranges_(quantized),
        integers_(integers),
        real_(real),
        memo_(memo) {}

  // Sets weights and bias, or converter, of `op`, what
  // float_graph.ops[real_index] became. Both batches have run up to there.
  absl::Status Fit(int32_t real_index, Op& op);
  // Leaves a converter as it is.
  absl::Status FitWeightsAndBias(int32_t real_index, Op& op);
  // LayerWeights::scale_growth of what was fitted last.
  double scale_growth() const { return scale_growth_; }

 private:
  LayerWeights WeightsOf(int32_t real_index, const Op& op,
                         const std::function<LayerWeights()>& fit);
  Fingerprint FormKey(int32_t real_index, const Op& op) const;
  std::optional<Tensor> SumsOf(const Op& op) const;
  absl::Status FitConverter(int32_t real_index, Op& op);
  double ScoresThatCount(const Op& real_op) const;
  absl::Status CorrectBias(int32_t real_index, const Op& op, double half_step);
  absl::StatusOr<BiasCorrection> CorrectionOf(int32_t real_index, int64_t rows,
                                              int64_t step);
  absl::StatusOr<SampleBatch*> RealBefore(int32_t real_index);

  const Graph& float_graph_;
  const RefineOptions& options_;
  Graph& quantized_;
  ValueRanges ranges_;
  SampleBatch& integers_;
  SampleBatch* const real_;
  FitMemo* const memo_;
  double scale_growth_ = 1;
};

// Appends what tells two quantizations apart to `text`.
void AppendKey(const std::optional<Quantization>& quantization,
               std::string& text);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_QUANTIZE_LAYER_FIT_H_
