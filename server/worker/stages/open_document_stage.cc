#include <string>

#include "base/status_macros.h"
#include "compiler/document/network_document.h"
#include "compiler/ir/graph_outline.h"
#include "server/worker/stages/stages.h"

namespace edgekiln::server {

absl::StatusOr<StageOutput> RunOpenDocument(const v1::OpenDocumentOptions&,
                                            const StageInputs& inputs) {
  EK_ASSIGN_OR_RETURN(const absl::string_view bytes, inputs.One("document"));
  EK_ASSIGN_OR_RETURN(const compiler::NetworkDocument document,
                      compiler::ReadNetworkDocument(bytes));
  StageOutput output;
  // The same bytes: what follows finds its results under the same keys.
  output.Add("graph", std::string(document.graph_bytes));
  output.Add("outline", compiler::OutlineOf(document.graph));
  *output.summary.mutable_network() = document.origin;
  return output;
}

}  // namespace edgekiln::server
