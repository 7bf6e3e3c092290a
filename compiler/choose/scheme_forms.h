#ifndef EK_COMPILER_CHOOSE_SCHEME_FORMS_H_
#define EK_COMPILER_CHOOSE_SCHEME_FORMS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/ir/graph.h"
#include "edgekiln/v1/quantization.pb.h"
#include "edgekiln/v1/target.pb.h"

namespace edgekiln::compiler {

// A layer whose weights may take more than one form.
struct LayerForms {
  int32_t op = 0;  // Index into the float graph.
  // At least two, the most exact first.
  std::vector<v1::LayerScheme::Weights> weights;
};

// Index of each layer's form.
using Assignment = std::vector<int32_t>;

// The layers of a float graph, in its order, for which the target's engines
// take more than one form, or one that may cost more accuracy than the host's
// int8: ternary weights. Layers whose weights the config decides, or which it
// keeps float, have no choice. Errors: as of LayerSchemes().
absl::StatusOr<std::vector<LayerForms>> FormsOf(
    const Graph& graph, const v1::QuantizationConfig& config,
    const v1::QuantizationNeeds& needs);

// The config with a rule for each layer that is not in its first form.
v1::QuantizationConfig ConfigFor(const Graph& graph,
                                 const v1::QuantizationConfig& config,
                                 const std::vector<LayerForms>& layers,
                                 const Assignment& assignment);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CHOOSE_SCHEME_FORMS_H_
