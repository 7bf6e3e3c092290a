#ifndef EK_COMPILER_ENGINES_DLA_RESIDENCY_H_
#define EK_COMPILER_ENGINES_DLA_RESIDENCY_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "compiler/engines/dla/planner.h"

namespace edgekiln::compiler::dla {

struct ResidencyChoice {
  SubgraphPlan plan;
  int64_t cycles = 0;  // Estimate: those of the tilings, layer after layer.
};

// Chooses the tensors that stay in SRAM and, with what is left beside them, the
// cheapest tiling of every layer. Greedy: short-lived tensors first, each kept
// if the estimated cycles of the layers it lives through go down. Empty if some
// layer fits `sram_bytes` in no way with overlapped buffers.
absl::StatusOr<std::optional<ResidencyChoice>> ChooseResidency(
    const Chip& chip, const SubgraphInput& input, int64_t sram_bytes);

}  // namespace edgekiln::compiler::dla

#endif  // EK_COMPILER_ENGINES_DLA_RESIDENCY_H_
