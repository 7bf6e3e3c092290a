// Element-wise ops, normalisation, softmax and reductions. They work in the
// model's own layout.

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/frontend/onnx/converters.h"
#include "compiler/frontend/onnx/tensor_data.h"

namespace edgekiln::compiler::onnx_import {
namespace {

v1::OpAttributes AddAttributes() {
  v1::OpAttributes attributes;
  attributes.mutable_add();
  return attributes;
}

v1::OpAttributes MulAttributes() {
  v1::OpAttributes attributes;
  attributes.mutable_mul();
  return attributes;
}

// The second input of a binary op. Op set 6 broadcasts only if told to, and
// may line its dimensions up with those of the first from `axis` on.
absl::StatusOr<TensorId> SecondInput(const Node& node, Builder& builder,
                                     TensorId a) {
  EK_ASSIGN_OR_RETURN(const TensorId b, builder.FloatInput(node, 1));
  if (node.opset() >= 7) return b;
  EK_ASSIGN_OR_RETURN(const int64_t broadcast, node.Int("broadcast", 0));
  const int64_t rank = static_cast<int64_t>(builder.shape(a).size());
  std::vector<int64_t> shape = builder.shape(b);
  if (broadcast == 0) {
    if (shape == builder.shape(a)) return b;
    return node.Invalid("the inputs differ in shape and broadcast is 0");
  }
  const int64_t suffix = rank - static_cast<int64_t>(shape.size());
  EK_ASSIGN_OR_RETURN(const int64_t axis, node.Int("axis", suffix));
  if (axis < 0 || axis > suffix) {
    return node.Invalid(absl::StrCat("axis ", axis, " of rank ", rank));
  }
  shape.insert(shape.end(), static_cast<size_t>(suffix - axis), 1);
  return builder.Reshape(node, "aligned", b, std::move(shape));
}

// Emits an op with the node's two inputs and binds it.
absl::Status ConvertBinary(const Node& node, Builder& builder,
                           v1::OpAttributes attributes) {
  EK_ASSIGN_OR_RETURN(const TensorId a, builder.FloatInput(node, 0));
  EK_ASSIGN_OR_RETURN(const TensorId b, SecondInput(node, builder, a));
  EK_ASSIGN_OR_RETURN(const TensorId y,
                      builder.Emit(node, "", std::move(attributes), {a, b}));
  return builder.Bind(node, 0, y);
}

absl::Status EmitClip(const Node& node, Builder& builder,
                      std::optional<float> min, std::optional<float> max) {
  if ((min.has_value() && std::isnan(*min)) ||
      (max.has_value() && std::isnan(*max)) ||
      (min.has_value() && max.has_value() && *min > *max)) {
    return node.Unsupported("bounds that are not a number or reversed",
                            "min <= max", "check the bounds");
  }
  EK_ASSIGN_OR_RETURN(const TensorId x, builder.FloatInput(node, 0));
  v1::OpAttributes attributes;
  v1::Clamp* clamp = attributes.mutable_clip()->mutable_clamp();
  // Bounds that no finite value reaches are none.
  if (min.has_value() && *min > std::numeric_limits<float>::lowest()) {
    clamp->set_min(*min);
  }
  if (max.has_value() && *max < std::numeric_limits<float>::max()) {
    clamp->set_max(*max);
  }
  EK_ASSIGN_OR_RETURN(const TensorId y,
                      builder.Emit(node, "", std::move(attributes), {x}));
  return builder.Bind(node, 0, y);
}

// A bound of Clip given as an optional constant input.
absl::StatusOr<std::optional<float>> ClipBound(const Node& node,
                                               const Builder& builder,
                                               int index) {
  if (!node.has_input(index)) return std::optional<float>();
  EK_ASSIGN_OR_RETURN(const Tensor* bound, builder.ConstantInput(node, index));
  EK_ASSIGN_OR_RETURN(const std::vector<float> values, FloatValues(*bound),
                      node.Label());
  if (values.size() != 1) return node.Invalid("a bound must be one number");
  return std::optional<float>(values[0]);
}

// Non-negative form of an axis of a tensor with `rank` dimensions.
absl::StatusOr<int32_t> CheckedAxis(const Node& node, int64_t axis,
                                    int64_t rank) {
  if (axis < -rank || axis >= rank) {
    return node.Invalid(
        absl::StrCat("axis ", axis, " of a tensor of rank ", rank));
  }
  return static_cast<int32_t>(axis < 0 ? axis + rank : axis);
}

}  // namespace

absl::Status ConvertAdd(const Node& node, Builder& builder) {
  return ConvertBinary(node, builder, AddAttributes());
}

absl::Status ConvertMul(const Node& node, Builder& builder) {
  return ConvertBinary(node, builder, MulAttributes());
}

absl::Status ConvertSub(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const TensorId a, builder.FloatInput(node, 0));
  EK_ASSIGN_OR_RETURN(TensorId b, SecondInput(node, builder, a));
  EK_ASSIGN_OR_RETURN(b, builder.Scale(node, "negated", b, -1.0f));
  EK_ASSIGN_OR_RETURN(const TensorId y,
                      builder.Emit(node, "", AddAttributes(), {a, b}));
  return builder.Bind(node, 0, y);
}

absl::Status ConvertDiv(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const TensorId a, builder.FloatInput(node, 0));
  EK_RETURN_IF_ERROR(builder.ConstantInput(node, 1).status());
  EK_ASSIGN_OR_RETURN(const TensorId aligned, SecondInput(node, builder, a));
  const Tensor divisor = builder.tensor(aligned);  // Shares the values.
  EK_ASSIGN_OR_RETURN(std::vector<float> values, FloatValues(divisor),
                      node.Label());
  for (float& value : values) {
    if (value == 0.0f) {
      return node.Unsupported("division by zero", "divisors other than 0",
                              "check the divisor");
    }
    value = 1.0f / value;
  }
  const TensorId b = builder.AddConstant(FloatConstant(
      absl::StrCat(divisor.name, ".reciprocal"), divisor.shape, values));
  EK_ASSIGN_OR_RETURN(const TensorId y,
                      builder.Emit(node, "", MulAttributes(), {a, b}));
  return builder.Bind(node, 0, y);
}

absl::Status ConvertSum(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(TensorId sum, builder.FloatInput(node, 0));
  for (int i = 1; i < node.num_inputs(); ++i) {
    EK_ASSIGN_OR_RETURN(const TensorId term, builder.FloatInput(node, i));
    const bool last = i + 1 == node.num_inputs();
    EK_ASSIGN_OR_RETURN(
        sum, builder.Emit(node, last ? "" : absl::StrCat("partial-", i),
                          AddAttributes(), {sum, term}));
  }
  return builder.Bind(node, 0, sum);
}

absl::Status ConvertNeg(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const TensorId x, builder.FloatInput(node, 0));
  EK_ASSIGN_OR_RETURN(const TensorId y, builder.Scale(node, "", x, -1.0f));
  return builder.Bind(node, 0, y);
}

absl::Status ConvertRelu(const Node& node, Builder& builder) {
  return EmitClip(node, builder, 0.0f, std::nullopt);
}

absl::Status ConvertClip(const Node& node, Builder& builder) {
  std::optional<float> min;
  std::optional<float> max;
  if (node.opset() < 11) {
    EK_ASSIGN_OR_RETURN(
        min, node.Float("min", -std::numeric_limits<float>::infinity()));
    EK_ASSIGN_OR_RETURN(
        max, node.Float("max", std::numeric_limits<float>::infinity()));
  } else {
    EK_ASSIGN_OR_RETURN(min, ClipBound(node, builder, 1));
    EK_ASSIGN_OR_RETURN(max, ClipBound(node, builder, 2));
  }
  return EmitClip(node, builder, min, max);
}

absl::Status ConvertBatchNormalization(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const int64_t training, node.Int("training_mode", 0));
  EK_ASSIGN_OR_RETURN(const int64_t spatial, node.Int("spatial", 1));
  EK_ASSIGN_OR_RETURN(const int64_t is_test,
                      node.Int("is_test", node.opset() < 7 ? 0 : 1));
  // Before op set 14 the further outputs exist in training only.
  if (training != 0 || is_test == 0 || spatial != 1 || node.has_output(1)) {
    return node.Unsupported("training mode or statistics per activation",
                            "inference with statistics per channel",
                            "export the model for inference (model.eval())");
  }
  std::vector<TensorId> inputs;
  for (int i = 0; i < 5; ++i) {
    EK_ASSIGN_OR_RETURN(const TensorId input, builder.FloatInput(node, i));
    inputs.push_back(input);
  }
  v1::OpAttributes attributes;
  v1::BatchNormalization* op = attributes.mutable_batch_normalization();
  EK_ASSIGN_OR_RETURN(const float epsilon, node.Float("epsilon", 1e-5f));
  op->set_epsilon(epsilon);
  op->set_axis(builder.shape(inputs[0]).size() > 1 ? 1 : 0);
  EK_ASSIGN_OR_RETURN(const TensorId y,
                      builder.Emit(node, "", std::move(attributes), inputs));
  return builder.Bind(node, 0, y);
}

absl::Status ConvertSoftmax(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(TensorId x, builder.FloatInput(node, 0));
  const std::vector<int64_t> shape = builder.shape(x);
  const int64_t rank = static_cast<int64_t>(shape.size());
  const bool flattens = node.opset() < 13;
  EK_ASSIGN_OR_RETURN(int64_t axis, node.Int("axis", flattens ? 1 : -1));
  EK_ASSIGN_OR_RETURN(axis, CheckedAxis(node, axis, rank));
  v1::OpAttributes attributes;
  v1::Softmax* op = attributes.mutable_softmax();
  op->set_beta(1.0f);
  op->set_axis(static_cast<int32_t>(axis));
  if (flattens && axis + 1 < rank) {
    // Before op set 13: over all dimensions from `axis` on, as if they were
    // one.
    std::vector<int64_t> rows = {1, 1};
    for (int64_t i = 0; i < rank; ++i) rows[i < axis ? 0 : 1] *= shape[i];
    EK_ASSIGN_OR_RETURN(x, builder.Reshape(node, "rows", x, rows));
    op->set_axis(1);
  }
  EK_ASSIGN_OR_RETURN(TensorId y,
                      builder.Emit(node, "", std::move(attributes), {x}));
  EK_ASSIGN_OR_RETURN(y, builder.Reshape(node, "unrows", y, shape));
  return builder.Bind(node, 0, y);
}

absl::Status ConvertReduceMean(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const TensorId x, builder.FloatInput(node, 0));
  const int64_t rank = static_cast<int64_t>(builder.shape(x).size());
  std::vector<int64_t> axes;
  if (node.opset() >= 18) {
    if (node.has_input(1)) {
      EK_ASSIGN_OR_RETURN(axes, builder.ConstantIntegers(node, 1));
    }
  } else {
    EK_ASSIGN_OR_RETURN(axes, node.Ints("axes"));
  }
  EK_ASSIGN_OR_RETURN(const int64_t noop, node.Int("noop_with_empty_axes", 0));
  EK_ASSIGN_OR_RETURN(const int64_t keep, node.Int("keepdims", 1));
  if (axes.empty()) {
    if (noop != 0) return builder.Bind(node, 0, x);
    for (int64_t i = 0; i < rank; ++i) axes.push_back(i);
  }
  std::vector<int32_t> checked;
  for (const int64_t axis : axes) {
    EK_ASSIGN_OR_RETURN(const int32_t one, CheckedAxis(node, axis, rank));
    checked.push_back(one);
  }
  std::sort(checked.begin(), checked.end());
  if (std::adjacent_find(checked.begin(), checked.end()) != checked.end()) {
    return node.Invalid("an axis is given twice");
  }
  v1::OpAttributes attributes;
  v1::ReduceMean* op = attributes.mutable_reduce_mean();
  op->mutable_axes()->Assign(checked.begin(), checked.end());
  op->set_keep_dims(keep != 0);
  EK_ASSIGN_OR_RETURN(const TensorId y,
                      builder.Emit(node, "", std::move(attributes), {x}));
  return builder.Bind(node, 0, y);
}

}  // namespace edgekiln::compiler::onnx_import
