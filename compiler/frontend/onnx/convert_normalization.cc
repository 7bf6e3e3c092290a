// Normalisations over a batch, a layer, an instance or neighbours; softmax.

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "compiler/frontend/onnx/axes.h"
#include "compiler/frontend/onnx/converters.h"
#include "compiler/frontend/onnx/ir_ops.h"

namespace edgekiln::compiler::onnx_import {
namespace {

// {mean, 1 / sqrt(variance + epsilon)} over `axes`, which stay as extents of 1.
absl::StatusOr<std::pair<TensorId, TensorId>> Moments(
    const Node& node, Builder& builder, TensorId x,
    const std::vector<int32_t>& axes, float epsilon) {
  EK_ASSIGN_OR_RETURN(const TensorId mean,
                      builder.Emit(node, "mean", MeanOp(axes, true), {x}));
  EK_ASSIGN_OR_RETURN(
      const TensorId centered,
      builder.Emit(node, "centered", BinaryOp(v1::Binary::SUB), {x, mean}));
  EK_ASSIGN_OR_RETURN(
      const TensorId square,
      builder.Emit(node, "square", UnaryOp(v1::Unary::SQUARE), {centered}));
  EK_ASSIGN_OR_RETURN(
      TensorId variance,
      builder.Emit(node, "variance", MeanOp(axes, true), {square}));
  const TensorId small = builder.Scalar(node, x, epsilon);
  EK_ASSIGN_OR_RETURN(variance, builder.Emit(node, "variance-epsilon", AddOp(),
                                             {variance, small}));
  EK_ASSIGN_OR_RETURN(
      const TensorId inverse,
      builder.Emit(node, "inverse", UnaryOp(v1::Unary::RSQRT), {variance}));
  return std::make_pair(mean, inverse);
}

// Before op set 13 softmax works over all dimensions from `axis` on, as if
// they were one; then over `axis`.
absl::Status ConvertSoftmaxLike(const Node& node, Builder& builder,
                                v1::OpAttributes attributes,
                                void (*set_axis)(v1::OpAttributes&, int32_t)) {
  EK_ASSIGN_OR_RETURN(TensorId x, builder.FloatInput(node, 0));
  const std::vector<int64_t> shape = builder.shape(x);
  const int64_t rank = builder.rank(x);
  const bool flattens = node.opset() < 13;
  EK_ASSIGN_OR_RETURN(const int32_t axis,
                      AxisAttribute(node, flattens ? 1 : -1, rank));
  set_axis(attributes, axis);
  if (flattens && axis + 1 < rank) {
    std::vector<int64_t> rows = {1, 1};
    for (int64_t i = 0; i < rank; ++i) rows[i < axis ? 0 : 1] *= shape[i];
    EK_ASSIGN_OR_RETURN(x, builder.Reshape(node, "rows", x, rows));
    set_axis(attributes, 1);
  }
  EK_ASSIGN_OR_RETURN(TensorId y,
                      builder.Emit(node, "", std::move(attributes), {x}));
  EK_ASSIGN_OR_RETURN(y, builder.Reshape(node, "unrows", y, shape));
  return builder.Bind(node, 0, y);
}

// A parameter of LayerNormalization in exactly the shape of what is normalised.
absl::StatusOr<TensorId> LayerParameter(const Node& node, Builder& builder,
                                        int index, TensorId x, int32_t axis) {
  EK_ASSIGN_OR_RETURN(TensorId parameter, builder.FloatInput(node, index));
  const std::vector<int64_t>& all = builder.shape(x);
  const std::vector<int64_t> wanted(all.begin() + axis, all.end());
  std::vector<int64_t> shape = builder.shape(parameter);
  while (shape.size() > wanted.size() && shape[0] == 1) {
    shape.erase(shape.begin());
  }
  EK_ASSIGN_OR_RETURN(
      parameter, builder.Reshape(node, absl::StrCat("parameter-shape-", index),
                                 parameter, std::move(shape)));
  return builder.BroadcastTo(node, absl::StrCat("parameter-", index), parameter,
                             wanted);
}

}  // namespace

absl::Status ConvertBatchNormalization(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const bool training, node.Flag("training_mode", false));
  EK_ASSIGN_OR_RETURN(const bool spatial, node.Flag("spatial", true));
  EK_ASSIGN_OR_RETURN(const bool is_test,
                      node.Flag("is_test", node.opset() >= 7));
  // Before op set 14 the further outputs exist in training only.
  if (training || !is_test || !spatial || node.has_output(1)) {
    return node.Unsupported("training mode or statistics per activation",
                            "inference with statistics per channel",
                            "export the model for inference (model.eval())");
  }
  std::vector<TensorId> inputs;
  for (int i = 0; i < 5; ++i) {
    EK_ASSIGN_OR_RETURN(TensorId input, builder.FloatInput(node, i));
    if (i > 0) {  // Statistics may have another float type than the values.
      EK_ASSIGN_OR_RETURN(input,
                          builder.Cast(node, absl::StrCat("cast-", i), input,
                                       builder.tensor(inputs[0]).type));
    }
    inputs.push_back(input);
  }
  v1::OpAttributes attributes;
  v1::BatchNormalization* op = attributes.mutable_batch_normalization();
  EK_ASSIGN_OR_RETURN(const float epsilon, node.Float("epsilon", 1e-5f));
  op->set_epsilon(epsilon);
  op->set_axis(builder.rank(inputs[0]) > 1 ? 1 : 0);
  EK_ASSIGN_OR_RETURN(const TensorId y,
                      builder.Emit(node, "", std::move(attributes), inputs));
  return builder.Bind(node, 0, y);
}

absl::Status ConvertInstanceNormalization(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const TensorId x, builder.FloatInput(node, 0));
  EK_ASSIGN_OR_RETURN(const float epsilon, node.Float("epsilon", 1e-5f));
  if (builder.rank(x) < 3) return node.Invalid("the input has no instances");
  v1::OpAttributes attributes;
  attributes.mutable_layer_normalization()->set_axis(2);
  attributes.mutable_layer_normalization()->set_epsilon(epsilon);
  EK_ASSIGN_OR_RETURN(TensorId y,
                      builder.Emit(node, "", std::move(attributes), {x}));
  std::vector<int64_t> shape(static_cast<size_t>(builder.rank(x)) - 1, 1);
  shape[0] = builder.shape(x)[1];
  for (int i = 1; i <= 2; ++i) {
    EK_ASSIGN_OR_RETURN(TensorId parameter, builder.FloatInput(node, i));
    EK_ASSIGN_OR_RETURN(
        parameter, builder.Reshape(node, i == 1 ? "scale-shape" : "bias-shape",
                                   parameter, shape));
    EK_ASSIGN_OR_RETURN(
        y, builder.Emit(node, i == 1 ? "scaled" : "biased",
                        i == 1 ? MulOp() : AddOp(), {y, parameter}));
  }
  return builder.Bind(node, 0, y);
}

absl::Status ConvertLayerNormalization(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const TensorId x, builder.FloatInput(node, 0));
  EK_ASSIGN_OR_RETURN(const int32_t axis,
                      AxisAttribute(node, -1, builder.rank(x)));
  EK_ASSIGN_OR_RETURN(const float epsilon, node.Float("epsilon", 1e-5f));
  std::vector<TensorId> inputs = {x};
  for (int i = 1; i <= 2; ++i) {
    TensorId parameter = kNoTensor;
    if (node.has_input(i)) {
      EK_ASSIGN_OR_RETURN(parameter, LayerParameter(node, builder, i, x, axis));
    }
    inputs.push_back(parameter);
  }
  if (inputs.back() == kNoTensor) inputs.pop_back();
  v1::OpAttributes attributes;
  attributes.mutable_layer_normalization()->set_axis(axis);
  attributes.mutable_layer_normalization()->set_epsilon(epsilon);
  EK_ASSIGN_OR_RETURN(const TensorId y,
                      builder.Emit(node, "", std::move(attributes), inputs));
  EK_RETURN_IF_ERROR(builder.Bind(node, 0, y));
  if (!node.has_output(1) && !node.has_output(2)) return absl::OkStatus();
  std::vector<int32_t> axes(static_cast<size_t>(builder.rank(x) - axis));
  std::iota(axes.begin(), axes.end(), axis);
  EK_ASSIGN_OR_RETURN(const auto moments,
                      Moments(node, builder, x, axes, epsilon));
  EK_RETURN_IF_ERROR(builder.Bind(node, 1, moments.first));
  return builder.Bind(node, 2, moments.second);
}

absl::Status ConvertLrn(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const TensorId x, builder.FloatInput(node, 0));
  EK_ASSIGN_OR_RETURN(const int64_t size, node.Int("size", 0));
  EK_ASSIGN_OR_RETURN(const float alpha, node.Float("alpha", 1e-4f));
  EK_ASSIGN_OR_RETURN(const float beta, node.Float("beta", 0.75f));
  EK_ASSIGN_OR_RETURN(const float bias, node.Float("bias", 1.0f));
  if (builder.rank(x) < 2 || size < 1 || size > 1 << 16) {
    return node.Invalid(absl::StrCat(
        "size ", size, " for [", absl::StrJoin(builder.shape(x), ","), "]"));
  }
  v1::OpAttributes attributes;
  v1::LocalResponseNormalization* op =
      attributes.mutable_local_response_normalization();
  op->set_size(static_cast<int32_t>(size));
  op->set_alpha(alpha);
  op->set_beta(beta);
  op->set_bias(bias);
  op->set_axis(1);
  EK_ASSIGN_OR_RETURN(const TensorId y,
                      builder.Emit(node, "", std::move(attributes), {x}));
  return builder.Bind(node, 0, y);
}

absl::Status ConvertSoftmax(const Node& node, Builder& builder) {
  v1::OpAttributes attributes;
  attributes.mutable_softmax()->set_beta(1.0f);
  return ConvertSoftmaxLike(node, builder, std::move(attributes),
                            [](v1::OpAttributes& op, int32_t axis) {
                              op.mutable_softmax()->set_axis(axis);
                            });
}

absl::Status ConvertLogSoftmax(const Node& node, Builder& builder) {
  v1::OpAttributes attributes;
  attributes.mutable_log_softmax();
  return ConvertSoftmaxLike(node, builder, std::move(attributes),
                            [](v1::OpAttributes& op, int32_t axis) {
                              op.mutable_log_softmax()->set_axis(axis);
                            });
}

}  // namespace edgekiln::compiler::onnx_import
