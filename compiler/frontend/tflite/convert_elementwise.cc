#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/frontend/tflite/converters.h"

namespace edgekiln::compiler::tflite_import {
namespace {

using Code = tflite::BuiltinOperator;
using tflite::ActivationFunctionType;

v1::Unary::Function UnaryOf(Code code) {
  switch (code) {
    case Code::ABS:
      return v1::Unary::ABS;
    case Code::CEIL:
      return v1::Unary::CEIL;
    case Code::COS:
      return v1::Unary::COS;
    case Code::ELU:
      return v1::Unary::ELU;
    case Code::EXP:
      return v1::Unary::EXP;
    case Code::FLOOR:
      return v1::Unary::FLOOR;
    case Code::GELU:
      return v1::Unary::GELU;
    case Code::HARD_SWISH:
      return v1::Unary::HARD_SWISH;
    case Code::LEAKY_RELU:
      return v1::Unary::LEAKY_RELU;
    case Code::LOG:
      return v1::Unary::LOG;
    case Code::LOGICAL_NOT:
      return v1::Unary::NOT;
    case Code::LOGISTIC:
      return v1::Unary::SIGMOID;
    case Code::NEG:
      return v1::Unary::NEG;
    case Code::ROUND:
      return v1::Unary::ROUND;
    case Code::RSQRT:
      return v1::Unary::RSQRT;
    case Code::SIGN:
      return v1::Unary::SIGN;
    case Code::SIN:
      return v1::Unary::SIN;
    case Code::SQRT:
      return v1::Unary::SQRT;
    case Code::SQUARE:
      return v1::Unary::SQUARE;
    case Code::TANH:
      return v1::Unary::TANH;
    default:
      return v1::Unary::FUNCTION_UNSPECIFIED;
  }
}

v1::Binary::Function BinaryOf(Code code) {
  switch (code) {
    case Code::BITWISE_XOR:
      return v1::Binary::BITWISE_XOR;
    case Code::DIV:
      return v1::Binary::DIV;
    case Code::EQUAL:
      return v1::Binary::EQUAL;
    case Code::FLOOR_DIV:
      return v1::Binary::FLOOR_DIV;
    case Code::FLOOR_MOD:
      return v1::Binary::FLOOR_MOD;
    case Code::GREATER:
      return v1::Binary::GREATER;
    case Code::GREATER_EQUAL:
      return v1::Binary::GREATER_OR_EQUAL;
    case Code::LESS:
      return v1::Binary::LESS;
    case Code::LESS_EQUAL:
      return v1::Binary::LESS_OR_EQUAL;
    case Code::LOGICAL_AND:
      return v1::Binary::AND;
    case Code::LOGICAL_OR:
      return v1::Binary::OR;
    case Code::MAXIMUM:
      return v1::Binary::MAXIMUM;
    case Code::MINIMUM:
      return v1::Binary::MINIMUM;
    case Code::NOT_EQUAL:
      return v1::Binary::NOT_EQUAL;
    case Code::POW:
      return v1::Binary::POW;
    case Code::PRELU:
      return v1::Binary::PRELU;
    case Code::RIGHT_SHIFT:
      return v1::Binary::SHIFT_RIGHT;
    case Code::SQUARED_DIFFERENCE:
      return v1::Binary::SQUARED_DIFFERENCE;
    case Code::SUB:
      return v1::Binary::SUB;
    default:
      return v1::Binary::FUNCTION_UNSPECIFIED;
  }
}

// NONE if the operator has no such options.
template <typename Options>
ActivationFunctionType ActivationOf(const Options* options) {
  return options == nullptr ? ActivationFunctionType::NONE
                            : options->fused_activation_function();
}

}  // namespace

absl::Status ConvertUnary(Conversion& c) {
  EK_ASSIGN_OR_RETURN(const TensorId x, c.Input(0));
  v1::OpAttributes attributes;
  v1::Unary& unary = *attributes.mutable_unary();
  unary.set_function(UnaryOf(c.code()));
  if (c.code() == Code::ELU) unary.set_alpha(1);
  if (c.code() == Code::LEAKY_RELU) {
    const auto* options = c.from().builtin_options_as_LeakyReluOptions();
    if (options == nullptr) return MissingOptions("LeakyReluOptions");
    unary.set_alpha(options->alpha());
  }
  const auto* gelu = c.from().builtin_options_as_GeluOptions();
  if (c.code() == Code::GELU && gelu != nullptr && gelu->approximate()) {
    unary.set_function(v1::Unary::GELU_TANH);
  }
  return c.Write(std::move(attributes), {x});
}

absl::Status ConvertBinary(Conversion& c) {
  EK_ASSIGN_OR_RETURN(const TensorId a, c.Input(0));
  EK_ASSIGN_OR_RETURN(const TensorId b, c.Input(1));
  v1::OpAttributes attributes;
  attributes.mutable_binary()->set_function(BinaryOf(c.code()));
  ActivationFunctionType activation = ActivationFunctionType::NONE;
  if (c.code() == Code::SUB) {
    activation = ActivationOf(c.from().builtin_options_as_SubOptions());
  } else if (c.code() == Code::DIV) {
    activation = ActivationOf(c.from().builtin_options_as_DivOptions());
  }
  return c.WriteActivated(std::move(attributes), {a, b}, activation);
}

absl::Status ConvertAddOrMul(Conversion& c) {
  EK_ASSIGN_OR_RETURN(const TensorId a, c.Input(0));
  EK_ASSIGN_OR_RETURN(const TensorId b, c.Input(1));
  v1::OpAttributes attributes;
  if (c.code() == Code::ADD) {
    attributes.mutable_add();
    return c.WriteActivated(
        std::move(attributes), {a, b},
        ActivationOf(c.from().builtin_options_as_AddOptions()));
  }
  attributes.mutable_mul();
  return c.WriteActivated(
      std::move(attributes), {a, b},
      ActivationOf(c.from().builtin_options_as_MulOptions()));
}

// From left to right, as the reference sums.
absl::Status ConvertAddN(Conversion& c) {
  EK_ASSIGN_OR_RETURN(TensorId sum, c.Input(0));
  if (c.tensor(sum).quantization.has_value()) {
    return TfliteUnsupported("ADD_N of quantized tensors", "",
                             "float and plain integer tensors",
                             "add two tensors at a time");
  }
  if (c.num_inputs() == 1) return c.WriteReshape(sum, c.shape(sum));
  for (size_t i = 1; i < c.num_inputs(); ++i) {
    EK_ASSIGN_OR_RETURN(const TensorId next, c.Input(i));
    v1::OpAttributes attributes;
    attributes.mutable_add();
    if (i + 1 == c.num_inputs()) {
      return c.Write(std::move(attributes), {sum, next});
    }
    EK_ASSIGN_OR_RETURN(sum, c.Emit(absl::StrCat("sum_", i),
                                    std::move(attributes), {sum, next}, sum));
  }
  return absl::OkStatus();
}

absl::Status ConvertClip(Conversion& c) {
  EK_ASSIGN_OR_RETURN(const TensorId x, c.Input(0));
  v1::OpAttributes attributes;
  v1::Clamp& clamp = *attributes.mutable_clip()->mutable_clamp();
  clamp.set_min(c.code() == Code::RELU_N1_TO_1 ? -1 : 0);
  if (c.code() == Code::RELU6) clamp.set_max(6);
  if (c.code() == Code::RELU_N1_TO_1) clamp.set_max(1);
  if (c.code() == Code::RELU_0_TO_1) clamp.set_max(1);
  return c.Write(std::move(attributes), {x});
}

absl::Status ConvertSelect(Conversion& c) {
  EK_ASSIGN_OR_RETURN(TensorId condition, c.Input(0));
  EK_ASSIGN_OR_RETURN(const TensorId a, c.Input(1));
  EK_ASSIGN_OR_RETURN(const TensorId b, c.Input(2));
  const size_t rank = c.shape(a).size();
  if (c.code() == Code::SELECT && c.shape(condition).size() == 1 && rank > 1) {
    // One condition for each row of the first dimension.
    Shape rows(rank, 1);
    rows[0] = c.shape(condition)[0];
    EK_ASSIGN_OR_RETURN(condition, c.Reshape("rows", condition, rows));
  }
  v1::OpAttributes attributes;
  attributes.mutable_select();
  return c.Write(std::move(attributes), {condition, a, b});
}

absl::Status ConvertCast(Conversion& c) {
  EK_ASSIGN_OR_RETURN(const TensorId x, c.Input(0));
  v1::OpAttributes attributes;
  attributes.mutable_cast();
  return c.Write(std::move(attributes), {x});
}

absl::Status ConvertQuantize(Conversion& c) {
  EK_ASSIGN_OR_RETURN(const TensorId x, c.Input(0));
  v1::OpAttributes attributes;
  attributes.mutable_quantize();
  return c.Write(std::move(attributes), {x});
}

absl::Status ConvertDequantize(Conversion& c) {
  EK_ASSIGN_OR_RETURN(const TensorId x, c.Input(0));
  v1::OpAttributes attributes;
  if (c.tensor(x).type == v1::FLOAT16) {
    attributes.mutable_cast();
  } else {
    attributes.mutable_dequantize();
  }
  return c.Write(std::move(attributes), {x});
}

}  // namespace edgekiln::compiler::tflite_import
