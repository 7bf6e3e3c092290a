#ifndef EK_COMPILER_CHOOSE_PLANNED_CYCLES_H_
#define EK_COMPILER_CHOOSE_PLANNED_CYCLES_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "compiler/choose/predicted_cycles.h"
#include "compiler/codegen/estimate_memo.h"
#include "compiler/codegen/machine_backends.h"
#include "compiler/ir/graph.h"
#include "edgekiln/v1/data.pb.h"
#include "edgekiln/v1/quantization.pb.h"

namespace edgekiln::compiler {

// As PredictNetwork(), but of the plan that stage `tile` makes without a
// recipe, which knows what stays in the engines' memory and in which layout.
// For engines that the host drives; nothing for others, and where nothing fits.
// `backends` and `memo`, which may be null, are of the chip's machine and
// change speed only. Errors: as of PredictNetwork().
absl::StatusOr<std::optional<int64_t>> PlannedCycles(
    const Graph& float_graph, const v1::QuantizationNeeds& needs,
    const v1::QuantizationConfig& config, const ChosenChip& chip,
    MachineBackends& backends, EstimateMemo* memo);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CHOOSE_PLANNED_CYCLES_H_
