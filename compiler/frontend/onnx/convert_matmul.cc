// Matrix products. With constant weights they are fully connected layers,
// whose weights are [N, K].

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/frontend/onnx/converters.h"
#include "compiler/frontend/onnx/tensor_data.h"

namespace edgekiln::compiler::onnx_import {
namespace {

absl::StatusOr<TensorId> EmitMatMul(const Node& node, Builder& builder,
                                    TensorId a, TensorId b) {
  v1::OpAttributes attributes;
  attributes.mutable_mat_mul();
  return builder.Emit(node, "", std::move(attributes), {a, b});
}

absl::StatusOr<TensorId> EmitFullyConnected(const Node& node, Builder& builder,
                                            std::vector<TensorId> inputs) {
  v1::OpAttributes attributes;
  attributes.mutable_fully_connected();
  return builder.Emit(node, "", std::move(attributes), std::move(inputs));
}

// C of Gemm as a bias [n], or kNoTensor if it needs an addition of its own.
absl::StatusOr<TensorId> AsBias(const Node& node, Builder& builder, TensorId c,
                                int64_t n) {
  const Tensor& tensor = builder.tensor(c);
  const int64_t elements = tensor.num_elements();
  const bool row =
      elements == n && !tensor.shape.empty() && tensor.shape.back() == n;
  if (row) return builder.Reshape(node, "bias", c, {n});
  if (elements != 1 || !tensor.is_constant()) return kNoTensor;
  EK_ASSIGN_OR_RETURN(const std::vector<float> value, FloatValues(tensor),
                      node.Label());
  return builder.AddConstant(FloatConstant(
      tensor.name, {n}, std::vector<float>(static_cast<size_t>(n), value[0])));
}

// alpha * A * B without C, or with `bias` where it is not kNoTensor.
absl::StatusOr<TensorId> EmitProduct(const Node& node, Builder& builder,
                                     TensorId a, TensorId b, TensorId bias) {
  EK_ASSIGN_OR_RETURN(const int64_t trans_b, node.Int("transB", 0));
  EK_ASSIGN_OR_RETURN(const float alpha, node.Float("alpha", 1.0f));
  if (builder.tensor(b).is_constant()) {
    if (trans_b == 0) {
      EK_ASSIGN_OR_RETURN(b, builder.Transpose(node, "weights", b, {1, 0}));
    }
    EK_ASSIGN_OR_RETURN(b, builder.Scale(node, "weights-alpha", b, alpha));
    std::vector<TensorId> inputs = {a, b};
    if (bias != kNoTensor) inputs.push_back(bias);
    return EmitFullyConnected(node, builder, std::move(inputs));
  }
  if (trans_b != 0) {
    EK_ASSIGN_OR_RETURN(b, builder.Transpose(node, "b", b, {1, 0}));
  }
  EK_ASSIGN_OR_RETURN(const TensorId product, EmitMatMul(node, builder, a, b));
  return builder.Scale(node, "alpha", product, alpha);
}

}  // namespace

absl::Status ConvertGemm(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(TensorId a, builder.FloatInput(node, 0));
  EK_ASSIGN_OR_RETURN(const TensorId b, builder.FloatInput(node, 1));
  if (builder.shape(a).size() != 2 || builder.shape(b).size() != 2) {
    return node.Invalid("A and B must have 2 dimensions");
  }
  EK_ASSIGN_OR_RETURN(const int64_t trans_a, node.Int("transA", 0));
  EK_ASSIGN_OR_RETURN(const int64_t trans_b, node.Int("transB", 0));
  EK_ASSIGN_OR_RETURN(const float beta, node.Float("beta", 1.0f));
  if (trans_a != 0) {
    EK_ASSIGN_OR_RETURN(a, builder.Transpose(node, "a", a, {1, 0}));
  }
  TensorId c = kNoTensor;
  TensorId bias = kNoTensor;
  if (node.has_input(2) && beta != 0.0f) {
    EK_ASSIGN_OR_RETURN(c, builder.FloatInput(node, 2));
    EK_ASSIGN_OR_RETURN(c, builder.Scale(node, "beta", c, beta));
    if (builder.tensor(b).is_constant()) {
      const int64_t n = builder.shape(b)[trans_b != 0 ? 0 : 1];
      EK_ASSIGN_OR_RETURN(bias, AsBias(node, builder, c, n));
    }
  }
  EK_ASSIGN_OR_RETURN(TensorId y, EmitProduct(node, builder, a, b, bias));
  if (c != kNoTensor && bias == kNoTensor) {
    v1::OpAttributes attributes;
    attributes.mutable_add();
    EK_ASSIGN_OR_RETURN(y,
                        builder.Emit(node, "c", std::move(attributes), {y, c}));
  }
  return builder.Bind(node, 0, y);
}

absl::Status ConvertMatMul(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(TensorId a, builder.FloatInput(node, 0));
  EK_ASSIGN_OR_RETURN(TensorId b, builder.FloatInput(node, 1));
  // Numpy: a vector on the left is a row, on the right a column, and its
  // dimension is not in the result.
  const bool row = builder.shape(a).size() == 1;
  const bool column = builder.shape(b).size() == 1;
  if (row) {
    EK_ASSIGN_OR_RETURN(
        a, builder.Reshape(node, "row", a, {1, builder.shape(a)[0]}));
  }
  if (column) {
    EK_ASSIGN_OR_RETURN(
        b, builder.Reshape(node, "column", b, {builder.shape(b)[0], 1}));
  }
  if (builder.shape(a).empty() || builder.shape(b).empty()) {
    return node.Invalid("a scalar has no matrix product");
  }
  TensorId y = kNoTensor;
  if (builder.tensor(b).is_constant() && builder.shape(b).size() == 2) {
    EK_ASSIGN_OR_RETURN(b, builder.Transpose(node, "weights", b, {1, 0}));
    if (builder.shape(a).back() != builder.shape(b)[1]) {
      return node.Invalid(absl::StrCat("inner dimensions ",
                                       builder.shape(a).back(), " and ",
                                       builder.shape(b)[1], " differ"));
    }
    EK_ASSIGN_OR_RETURN(y, EmitFullyConnected(node, builder, {a, b}));
  } else {
    EK_ASSIGN_OR_RETURN(y, EmitMatMul(node, builder, a, b));
  }
  std::vector<int64_t> shape = builder.shape(y);
  if (column) shape.erase(shape.end() - 1);
  if (row) shape.erase(shape.end() - (column ? 1 : 2));
  EK_ASSIGN_OR_RETURN(y, builder.Reshape(node, "vector", y, std::move(shape)));
  return builder.Bind(node, 0, y);
}

}  // namespace edgekiln::compiler::onnx_import
