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

absl::StatusOr<StageOutput> RunCheckFit(const v1::CheckFitOptions& options,
                                        const StageInputs& inputs) {
  EK_RETURN_IF_ERROR(inputs.Fetch({"outline", "capabilities", "machine"}));
  EK_ASSIGN_OR_RETURN(const auto outline,
                      inputs.ParseLarge<v1::Graph>("outline"));
  auto graph = compiler::GraphFromOutline(*outline);
  if (!graph.ok()) return absl::InternalError(graph.status().message());
  EK_ASSIGN_OR_RETURN(const v1::Capabilities capabilities,
                      inputs.Parse<v1::Capabilities>("capabilities"));
  EK_ASSIGN_OR_RETURN(const v1::Machine machine,
                      inputs.Parse<v1::Machine>("machine"));
  absl::Status fits;
  if (IsQuantized(*graph)) {
    fits = compiler::CheckFits(*std::move(graph), capabilities, machine,
                               options.offload());
  } else if (auto form = compiler::QuantizedForm(
                 *graph, target::QuantizationNeedsOf(capabilities));
             form.ok()) {
    fits = compiler::CheckFits(*std::move(form), capabilities, machine,
                               options.offload());
  }  // Else quantizing will say what is wrong with it.
  EK_RETURN_IF_ERROR(fits, "before compiling");
  return StageOutput();
}

}  // namespace edgekiln::server
