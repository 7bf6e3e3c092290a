#include "compiler/choose/budget_error.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/error.h"
#include "base/status_macros.h"

namespace edgekiln::compiler {

absl::Status UnreachableBudget(const Graph& graph,
                               const v1::QuantizationNeeds& needs,
                               const v1::QuantizationConfig& config,
                               const QuantizeInputs& inputs, double budget,
                               double disagreement) {
  v1::QuantizeOptions options;
  *options.mutable_needs() = needs;
  *options.mutable_config() = config;
  options.set_rank(true);
  QuantizeInputs quietly = inputs;
  quietly.progress = nullptr;
  EK_ASSIGN_OR_RETURN(const QuantizedNetwork network,
                      Quantize(graph, options, quietly));
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
       .limit = absl::StrFormat("%.4g %% of samples", 100 * budget),
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

}  // namespace edgekiln::compiler
