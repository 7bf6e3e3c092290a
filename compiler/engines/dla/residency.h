#ifndef EK_COMPILER_ENGINES_DLA_RESIDENCY_H_
#define EK_COMPILER_ENGINES_DLA_RESIDENCY_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/engines/dla/chain_search.h"
#include "compiler/engines/dla/planner.h"
#include "compiler/engines/dla/tile_search.h"

namespace edgekiln::compiler::dla {

struct ResidencyChoice {
  SubgraphPlan plan;
  int64_t cycles = 0;  // Estimate: those of the tilings, layer after layer.
  // Without chains: that its buffers take, with what stays, while the layer is
  // computed that needs the most. If `proven`, a smaller SRAM that holds them
  // has no better choice either.
  int64_t sram_bytes = 0;
  // Neither cycles nor bytes of any other choice are fewer by the same
  // estimate. False where too many tensors live at once to try them all.
  bool proven = true;
};

// Chooses the tensors that stay in SRAM together with the cheapest tiling of
// every layer in what is left beside them: of all choices the one of fewest
// estimated cycles, then DMA bytes. A dynamic program over the layers, whose
// states are the resident tensors that live between two of them. `searches` has
// one per layer, for kAlias unused; costs are by `estimate`. Empty if
// some layer fits `sram_bytes` in no way.
absl::StatusOr<std::optional<ResidencyChoice>> ChooseResidency(
    const SubgraphInput& input, std::vector<TilingSearch>& searches,
    int64_t sram_bytes, Estimate estimate = {});

// The same where layers may be chained as well, for few estimated cycles and
// DMA bytes by the worth that `chains` sees in them. Chains may take
// `chain_bytes`, at most `sram_bytes`.
absl::StatusOr<std::optional<ResidencyChoice>> ChooseChains(
    const SubgraphInput& input, std::vector<TilingSearch>& searches,
    ChainSearch& chains, int64_t sram_bytes, int64_t chain_bytes,
    Estimate estimate);

}  // namespace edgekiln::compiler::dla

#endif  // EK_COMPILER_ENGINES_DLA_RESIDENCY_H_
