// Matrix products. With constant weights they are fully connected layers,
// whose weights are [N, K].

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/frontend/onnx/converters.h"
#include "compiler/frontend/onnx/ir_ops.h"
#include "compiler/frontend/onnx/products.h"

namespace edgekiln::compiler::onnx_import {
namespace {

absl::StatusOr<TensorId> EmitFullyConnected(const Node& node, Builder& builder,
                                            std::vector<TensorId> inputs) {
  v1::OpAttributes attributes;
  attributes.mutable_fully_connected();
  return builder.Emit(node, "", std::move(attributes), std::move(inputs));
}

// C of Gemm as a bias [n], or kNoTensor if it needs an addition of its own.
absl::StatusOr<TensorId> AsBias(const Node& node, Builder& builder, TensorId c,
                                int64_t n) {
  const std::vector<int64_t>& shape = builder.shape(c);
  const int64_t elements = builder.tensor(c).num_elements();
  if (elements == n && !shape.empty() && shape.back() == n) {
    return builder.Reshape(node, "bias", c, {n});
  }
  if (elements != 1 || !builder.tensor(c).is_constant()) return kNoTensor;
  EK_ASSIGN_OR_RETURN(c, builder.Reshape(node, "bias-one", c, {1}));
  return builder.BroadcastTo(node, "bias", c, {n});
}

// alpha * A * B without C, or with `bias` where it is not kNoTensor.
absl::StatusOr<TensorId> EmitProduct(const Node& node, Builder& builder,
                                     TensorId a, TensorId b, bool trans_b,
                                     TensorId bias) {
  EK_ASSIGN_OR_RETURN(const float alpha, node.Float("alpha", 1.0f));
  if (builder.IsWeights(b)) {
    if (!trans_b) {
      EK_ASSIGN_OR_RETURN(b, builder.Transpose(node, "weights", b, {1, 0}));
    }
    EK_ASSIGN_OR_RETURN(b, builder.Scale(node, "weights-alpha", b, alpha));
    std::vector<TensorId> inputs = {a, b};
    if (bias != kNoTensor) inputs.push_back(bias);
    return EmitFullyConnected(node, builder, std::move(inputs));
  }
  if (trans_b) {
    EK_ASSIGN_OR_RETURN(b, builder.Transpose(node, "b", b, {1, 0}));
  }
  EK_ASSIGN_OR_RETURN(const TensorId product,
                      builder.Emit(node, "", MatMulOp(), {a, b}));
  return builder.Scale(node, "alpha", product, alpha);
}

// The integers of input `index` as int32, less the zero point that input
// `zero` may give: one, or one per row of the left matrix (`rows`), or one per
// column of the right one.
absl::StatusOr<TensorId> CenteredInput(const Node& node, Builder& builder,
                                       int index, int zero, bool rows) {
  const auto name = [index](absl::string_view step) {
    return absl::StrCat("input-", index, "-", step);
  };
  EK_ASSIGN_OR_RETURN(TensorId x, builder.PlainInput(node, index));
  EK_ASSIGN_OR_RETURN(x, builder.Cast(node, name("int32"), x, v1::INT32));
  if (!node.has_input(zero)) return x;
  EK_ASSIGN_OR_RETURN(TensorId z, builder.PlainInput(node, zero));
  EK_ASSIGN_OR_RETURN(z, builder.Cast(node, name("zero"), z, v1::INT32));
  if (rows && builder.rank(z) == 1 && builder.shape(z)[0] > 1) {
    EK_ASSIGN_OR_RETURN(z, builder.Reshape(node, name("zero-rows"), z,
                                           {builder.shape(z)[0], 1}));
  }
  if (builder.rank(z) == 1 && builder.shape(z)[0] == 1) {
    EK_ASSIGN_OR_RETURN(z, builder.Reshape(node, name("zero-one"), z, {}));
  }
  return builder.Emit(node, name("centered"), BinaryOp(v1::Binary::SUB),
                      {x, z});
}

}  // namespace

absl::StatusOr<TensorId> EmitMatMul(const Node& node, Builder& builder,
                                    TensorId a, TensorId b) {
  // Numpy: a vector on the left is a row, on the right a column, and its
  // dimension is not in the result.
  const bool row = builder.rank(a) == 1;
  const bool column = builder.rank(b) == 1;
  if (row) {
    EK_ASSIGN_OR_RETURN(
        a, builder.Reshape(node, "row", a, {1, builder.shape(a)[0]}));
  }
  if (column) {
    EK_ASSIGN_OR_RETURN(
        b, builder.Reshape(node, "column", b, {builder.shape(b)[0], 1}));
  }
  if (builder.rank(a) == 0 || builder.rank(b) == 0) {
    return node.Invalid("a scalar has no matrix product");
  }
  TensorId y = kNoTensor;
  const v1::ElementType type = builder.tensor(a).type;
  if (builder.IsWeights(b) && builder.rank(b) == 2 && IsFloat(type)) {
    EK_ASSIGN_OR_RETURN(b, builder.Transpose(node, "weights", b, {1, 0}));
    if (builder.shape(a).back() != builder.shape(b)[1]) {
      return node.Invalid(absl::StrCat("inner dimensions ",
                                       builder.shape(a).back(), " and ",
                                       builder.shape(b)[1], " differ"));
    }
    EK_ASSIGN_OR_RETURN(y, EmitFullyConnected(node, builder, {a, b}));
  } else {
    EK_ASSIGN_OR_RETURN(y, builder.Emit(node, "", MatMulOp(), {a, b}));
  }
  std::vector<int64_t> shape = builder.shape(y);
  if (column) shape.erase(shape.end() - 1);
  if (row) shape.erase(shape.end() - (column ? 1 : 2));
  return builder.Reshape(node, "vector", y, std::move(shape));
}

absl::StatusOr<TensorId> EmitGemm(const Node& node, Builder& builder,
                                  TensorId a, TensorId b, TensorId c) {
  if (builder.rank(a) != 2 || builder.rank(b) != 2) {
    return node.Invalid("A and B must have 2 dimensions");
  }
  EK_ASSIGN_OR_RETURN(const bool trans_a, node.Flag("transA", false));
  EK_ASSIGN_OR_RETURN(const bool trans_b, node.Flag("transB", false));
  if (trans_a) {
    EK_ASSIGN_OR_RETURN(a, builder.Transpose(node, "a", a, {1, 0}));
  }
  if (builder.shape(a)[1] != builder.shape(b)[trans_b ? 1 : 0]) {
    return node.Invalid(absl::StrCat("inner dimensions ", builder.shape(a)[1],
                                     " and ", builder.shape(b)[trans_b ? 1 : 0],
                                     " differ"));
  }
  TensorId bias = kNoTensor;
  if (c != kNoTensor && builder.IsWeights(b)) {
    const int64_t n = builder.shape(b)[trans_b ? 0 : 1];
    EK_ASSIGN_OR_RETURN(bias, AsBias(node, builder, c, n));
  }
  EK_ASSIGN_OR_RETURN(const TensorId y,
                      EmitProduct(node, builder, a, b, trans_b, bias));
  if (c == kNoTensor || bias != kNoTensor) return y;
  return builder.Emit(node, "c", AddOp(), {y, c});
}

absl::Status ConvertGemm(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const TensorId a, builder.PlainInput(node, 0));
  EK_ASSIGN_OR_RETURN(const TensorId b, builder.PlainInput(node, 1));
  EK_ASSIGN_OR_RETURN(const float beta, node.Float("beta", 1.0f));
  TensorId c = kNoTensor;
  if (node.has_input(2) && beta != 0.0f) {
    EK_ASSIGN_OR_RETURN(c, builder.PlainInput(node, 2));
    EK_ASSIGN_OR_RETURN(c, builder.Scale(node, "beta", c, beta));
  }
  EK_ASSIGN_OR_RETURN(const TensorId y, EmitGemm(node, builder, a, b, c));
  return builder.Bind(node, 0, y);
}

absl::Status ConvertMatMul(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const TensorId a, builder.PlainInput(node, 0));
  EK_ASSIGN_OR_RETURN(const TensorId b, builder.PlainInput(node, 1));
  EK_ASSIGN_OR_RETURN(const TensorId y, EmitMatMul(node, builder, a, b));
  return builder.Bind(node, 0, y);
}

absl::Status ConvertMatMulInteger(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const TensorId a,
                      CenteredInput(node, builder, 0, 2, /*rows=*/true));
  EK_ASSIGN_OR_RETURN(const TensorId b,
                      CenteredInput(node, builder, 1, 3, /*rows=*/false));
  EK_ASSIGN_OR_RETURN(const TensorId y, EmitMatMul(node, builder, a, b));
  return builder.Bind(node, 0, y);
}

absl::Status ConvertConvInteger(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const TensorId x,
                      CenteredInput(node, builder, 0, 2, /*rows=*/false));
  EK_ASSIGN_OR_RETURN(TensorId w, builder.PlainInput(node, 1));
  EK_ASSIGN_OR_RETURN(w, builder.Cast(node, "weights-int32", w, v1::INT32));
  if (node.has_input(3)) {
    EK_ASSIGN_OR_RETURN(TensorId z, builder.PlainInput(node, 3));
    EK_ASSIGN_OR_RETURN(z, builder.Cast(node, "weights-zero", z, v1::INT32));
    if (builder.rank(w) == 0) return node.Invalid("weights of one number");
    // One, or one per output channel.
    std::vector<int64_t> shape(static_cast<size_t>(builder.rank(w)), 1);
    shape[0] = builder.tensor(z).num_elements();
    EK_ASSIGN_OR_RETURN(
        z, builder.Reshape(node, "weights-zeros", z, std::move(shape)));
    EK_ASSIGN_OR_RETURN(w, builder.Emit(node, "weights-centered",
                                        BinaryOp(v1::Binary::SUB), {w, z}));
  }
  EK_ASSIGN_OR_RETURN(const TensorId y,
                      EmitConv(node, builder, x, w, kNoTensor));
  return builder.Bind(node, 0, y);
}

}  // namespace edgekiln::compiler::onnx_import
