#include <memory>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "compiler/export/export_losses.h"
#include "compiler/export/onnx_export.h"
#include "server/worker/stages/graph_input.h"
#include "server/worker/stages/stages.h"

namespace edgekiln::server {

absl::StatusOr<StageOutput> RunExportOnnx(const v1::ExportOnnxOptions&,
                                          const StageInputs& inputs) {
  EK_ASSIGN_OR_RETURN(const auto graph, GraphInput(inputs));
  EK_ASSIGN_OR_RETURN(std::string model, compiler::ExportQdqOnnx(*graph),
                      "writing the ONNX model");
  StageOutput output;
  output.warnings = compiler::ExportLosses(*graph);
  output.Add("model", std::move(model));
  return output;
}

}  // namespace edgekiln::server
