#include "compiler/frontend/onnx/graph_walk.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/frontend/onnx/converters.h"
#include "compiler/frontend/onnx/model_error.h"
#include "compiler/frontend/onnx/needed_nodes.h"
#include "compiler/frontend/onnx/operator_check.h"
#include "compiler/frontend/onnx/replacements.h"
#include "compiler/frontend/onnx/type_check.h"

namespace edgekiln::compiler::onnx_import {
namespace {

using Attributes = std::map<absl::string_view, const onnx::AttributeProto*>;

Attributes AttributesOf(const onnx::NodeProto& call) {
  Attributes attributes;
  for (const onnx::AttributeProto& attribute : call.attribute()) {
    attributes.emplace(attribute.name(), &attribute);
  }
  return attributes;
}

// Bytes of the attributes of the call that Substitute() copies.
int64_t SubstitutedBytes(const Attributes& call, const onnx::NodeProto& node) {
  int64_t bytes = 0;
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    for (const auto& inner : attribute.g().node()) {
      bytes += SubstitutedBytes(call, inner);
    }
    const auto given = call.find(attribute.ref_attr_name());
    if (!attribute.ref_attr_name().empty() && given != call.end()) {
      bytes += static_cast<int64_t>(given->second->ByteSizeLong());
    }
  }
  return bytes;
}

// Puts the call's attributes where the function's nodes refer to them, and
// takes away inputs that the call leaves out.
void Substitute(const Attributes& call, const std::set<std::string>& absent,
                onnx::NodeProto& node) {
  for (std::string& input : *node.mutable_input()) {
    if (absent.contains(input)) input.clear();
  }
  for (int i = node.attribute_size() - 1; i >= 0; --i) {
    onnx::AttributeProto& attribute = *node.mutable_attribute(i);
    if (attribute.has_g()) {
      for (auto& inner : *attribute.mutable_g()->mutable_node()) {
        Substitute(call, absent, inner);
      }
    }
    if (attribute.ref_attr_name().empty()) continue;
    const auto given = call.find(attribute.ref_attr_name());
    if (given == call.end()) {
      node.mutable_attribute()->DeleteSubrange(i, 1);
    } else {
      const std::string name = attribute.name();
      attribute = *given->second;
      attribute.set_name(name);
    }
  }
}

absl::Status CheckMadeConstants(const Node& node, const Builder& builder,
                                int64_t model_bytes) {
  const int64_t limit = MaxMadeConstantBytes(model_bytes);
  if (builder.made_constant_bytes() <= limit) return absl::OkStatus();
  return node.Unsupported(
      absl::StrCat("constants grow to ", builder.made_constant_bytes(),
                   " bytes"),
      absl::StrCat(limit, " bytes for a model of this size"),
      "compute large constants before exporting");
}

}  // namespace

GraphWalk::GraphWalk(const onnx::ModelProto& model, int opset,
                     ExternalData& files, int64_t model_bytes, Builder& builder)
    : model_(model),
      opset_(opset),
      files_(files),
      model_bytes_(model_bytes),
      builder_(builder) {
  for (const onnx::FunctionProto& function : model.functions()) {
    functions_.emplace(FunctionKey(function.domain(), function.name()),
                       &function);
  }
}

absl::Status GraphWalk::ConvertGraph(const onnx::GraphProto& graph) {
  const std::vector<bool> needed =
      NeededNodes(graph.node(), OutputNames(graph.output()));
  for (int i = 0; i < graph.node_size(); ++i) {
    if (needed[i]) EK_RETURN_IF_ERROR(ConvertNode(graph.node(i), opset_));
  }
  return absl::OkStatus();
}

absl::Status GraphWalk::ConvertNode(const onnx::NodeProto& proto, int opset) {
  const Node node(proto, opset);
  EK_RETURN_IF_ERROR(CheckName(proto.name()));
  for (const std::string& output : proto.output()) {
    EK_RETURN_IF_ERROR(CheckName(output));
  }
  ++nodes_;
  if (depth_ > 0) {
    EK_RETURN_IF_ERROR(
        CountInlined(node, 0, proto.input_size() + proto.output_size()));
  }
  if (node.main_output().empty()) return node.Invalid("it has no output");
  const auto function =
      functions_.find(FunctionKey(proto.domain(), proto.op_type()));
  if (function != functions_.end()) {
    return ConvertFunction(node, *function->second);
  }
  if (IsDefaultDomain(proto.domain())) {
    if (node.op_type() == "If") return ConvertIf(node);
    if (node.op_type() == "Loop") return ConvertLoop(node);
    if (node.op_type() == "Scan") return ConvertScan(node);
  }
  EK_RETURN_IF_ERROR(ConvertOperator(node));
  return CheckMadeConstants(node, builder_, model_bytes_);
}

absl::Status GraphWalk::ConvertOperator(const Node& node) {
  const std::string& domain = node.proto().domain();
  const bool standard = IsDefaultDomain(domain);
  const OperatorEntry* entry =
      standard || domain == kMicrosoftDomain
          ? FindOperator(standard ? absl::string_view() : domain,
                         node.op_type())
          : nullptr;
  if (entry == nullptr || node.opset() < entry->first_opset) {
    // In a body of control flow: elsewhere it was found at the beginning.
    EK_RETURN_IF_ERROR(CheckOperators(model_, opset_, Bodies::kInclude));
    return node.Unsupported("operator is not supported",
                            "the operators of docs/onnx_coverage.md",
                            FindReplacement("", node.op_type()));
  }
  EK_RETURN_IF_ERROR(node.CheckAttributes(entry->attributes));
  EK_RETURN_IF_ERROR(CheckTypes(node, builder_));
  return entry->convert(node, builder_);
}

absl::Status GraphWalk::CountInlined(const Node& node, int64_t bytes,
                                     int64_t values) {
  constexpr int kMaxDepth = 16;
  inlined_bytes_ += bytes;
  inlined_values_ += values;
  const int64_t max_bytes = MaxMadeConstantBytes(model_bytes_);
  // The graph takes up to some kilobytes for each: one node may be many ops.
  const int64_t max_values =
      std::min<int64_t>(4 * kMaxNodes, (1 << 14) + model_bytes_ / 4);
  if (inlined_values_ <= max_values && depth_ <= kMaxDepth &&
      inlined_bytes_ <= max_bytes) {
    return absl::OkStatus();
  }
  return node.Unsupported(
      absl::StrCat("functions, branches and loops become nodes of ",
                   inlined_values_, " values and ", inlined_bytes_, " bytes, ",
                   depth_, " deep"),
      absl::StrCat(max_values, " values, ", max_bytes, " bytes, ", kMaxDepth,
                   " deep"),
      "unroll less before exporting");
}

std::string GraphWalk::ScopeName(const Node& node) {
  constexpr size_t kMaxLength = 40;
  return absl::StrCat(node.op_type().substr(0, kMaxLength), "-", nodes_);
}

absl::Status GraphWalk::ConvertFunction(const Node& node,
                                        const onnx::FunctionProto& function) {
  if (node.num_inputs() > function.input_size() ||
      node.num_outputs() > function.output_size()) {
    return node.Invalid("it has more inputs or outputs than its function");
  }
  int opset = opset_;
  for (const onnx::OperatorSetIdProto& set : function.opset_import()) {
    if (IsDefaultDomain(set.domain())) {
      opset = static_cast<int>(std::clamp<int64_t>(set.version(), 1, 1 << 20));
    }
  }
  std::set<std::string> absent;
  std::vector<std::pair<std::string, TensorId>> inputs;
  for (int i = 0; i < function.input_size(); ++i) {
    if (node.has_input(i)) {
      EK_ASSIGN_OR_RETURN(const TensorId input, builder_.Input(node, i));
      inputs.emplace_back(function.input(i), input);
    } else {
      absent.insert(function.input(i));
    }
  }
  EK_RETURN_IF_ERROR(
      CountInlined(node, static_cast<int64_t>(function.ByteSizeLong()), 1));
  builder_.PushScope(ScopeName(node), /*sees_outer=*/false);
  for (const auto& [name, id] : inputs) {
    EK_RETURN_IF_ERROR(builder_.Define(node, name, id));
  }
  const std::vector<bool> needed = NeededNodes(
      function.node(), std::vector<std::string>(function.output().begin(),
                                                function.output().end()));
  const Attributes attributes = AttributesOf(node.proto());
  ++depth_;
  for (int i = 0; i < function.node_size(); ++i) {
    if (!needed[i]) continue;
    EK_RETURN_IF_ERROR(
        CountInlined(node, SubstitutedBytes(attributes, function.node(i)), 0));
    onnx::NodeProto copy = function.node(i);
    Substitute(attributes, absent, copy);
    EK_RETURN_IF_ERROR(ConvertNode(copy, opset));
  }
  --depth_;
  std::vector<TensorId> results;
  for (int i = 0; i < node.num_outputs(); ++i) {
    results.push_back(builder_.value(function.output(i)));
  }
  builder_.PopScope();
  for (int i = 0; i < node.num_outputs(); ++i) {
    if (!node.has_output(i)) continue;
    if (results[i] == kNoTensor) {
      return node.Invalid(absl::StrCat("its function does not make '",
                                       function.output(i), "'"));
    }
    EK_RETURN_IF_ERROR(builder_.Bind(node, i, results[i]));
  }
  return absl::OkStatus();
}

absl::Status AddInitializers(const onnx::GraphProto& graph,
                             absl::Span<const absl::string_view> raw_data,
                             ExternalData& files, Builder& builder) {
  if (graph.sparse_initializer_size() > 0) {
    return UnsupportedModel(
        "TENSOR_UNSUPPORTED", "sparse initializers",
        absl::StrCat("tensor '", graph.sparse_initializer(0).values().name(),
                     "'"),
        "dense initializers", "export dense weights");
  }
  for (int i = 0; i < graph.initializer_size(); ++i) {
    const onnx::TensorProto& proto = graph.initializer(i);
    EK_RETURN_IF_ERROR(CheckName(proto.name()));
    EK_ASSIGN_OR_RETURN(Tensor constant,
                        BorrowTensor(proto, proto.name(),
                                     static_cast<size_t>(i) < raw_data.size()
                                         ? raw_data[i]
                                         : absl::string_view(),
                                     files));
    EK_RETURN_IF_ERROR(builder.AddInitializer(std::move(constant)));
    if (IsFourBit(proto.data_type())) {
      builder.MarkFourBit(builder.value(proto.name()));
    }
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::compiler::onnx_import
