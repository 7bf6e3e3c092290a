// One value from one value, or from two: arithmetic, comparisons, logic.

#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/frontend/onnx/axes.h"
#include "compiler/frontend/onnx/converters.h"
#include "compiler/frontend/onnx/ir_ops.h"
#include "compiler/frontend/onnx/tensor_data.h"
#include "compiler/frontend/onnx/type_attribute.h"

namespace edgekiln::compiler::onnx_import {
namespace {

struct UnaryEntry {
  absl::string_view op_type;
  v1::Unary::Function function;
  float alpha = 0;  // Where the node does not say.
  float beta = 0;
  absl::string_view beta_attribute = "beta";
  absl::string_view alpha_attribute = "alpha";
};

constexpr UnaryEntry kUnary[] = {
    {"Abs", v1::Unary::ABS},
    {"Acos", v1::Unary::ACOS},
    {"Acosh", v1::Unary::ACOSH},
    {"Asin", v1::Unary::ASIN},
    {"Asinh", v1::Unary::ASINH},
    {"Atan", v1::Unary::ATAN},
    {"Atanh", v1::Unary::ATANH},
    {"BitwiseNot", v1::Unary::BITWISE_NOT},
    {"Ceil", v1::Unary::CEIL},
    {"Celu", v1::Unary::CELU, 1.0f},
    {"Cos", v1::Unary::COS},
    {"Cosh", v1::Unary::COSH},
    {"Elu", v1::Unary::ELU, 1.0f},
    {"Erf", v1::Unary::ERF},
    {"Exp", v1::Unary::EXP},
    {"Floor", v1::Unary::FLOOR},
    {"HardSigmoid", v1::Unary::HARD_SIGMOID, 0.2f, 0.5f},
    {"HardSwish", v1::Unary::HARD_SWISH},
    {"LeakyRelu", v1::Unary::LEAKY_RELU, 0.01f},
    {"Log", v1::Unary::LOG},
    {"Neg", v1::Unary::NEG},
    {"Not", v1::Unary::NOT},
    {"Reciprocal", v1::Unary::RECIPROCAL},
    {"Round", v1::Unary::ROUND},
    {"Selu", v1::Unary::SELU, 1.67326319217681884765625f,
     1.05070102214813232421875f, "gamma"},
    {"Sigmoid", v1::Unary::SIGMOID},
    {"Shrink", v1::Unary::SHRINK, 0.5f, 0, "bias", "lambd"},
    {"Sign", v1::Unary::SIGN},
    {"Sin", v1::Unary::SIN},
    {"Sinh", v1::Unary::SINH},
    {"Softplus", v1::Unary::SOFTPLUS},
    {"Softsign", v1::Unary::SOFTSIGN},
    {"Sqrt", v1::Unary::SQRT},
    {"Tan", v1::Unary::TAN},
    {"Tanh", v1::Unary::TANH},
};

struct BinaryEntry {
  absl::string_view op_type;
  v1::Binary::Function function;
};

constexpr BinaryEntry kBinary[] = {
    {"And", v1::Binary::AND},
    {"BitwiseAnd", v1::Binary::BITWISE_AND},
    {"BitwiseOr", v1::Binary::BITWISE_OR},
    {"BitwiseXor", v1::Binary::BITWISE_XOR},
    {"Div", v1::Binary::DIV},
    {"Equal", v1::Binary::EQUAL},
    {"Greater", v1::Binary::GREATER},
    {"GreaterOrEqual", v1::Binary::GREATER_OR_EQUAL},
    {"Less", v1::Binary::LESS},
    {"LessOrEqual", v1::Binary::LESS_OR_EQUAL},
    {"Or", v1::Binary::OR},
    {"Pow", v1::Binary::POW},
    {"PRelu", v1::Binary::PRELU},
    {"Sub", v1::Binary::SUB},
    {"Xor", v1::Binary::XOR},
};

// The second input of a binary op. Op set 6 broadcasts only if told to, and
// may line its dimensions up with those of the first from `axis` on.
absl::StatusOr<TensorId> SecondInput(const Node& node, Builder& builder,
                                     TensorId a) {
  EK_ASSIGN_OR_RETURN(const TensorId b, builder.PlainInput(node, 1));
  if (node.opset() >= 7) return b;
  EK_ASSIGN_OR_RETURN(const int64_t broadcast, node.Int("broadcast", 0));
  std::vector<int64_t> shape = builder.shape(b);
  if (broadcast == 0) {
    if (shape == builder.shape(a)) return b;
    return node.Invalid("the inputs differ in shape and broadcast is 0");
  }
  const int64_t suffix = builder.rank(a) - builder.rank(b);
  EK_ASSIGN_OR_RETURN(const int64_t axis, node.Int("axis", suffix));
  if (axis < 0 || axis > suffix) {
    return node.Invalid(
        absl::StrCat("axis ", axis, " of rank ", builder.rank(a)));
  }
  shape.insert(shape.end(), static_cast<size_t>(suffix - axis), 1);
  return builder.Reshape(node, "aligned", b, std::move(shape));
}

absl::Status ConvertTwo(const Node& node, Builder& builder,
                        v1::OpAttributes attributes) {
  EK_ASSIGN_OR_RETURN(const TensorId a, builder.PlainInput(node, 0));
  EK_ASSIGN_OR_RETURN(const TensorId b, SecondInput(node, builder, a));
  EK_ASSIGN_OR_RETURN(const TensorId y,
                      builder.Emit(node, "", std::move(attributes), {a, b}));
  return builder.Bind(node, 0, y);
}

// A float constant as another one; nothing if it is none, or a result is not
// finite.
template <typename Change>
std::optional<TensorId> Changed(Builder& builder, TensorId id, Change change) {
  const Tensor constant = builder.tensor(id);  // Shares the values.
  if (!constant.is_constant() || constant.type != v1::FLOAT32) {
    return std::nullopt;
  }
  absl::StatusOr<std::vector<float>> values = FloatValues(constant);
  if (!values.ok()) return std::nullopt;
  for (float& value : *values) {
    value = change(value);
    if (!std::isfinite(value)) return std::nullopt;
  }
  return builder.AddConstant(
      FloatConstant(constant.name, constant.shape, *values));
}

absl::StatusOr<TensorId> Joined(const Node& node, Builder& builder,
                                const v1::OpAttributes& op) {
  EK_ASSIGN_OR_RETURN(TensorId sum, builder.PlainInput(node, 0));
  for (int i = 1; i < node.num_inputs(); ++i) {
    EK_ASSIGN_OR_RETURN(const TensorId term, builder.PlainInput(node, i));
    const bool last = i + 1 == node.num_inputs();
    EK_ASSIGN_OR_RETURN(
        sum, builder.Emit(node, last ? "" : absl::StrCat("partial-", i), op,
                          {sum, term}));
  }
  return sum;
}

// Bounds that are tensors, or of a type whose values a float may not hold.
absl::Status ClipByTensors(const Node& node, Builder& builder, TensorId x,
                           TensorId low, TensorId high) {
  if (low != kNoTensor) {
    EK_ASSIGN_OR_RETURN(x,
                        builder.Emit(node, high == kNoTensor ? "" : "low",
                                     BinaryOp(v1::Binary::MAXIMUM), {x, low}));
  }
  if (high != kNoTensor) {
    EK_ASSIGN_OR_RETURN(
        x, builder.Emit(node, "", BinaryOp(v1::Binary::MINIMUM), {x, high}));
  }
  return builder.Bind(node, 0, x);
}

absl::Status EmitClip(const Node& node, Builder& builder, TensorId x,
                      std::optional<float> min, std::optional<float> max) {
  v1::Clamp clamp;
  // Bounds that no finite value reaches are none.
  if (min.has_value() && *min > std::numeric_limits<float>::lowest()) {
    clamp.set_min(*min);
  }
  if (max.has_value() && *max < std::numeric_limits<float>::max()) {
    clamp.set_max(*max);
  }
  EK_ASSIGN_OR_RETURN(const TensorId y,
                      builder.Emit(node, "", ClipOp(clamp), {x}));
  return builder.Bind(node, 0, y);
}

// A bound of Clip from op set 11 on: an optional input of one value.
absl::StatusOr<TensorId> ClipBound(const Node& node, Builder& builder,
                                   int index) {
  if (!node.has_input(index)) return kNoTensor;
  EK_ASSIGN_OR_RETURN(const TensorId bound, builder.PlainInput(node, index));
  if (builder.tensor(bound).num_elements() != 1) {
    return node.Invalid("a bound must be one number");
  }
  return builder.Reshape(node, absl::StrCat("bound-", index), bound, {});
}

std::optional<float> ConstantFloat(const Builder& builder, TensorId id) {
  if (id == kNoTensor || !builder.tensor(id).is_constant()) return std::nullopt;
  const auto values = FloatValues(builder.tensor(id));
  if (!values.ok() || std::isnan((*values)[0])) return std::nullopt;
  return (*values)[0];
}

absl::Status CastTo(v1::ElementType type, const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const TensorId x, builder.Input(node, 0));
  if (builder.tensor(x).type == type) return builder.Bind(node, 0, x);
  EK_ASSIGN_OR_RETURN(const TensorId bare, builder.PlainInput(node, 0));
  EK_ASSIGN_OR_RETURN(const TensorId y, builder.Cast(node, "", bare, type));
  return builder.Bind(node, 0, y);
}

}  // namespace

absl::Status ConvertUnary(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const TensorId x, builder.PlainInput(node, 0));
  for (const UnaryEntry& entry : kUnary) {
    if (entry.op_type != node.op_type()) continue;
    EK_ASSIGN_OR_RETURN(const float alpha,
                        node.Float(entry.alpha_attribute, entry.alpha));
    EK_ASSIGN_OR_RETURN(const float beta,
                        node.Float(entry.beta_attribute, entry.beta));
    EK_ASSIGN_OR_RETURN(
        const TensorId y,
        builder.Emit(node, "", UnaryOp(entry.function, alpha, beta), {x}));
    return builder.Bind(node, 0, y);
  }
  return node.Invalid("no such function of one value");
}

absl::Status ConvertGelu(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(
      const int approximate,
      WordAttribute(node, "approximate", "none", {"none", "tanh"}));
  EK_ASSIGN_OR_RETURN(const TensorId x, builder.FloatInput(node, 0));
  EK_ASSIGN_OR_RETURN(
      const TensorId y,
      builder.Emit(
          node, "",
          UnaryOp(approximate == 0 ? v1::Unary::GELU : v1::Unary::GELU_TANH),
          {x}));
  return builder.Bind(node, 0, y);
}

absl::Status ConvertBinary(const Node& node, Builder& builder) {
  for (const BinaryEntry& entry : kBinary) {
    if (entry.op_type == node.op_type()) {
      return ConvertTwo(node, builder, BinaryOp(entry.function));
    }
  }
  return node.Invalid("no such function of two values");
}

absl::Status ConvertAdd(const Node& node, Builder& builder) {
  return ConvertTwo(node, builder, AddOp());
}

absl::Status ConvertMul(const Node& node, Builder& builder) {
  return ConvertTwo(node, builder, MulOp());
}

// x - k is x + -k, exactly: engines add.
absl::Status ConvertSub(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const TensorId a, builder.PlainInput(node, 0));
  EK_ASSIGN_OR_RETURN(const TensorId b, SecondInput(node, builder, a));
  const std::optional<TensorId> negated =
      builder.tensor(a).is_constant()
          ? std::nullopt
          : Changed(builder, b, [](float value) { return -value; });
  EK_ASSIGN_OR_RETURN(
      const TensorId y,
      negated.has_value()
          ? builder.Emit(node, "", AddOp(), {a, *negated})
          : builder.Emit(node, "", BinaryOp(v1::Binary::SUB), {a, b}));
  return builder.Bind(node, 0, y);
}

// x / k is x * (1 / k), to a rounding: engines multiply.
absl::Status ConvertDiv(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const TensorId a, builder.PlainInput(node, 0));
  EK_ASSIGN_OR_RETURN(const TensorId b, SecondInput(node, builder, a));
  const auto reciprocal = [](float value) { return 1.0f / value; };
  const std::optional<TensorId> factor = builder.tensor(a).is_constant()
                                             ? std::nullopt
                                             : Changed(builder, b, reciprocal);
  EK_ASSIGN_OR_RETURN(
      const TensorId y,
      factor.has_value()
          ? builder.Emit(node, "", MulOp(), {a, *factor})
          : builder.Emit(node, "", BinaryOp(v1::Binary::DIV), {a, b}));
  return builder.Bind(node, 0, y);
}

// The slope broadcasts to x in one direction only; before op set 7 one slope
// per channel is a vector.
absl::Status ConvertPRelu(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const TensorId x, builder.PlainInput(node, 0));
  EK_ASSIGN_OR_RETURN(TensorId slope, builder.PlainInput(node, 1));
  const std::vector<int64_t>& shape = builder.shape(slope);
  if (node.opset() < 7 && shape.size() == 1 && builder.rank(x) > 2 &&
      shape[0] > 1) {
    std::vector<int64_t> aligned(static_cast<size_t>(builder.rank(x) - 1), 1);
    aligned[0] = shape[0];
    EK_ASSIGN_OR_RETURN(
        slope, builder.Reshape(node, "aligned", slope, std::move(aligned)));
  }
  // One slope goes with an input of any rank, as in other runtimes.
  if (builder.rank(slope) > builder.rank(x) &&
      builder.tensor(slope).num_elements() == 1) {
    EK_ASSIGN_OR_RETURN(slope, builder.Reshape(node, "single", slope, {}));
  }
  EK_ASSIGN_OR_RETURN(
      const TensorId y,
      builder.Emit(node, "", BinaryOp(v1::Binary::PRELU), {x, slope}));
  if (builder.shape(y) != builder.shape(x)) {
    return node.Invalid("the slope has more values than the input");
  }
  return builder.Bind(node, 0, y);
}

absl::Status ConvertSum(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const TensorId y, Joined(node, builder, AddOp()));
  return builder.Bind(node, 0, y);
}

absl::Status ConvertMax(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const TensorId y,
                      Joined(node, builder, BinaryOp(v1::Binary::MAXIMUM)));
  return builder.Bind(node, 0, y);
}

absl::Status ConvertMin(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const TensorId y,
                      Joined(node, builder, BinaryOp(v1::Binary::MINIMUM)));
  return builder.Bind(node, 0, y);
}

absl::Status ConvertMean(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(TensorId y, Joined(node, builder, AddOp()));
  if (node.num_inputs() > 1) {
    const TensorId count = builder.Scalar(node, y, node.num_inputs());
    EK_ASSIGN_OR_RETURN(
        y, builder.Emit(node, "mean", BinaryOp(v1::Binary::DIV), {y, count}));
  }
  return builder.Bind(node, 0, y);
}

absl::Status ConvertRelu(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const TensorId x, builder.PlainInput(node, 0));
  if (IsFloat(builder.tensor(x).type)) {
    return EmitClip(node, builder, x, 0.0f, std::nullopt);
  }
  const TensorId zero = builder.Scalar(node, x, 0);
  return ClipByTensors(node, builder, x, zero, kNoTensor);
}

absl::Status ConvertClip(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const TensorId x, builder.PlainInput(node, 0));
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (node.opset() < 11) {
    EK_ASSIGN_OR_RETURN(const float min, node.Float("min", -kInfinity));
    EK_ASSIGN_OR_RETURN(const float max, node.Float("max", kInfinity));
    if (min <= max) return EmitClip(node, builder, x, min, max);
    return node.Unsupported("bounds that are not a number or reversed",
                            "min <= max", "check the bounds");
  }
  EK_ASSIGN_OR_RETURN(const TensorId low, ClipBound(node, builder, 1));
  EK_ASSIGN_OR_RETURN(const TensorId high, ClipBound(node, builder, 2));
  const std::optional<float> min = ConstantFloat(builder, low);
  const std::optional<float> max = ConstantFloat(builder, high);
  const bool known = (low == kNoTensor || min.has_value()) &&
                     (high == kNoTensor || max.has_value()) &&
                     min.value_or(-kInfinity) <= max.value_or(kInfinity);
  // Clamps hold float32.
  const v1::ElementType type = builder.tensor(x).type;
  if (known && (type == v1::FLOAT32 || type == v1::FLOAT16)) {
    return EmitClip(node, builder, x, min, max);
  }
  return ClipByTensors(node, builder, x, low, high);
}

absl::Status ConvertWhere(const Node& node, Builder& builder) {
  std::vector<TensorId> inputs;
  for (int i = 0; i < 3; ++i) {
    EK_ASSIGN_OR_RETURN(const TensorId input, builder.PlainInput(node, i));
    inputs.push_back(input);
  }
  EK_ASSIGN_OR_RETURN(const TensorId y,
                      builder.Emit(node, "", SelectOp(), std::move(inputs)));
  return builder.Bind(node, 0, y);
}

absl::Status ConvertCast(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const v1::ElementType type, TypeAttribute(node, "to"));
  return CastTo(type, node, builder);
}

absl::Status ConvertCastLike(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const TensorId like, builder.Input(node, 1));
  return CastTo(builder.tensor(like).type, node, builder);
}

}  // namespace edgekiln::compiler::onnx_import
