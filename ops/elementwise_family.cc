#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/checked_math.h"
#include "base/status_macros.h"
#include "ops/families.h"
#include "ops/kernels.h"
#include "ops/rules.h"
#include "ops/shape_inference.h"

// Each output element from the input elements at the same place.
namespace edgekiln::ops {
namespace {

absl::Status CheckQuantize(Views inputs, const TensorView& output) {
  EK_RETURN_IF_ERROR(WantCount(inputs, 1, 1));
  const bool known = output.type == v1::INT8 || output.type == v1::UINT8 ||
                     output.type == v1::INT16 || output.type == v1::INT32;
  if (!known || !output.quantization.present()) {
    return BadType(absl::StrCat("output is ", TypeName(output.type)),
                   "a quantized INT8, UINT8, INT16 or INT32");
  }
  if (inputs[0].type == v1::FLOAT32) return absl::OkStatus();
  if (!IsQuantizedType(inputs[0].type) || !IsQuantizedType(output.type)) {
    return BadType(
        absl::StrCat(TypeName(inputs[0].type), " to ", TypeName(output.type)),
        "FLOAT32, or INT8 and UINT8 on both sides");
  }
  EK_RETURN_IF_ERROR(WantPerTensor(inputs[0], "input 0"));
  return WantPerTensor(output, "output");
}

absl::Status CheckDequantize(Views inputs, const TensorView& output) {
  EK_RETURN_IF_ERROR(WantCount(inputs, 1, 1));
  EK_RETURN_IF_ERROR(WantType(output, "output", v1::FLOAT32));
  const v1::ElementType type = inputs[0].type;
  const bool known = type == v1::INT8 || type == v1::UINT8 ||
                     type == v1::INT16 || type == v1::INT32;
  if (known && inputs[0].quantization.present()) return absl::OkStatus();
  return BadType(absl::StrCat("input 0 is ", TypeName(type)),
                 "a quantized INT8, UINT8, INT16 or INT32");
}

absl::StatusOr<Shape> BinaryShape(Views inputs) {
  EK_RETURN_IF_ERROR(WantInputs(inputs, 2));
  return BroadcastShape(inputs[0].shape, inputs[1].shape);
}

}  // namespace

absl::StatusOr<std::vector<Shape>> InferElementwise(const v1::OpAttributes& op,
                                                    Views inputs) {
  switch (op.op_case()) {
    case v1::OpAttributes::kAdd:
      return One(BinaryShape(inputs));
    case v1::OpAttributes::kMul:
      return One(BinaryShape(inputs));
    case v1::OpAttributes::kClip:
      return One(SameShape(inputs));
    case v1::OpAttributes::kQuantize:
      return One(SameShape(inputs));
    case v1::OpAttributes::kDequantize:
      return One(SameShape(inputs));
    default:
      return NoSuchOp(op);
  }
}

absl::Status CheckElementwise(const v1::OpAttributes& op, Views inputs,
                              Views outputs) {
  switch (op.op_case()) {
    case v1::OpAttributes::kAdd:
      EK_RETURN_IF_ERROR(CheckClamp(op.add().clamp()));
      EK_RETURN_IF_ERROR(WantCount(inputs, 2, 2));
    return WantUniform(inputs, outputs[0]);
    case v1::OpAttributes::kMul:
      EK_RETURN_IF_ERROR(CheckClamp(op.mul().clamp()));
      EK_RETURN_IF_ERROR(WantCount(inputs, 2, 2));
      return WantUniform(inputs, outputs[0]);
    case v1::OpAttributes::kClip:
      EK_RETURN_IF_ERROR(CheckClamp(op.clip().clamp()));
      EK_RETURN_IF_ERROR(WantCount(inputs, 1, 1));
      return WantUniform(inputs, outputs[0]);
    case v1::OpAttributes::kQuantize:
      return CheckQuantize(inputs, outputs[0]);
    case v1::OpAttributes::kDequantize:
      return CheckDequantize(inputs, outputs[0]);
    default:
      return NoSuchOp(op);
  }
}

absl::Status ComputeElementwise(const v1::OpAttributes& op, Inputs inputs,
                                Outputs outputs, CpuPath) {
  switch (op.op_case()) {
    case v1::OpAttributes::kAdd:
      return Add(op.add(), inputs, outputs[0]);
    case v1::OpAttributes::kMul:
      return Mul(op.mul(), inputs, outputs[0]);
    case v1::OpAttributes::kClip:
      return Clip(op.clip(), inputs[0], outputs[0]);
    case v1::OpAttributes::kQuantize:
      return Quantize(inputs[0], outputs[0]);
    case v1::OpAttributes::kDequantize:
      return Dequantize(inputs[0], outputs[0]);
    default:
      return NoSuchOp(op);
  }
}

}  // namespace edgekiln::ops
