#include "compiler/frontend/onnx/testing/model_mutator.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"
#include "compiler/frontend/onnx/converters.h"

namespace edgekiln::compiler::onnx_import {
namespace {

using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

// The nodes of a graph or function, and the graph if it is one.
struct Scope {
  Nodes* nodes = nullptr;
  onnx::GraphProto* graph = nullptr;
};

void AddScopes(Nodes& nodes, onnx::GraphProto* graph,
               std::vector<Scope>& scopes) {
  scopes.push_back({&nodes, graph});
  for (onnx::NodeProto& node : nodes) {
    for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
      if (!attribute.has_g()) continue;
      onnx::GraphProto& inner = *attribute.mutable_g();
      AddScopes(*inner.mutable_node(), &inner, scopes);
    }
  }
}

template <typename Items>
auto& Any(Rng& rng, Items& items) {
  return items[static_cast<int>(
      rng.Below(static_cast<uint64_t>(items.size())))];
}

// What shapes, axes and counts are likely to trip over.
int64_t Number(Rng& rng) {
  constexpr int64_t kNumbers[] = {-(int64_t{1} << 62),
                                  -(int64_t{1} << 31),
                                  -9,
                                  255,
                                  1000,
                                  65536,
                                  (int64_t{1} << 31) - 1,
                                  int64_t{1} << 31,
                                  int64_t{1} << 40,
                                  INT64_MAX};
  if (rng.Below(8) == 0) return kNumbers[rng.Below(std::size(kNumbers))];
  return rng.InRange(-3, 8);
}

int64_t Extent(Rng& rng) {
  return rng.Below(4) == 0 ? Number(rng) : rng.InRange(0, 6);
}

onnx::TensorProto::DataType AnyType(Rng& rng) {
  return static_cast<onnx::TensorProto::DataType>(
      rng.InRange(onnx::TensorProto::FLOAT, onnx::TensorProto::BFLOAT16));
}

float Real(Rng& rng) {
  constexpr float kNumbers[] = {0.0f, 1e-30f, 3e38f, -1e9f, 0.5f, 255.0f};
  if (rng.Below(2) == 0) return kNumbers[rng.Below(std::size(kNumbers))];
  return static_cast<float>(rng.InRange(-16, 16)) / 4;
}

std::vector<std::string> Operators(absl::string_view domain) {
  std::vector<std::string> names = absl::StrSplit(OperatorNames(domain), ' ');
  if (domain.empty()) names.insert(names.end(), {"If", "Loop"});
  return names;
}

// As many bytes as the shape asks for, if that is few.
void FitValues(Rng& rng, onnx::TensorProto& tensor) {
  constexpr int64_t kMaxBytes = 512;
  int64_t bytes = 1;
  switch (tensor.data_type()) {
    case onnx::TensorProto::FLOAT:
    case onnx::TensorProto::INT32:
    case onnx::TensorProto::UINT32:
      bytes = 4;
      break;
    case onnx::TensorProto::DOUBLE:
    case onnx::TensorProto::INT64:
    case onnx::TensorProto::UINT64:
      bytes = 8;
      break;
    case onnx::TensorProto::FLOAT16:
    case onnx::TensorProto::INT16:
    case onnx::TensorProto::UINT16:
      bytes = 2;
      break;
    default:
      break;
  }
  for (const int64_t extent : tensor.dims()) {
    if (extent < 0 || extent > kMaxBytes) return;
    bytes = std::min(bytes * extent, kMaxBytes + 1);
  }
  if (bytes > kMaxBytes) return;
  tensor.clear_float_data();
  tensor.clear_int64_data();
  tensor.clear_int32_data();
  tensor.clear_double_data();
  tensor.clear_uint64_data();
  std::string& values = *tensor.mutable_raw_data();
  values.resize(static_cast<size_t>(bytes), '\1');
  const int64_t changes = values.empty() ? 0 : rng.InRange(0, 3);
  for (int64_t i = 0; i < changes; ++i) {
    values[rng.Below(values.size())] = static_cast<char>(
        rng.Below(2) == 0 ? rng.InRange(-2, 4) : rng.InRange(-128, 127));
  }
}

void MutateTensor(Rng& rng, onnx::TensorProto& tensor) {
  switch (rng.Below(4)) {
    case 0:
      tensor.set_data_type(AnyType(rng));
      break;
    case 1:
      if (tensor.dims_size() > 0) {
        tensor.set_dims(static_cast<int>(rng.Below(
                            static_cast<uint64_t>(tensor.dims_size()))),
                        Extent(rng));
      }
      break;
    case 2:
      if (tensor.dims_size() > 0 && rng.Below(2) == 0) {
        tensor.mutable_dims()->RemoveLast();
      } else {
        tensor.add_dims(rng.InRange(0, 3));
      }
      break;
    default:
      break;
  }
  FitValues(rng, tensor);
}

void MutateInput(Rng& rng, onnx::ValueInfoProto& input) {
  auto& type = *input.mutable_type()->mutable_tensor_type();
  auto& dims = *type.mutable_shape()->mutable_dim();
  switch (rng.Below(4)) {
    case 0:
      type.set_elem_type(AnyType(rng));
      break;
    case 1:
      if (!dims.empty() && rng.Below(2) == 0) {
        dims.RemoveLast();
        break;
      }
      dims.Add()->set_dim_value(rng.InRange(1, 4));
      break;
    default:
      if (!dims.empty()) Any(rng, dims).set_dim_value(Extent(rng));
      break;
  }
}

// A value that something makes, often; else none or one that nothing does.
std::string AnyValue(Rng& rng, const onnx::ModelProto& model,
                     const Scope& scope) {
  std::vector<std::string> names = {"", "nothing"};
  for (const auto& input : model.graph().input()) names.push_back(input.name());
  for (const auto& constant : model.graph().initializer()) {
    names.push_back(constant.name());
  }
  if (scope.graph != nullptr) {
    for (const auto& input : scope.graph->input()) {
      names.push_back(input.name());
    }
  }
  for (const onnx::NodeProto& node : *scope.nodes) {
    names.insert(names.end(), node.input().begin(), node.input().end());
    names.insert(names.end(), node.output().begin(), node.output().end());
  }
  return Any(rng, names);
}

void MutateAttribute(Rng& rng, onnx::NodeProto& node) {
  const bool standard = node.domain().empty();
  const OperatorEntry* entry = FindOperator(
      standard ? absl::string_view() : kMicrosoftDomain, node.op_type());
  std::vector<std::string> names = {"axis"};
  if (entry != nullptr && !entry->attributes.empty()) {
    names = absl::StrSplit(entry->attributes, ' ');
  }
  const std::string name = Any(rng, names);
  auto& attributes = *node.mutable_attribute();
  auto found = std::find_if(
      attributes.begin(), attributes.end(),
      [&name](const auto& attribute) { return attribute.name() == name; });
  if (found != attributes.end() && rng.Below(6) == 0) {
    attributes.erase(found);
    return;
  }
  onnx::AttributeProto& attribute =
      found != attributes.end() ? *found : *attributes.Add();
  attribute.set_name(name);
  constexpr absl::string_view kTexts[] = {
      "SAME_UPPER", "SAME_LOWER", "VALID",   "linear", "cubic", "reflect",
      "edge",       "wrap",       "reverse", "Relu",   "tanh",  "ij,jk->ik"};
  switch (rng.Below(5)) {
    case 0:
      attribute.set_type(onnx::AttributeProto::FLOAT);
      attribute.set_f(Real(rng));
      break;
    case 1: {
      attribute.set_type(onnx::AttributeProto::INTS);
      if (attribute.ints_size() > 0 && rng.Below(3) > 0) {
        Any(rng, *attribute.mutable_ints()) = Number(rng);
      } else {
        attribute.add_ints(Number(rng));
      }
      break;
    }
    case 2:
      attribute.set_type(onnx::AttributeProto::STRING);
      attribute.set_s(std::string(kTexts[rng.Below(std::size(kTexts))]));
      break;
    case 3:
      if (name == "value") {
        attribute.set_type(onnx::AttributeProto::TENSOR);
        MutateTensor(rng, *attribute.mutable_t());
        break;
      }
      [[fallthrough]];
    default:
      attribute.set_type(onnx::AttributeProto::INT);
      attribute.set_i(Number(rng));
      break;
  }
}

void MutateNode(Rng& rng, const onnx::ModelProto& model, const Scope& scope) {
  onnx::NodeProto& node = Any(rng, *scope.nodes);
  switch (rng.Below(6)) {
    case 0: {
      const std::string domain(rng.Below(4) == 0 ? kMicrosoftDomain : "");
      const std::vector<std::string> operators = Operators(domain);
      node.set_domain(domain);
      node.set_op_type(Any(rng, operators));
      break;
    }
    case 1:
      if (rng.Below(3) == 0 && node.input_size() > 0) {
        node.mutable_input()->RemoveLast();
      } else {
        node.add_input(AnyValue(rng, model, scope));
      }
      break;
    case 2:
      if (node.input_size() > 0) {
        Any(rng, *node.mutable_input()) = AnyValue(rng, model, scope);
      }
      break;
    case 3:
      node.add_output(absl::StrCat("more", node.output_size()));
      break;
    default:
      MutateAttribute(rng, node);
      break;
  }
}

// Another operator between a node and those that read it.
void InsertNode(Rng& rng, const onnx::ModelProto& model, const Scope& scope) {
  constexpr int kMaxNodes = 24;
  if (scope.nodes->size() >= kMaxNodes) return;
  const int at =
      static_cast<int>(rng.Below(static_cast<uint64_t>(scope.nodes->size())));
  onnx::NodeProto& before = *scope.nodes->Mutable(at);
  if (before.output_size() == 0) return;
  const std::string name = before.output(0);
  const std::string inner = absl::StrCat(name, "-", scope.nodes->size());
  before.set_output(0, inner);
  const std::vector<std::string> operators = Operators("");
  onnx::NodeProto node;
  node.set_op_type(Any(rng, operators));
  node.add_input(inner);
  for (int64_t more = rng.InRange(0, 2); more > 0; --more) {
    node.add_input(AnyValue(rng, model, scope));
  }
  node.add_output(name);
  *scope.nodes->Add() = node;
  for (int i = scope.nodes->size() - 1; i > at + 1; --i) {
    scope.nodes->SwapElements(i, i - 1);
  }
}

}  // namespace

void MutateModel(Rng& rng, onnx::ModelProto& model) {
  std::vector<Scope> scopes;
  onnx::GraphProto& graph = *model.mutable_graph();
  AddScopes(*graph.mutable_node(), &graph, scopes);
  for (onnx::FunctionProto& function : *model.mutable_functions()) {
    AddScopes(*function.mutable_node(), nullptr, scopes);
  }
  const Scope& scope = Any(rng, scopes);
  switch (rng.Below(8)) {
    case 0:
      if (model.opset_import_size() > 0) {
        Any(rng, *model.mutable_opset_import()).set_version(rng.InRange(6, 21));
      }
      break;
    case 1:
      if (graph.input_size() > 0) {
        MutateInput(rng, Any(rng, *graph.mutable_input()));
      }
      break;
    case 2:
    case 3:
      if (scope.graph != nullptr && scope.graph->initializer_size() > 0) {
        MutateTensor(rng, Any(rng, *scope.graph->mutable_initializer()));
      }
      break;
    case 4:
      if (!scope.nodes->empty()) InsertNode(rng, model, scope);
      break;
    default:
      if (!scope.nodes->empty()) MutateNode(rng, model, scope);
      break;
  }
}

}  // namespace edgekiln::compiler::onnx_import
