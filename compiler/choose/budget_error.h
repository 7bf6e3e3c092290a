#ifndef EK_COMPILER_CHOOSE_BUDGET_ERROR_H_
#define EK_COMPILER_CHOOSE_BUDGET_ERROR_H_

#include "absl/status/status.h"
#include "compiler/ir/graph.h"
#include "compiler/quantize/quantize.h"
#include "edgekiln/v1/quantization.pb.h"
#include "edgekiln/v1/target.pb.h"

namespace edgekiln::compiler {

// INVALID_ARGUMENT with reason ACCURACY_BUDGET, a user error: `budget` cannot
// be kept, as even the most exact forms change a share of `disagreement` of the
// answers. Quantizes the network to name the layer that costs most.
absl::Status UnreachableBudget(const Graph& graph,
                               const v1::QuantizationNeeds& needs,
                               const v1::QuantizationConfig& config,
                               const QuantizeInputs& inputs, double budget,
                               double disagreement);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CHOOSE_BUDGET_ERROR_H_
