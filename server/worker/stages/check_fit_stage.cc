#include <memory>
#include <optional>
#include <utility>

#include "base/status_macros.h"
#include "compiler/codegen/check_fit.h"
#include "compiler/ir/graph_outline.h"
#include "compiler/quantize/quantize.h"
#include "edgekiln/v1/target.pb.h"
#include "server/worker/stages/graph_input.h"
#include "server/worker/stages/stages.h"
#include "target/quantization_needs.h"

namespace edgekiln::server {

namespace {

// What is the same for all machines with these engines; nothing if quantizing
// will say what is wrong with the network.
using Placed = std::optional<compiler::PlacedForFit>;

absl::StatusOr<std::shared_ptr<Placed>> Place(
    const v1::CheckFitOptions& options, const StageInputs& inputs) {
  EK_RETURN_IF_ERROR(inputs.Fetch({"outline", "capabilities", "machine"}));
  EK_ASSIGN_OR_RETURN(const auto outline,
                      inputs.ParseLarge<v1::Graph>("outline"));
  auto graph = compiler::GraphFromOutline(*outline);
  if (!graph.ok()) return absl::InternalError(graph.status().message());
  EK_ASSIGN_OR_RETURN(const v1::Capabilities capabilities,
                      inputs.Parse<v1::Capabilities>("capabilities"));
  auto placed = std::make_shared<Placed>();
  if (!IsQuantized(*graph)) {
    graph = compiler::QuantizedForm(*graph,
                                    target::QuantizationNeedsOf(capabilities));
    if (!graph.ok()) return placed;
  }
  EK_ASSIGN_OR_RETURN(
      *placed,
      compiler::PlaceForFit(*std::move(graph), capabilities, options.offload()),
      "before compiling");
  return placed;
}

}  // namespace

absl::StatusOr<StageOutput> RunCheckFit(const v1::CheckFitOptions& options,
                                        const StageInputs& inputs) {
  EK_ASSIGN_OR_RETURN(
      const auto placed,
      inputs.Prepared<Placed>({"outline", "capabilities"},
                              v1::Offload_Name(options.offload()),
                              [&] { return Place(options, inputs); }));
  EK_ASSIGN_OR_RETURN(const auto machine,
                      inputs.ParseOnce<v1::Machine>("machine"));
  if (placed->has_value()) {
    EK_RETURN_IF_ERROR(compiler::CheckFits(**placed, *machine),
                       "before compiling");
  }
  return StageOutput();
}

}  // namespace edgekiln::server
