#ifndef EK_COMPILER_CODEGEN_C_NETWORK_H_
#define EK_COMPILER_CODEGEN_C_NETWORK_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "compiler/codegen/c/c_sources.h"
#include "compiler/ir/graph.h"

namespace edgekiln::compiler {

// The recipe of each op of the graph, by which its kernel is chosen.
using Recipes = std::vector<CRecipe>;

// What C would take.
struct NetworkNeed {
  CManifest manifest;  // Without inputs and outputs.
  // By layer: of tensors and buffers that are alive while it runs.
  std::vector<int64_t> layer_ram_bytes;
};

// The C of all layers with kernels of these recipes, whatever its flash.
// options.recipe decides what is not of a layer. RESOURCE_EXHAUSTED where it
// takes more RAM than options allow.
absl::StatusOr<CSources> EmitNetwork(const Graph& graph,
                                     const COptions& options,
                                     const Recipes& recipes);

// What that would take, whatever the limits.
absl::StatusOr<NetworkNeed> MeasureNetwork(const Graph& graph,
                                           const COptions& options,
                                           const Recipes& recipes);

// RESOURCE_EXHAUSTED with reason C_MEMORY.
absl::Status TooLarge(absl::string_view memory, absl::string_view what,
                      int64_t need, int64_t limit);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_C_NETWORK_H_
