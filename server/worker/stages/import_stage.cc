#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/error.h"
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

absl::Status GivenTwice(absl::string_view what, const std::string& name) {
  return MakeError(absl::StatusCode::kInvalidArgument,
                   {.fault = Fault::kUser,
                    .reason = "BINDING_INVALID",
                    .what = absl::StrCat(what, " '", name, "' is given twice"),
                    .where = "bindings of the model",
                    .fix = "leave one of them out"});
}

// The blobs of a role by the names that the options give them.
template <typename Names>
absl::StatusOr<std::map<std::string, absl::string_view>> Named(
    const Names& names, absl::string_view role, absl::string_view what,
    const StageInputs& inputs) {
  EK_ASSIGN_OR_RETURN(const std::vector<absl::string_view> blobs,
                      inputs.All(role));
  if (blobs.size() != static_cast<size_t>(names.size())) {
    return absl::InvalidArgumentError(
        absl::StrCat(blobs.size(), " blobs of role ", role, " for ",
                     names.size(), " names"));
  }
  std::map<std::string, absl::string_view> named;
  for (int i = 0; i < names.size(); ++i) {
    if (!named.emplace(names[i], blobs[i]).second) {
      return GivenTwice(what, names[i]);
    }
  }
  return named;
}

absl::StatusOr<compiler::ImportOptions> OptionsOf(
    const v1::ImportOptions& proto, const StageInputs& inputs) {
  compiler::ImportOptions options;
  for (const v1::DimensionBinding& dimension : proto.dimensions()) {
    if (!options.binds.emplace(dimension.name(), dimension.extent()).second) {
      return GivenTwice("--bind", dimension.name());
    }
  }
  EK_ASSIGN_OR_RETURN(
      options.bound_inputs,
      Named(proto.bound_inputs(), "bound_input", "--bind-input", inputs));
  EK_ASSIGN_OR_RETURN(
      options.external_files,
      Named(proto.external_data(), "external_data", "--external-data", inputs));
  return options;
}

}  // namespace

absl::StatusOr<StageOutput> RunImport(const v1::ImportOptions& proto,
                                      const StageInputs& inputs) {
  EK_ASSIGN_OR_RETURN(const absl::string_view model, inputs.One("model"));
  EK_ASSIGN_OR_RETURN(const compiler::ImportOptions options,
                      OptionsOf(proto, inputs));
  EK_ASSIGN_OR_RETURN(const compiler::Graph graph,
                      compiler::ImportModel(model, options),
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
