#ifndef EK_COMPILER_CHOOSE_CHOOSE_H_
#define EK_COMPILER_CHOOSE_CHOOSE_H_

#include <cstdint>
#include <functional>

#include "absl/status/statusor.h"
#include "compiler/choose/predicted_cycles.h"
#include "compiler/ir/graph.h"
#include "compiler/quantize/quantize.h"
#include "edgekiln/v1/quantization.pb.h"
#include "edgekiln/v1/target.pb.h"

namespace edgekiln::compiler {

// Of QuantizationConfig.accuracy_budget_ppm where it is 0.
inline constexpr int32_t kDefaultBudgetPpm = 5000;

struct ChosenSchemes {
  v1::QuantizationConfig config;  // What Quantize() is to be given.
  v1::SchemeChoice choice;
};

// Chooses the form of each layer's weights, and with it the engine, where a
// chip takes more than one: the fewest predicted cycles of the network, moves
// between engines included, among the combinations whose answers differ from
// those of the float network on no more samples than config.accuracy_budget_ppm
// says.
//
// Layers are fitted to every other sample and judged by the rest: what is
// fitted looks better than it is. Each form is first tried alone; combinations
// that these let expect to keep the budget are then quantized and measured, the
// fastest first, until one does. Few layers: all combinations are considered.
// Many: those in which the layers that gain most for their noise come first.
//
// Layers of a network that was trained with ternary weights get them by cycles
// alone (given_weights.h) with the recipe's narrowest_weights, and where there
// are no samples to judge by. All others keep the config as it is without
// samples, or with only one form for each layer and no budget asked for.
// INVALID_ARGUMENT with reason ACCURACY_BUDGET, a user error, if a budget was
// asked for that not even the most exact forms keep. Other errors: as of
// Quantize().
absl::StatusOr<ChosenSchemes> ChooseSchemes(
    const Graph& float_graph, const v1::QuantizationNeeds& needs,
    const v1::QuantizationConfig& config, const ChosenChip& chip,
    const QuantizeInputs& inputs);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CHOOSE_CHOOSE_H_
