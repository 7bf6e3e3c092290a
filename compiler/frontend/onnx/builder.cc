#include "compiler/frontend/onnx/builder.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/checked_math.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "compiler/frontend/onnx/tensor_data.h"
#include "compiler/passes/graph_edit.h"
#include "ops/shape_inference.h"

namespace edgekiln::compiler::onnx_import {
namespace {

bool IsIdentity(absl::Span<const int32_t> permutation) {
  for (size_t i = 0; i < permutation.size(); ++i) {
    if (permutation[i] != static_cast<int32_t>(i)) return false;
  }
  return true;
}

ops::TensorView TypeView(const Tensor& tensor) {
  return {.type = tensor.type, .shape = tensor.shape, .quantization = {}};
}

}  // namespace

Builder::Builder(std::string graph_name, std::set<std::string> reserved)
    : names_(std::move(reserved)) {
  graph_.name = std::move(graph_name);
}

TensorId Builder::AddTensor(Tensor tensor, bool named) {
  graph_.tensors.push_back(std::move(tensor));
  named_.push_back(named);
  return static_cast<TensorId>(graph_.tensors.size()) - 1;
}

std::string Builder::UniqueName(absl::string_view wanted) {
  std::string name(wanted);
  if (names_.insert(name).second) return name;
  int& count = name_counts_.try_emplace(name, 1).first->second;
  do {
    name = absl::StrCat(wanted, "-", ++count);
  } while (!names_.insert(name).second);
  return name;
}

std::string Builder::OpId(const Node& node, absl::string_view role) {
  if (node.output(0) != current_node_) {
    current_node_ = node.output(0);
    current_id_ = layer_ids_.Make(
        node.name(), absl::StrCat(node.op_type(), "_", node.output(0)));
  }
  if (role.empty()) return current_id_;
  return layer_ids_.Make(absl::StrCat(current_id_, ".", role), "op");
}

absl::Status Builder::AddGraphInput(absl::string_view name,
                                    v1::ElementType type,
                                    std::vector<int64_t> shape) {
  Tensor tensor;
  tensor.name = std::string(name);
  tensor.type = type;
  tensor.shape = std::move(shape);
  if (!IsSaneShape(tensor.shape)) {
    return MakeError(
        absl::StatusCode::kInvalidArgument,
        {.fault = Fault::kUser,
         .reason = "MODEL_INVALID",
         .what = absl::StrCat("impossible shape [",
                              absl::StrJoin(tensor.shape, ","), "]"),
         .where = absl::StrCat("graph input '", name, "'"),
         .limit = absl::StrCat(ops::kMaxRank, " dimensions, ",
                               ops::kMaxTensorBytes, " bytes"),
         .fix = "export with a smaller input"});
  }
  const TensorId id = AddTensor(std::move(tensor), /*named=*/true);
  graph_.inputs.push_back(id);
  values_[std::string(name)] = id;
  return absl::OkStatus();
}

absl::Status Builder::AddInitializer(Tensor constant) {
  const std::string name = constant.name;
  if (values_.contains(name)) {
    return MakeError(absl::StatusCode::kInvalidArgument,
                     {.fault = Fault::kUser,
                      .reason = "MODEL_INVALID",
                      .what = "two initializers have one name",
                      .where = absl::StrCat("tensor '", name, "'"),
                      .fix = "give every initializer a name of its own"});
  }
  values_[name] = AddTensor(std::move(constant), /*named=*/true);
  return absl::OkStatus();
}

bool Builder::HasValue(const std::string& name) const {
  return values_.contains(name);
}

absl::StatusOr<TensorId> Builder::Input(const Node& node, int index) const {
  if (!node.has_input(index)) {
    return node.Invalid(absl::StrCat("input ", index, " is missing"));
  }
  const auto found = values_.find(node.input(index));
  if (found == values_.end()) {
    return node.Invalid(absl::StrCat("nothing before this node makes input '",
                                     node.input(index), "'"));
  }
  return found->second;
}

absl::StatusOr<TensorId> Builder::FloatInput(const Node& node,
                                             int index) const {
  EK_ASSIGN_OR_RETURN(const TensorId id, Input(node, index));
  if (tensor(id).type != v1::FLOAT32) {
    return node.Unsupported(
        absl::StrCat("input ", index, " '", node.input(index), "' is ",
                     v1::ElementType_Name(tensor(id).type)),
        "FLOAT32", "export the model with float32 tensors");
  }
  return id;
}

absl::StatusOr<const Tensor*> Builder::ConstantInput(const Node& node,
                                                     int index) const {
  EK_ASSIGN_OR_RETURN(const TensorId id, Input(node, index));
  if (!tensor(id).is_constant()) {
    return node.Unsupported(
        absl::StrCat("input ", index, " '", node.input(index),
                     "' is computed at run time"),
        "a constant, or shape arithmetic over static shapes",
        "export with static shapes and constant folding");
  }
  return &tensor(id);
}

absl::StatusOr<std::vector<int64_t>> Builder::ConstantIntegers(
    const Node& node, int index) const {
  EK_ASSIGN_OR_RETURN(const Tensor* constant, ConstantInput(node, index));
  EK_ASSIGN_OR_RETURN(std::vector<int64_t> values, IntegerValues(*constant),
                      node.Label());
  return values;
}

absl::StatusOr<TensorId> Builder::Emit(const Node& node, absl::string_view role,
                                       v1::OpAttributes attributes,
                                       std::vector<TensorId> inputs) {
  std::vector<ops::TensorView> views;
  for (const TensorId input : inputs) {
    views.push_back(input == kNoTensor ? ops::TensorView()
                                       : TypeView(tensor(input)));
  }
  absl::StatusOr<std::vector<std::vector<int64_t>>> shapes =
      ops::InferShapes(attributes, views);
  if (!shapes.ok()) return node.Invalid(shapes.status());
  Tensor result;
  result.type = tensor(inputs[0]).type;
  result.shape = std::move(shapes->front());
  if (!IsSaneShape(result.shape)) {
    return node.TooLarge(absl::StrCat(
        "the result [", absl::StrJoin(result.shape, ","), "] is too large"));
  }
  result.name = UniqueName(
      absl::StrCat(node.output(0), ".", role.empty() ? "nhwc" : role));
  const TensorId id = AddTensor(std::move(result), /*named=*/false);
  Op op;
  op.id = OpId(node, role);
  op.name = node.name();
  op.attributes = std::move(attributes);
  op.inputs = std::move(inputs);
  op.outputs = {id};
  graph_.ops.push_back(std::move(op));
  return id;
}

absl::StatusOr<TensorId> Builder::Reshape(const Node& node,
                                          absl::string_view role, TensorId x,
                                          std::vector<int64_t> shape) {
  const std::optional<int64_t> elements = CheckedProduct(shape);
  if (!elements.has_value() || *elements != tensor(x).num_elements() ||
      !IsSaneShape(shape)) {
    return node.Invalid(absl::StrCat("cannot reshape [",
                                     absl::StrJoin(tensor(x).shape, ","),
                                     "] to [", absl::StrJoin(shape, ","), "]"));
  }
  if (tensor(x).shape == shape) return x;
  if (tensor(x).is_constant()) {
    Tensor constant = tensor(x);  // Shares the values.
    constant.shape = std::move(shape);
    return AddConstant(std::move(constant));
  }
  Tensor result = tensor(x);
  result.shape = std::move(shape);
  result.name = UniqueName(
      absl::StrCat(node.output(0), ".", role.empty() ? "shaped" : role));
  const TensorId id = AddTensor(std::move(result), /*named=*/false);
  Op op;
  op.id = OpId(node, role);
  op.name = node.name();
  op.attributes.mutable_reshape();
  op.inputs = {x};
  op.outputs = {id};
  graph_.ops.push_back(std::move(op));
  return id;
}

absl::StatusOr<TensorId> Builder::Transpose(const Node& node,
                                            absl::string_view role, TensorId x,
                                            std::vector<int32_t> permutation) {
  const size_t rank = tensor(x).shape.size();
  std::vector<int32_t> sorted = permutation;
  std::sort(sorted.begin(), sorted.end());
  if (permutation.size() != rank || !IsIdentity(sorted)) {
    return node.Invalid(absl::StrCat("[", absl::StrJoin(permutation, ","),
                                     "] is no permutation of ", rank,
                                     " dimensions"));
  }
  if (IsIdentity(permutation)) return x;
  if (tensor(x).is_constant()) {
    return AddConstant(TransposedTensor(tensor(x), permutation));
  }
  v1::OpAttributes attributes;
  attributes.mutable_transpose()->mutable_permutation()->Assign(
      permutation.begin(), permutation.end());
  return Emit(node, role, std::move(attributes), {x});
}

absl::StatusOr<TensorId> Builder::Scale(const Node& node,
                                        absl::string_view role, TensorId x,
                                        float factor) {
  if (factor == 1.0f) return x;
  if (tensor(x).is_constant()) {
    EK_ASSIGN_OR_RETURN(std::vector<float> values, FloatValues(tensor(x)),
                        node.Label());
    for (float& value : values) value *= factor;
    return AddConstant(FloatConstant(tensor(x).name, shape(x), values));
  }
  v1::OpAttributes attributes;
  attributes.mutable_mul();
  const TensorId scalar = AddConstant(FloatConstant(
      absl::StrCat(node.output(0), ".", role, "-factor"), {1}, {factor}));
  return Emit(node, role, std::move(attributes), {x, scalar});
}

TensorId Builder::AddConstant(Tensor constant) {
  if (constant.data.use_count() == 1) {  // Not shared with one from the file.
    made_constant_bytes_ += static_cast<int64_t>(constant.data->size());
  }
  constant.name = UniqueName(constant.name);
  return AddTensor(std::move(constant), /*named=*/true);
}

TensorId Builder::AddCopy(absl::string_view name, TensorId source) {
  Tensor copy = tensor(source);
  copy.name = std::string(name);
  copy.data = nullptr;
  const TensorId id = AddTensor(std::move(copy), /*named=*/true);
  Op op;
  op.id = layer_ids_.Make(absl::StrCat("copy_", name), "copy");
  op.attributes.mutable_reshape();
  op.inputs = {source};
  op.outputs = {id};
  graph_.ops.push_back(std::move(op));
  return id;
}

absl::Status Builder::Bind(const Node& node, int output, TensorId id) {
  const std::string& name = node.output(output);
  if (values_.contains(name)) {
    return node.Invalid(
        absl::StrCat("output '", name, "' has been made before"));
  }
  if (!tensor(id).is_constant()) {
    if (named_[id]) {
      id = AddCopy(name, id);
    } else {
      graph_.tensors[id].name = name;
      named_[id] = true;
    }
  }
  values_[name] = id;
  return absl::OkStatus();
}

TensorId Builder::AddOutputCopy(const std::string& name, TensorId source) {
  if (tensor(source).name != name) return AddCopy(name, source);
  if (tensor(source).is_constant()) {
    graph_.tensors[source].name = UniqueName(absl::StrCat(name, ".value"));
    return AddCopy(name, source);
  }
  // The input itself, or an output given twice: the name is taken.
  return AddCopy(UniqueName(absl::StrCat(name, ".output")), source);
}

absl::StatusOr<Graph> Builder::Finish(absl::Span<const std::string> outputs) {
  for (const std::string& name : outputs) {
    TensorId id = values_.at(name);
    const auto is = [id](TensorId other) { return other == id; };
    if (tensor(id).is_constant() || tensor(id).name != name ||
        std::any_of(graph_.inputs.begin(), graph_.inputs.end(), is) ||
        std::any_of(graph_.outputs.begin(), graph_.outputs.end(), is)) {
      id = AddOutputCopy(name, id);
    }
    graph_.outputs.push_back(id);
  }
  RemoveUnusedTensors(graph_);
  return std::move(graph_);
}

}  // namespace edgekiln::compiler::onnx_import
