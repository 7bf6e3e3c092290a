#ifndef EK_COMPILER_CHOOSE_PREDICTED_CYCLES_H_
#define EK_COMPILER_CHOOSE_PREDICTED_CYCLES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/codegen/estimate_memo.h"
#include "compiler/ir/graph.h"
#include "edgekiln/v1/data.pb.h"
#include "edgekiln/v1/program.pb.h"
#include "edgekiln/v1/quantization.pb.h"
#include "edgekiln/v1/stage.pb.h"
#include "edgekiln/v1/target.pb.h"

namespace edgekiln::compiler {

// What a network is predicted to cost on a chip before it is quantized.
struct PredictedNetwork {
  int64_t cycles = 0;  // Of Machine.clock_hz.
  // By op of the float graph: the engine that runs it, -1 for the host.
  std::vector<int32_t> engines;
};

// The chip that cycles are predicted for.
struct ChosenChip {
  const v1::Capabilities& capabilities;
  const v1::Machine& machine;
  v1::Offload offload = v1::OFFLOAD_UNSPECIFIED;  // Unspecified: ALL.
  v1::PartitionRecipe recipe = {};
};

// Partitions and places the form of the network that `config` makes of a float
// graph (QuantizedForm()), as the stages do later. Give it an outline of the
// graph (OutlineOf()): zeros fit engines for weights of few values, while the
// bytes of float weights, which the form shares, do not. `memo`, of the chip,
// makes predictions of similar forms cheap; may be null. Errors: as of those.
absl::StatusOr<v1::Partition> PlacedForm(const Graph& float_graph,
                                         const v1::QuantizationNeeds& needs,
                                         const v1::QuantizationConfig& config,
                                         const ChosenChip& chip,
                                         EstimateMemo* memo);
// What is predicted of it.
absl::StatusOr<PredictedNetwork> PredictNetwork(
    const Graph& float_graph, const v1::QuantizationNeeds& needs,
    const v1::QuantizationConfig& config, const ChosenChip& chip,
    EstimateMemo* memo = nullptr);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CHOOSE_PREDICTED_CYCLES_H_
