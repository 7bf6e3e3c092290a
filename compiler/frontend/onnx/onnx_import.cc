#include "compiler/frontend/onnx/onnx_import.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "compiler/frontend/onnx/builder.h"
#include "compiler/frontend/onnx/graph_inputs.h"
#include "compiler/frontend/onnx/graph_walk.h"
#include "compiler/frontend/onnx/model_error.h"
#include "compiler/frontend/onnx/model_file.h"
#include "compiler/frontend/onnx/operator_check.h"
#include "compiler/ir/valid_names.h"
#include "onnx/onnx_pb.h"

namespace edgekiln::compiler {
namespace {

using onnx_import::Builder;
using onnx_import::InvalidModel;
using onnx_import::ModelFile;

absl::Status CheckOneProducer(const onnx::GraphProto& graph) {
  std::set<absl::string_view> made;
  for (const onnx::NodeProto& node : graph.node()) {
    for (const std::string& output : node.output()) {
      if (!output.empty() && !made.insert(output).second) {
        return InvalidModel("two nodes make one tensor",
                            absl::StrCat("tensor '", output, "'"));
      }
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<int> DefaultOpset(const onnx::ModelProto& model) {
  int64_t version = 0;
  for (const onnx::OperatorSetIdProto& set : model.opset_import()) {
    if (set.domain().empty() || set.domain() == "ai.onnx") {
      version = set.version();
    }
  }
  if (version == 0) {
    return InvalidModel("the model does not say which op set it uses",
                        "opset_import");
  }
  if (version < 1 || version > kMaxOnnxOpset) {
    return onnx_import::UnsupportedModel(
        "OPSET_UNSUPPORTED",
        absl::StrCat("the model uses ONNX op set ", version), "opset_import",
        absl::StrCat("op sets ", kMinOnnxOpset, " to ", kMaxOnnxOpset),
        absl::StrCat("convert it: onnx.version_converter.convert_version("
                     "model, ",
                     kMaxOnnxOpset, "), or export it again"));
  }
  return static_cast<int>(version);
}

std::set<std::string> ValueNames(const onnx::GraphProto& graph) {
  std::set<std::string> names;
  for (const auto& input : graph.input()) names.insert(input.name());
  for (const auto& constant : graph.initializer()) {
    names.insert(constant.name());
  }
  for (const onnx::NodeProto& node : graph.node()) {
    names.insert(node.output().begin(), node.output().end());
  }
  return names;
}

}  // namespace

absl::StatusOr<Graph> ImportOnnx(absl::string_view bytes,
                                 const ImportOptions& options) {
  EK_ASSIGN_OR_RETURN(const ModelFile file, onnx_import::ParseModelFile(bytes));
  EK_ASSIGN_OR_RETURN(const int opset, DefaultOpset(file.model));
  const onnx::GraphProto& graph = file.model.graph();
  EK_RETURN_IF_ERROR(CheckOneProducer(graph));
  EK_RETURN_IF_ERROR(onnx_import::CheckOperators(file.model, opset,
                                                 onnx_import::Bodies::kSkip));
  Builder builder(SanitizeText(graph.name(), 128), ValueNames(graph),
                  static_cast<int64_t>(bytes.size()));
  onnx_import::ExternalData files(options.external_files);
  EK_RETURN_IF_ERROR(files.CheckAllAreNamed(file.model));
  EK_RETURN_IF_ERROR(
      onnx_import::AddInitializers(graph, file.raw_data, files, builder));
  EK_RETURN_IF_ERROR(onnx_import::AddGraphInputs(graph, options, builder));
  onnx_import::GraphWalk walk(file.model, opset, files,
                              static_cast<int64_t>(bytes.size()), builder);
  EK_RETURN_IF_ERROR(walk.ConvertGraph(graph));
  std::vector<std::string> outputs;
  for (const onnx::ValueInfoProto& output : graph.output()) {
    if (!builder.HasValue(output.name())) {
      return InvalidModel("no node makes this output",
                          absl::StrCat("graph output '", output.name(), "'"));
    }
    outputs.push_back(output.name());
  }
  if (outputs.empty()) {
    return InvalidModel("the graph has no outputs", "graph");
  }
  EK_ASSIGN_OR_RETURN(Graph result, builder.Finish(outputs));
  EK_RETURN_IF_ERROR(VerifyGraph(result), "after importing ONNX");
  return result;
}

bool OnnxHasTensor(absl::string_view bytes, const std::string& name) {
  const absl::StatusOr<ModelFile> file = onnx_import::ParseModelFile(bytes);
  if (!file.ok()) return false;
  const onnx::GraphProto& graph = file->model.graph();
  const auto is_one = [&name](const std::string& of_file) {
    return ValidName(of_file) == name;
  };
  for (const onnx::TensorProto& initializer : graph.initializer()) {
    if (is_one(initializer.name())) return true;
  }
  return std::any_of(graph.node().begin(), graph.node().end(),
                     [&](const onnx::NodeProto& node) {
                       return std::any_of(node.output().begin(),
                                          node.output().end(), is_one);
                     });
}

}  // namespace edgekiln::compiler
