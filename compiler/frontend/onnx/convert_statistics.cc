// Normalizations that are put together from means and norms.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/frontend/onnx/axes.h"
#include "compiler/frontend/onnx/converters.h"
#include "compiler/frontend/onnx/ir_ops.h"

namespace edgekiln::compiler::onnx_import {
namespace {

// Below every norm that floats give: keeps 0 / 0 at 0.
constexpr float kTiny = 1e-30f;

// One value per channel, in a shape that meets [N, C, ...] of `rank`
// dimensions; `groups` values become one per channel.
absl::StatusOr<TensorId> PerChannel(const Node& node, Builder& builder,
                                    int index, int64_t channels, int64_t groups,
                                    int64_t rank) {
  EK_ASSIGN_OR_RETURN(TensorId x, builder.FloatInput(node, index));
  const int64_t given = builder.tensor(x).num_elements();
  const std::string role = absl::StrCat("parameter-", index);
  if (given == groups && given != channels) {
    EK_ASSIGN_OR_RETURN(x, builder.Reshape(node, absl::StrCat(role, "-groups"),
                                           x, {groups, 1}));
    EK_ASSIGN_OR_RETURN(
        x, builder.BroadcastTo(node, absl::StrCat(role, "-repeated"), x,
                               {groups, channels / groups}));
  }
  std::vector<int64_t> shape(static_cast<size_t>(rank) - 1, 1);
  shape[0] = channels;
  return builder.Reshape(node, role, x, std::move(shape));
}

}  // namespace

// (x - mean) / (sqrt(variance) + 1e-9)
absl::Status ConvertMeanVarianceNormalization(const Node& node,
                                              Builder& builder) {
  EK_ASSIGN_OR_RETURN(const TensorId x, builder.FloatInput(node, 0));
  EK_ASSIGN_OR_RETURN(std::vector<int64_t> given, node.Ints("axes"));
  if (!node.Has("axes")) given = {0, 2, 3};
  std::vector<int32_t> axes;
  for (const int64_t axis : given) {
    EK_ASSIGN_OR_RETURN(const int32_t checked,
                        CheckedAxis(node, axis, builder.rank(x)));
    axes.push_back(checked);
  }
  std::sort(axes.begin(), axes.end());
  EK_ASSIGN_OR_RETURN(const TensorId mean,
                      builder.Emit(node, "mean", MeanOp(axes, true), {x}));
  EK_ASSIGN_OR_RETURN(
      const TensorId centred,
      builder.Emit(node, "centred", BinaryOp(v1::Binary::SUB), {x, mean}));
  EK_ASSIGN_OR_RETURN(
      TensorId deviation,
      builder.Emit(node, "square", UnaryOp(v1::Unary::SQUARE), {centred}));
  EK_ASSIGN_OR_RETURN(deviation, builder.Emit(node, "variance",
                                              MeanOp(axes, true), {deviation}));
  EK_ASSIGN_OR_RETURN(
      deviation,
      builder.Emit(node, "root", UnaryOp(v1::Unary::SQRT), {deviation}));
  const TensorId small = builder.Scalar(node, x, 1e-9);
  EK_ASSIGN_OR_RETURN(
      deviation, builder.Emit(node, "deviation", AddOp(), {deviation, small}));
  EK_ASSIGN_OR_RETURN(
      const TensorId y,
      builder.Emit(node, "", BinaryOp(v1::Binary::DIV), {centred, deviation}));
  return builder.Bind(node, 0, y);
}

absl::Status ConvertLpNormalization(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const TensorId x, builder.FloatInput(node, 0));
  EK_ASSIGN_OR_RETURN(const int32_t axis,
                      AxisAttribute(node, -1, builder.rank(x)));
  EK_ASSIGN_OR_RETURN(const int64_t p, node.Int("p", 2));
  if (p == 2) {
    v1::OpAttributes attributes;
    attributes.mutable_l2_normalization()->set_axis(axis);
    attributes.mutable_l2_normalization()->set_epsilon(kTiny);
    EK_ASSIGN_OR_RETURN(const TensorId y,
                        builder.Emit(node, "", std::move(attributes), {x}));
    return builder.Bind(node, 0, y);
  }
  if (p != 1) return node.Invalid(absl::StrCat("p is ", p, ", not 1 or 2"));
  EK_ASSIGN_OR_RETURN(
      TensorId norm,
      builder.Emit(node, "norm", ReduceOp(v1::Reduce::L1, {axis}, true), {x}));
  const TensorId tiny = builder.Scalar(node, x, double{kTiny});
  EK_ASSIGN_OR_RETURN(
      norm, builder.Emit(node, "bounded", BinaryOp(v1::Binary::MAXIMUM),
                         {norm, tiny}));
  EK_ASSIGN_OR_RETURN(
      const TensorId y,
      builder.Emit(node, "", BinaryOp(v1::Binary::DIV), {x, norm}));
  return builder.Bind(node, 0, y);
}

// Scales and biases are one per group before op set 21, then one per channel.
absl::Status ConvertGroupNormalization(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const TensorId x, builder.FloatInput(node, 0));
  EK_ASSIGN_OR_RETURN(const float epsilon, node.Float("epsilon", 1e-5f));
  EK_ASSIGN_OR_RETURN(const int64_t groups, node.Int("num_groups", 0));
  const std::vector<int64_t> shape = builder.shape(x);
  if (shape.size() < 3 || groups < 1 || shape[1] % groups != 0) {
    return node.Invalid(absl::StrCat(
        groups, " groups of ", shape.size() < 2 ? 0 : shape[1], " channels"));
  }
  const int64_t elements = builder.tensor(x).num_elements();
  const int64_t rows = shape[0] * groups;
  if (rows == 0) return node.Invalid("the input is empty");
  EK_ASSIGN_OR_RETURN(
      TensorId y,
      builder.Reshape(node, "groups", x, {shape[0], groups, elements / rows}));
  v1::OpAttributes attributes;
  attributes.mutable_layer_normalization()->set_axis(2);
  attributes.mutable_layer_normalization()->set_epsilon(epsilon);
  EK_ASSIGN_OR_RETURN(y, builder.Emit(node, "", std::move(attributes), {y}));
  EK_ASSIGN_OR_RETURN(y, builder.Reshape(node, "ungrouped", y, shape));
  for (int i = 1; i <= 2; ++i) {
    EK_ASSIGN_OR_RETURN(
        const TensorId parameter,
        PerChannel(node, builder, i, shape[1], groups, std::ssize(shape)));
    EK_ASSIGN_OR_RETURN(
        y, builder.Emit(node, i == 1 ? "scaled" : "biased",
                        i == 1 ? MulOp() : AddOp(), {y, parameter}));
  }
  return builder.Bind(node, 0, y);
}

}  // namespace edgekiln::compiler::onnx_import
