#include "ops/rounding.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "ops/families.h"
#include "ops/shape_inference.h"

namespace edgekiln::ops {
namespace {

HalfEvenForm FormOfBinary(v1::Binary::Function function) {
  switch (function) {
    case v1::Binary::SUB:
      return HalfEvenForm::kOwnKernel;
    case v1::Binary::DIV:
    case v1::Binary::MINIMUM:
    case v1::Binary::MAXIMUM:
    case v1::Binary::SQUARED_DIFFERENCE:
    case v1::Binary::PRELU:
      return HalfEvenForm::kFloats;
    default:
      return HalfEvenForm::kNone;
  }
}

// What ComputeThroughFloats() makes of quantized tensors.
absl::Status CheckFloats(Views tensors) {
  constexpr int64_t kMost = kMaxTensorBytes / int64_t{sizeof(float)};
  for (const TensorView& tensor : tensors) {
    if (!tensor.quantization.present() || NumElements(tensor.shape) <= kMost) {
      continue;
    }
    return BadType(
        absl::StrCat("HALF_EVEN through floats of ", ShapeText(tensor.shape)),
        "", absl::StrCat(kMost, " elements"));
  }
  return absl::OkStatus();
}

absl::Status CheckFloor(const v1::OpAttributes& op, Views outputs) {
  switch (op.op_case()) {
    case v1::OpAttributes::kConv2D:
    case v1::OpAttributes::kDepthwiseConv2D:
    case v1::OpAttributes::kFullyConnected:
    case v1::OpAttributes::kAdd:
    case v1::OpAttributes::kRequantize:
      break;
    default:
      return BadType(absl::StrCat("FLOOR of ", std::string(OpKind(op))),
                     "HALF_UP");
  }
  if (outputs[0].quantization.present()) return absl::OkStatus();
  return BadType("FLOOR of a result without a scale", "HALF_UP");
}

}  // namespace

HalfEvenForm HalfEvenFormOf(const v1::OpAttributes& op) {
  switch (op.op_case()) {
    case v1::OpAttributes::kConv2D:
    case v1::OpAttributes::kConv3D:
    case v1::OpAttributes::kDepthwiseConv2D:
    case v1::OpAttributes::kTransposedConv:
    case v1::OpAttributes::kFullyConnected:
    case v1::OpAttributes::kMatMul:
    case v1::OpAttributes::kAdd:
    case v1::OpAttributes::kMul:
    case v1::OpAttributes::kClip:
    case v1::OpAttributes::kUnary:
    case v1::OpAttributes::kConcat:
    case v1::OpAttributes::kQuantize:
    case v1::OpAttributes::kRequantize:
    case v1::OpAttributes::kAveragePool2D:
      return HalfEvenForm::kOwnKernel;
    case v1::OpAttributes::kPool:
      return op.pool().function() == v1::Pool::AVERAGE
                 ? HalfEvenForm::kOwnKernel
                 : HalfEvenForm::kNone;
    case v1::OpAttributes::kBinary:
      return FormOfBinary(op.binary().function());
    case v1::OpAttributes::kReduce:
      return op.reduce().function() == v1::Reduce::SUM ? HalfEvenForm::kFloats
                                                       : HalfEvenForm::kNone;
    case v1::OpAttributes::kReduceMean:
    case v1::OpAttributes::kSoftmax:
    case v1::OpAttributes::kLogSoftmax:
    case v1::OpAttributes::kL2Normalization:
    case v1::OpAttributes::kResize:
      return HalfEvenForm::kFloats;
    default:
      return HalfEvenForm::kNone;
  }
}

absl::Status CheckRounding(const v1::OpAttributes& op, Views inputs,
                           Views outputs) {
  if (op.rounding() == v1::HALF_UP) return absl::OkStatus();
  if (op.rounding() == v1::FLOOR) return CheckFloor(op, outputs);
  if (op.rounding() != v1::HALF_EVEN) {
    return BadType(absl::StrCat("rounding ", op.rounding()),
                   "HALF_UP, HALF_EVEN or FLOOR");
  }
  const HalfEvenForm form = HalfEvenFormOf(op);
  if (form == HalfEvenForm::kNone) {
    return BadType("HALF_EVEN of an op that does not round", "HALF_UP");
  }
  if (!outputs[0].quantization.present()) {
    return BadType("HALF_EVEN of a result without a scale", "HALF_UP");
  }
  if (form == HalfEvenForm::kOwnKernel) return absl::OkStatus();
  EK_RETURN_IF_ERROR(CheckFloats(inputs));
  return CheckFloats(outputs);
}

absl::Status ComputeThroughFloats(const v1::OpAttributes& op, Inputs inputs,
                                  Outputs outputs, CpuPath path) {
  std::vector<std::vector<float>> values;
  const auto as_floats = [&values](const auto& tensor) {
    values.emplace_back(NumElements(tensor.shape));
    MutableTensorView floats = {
        v1::FLOAT32, tensor.shape, values.back().data(), {}};
    return floats;
  };
  std::vector<TensorView> from;
  for (const TensorView& input : inputs) {
    from.push_back(input);
    if (!input.present() || !input.quantization.present()) continue;
    const MutableTensorView floats = as_floats(input);
    EK_RETURN_IF_ERROR(Dequantize(input, floats));
    from.back() = {v1::FLOAT32, input.shape, floats.data, {}};
  }
  std::vector<MutableTensorView> to;
  for (const MutableTensorView& output : outputs) {
    to.push_back(output.quantization.present() ? as_floats(output) : output);
  }
  v1::OpAttributes plain = op;
  plain.clear_rounding();
  EK_RETURN_IF_ERROR(FamilyOf(plain).compute(plain, from, to, path));
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].quantization.present()) continue;
    EK_RETURN_IF_ERROR(Quantize(
        v1::HALF_EVEN, {v1::FLOAT32, to[i].shape, to[i].data, {}}, outputs[i]));
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::ops
