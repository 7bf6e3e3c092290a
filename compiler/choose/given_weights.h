#ifndef EK_COMPILER_CHOOSE_GIVEN_WEIGHTS_H_
#define EK_COMPILER_CHOOSE_GIVEN_WEIGHTS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "compiler/choose/predicted_cycles.h"
#include "compiler/choose/scheme_forms.h"
#include "compiler/ir/graph.h"
#include "edgekiln/v1/quantization.pb.h"
#include "edgekiln/v1/target.pb.h"

// Networks that were trained with ternary weights: no form of these layers
// costs accuracy by its weights, so that cycles alone decide.
namespace edgekiln::compiler {

// Of `layers`, those whose float weights are -s, 0 and s for one s, and which
// may have ternary ones: positions in `layers`, rising.
std::vector<int> TernaryLayers(const Graph& graph,
                               const std::vector<LayerForms>& layers);

// Which of `layers` at positions `ternary` get ternary weights; all others get
// their most exact form. With the recipe's narrowest_weights all of them, else
// what is predicted to take the fewest cycles: none of them, all, or those that
// save cycles each by itself; then changed layer by layer while that saves
// more. Predictions of single layers know neither layouts nor what stays in the
// engines' memory: where the host drives these, all four are planned, and the
// best of the plans counts. If it takes an eighth more than was predicted, it
// is changed layer by layer, too, those layers first whose form is predicted to
// change the most cycles. With 12 plans at most, of networks of more than 8 to
// 10 such layers the others keep their forms. Errors: as of PredictNetwork().
absl::StatusOr<Assignment> FormsOfGivenWeights(
    const Graph& outline, const v1::QuantizationNeeds& needs,
    const v1::QuantizationConfig& config, const ChosenChip& chip,
    const std::vector<LayerForms>& layers, const std::vector<int>& ternary);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CHOOSE_GIVEN_WEIGHTS_H_
