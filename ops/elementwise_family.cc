#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "ops/families.h"
#include "ops/float16.h"
#include "ops/kernels.h"
#include "ops/rules.h"
#include "ops/shape_inference.h"

// Each output element from the input elements at the same place.
namespace edgekiln::ops {
namespace {

using U = v1::Unary;
using B = v1::Binary;

bool HoldsSteps(v1::ElementType type) {
  return type == v1::INT8 || type == v1::UINT8 || type == v1::INT16 ||
         type == v1::UINT16 || type == v1::INT32;
}

absl::Status WantSteps(const TensorView& tensor, absl::string_view which) {
  if (HoldsSteps(tensor.type) && tensor.quantization.present()) {
    return absl::OkStatus();
  }
  return BadType(absl::StrCat(which, " is ", TypeName(tensor.type)),
                 "a quantized INT8, UINT8, INT16, UINT16 or INT32");
}

absl::Status CheckQuantize(Views inputs, const TensorView& output) {
  EK_RETURN_IF_ERROR(WantCount(inputs, 1, 1));
  EK_RETURN_IF_ERROR(WantSteps(output, "output"));
  if (IsFloatType(inputs[0].type)) return absl::OkStatus();
  EK_RETURN_IF_ERROR(WantSteps(inputs[0], "input 0"));
  EK_RETURN_IF_ERROR(WantPerTensor(inputs[0], "input 0"));
  if (inputs[0].type == v1::INT32 && inputs[0].quantization.zero_point[0]) {
    return BadType("INT32 with a zero point to other steps", "zero point 0");
  }
  return WantPerTensor(output, "output");
}

absl::Status CheckDequantize(Views inputs, const TensorView& output) {
  EK_RETURN_IF_ERROR(WantCount(inputs, 1, 1));
  if (!IsFloatType(output.type)) {
    return WantType(output, "output", v1::FLOAT32);
  }
  return WantSteps(inputs[0], "input 0");
}

// What QuantizeMultiplier() gives.
absl::Status CheckFactors(const v1::Requantize& op) {
  for (int i = 0; i < op.multiplier_size(); ++i) {
    const int32_t multiplier = op.multiplier(i);
    if (multiplier != 0 && multiplier < (1 << 30)) {
      return BadType(absl::StrCat("multiplier ", multiplier),
                     "0, or 2^30 to 2^31 - 1");
    }
    if (op.shift(i) < -31 || op.shift(i) > 30) {
      return BadType(absl::StrCat("shift ", op.shift(i)), "-31 to 30");
    }
  }
  return absl::OkStatus();
}

// `by_factors`: by multipliers, not by a converter.
absl::Status CheckRequantize(const v1::Requantize& op, bool by_factors,
                             Views inputs, const TensorView& output) {
  EK_RETURN_IF_ERROR(WantCount(inputs, 1, 1));
  EK_RETURN_IF_ERROR(CheckClamp(op.clamp()));
  const TensorView& x = inputs[0];
  EK_RETURN_IF_ERROR(WantType(x, "input 0", v1::INT32));
  EK_RETURN_IF_ERROR(WantSteps(x, "input 0"));
  if (std::any_of(x.quantization.zero_point.begin(),
                  x.quantization.zero_point.end(),
                  [](int32_t zero) { return zero != 0; })) {
    return BadType("an int32 accumulator with a zero point", "zero point 0");
  }
  if (!IsQuantizedType(output.type)) {
    EK_RETURN_IF_ERROR(WantType(output, "output", v1::INT16));
  }
  EK_RETURN_IF_ERROR(WantPerTensor(output, "output"));
  const int64_t channels = x.shape.empty() ? 1 : x.shape.back();
  const int64_t factors = op.multiplier_size();
  if (!by_factors) {
    if (factors == 0 && op.shift_size() == 0) return absl::OkStatus();
    return BadType("a converter beside multipliers or shifts", "one of them");
  }
  if (op.shift_size() != factors || (factors != 1 && factors != channels)) {
    return BadType(
        absl::StrCat(factors, " multipliers and ", op.shift_size(), " shifts"),
        absl::StrCat("one of each, or ", channels));
  }
  return CheckFactors(op);
}

// Add, Mul, Clip: `count` inputs.
absl::Status CheckClamped(const v1::Clamp& clamp, size_t count, Views inputs,
                          const TensorView& output) {
  EK_RETURN_IF_ERROR(WantCount(inputs, count, count));
  EK_RETURN_IF_ERROR(WantArithmetic(inputs, output));
  return WantClampable(clamp, output);
}

// Integers that are not quantized.
absl::Status WantBits(const TensorView& output, absl::string_view function) {
  if (IsIntegerType(output.type)) return WantNotQuantized(output, "output");
  return BadType(absl::StrCat(function, " of ", TypeName(output.type)),
                 "integers");
}

absl::Status CheckUnary(const U& op, Views inputs, const TensorView& output) {
  EK_RETURN_IF_ERROR(WantCount(inputs, 1, 1));
  switch (op.function()) {
    case U::ABS:
    case U::NEG:
    case U::SIGN:
    case U::SQUARE:
      return WantArithmetic(inputs.first(1), output);
    case U::IS_NAN:
    case U::IS_INF:
      if (!IsFloatType(inputs[0].type)) {
        return BadType(absl::StrCat(U::Function_Name(op.function()), " of ",
                                    TypeName(inputs[0].type)),
                       "a float type");
      }
      return WantType(output, "output", v1::BOOL);
    case U::BITWISE_NOT:
      EK_RETURN_IF_ERROR(WantBits(output, U::Function_Name(op.function())));
      return CheckMove(inputs[0], output);
    case U::NOT:
      EK_RETURN_IF_ERROR(WantType(inputs[0], "input 0", v1::BOOL));
      return CheckMove(inputs[0], output);
    default:
      break;
  }
  if (!U::Function_IsValid(op.function()) ||
      op.function() == U::FUNCTION_UNSPECIFIED) {
    return BadType("unary op without a function");
  }
  EK_RETURN_IF_ERROR(WantArithmetic(inputs.first(1), output));
  if (IsFloatType(output.type) || output.quantization.present()) {
    return absl::OkStatus();
  }
  return BadType(absl::StrCat(U::Function_Name(op.function()), " of ",
                              TypeName(output.type)),
                 "a float type, or integers with a scale");
}

// bool x bool -> bool.
absl::Status CheckLogic(Views inputs, const TensorView& output) {
  EK_RETURN_IF_ERROR(WantType(inputs[0], "input 0", v1::BOOL));
  EK_RETURN_IF_ERROR(WantType(inputs[1], "input 1", v1::BOOL));
  return CheckMove(inputs[0], output);
}

absl::Status CheckComparison(const B& op, Views inputs,
                             const TensorView& output) {
  EK_RETURN_IF_ERROR(WantType(output, "output", v1::BOOL));
  const bool equality =
      op.function() == B::EQUAL || op.function() == B::NOT_EQUAL;
  if (equality && inputs[0].type == v1::BOOL) {
    return WantType(inputs[1], "input 1", v1::BOOL);
  }
  return WantArithmetic(inputs);
}

absl::Status CheckPow(Views inputs, const TensorView& output) {
  for (const TensorView& tensor : {inputs[0], inputs[1], output}) {
    if (tensor.quantization.present() || !IsNumericType(tensor.type)) {
      return BadType(absl::StrCat("POW of ", TypeName(tensor.type)),
                     "float or integer types without scales");
    }
  }
  return CheckMove(inputs[0], output);
}

absl::Status CheckBinary(const B& op, Views inputs, const TensorView& output) {
  EK_RETURN_IF_ERROR(WantCount(inputs, 2, 2));
  const bool clamped = op.clamp().has_min() || op.clamp().has_max();
  switch (op.function()) {
    case B::SUB:
    case B::DIV:
      return CheckClamped(op.clamp(), 2, inputs, output);
    default:
      if (clamped) return BadType("clamp of a function other than SUB and DIV");
  }
  switch (op.function()) {
    case B::AND:
    case B::OR:
    case B::XOR:
      return CheckLogic(inputs, output);
    case B::EQUAL:
    case B::NOT_EQUAL:
    case B::GREATER:
    case B::GREATER_OR_EQUAL:
    case B::LESS:
    case B::LESS_OR_EQUAL:
      return CheckComparison(op, inputs, output);
    case B::POW:
      return CheckPow(inputs, output);
    case B::BITWISE_AND:
    case B::BITWISE_OR:
    case B::BITWISE_XOR:
    case B::SHIFT_LEFT:
    case B::SHIFT_RIGHT:
      EK_RETURN_IF_ERROR(WantBits(output, B::Function_Name(op.function())));
      return WantArithmetic(inputs, output);
    case B::FLOOR_DIV:
    case B::FLOOR_MOD:
    case B::TRUNC_MOD:
      EK_RETURN_IF_ERROR(WantNotQuantized(output, "output"));
      [[fallthrough]];
    case B::MINIMUM:
    case B::MAXIMUM:
    case B::SQUARED_DIFFERENCE:
    case B::PRELU:
      return WantArithmetic(inputs, output);
    default:
      return BadType("binary op without a function");
  }
}

absl::Status CheckSelect(Views inputs, const TensorView& output) {
  EK_RETURN_IF_ERROR(WantCount(inputs, 3, 3));
  EK_RETURN_IF_ERROR(WantType(inputs[0], "input 0", v1::BOOL));
  if (output.quantization.per_channel()) {
    return BadType("selection from tensors quantized per channel", "one scale");
  }
  EK_RETURN_IF_ERROR(CheckMove(inputs[1], output));
  return CheckMove(inputs[2], output);
}

absl::Status CheckCast(Views inputs, const TensorView& output) {
  EK_RETURN_IF_ERROR(WantCount(inputs, 1, 1));
  EK_RETURN_IF_ERROR(WantNotQuantized(inputs[0], "input 0"));
  return WantNotQuantized(output, "output");
}

absl::StatusOr<Shape> BinaryShape(Views inputs) {
  EK_RETURN_IF_ERROR(WantInputs(inputs, 2));
  return BroadcastShape(inputs[0].shape, inputs[1].shape);
}

absl::StatusOr<Shape> SelectShape(Views inputs) {
  EK_RETURN_IF_ERROR(WantInputs(inputs, 3));
  EK_ASSIGN_OR_RETURN(const Shape values,
                      BroadcastShape(inputs[1].shape, inputs[2].shape));
  return BroadcastShape(inputs[0].shape, values);
}

}  // namespace

absl::StatusOr<std::vector<Shape>> InferElementwise(const v1::OpAttributes& op,
                                                    Views inputs) {
  switch (op.op_case()) {
    case v1::OpAttributes::kAdd:
    case v1::OpAttributes::kMul:
    case v1::OpAttributes::kBinary:
      return One(BinaryShape(inputs));
    case v1::OpAttributes::kClip:
    case v1::OpAttributes::kUnary:
    case v1::OpAttributes::kCast:
    case v1::OpAttributes::kQuantize:
    case v1::OpAttributes::kDequantize:
    case v1::OpAttributes::kRequantize:
      return One(SameShape(inputs));
    case v1::OpAttributes::kSelect:
      return One(SelectShape(inputs));
    default:
      return NoSuchOp(op);
  }
}

absl::Status CheckElementwise(const v1::OpAttributes& op, Views inputs,
                              Views outputs) {
  switch (op.op_case()) {
    case v1::OpAttributes::kAdd:
      return CheckClamped(op.add().clamp(), 2, inputs, outputs[0]);
    case v1::OpAttributes::kMul:
      return CheckClamped(op.mul().clamp(), 2, inputs, outputs[0]);
    case v1::OpAttributes::kClip:
      return CheckClamped(op.clip().clamp(), 1, inputs, outputs[0]);
    case v1::OpAttributes::kUnary:
      return CheckUnary(op.unary(), inputs, outputs[0]);
    case v1::OpAttributes::kBinary:
      return CheckBinary(op.binary(), inputs, outputs[0]);
    case v1::OpAttributes::kSelect:
      return CheckSelect(inputs, outputs[0]);
    case v1::OpAttributes::kCast:
      return CheckCast(inputs, outputs[0]);
    case v1::OpAttributes::kQuantize:
      return CheckQuantize(inputs, outputs[0]);
    case v1::OpAttributes::kDequantize:
      return CheckDequantize(inputs, outputs[0]);
    case v1::OpAttributes::kRequantize:
      return CheckRequantize(op.requantize(), !op.has_converter(), inputs,
                             outputs[0]);
    default:
      return NoSuchOp(op);
  }
}

absl::Status ComputeElementwise(const v1::OpAttributes& op, Inputs inputs,
                                Outputs outputs, CpuPath path) {
  if (!op.has_cast() && !op.has_select() && HasFloat16(inputs, outputs)) {
    return ComputeInFloat(inputs, outputs, [&](Inputs x, Outputs y) {
      return ComputeElementwise(op, x, y, path);
    });
  }
  switch (op.op_case()) {
    case v1::OpAttributes::kAdd:
      return Add(op.add(), op.rounding(), inputs, outputs[0]);
    case v1::OpAttributes::kMul:
      return Mul(op.mul(), op.rounding(), inputs, outputs[0]);
    case v1::OpAttributes::kClip:
      return Clip(op.clip(), op.rounding(), inputs[0], outputs[0]);
    case v1::OpAttributes::kUnary:
      return Unary(op.unary(), op.rounding(), inputs[0], outputs[0]);
    case v1::OpAttributes::kBinary:
      return Binary(op.binary(), op.rounding(), inputs, outputs[0]);
    case v1::OpAttributes::kSelect:
      return Select(inputs, outputs[0]);
    case v1::OpAttributes::kCast:
      return Cast(inputs[0], outputs[0]);
    case v1::OpAttributes::kQuantize:
      return Quantize(op.rounding(), inputs[0], outputs[0]);
    case v1::OpAttributes::kDequantize:
      return Dequantize(inputs[0], outputs[0]);
    case v1::OpAttributes::kRequantize:
      return Requantize(op.requantize(), op.rounding(), inputs[0], outputs[0],
                        path);
    default:
      return NoSuchOp(op);
  }
}

}  // namespace edgekiln::ops
