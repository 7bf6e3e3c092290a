// Losses, as exports of networks in training hold them: values of the labels'
// classes, weighed and averaged.

#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/frontend/onnx/axes.h"
#include "compiler/frontend/onnx/converters.h"
#include "compiler/frontend/onnx/ir_ops.h"

namespace edgekiln::compiler::onnx_import {
namespace {

std::vector<int32_t> AllAxes(int64_t rank) {
  std::vector<int32_t> axes(static_cast<size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

// The labels that count, and these with 0 in the place of others.
struct Labels {
  TensorId index = kNoTensor;
  TensorId counts = kNoTensor;  // bool; absent: all of them.
};

absl::StatusOr<Labels> ReadLabels(const Node& node, Builder& builder) {
  Labels labels;
  EK_ASSIGN_OR_RETURN(labels.index, builder.PlainInput(node, 1));
  if (!node.Has("ignore_index")) return labels;
  EK_ASSIGN_OR_RETURN(const int64_t ignored, node.Int("ignore_index", 0));
  const TensorId no_label =
      builder.Scalar(node, labels.index, static_cast<double>(ignored));
  EK_ASSIGN_OR_RETURN(
      labels.counts,
      builder.Emit(node, "counts", BinaryOp(v1::Binary::NOT_EQUAL),
                   {labels.index, no_label}));
  const TensorId zero = builder.Scalar(node, labels.index, 0);
  EK_ASSIGN_OR_RETURN(labels.index,
                      builder.Emit(node, "labels", SelectOp(),
                                   {labels.counts, labels.index, zero}));
  return labels;
}

// The weight of each label, absent if all are 1.
absl::StatusOr<TensorId> Weights(const Node& node, Builder& builder,
                                 const Labels& labels, TensorId x) {
  TensorId weights = kNoTensor;
  if (node.has_input(2)) {
    EK_ASSIGN_OR_RETURN(const TensorId table, builder.FloatInput(node, 2));
    if (builder.rank(table) != 1) return node.Invalid("weights are no list");
    v1::OpAttributes gather;
    gather.mutable_gather()->set_axis(0);
    EK_ASSIGN_OR_RETURN(
        weights, builder.Emit(node, "weights", gather, {table, labels.index}));
  }
  if (labels.counts == kNoTensor) return weights;
  if (weights == kNoTensor) {
    return builder.Cast(node, "counted", labels.counts, builder.tensor(x).type);
  }
  const TensorId zero = builder.Scalar(node, weights, 0);
  return builder.Emit(node, "counted", SelectOp(),
                      {labels.counts, weights, zero});
}

absl::StatusOr<TensorId> Summed(const Node& node, Builder& builder,
                                absl::string_view role, TensorId x) {
  return builder.Emit(
      node, role,
      ReduceOp(v1::Reduce::SUM, AllAxes(builder.rank(x)), /*keep_dims=*/false),
      {x});
}

// `x` are logarithms of probabilities, [N, C, ...].
absl::Status BindLoss(const Node& node, Builder& builder, TensorId x) {
  EK_ASSIGN_OR_RETURN(
      const int reduction,
      WordAttribute(node, "reduction", "mean", {"none", "sum", "mean"}));
  EK_ASSIGN_OR_RETURN(const Labels labels, ReadLabels(node, builder));
  const std::vector<int64_t> shape = builder.shape(labels.index);
  if (builder.rank(x) < 2 || builder.rank(x) != std::ssize(shape) + 1) {
    return node.Invalid("the labels do not have one dimension less");
  }
  std::vector<int64_t> column = shape;
  column.insert(column.begin() + 1, 1);
  EK_ASSIGN_OR_RETURN(
      const TensorId at,
      builder.Reshape(node, "column", labels.index, std::move(column)));
  v1::OpAttributes pick;
  pick.mutable_gather_elements()->set_axis(1);
  EK_ASSIGN_OR_RETURN(TensorId loss,
                      builder.Emit(node, "picked", std::move(pick), {x, at}));
  EK_ASSIGN_OR_RETURN(loss, builder.Reshape(node, "of-label", loss, shape));
  EK_ASSIGN_OR_RETURN(
      loss, builder.Emit(node, "negative", UnaryOp(v1::Unary::NEG), {loss}));
  EK_ASSIGN_OR_RETURN(const TensorId weights,
                      Weights(node, builder, labels, x));
  if (weights != kNoTensor) {
    EK_ASSIGN_OR_RETURN(
        loss, builder.Emit(node, "weighed", MulOp(), {loss, weights}));
  }
  if (reduction == 2 && weights == kNoTensor) {
    EK_ASSIGN_OR_RETURN(loss, builder.Emit(node, "",
                                           MeanOp(AllAxes(builder.rank(loss)),
                                                  /*keep_dims=*/false),
                                           {loss}));
  } else if (reduction > 0) {
    EK_ASSIGN_OR_RETURN(loss, Summed(node, builder, "sum", loss));
  }
  if (reduction == 2 && weights != kNoTensor) {
    EK_ASSIGN_OR_RETURN(const TensorId total,
                        Summed(node, builder, "total", weights));
    EK_ASSIGN_OR_RETURN(
        loss, builder.Emit(node, "", BinaryOp(v1::Binary::DIV), {loss, total}));
  }
  return builder.Bind(node, 0, loss);
}

}  // namespace

absl::Status ConvertNegativeLogLikelihoodLoss(const Node& node,
                                              Builder& builder) {
  EK_ASSIGN_OR_RETURN(const TensorId x, builder.FloatInput(node, 0));
  return BindLoss(node, builder, x);
}

absl::Status ConvertSoftmaxCrossEntropyLoss(const Node& node,
                                            Builder& builder) {
  EK_ASSIGN_OR_RETURN(const TensorId scores, builder.FloatInput(node, 0));
  if (builder.rank(scores) < 2) return node.Invalid("no classes");
  v1::OpAttributes log_softmax;
  log_softmax.mutable_log_softmax()->set_axis(1);
  EK_ASSIGN_OR_RETURN(
      const TensorId x,
      builder.Emit(node, "log-softmax", std::move(log_softmax), {scores}));
  if (node.has_output(1)) EK_RETURN_IF_ERROR(builder.Bind(node, 1, x));
  if (!node.has_output(0)) return absl::OkStatus();
  return BindLoss(node, builder, x);
}

}  // namespace edgekiln::compiler::onnx_import
