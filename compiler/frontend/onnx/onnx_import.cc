#include "compiler/frontend/onnx/onnx_import.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "compiler/frontend/onnx/builder.h"
#include "compiler/frontend/onnx/converters.h"
#include "compiler/frontend/onnx/node.h"
#include "compiler/frontend/onnx/tensor_data.h"
#include "google/protobuf/io/coded_stream.h"
#include "onnx/onnx_pb.h"

namespace edgekiln::compiler {
namespace {

using onnx_import::Builder;
using onnx_import::Node;

// Deep enough for any exporter's nested attributes, shallow enough for a stack.
constexpr int kMaxNesting = 64;
constexpr size_t kMaxModelBytes = size_t{1} << 30;
constexpr int kMaxNodes = 100'000;
constexpr int kMaxNameBytes = 4096;

absl::Status ModelError(absl::StatusCode code, absl::string_view reason,
                        std::string what, std::string where, std::string limit,
                        std::string fix) {
  return MakeError(code, {.fault = Fault::kUser,
                          .reason = std::string(reason),
                          .what = std::move(what),
                          .where = std::move(where),
                          .limit = std::move(limit),
                          .fix = std::move(fix)});
}

absl::Status Invalid(std::string what, std::string where) {
  return ModelError(absl::StatusCode::kInvalidArgument, "MODEL_INVALID",
                    std::move(what), std::move(where), "",
                    "check the model with onnx.checker and export it again");
}

absl::StatusOr<onnx::ModelProto> Parse(absl::string_view bytes) {
  if (bytes.size() > kMaxModelBytes) {
    return ModelError(absl::StatusCode::kInvalidArgument, "MODEL_TOO_LARGE",
                      absl::StrCat("the model has ", bytes.size(), " bytes"),
                      "ONNX file", absl::StrCat(kMaxModelBytes, " bytes"),
                      "use a smaller model");
  }
  google::protobuf::io::CodedInputStream stream(
      reinterpret_cast<const uint8_t*>(bytes.data()),
      static_cast<int>(bytes.size()));
  stream.SetRecursionLimit(kMaxNesting);
  onnx::ModelProto model;
  if (!model.ParseFromCodedStream(&stream) || !stream.ConsumedEntireMessage()) {
    return Invalid("this is no complete ONNX model: the protobuf is damaged",
                   absl::StrCat("ONNX file of ", bytes.size(), " bytes"));
  }
  if (!model.has_graph()) {
    return Invalid("the model has no graph", "ONNX file");
  }
  if (model.graph().node_size() > kMaxNodes) {
    return ModelError(absl::StatusCode::kInvalidArgument, "MODEL_TOO_LARGE",
                      absl::StrCat(model.graph().node_size(), " nodes"),
                      "graph", absl::StrCat(kMaxNodes, " nodes"),
                      "use a smaller model");
  }
  return model;
}

// Names travel in proto3 strings and in messages.
absl::Status CheckName(const std::string& name) {
  if (SanitizeText(name, kMaxNameBytes) == name) return absl::OkStatus();
  return Invalid(absl::StrCat("a name is longer than ", kMaxNameBytes,
                              " bytes or no printable UTF-8"),
                 absl::StrCat("name '", name, "'"));
}

absl::Status CheckNames(const onnx::GraphProto& graph) {
  for (const auto& input : graph.input()) {
    EK_RETURN_IF_ERROR(CheckName(input.name()));
  }
  for (const auto& constant : graph.initializer()) {
    EK_RETURN_IF_ERROR(CheckName(constant.name()));
  }
  std::set<absl::string_view> made;
  for (const onnx::NodeProto& node : graph.node()) {
    EK_RETURN_IF_ERROR(CheckName(node.name()));
    for (const std::string& output : node.output()) {
      EK_RETURN_IF_ERROR(CheckName(output));
      if (!output.empty() && !made.insert(output).second) {
        return Invalid("two nodes make one tensor",
                       absl::StrCat("tensor '", output, "'"));
      }
    }
  }
  return absl::OkStatus();
}

bool IsDefaultDomain(const std::string& domain) {
  return domain.empty() || domain == "ai.onnx";
}

absl::StatusOr<int> DefaultOpset(const onnx::ModelProto& model) {
  int64_t version = 0;
  for (const onnx::OperatorSetIdProto& set : model.opset_import()) {
    if (IsDefaultDomain(set.domain())) version = set.version();
  }
  if (version == 0) {
    return Invalid("the model does not say which op set it uses",
                   "opset_import");
  }
  if (version < kMinOnnxOpset || version > kMaxOnnxOpset) {
    return ModelError(
        absl::StatusCode::kUnimplemented, "OPSET_UNSUPPORTED",
        absl::StrCat("the model uses ONNX op set ", version), "opset_import",
        absl::StrCat("op sets ", kMinOnnxOpset, " to ", kMaxOnnxOpset),
        absl::StrCat("convert it: onnx.version_converter.convert_version("
                     "model, ",
                     version < kMinOnnxOpset ? 13 : kMaxOnnxOpset,
                     "), or export it again"));
  }
  return static_cast<int>(version);
}

// Nodes that some graph output needs, by index.
std::vector<bool> NeededNodes(const onnx::GraphProto& graph) {
  std::map<std::string, int> producer;
  for (int i = 0; i < graph.node_size(); ++i) {
    for (const std::string& output : graph.node(i).output()) {
      if (!output.empty()) producer.emplace(output, i);
    }
  }
  std::vector<bool> needed(graph.node_size(), false);
  std::vector<int> pending;
  const auto need = [&](const std::string& value) {
    const auto found = producer.find(value);
    if (found == producer.end() || needed[found->second]) return;
    needed[found->second] = true;
    pending.push_back(found->second);
  };
  for (const onnx::ValueInfoProto& output : graph.output()) {
    need(output.name());
  }
  while (!pending.empty()) {
    const int i = pending.back();
    pending.pop_back();
    for (const std::string& input : graph.node(i).input()) need(input);
  }
  return needed;
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

// Static shape of a graph input; a symbolic first dimension is 1.
absl::StatusOr<std::vector<int64_t>> InputShape(
    const onnx::ValueInfoProto& input) {
  const std::string where = absl::StrCat("graph input '", input.name(), "'");
  const onnx::TypeProto::Tensor& type = input.type().tensor_type();
  if (!type.has_shape()) {
    return ModelError(absl::StatusCode::kUnimplemented, "SHAPE_DYNAMIC",
                      "its shape is not known", where, "static shapes",
                      "export with a fixed input shape");
  }
  std::vector<int64_t> shape;
  for (int i = 0; i < type.shape().dim_size(); ++i) {
    const onnx::TensorShapeProto::Dimension& dim = type.shape().dim(i);
    if (dim.has_dim_value() && dim.dim_value() > 0) {
      shape.push_back(dim.dim_value());
    } else if (i == 0) {
      shape.push_back(1);
    } else {
      return ModelError(
          absl::StatusCode::kUnimplemented, "SHAPE_DYNAMIC",
          absl::StrCat("dimension ", i,
                       dim.has_dim_param()
                           ? absl::StrCat(" ('", dim.dim_param(), "')")
                           : "",
                       " is not fixed"),
          where, "only the first dimension (batch) may be symbolic",
          "export with a fixed input shape");
    }
  }
  return shape;
}

absl::Status AddInputs(const onnx::GraphProto& graph, Builder& builder) {
  for (const onnx::ValueInfoProto& input : graph.input()) {
    // Before IR version 4 initializers are graph inputs, too.
    if (builder.HasValue(input.name())) continue;
    const v1::ElementType type =
        onnx_import::ElementTypeOf(input.type().tensor_type().elem_type());
    if (type != v1::FLOAT32) {
      return ModelError(
          absl::StatusCode::kUnimplemented, "TYPE_UNSUPPORTED",
          absl::StrCat("its element type is ",
                       onnx_import::OnnxTypeName(
                           input.type().tensor_type().elem_type())),
          absl::StrCat("graph input '", input.name(), "'"), "FLOAT",
          "export with float32 inputs");
    }
    EK_ASSIGN_OR_RETURN(std::vector<int64_t> shape, InputShape(input));
    EK_RETURN_IF_ERROR(
        builder.AddGraphInput(input.name(), type, std::move(shape)));
  }
  return absl::OkStatus();
}

absl::Status ConvertNode(const onnx::NodeProto& proto, int opset,
                         Builder& builder) {
  const Node node(proto, opset);
  if (!node.has_output(0)) return node.Invalid("it has no output");
  if (!IsDefaultDomain(proto.domain())) {
    return node.Unsupported(
        absl::StrCat("unknown op set domain '", proto.domain(), "'"),
        "the default domain ai.onnx",
        "export with standard ONNX operators only");
  }
  const onnx_import::OperatorEntry* entry =
      onnx_import::FindOperator(node.op_type());
  if (entry == nullptr) {
    return node.Unsupported(
        "operator is not supported",
        absl::StrCat("supported: ", onnx_import::OperatorNames()),
        "replace it by supported operators before exporting");
  }
  EK_RETURN_IF_ERROR(node.CheckAttributes(entry->attributes));
  if (onnx_import::IsIntegerArithmetic(node, builder)) {
    return onnx_import::ConvertIntegerArithmetic(node, builder);
  }
  return entry->convert(node, builder);
}

absl::Status AddInitializers(const onnx::GraphProto& graph, Builder& builder) {
  if (graph.sparse_initializer_size() > 0) {
    return ModelError(
        absl::StatusCode::kUnimplemented, "TENSOR_UNSUPPORTED",
        "sparse initializers",
        absl::StrCat("tensor '", graph.sparse_initializer(0).values().name(),
                     "'"),
        "dense initializers", "export dense weights");
  }
  for (const onnx::TensorProto& proto : graph.initializer()) {
    EK_ASSIGN_OR_RETURN(Tensor constant,
                        onnx_import::DecodeTensor(proto, proto.name()));
    EK_RETURN_IF_ERROR(builder.AddInitializer(std::move(constant)));
  }
  return absl::OkStatus();
}

absl::Status CheckMadeConstants(const Node& node, const Builder& builder,
                                size_t model_bytes) {
  const int64_t limit = 4 * static_cast<int64_t>(model_bytes) +
                        onnx_import::kMaxMadeConstantBytes;
  if (builder.made_constant_bytes() <= limit) return absl::OkStatus();
  return node.Unsupported(
      absl::StrCat("constants grow to ", builder.made_constant_bytes(),
                   " bytes"),
      absl::StrCat(limit, " bytes for a model of this size"),
      "compute large constants before exporting");
}

}  // namespace

absl::StatusOr<Graph> ImportOnnx(absl::string_view bytes) {
  EK_ASSIGN_OR_RETURN(const onnx::ModelProto model, Parse(bytes));
  EK_ASSIGN_OR_RETURN(const int opset, DefaultOpset(model));
  const onnx::GraphProto& graph = model.graph();
  EK_RETURN_IF_ERROR(CheckNames(graph));
  Builder builder(SanitizeText(graph.name(), 128), ValueNames(graph));
  EK_RETURN_IF_ERROR(AddInitializers(graph, builder));
  EK_RETURN_IF_ERROR(AddInputs(graph, builder));
  const std::vector<bool> needed = NeededNodes(graph);
  for (int i = 0; i < graph.node_size(); ++i) {
    if (!needed[i]) continue;
    EK_RETURN_IF_ERROR(ConvertNode(graph.node(i), opset, builder));
    EK_RETURN_IF_ERROR(
        CheckMadeConstants(Node(graph.node(i), opset), builder, bytes.size()));
  }
  std::vector<std::string> outputs;
  for (const onnx::ValueInfoProto& output : graph.output()) {
    if (!builder.HasValue(output.name())) {
      return Invalid("no node makes this output",
                     absl::StrCat("graph output '", output.name(), "'"));
    }
    outputs.push_back(output.name());
  }
  if (outputs.empty()) return Invalid("the graph has no outputs", "graph");
  EK_ASSIGN_OR_RETURN(Graph result, builder.Finish(outputs));
  EK_RETURN_IF_ERROR(VerifyGraph(result), "after importing ONNX");
  return result;
}

}  // namespace edgekiln::compiler
