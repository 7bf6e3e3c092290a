// How the graph grows: type and shape of results, constant folding, and the
// ops that can be done on constants without computing.

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/checked_math.h"
#include "base/status_macros.h"
#include "compiler/frontend/onnx/builder.h"
#include "compiler/frontend/onnx/ir_ops.h"
#include "compiler/frontend/onnx/tensor_data.h"
#include "compiler/ir/tensor_views.h"
#include "compiler/passes/graph_edit.h"
#include "compiler/passes/op_cost.h"
#include "compiler/passes/op_traits.h"
#include "compiler/passes/transposed_tensor.h"
#include "ops/evaluate.h"
#include "ops/shape_inference.h"

namespace edgekiln::compiler::onnx_import {
namespace {

// Results of folding that are larger than what they are made of are left to
// run time, so that a small file cannot become a large graph.
constexpr int64_t kMaxFoldedGrowthBytes = int64_t{1} << 16;

bool IsIdentity(absl::Span<const int32_t> permutation) {
  for (size_t i = 0; i < permutation.size(); ++i) {
    if (permutation[i] != static_cast<int32_t>(i)) return false;
  }
  return true;
}

bool IsComparison(v1::Binary::Function function) {
  return function >= v1::Binary::EQUAL && function <= v1::Binary::LESS_OR_EQUAL;
}

// Ops that only pick and move elements: quantization goes with them.
bool OnlyMoves(const v1::OpAttributes& op) {
  switch (op.op_case()) {
    case v1::OpAttributes::kPad:
    case v1::OpAttributes::kConcat:
    case v1::OpAttributes::kMaxPool2D:
      return true;
    case v1::OpAttributes::kPool:
      return op.pool().function() == v1::Pool::MAXIMUM;
    case v1::OpAttributes::kResize:
      return op.resize().mode() == v1::Resize::NEAREST;
    default:
      return IsMovement(op.op_case());
  }
}

ResultType TypeOfResult(const v1::OpAttributes& op,
                        absl::Span<const Tensor* const> inputs) {
  const Tensor& first = *inputs[0];
  if (op.has_binary() && IsComparison(op.binary().function())) {
    return {v1::BOOL};
  }
  if (op.unary().function() == v1::Unary::IS_NAN ||
      op.unary().function() == v1::Unary::IS_INF) {
    return {v1::BOOL};
  }
  if (op.has_select()) return {inputs[1]->type};
  if (op.has_arg_reduce()) return {v1::INT64};
  if (op.has_dequantize()) return {v1::FLOAT32};
  if (!OnlyMoves(op)) return {first.type};
  ResultType result = {first.type, first.quantization};
  if (op.has_transpose() && result.quantization.has_value() &&
      result.quantization->per_channel()) {
    const auto& permutation = op.transpose().permutation();
    result.quantization->axis =
        static_cast<int32_t>(std::find(permutation.begin(), permutation.end(),
                                       first.quantization->axis) -
                             permutation.begin());
  }
  return result;
}

int64_t Elements(const Tensor& tensor) { return tensor.num_elements(); }

}  // namespace

bool Builder::CanFold(const v1::OpAttributes& attributes,
                      const std::vector<TensorId>& inputs,
                      absl::Span<const Tensor> results) {
  if (!WorkIsLinear(attributes)) return false;
  int64_t work = 0;
  int64_t input_bytes = 0;
  for (const TensorId input : inputs) {
    if (input == kNoTensor) continue;
    if (!tensor(input).is_constant() || tensor(input).quantization) {
      return false;
    }
    work += Elements(tensor(input));
    input_bytes += static_cast<int64_t>(tensor(input).data->size());
  }
  int64_t result_bytes = 0;
  for (const Tensor& result : results) {
    if (result.quantization) return false;
    work += Elements(result);
    result_bytes += Elements(result) * ElementBytes(result.type);
  }
  if (!MayMake(result_bytes) ||
      result_bytes > 2 * input_bytes + kMaxFoldedGrowthBytes ||
      work > folding_budget_) {
    return false;
  }
  folding_budget_ -= work;
  return true;
}

absl::StatusOr<bool> Builder::Fold(const v1::OpAttributes& attributes,
                                   const std::vector<TensorId>& inputs,
                                   std::vector<Tensor>& results) {
  for (const TensorId input : inputs) {
    if (input != kNoTensor) Keep(graph_.tensors[input]);  // Kernels need that.
  }
  const std::vector<ops::TensorView> views = ViewsOf(graph_, inputs);
  std::vector<std::string> values;
  values.reserve(results.size());
  std::vector<ops::MutableTensorView> outputs;
  for (const Tensor& result : results) {
    values.emplace_back(
        static_cast<size_t>(Elements(result) * ElementBytes(result.type)),
        '\0');
    outputs.push_back({result.type, result.shape, values.back().data(), {}});
  }
  const absl::Status computed = ops::Evaluate(attributes, views, outputs);
  if (absl::IsUnimplemented(computed)) return false;
  if (!computed.ok()) return computed;
  for (size_t i = 0; i < results.size(); ++i) {
    results[i].data = ConstantData(std::move(values[i]));
  }
  return true;
}

absl::StatusOr<std::vector<TensorId>> Builder::EmitAll(
    const Node& node, absl::string_view role, v1::OpAttributes attributes,
    std::vector<TensorId> inputs, absl::Span<const ResultType> results) {
  std::vector<ops::TensorView> views = ViewsOf(graph_, inputs);
  for (ops::TensorView& view : views) view.quantization = {};
  absl::StatusOr<std::vector<std::vector<int64_t>>> shapes =
      ops::InferShapes(attributes, views);
  if (!shapes.ok()) return node.Invalid(shapes.status());
  if (shapes->size() < results.size()) {
    return node.Invalid(absl::StrCat("it has ", shapes->size(), " outputs"));
  }
  std::vector<Tensor> tensors(results.size());
  for (size_t i = 0; i < results.size(); ++i) {
    Tensor& result = tensors[i];
    result.type = results[i].type;
    result.quantization = results[i].quantization;
    result.shape = std::move((*shapes)[i]);
    if (!IsSaneShape(result.shape)) {
      return node.TooLarge(absl::StrCat(
          "the result [", absl::StrJoin(result.shape, ","), "] is too large"));
    }
    const absl::Status fits = ops::CheckTensorType(ViewOf(result));
    if (!fits.ok()) return node.Invalid(fits);
    result.name = absl::StrCat(prefix(), node.main_output(), ".",
                               role.empty() ? "nhwc" : role,
                               i == 0 ? "" : absl::StrCat("-", i));
  }
  std::vector<TensorId> ids;
  absl::StatusOr<bool> folded = false;
  if (CanFold(attributes, inputs, tensors)) {
    folded = Fold(attributes, inputs, tensors);
    if (!folded.ok()) return node.Invalid(folded.status());
  }
  if (*folded) {
    for (Tensor& result : tensors) {
      ids.push_back(AddConstant(std::move(result)));
    }
    return ids;
  }
  for (Tensor& result : tensors) {
    result.name = UniqueName(result.name);
    ids.push_back(AddTensor(std::move(result), /*named=*/false));
  }
  Op op;
  op.id = OpId(node, role);
  op.name = absl::StrCat(prefix(), node.name());
  op.attributes = std::move(attributes);
  op.inputs = std::move(inputs);
  op.outputs = ids;
  AddOp(std::move(op));
  return ids;
}

absl::StatusOr<TensorId> Builder::EmitAs(const Node& node,
                                         absl::string_view role,
                                         v1::OpAttributes attributes,
                                         std::vector<TensorId> inputs,
                                         ResultType result) {
  EK_ASSIGN_OR_RETURN(const std::vector<TensorId> ids,
                      EmitAll(node, role, std::move(attributes),
                              std::move(inputs), {std::move(result)}));
  return ids[0];
}

absl::StatusOr<TensorId> Builder::Emit(const Node& node, absl::string_view role,
                                       v1::OpAttributes attributes,
                                       std::vector<TensorId> inputs) {
  std::vector<const Tensor*> tensors;
  const Tensor absent;
  for (const TensorId input : inputs) {
    tensors.push_back(input == kNoTensor ? &absent : &tensor(input));
  }
  ResultType result = TypeOfResult(attributes, tensors);
  return EmitAs(node, role, std::move(attributes), std::move(inputs),
                std::move(result));
}

TensorId Builder::ConstantBehind(TensorId x) const {
  if (producer_[x] < 0) return kNoTensor;
  const Op& op = graph_.ops[producer_[x]];
  if (!op.attributes.has_dequantize()) return kNoTensor;
  return tensor(op.inputs[0]).is_constant() ? op.inputs[0] : kNoTensor;
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
    if (SetShape(constant, shape)) {
      return AddConstant(std::move(constant));
    }
  }
  if (const TensorId behind = ConstantBehind(x); behind != kNoTensor) {
    Tensor constant = tensor(behind);
    if (SetShape(constant, shape)) {
      return Emit(node, role, DequantizeOp(),
                  {AddConstant(std::move(constant))});
    }
  }
  Tensor result = tensor(x);
  result.shape = std::move(shape);
  result.name = UniqueName(absl::StrCat(prefix(), node.main_output(), ".",
                                        role.empty() ? "shaped" : role));
  const TensorId id = AddTensor(std::move(result), /*named=*/false);
  Op op;
  op.id = OpId(node, role);
  op.name = absl::StrCat(prefix(), node.name());
  op.attributes.mutable_reshape();
  op.inputs = {x};
  op.outputs = {id};
  AddOp(std::move(op));
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
                                     "] is not a permutation of ", rank,
                                     " dimensions"));
  }
  if (IsIdentity(permutation)) return x;
  const auto may_turn = [this](TensorId id) {
    return MayMake(static_cast<int64_t>(tensor(id).data->size()));
  };
  if (tensor(x).is_constant() && may_turn(x)) {
    return AddConstant(TransposedTensor(tensor(x), permutation, pool_));
  }
  if (const TensorId behind = ConstantBehind(x);
      behind != kNoTensor && may_turn(behind)) {
    const TensorId turned =
        AddConstant(TransposedTensor(tensor(behind), permutation, pool_));
    return Emit(node, role, DequantizeOp(), {turned});
  }
  return Emit(node, role, TransposeAttributes(permutation), {x});
}

absl::StatusOr<TensorId> Builder::Cast(const Node& node, absl::string_view role,
                                       TensorId x, v1::ElementType type) {
  if (tensor(x).type == type) return x;
  return EmitAs(node, role, CastOp(), {x}, {type});
}

absl::StatusOr<TensorId> Builder::BroadcastTo(const Node& node,
                                              absl::string_view role,
                                              TensorId x,
                                              std::vector<int64_t> to) {
  if (shape(x) == to) return x;
  return Emit(node, role, BroadcastOp(to), {x});
}

absl::StatusOr<TensorId> Builder::Scale(const Node& node,
                                        absl::string_view role, TensorId x,
                                        float factor) {
  if (factor == 1.0f) return x;
  return Emit(node, role, MulOp(), {x, Scalar(node, x, factor)});
}

TensorId Builder::Scalar(const Node& node, TensorId like, double value) {
  return AddConstant(
      NumberConstant(absl::StrCat(prefix(), node.main_output(), ".number"),
                     tensor(like).type, value));
}

}  // namespace edgekiln::compiler::onnx_import
