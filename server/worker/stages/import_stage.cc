#include <algorithm>
#include <string>

#include "base/status_macros.h"
#include "compiler/frontend/import.h"
#include "server/worker/stages/graph_input.h"
#include "server/worker/stages/stages.h"

namespace edgekiln::server {

namespace {

std::string FormatName(compiler::ModelFormat format) {
  switch (format) {
    case compiler::ModelFormat::kTflite:
      return "tflite";
    case compiler::ModelFormat::kOnnx:
      return "onnx";
    case compiler::ModelFormat::kUnknown:
      break;
  }
  return "";
}

bool IsBatchOne(const compiler::Graph& graph) {
  return std::all_of(
      graph.inputs.begin(), graph.inputs.end(), [&](compiler::TensorId input) {
        const auto& shape = graph.tensors[static_cast<size_t>(input)].shape;
        return shape.empty() || shape[0] == 1;
      });
}

}  // namespace

absl::StatusOr<StageOutput> RunImport(const v1::ImportOptions&,
                                      const StageInputs& inputs) {
  EK_ASSIGN_OR_RETURN(const absl::string_view model, inputs.One("model"));
  EK_ASSIGN_OR_RETURN(const compiler::Graph graph, compiler::ImportModel(model),
                      "importing the model");
  StageOutput output;
  output.Add("graph", compiler::GraphToProto(graph));
  v1::StageSummary::Import& summary = *output.summary.mutable_import();
  summary.set_format(FormatName(compiler::SniffFormat(model)));
  summary.set_quantized(IsQuantized(graph));
  summary.set_batch_one(IsBatchOne(graph));
  return output;
}

}  // namespace edgekiln::server
