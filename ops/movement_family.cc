#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/checked_math.h"
#include "base/status_macros.h"
#include "ops/families.h"
#include "ops/kernels.h"
#include "ops/rules.h"
#include "ops/shape_inference.h"

// Values that move: of any element type, by the size of its elements.
namespace edgekiln::ops {
namespace {

absl::StatusOr<Shape> TransposeShape(const v1::Transpose& op, Views inputs) {
  EK_RETURN_IF_ERROR(WantInputs(inputs, 1));
  const auto x = inputs[0].shape;
  std::vector<bool> seen(x.size(), false);
  Shape out;
  for (const int32_t from : op.permutation()) {
    if (from < 0 || from >= std::ssize(x) || seen[from]) {
      return BadShape("permutation is not one",
                      absl::StrCat("each of 0..", x.size(), " exactly once"));
    }
    seen[from] = true;
    out.push_back(x[from]);
  }
  if (out.size() != x.size()) {
    return BadShape(
        absl::StrCat("permutation of ", out.size(), " on input ", ShapeText(x)),
        "one entry per dimension");
  }
  return out;
}

absl::StatusOr<Shape> PadShape(const v1::Pad& op, Views inputs) {
  EK_RETURN_IF_ERROR(WantInputs(inputs, 1));
  const auto x = inputs[0].shape;
  if (op.before_size() != std::ssize(x) || op.after_size() != std::ssize(x)) {
    return BadShape(
        absl::StrCat("padding of ", op.before_size(), " and ", op.after_size(),
                     " dimensions on ", ShapeText(x)),
        "one entry per dimension");
  }
  Shape out;
  for (size_t i = 0; i < x.size(); ++i) {
    const auto head = CheckedAdd(x[i], op.before(i));
    const auto sum = head ? CheckedAdd(*head, op.after(i)) : std::nullopt;
    if (op.before(i) < 0 || op.after(i) < 0 || !sum) {
      return BadShape("padding is negative or too large", "0 or more");
    }
    out.push_back(*sum);
  }
  return out;
}

absl::StatusOr<Shape> ConcatShape(const v1::Concat& op, Views inputs) {
  EK_RETURN_IF_ERROR(WantInputs(inputs, std::max<size_t>(inputs.size(), 1)));
  const auto first = inputs[0].shape;
  if (op.axis() < 0 || op.axis() >= std::ssize(first)) {
    return BadShape(absl::StrCat("axis ", op.axis(), " of ", ShapeText(first)),
                    "an axis of the input");
  }
  Shape out(first.begin(), first.end());
  for (size_t i = 1; i < inputs.size(); ++i) {
    const auto next = inputs[i].shape;
    bool fits = next.size() == first.size();
    for (size_t d = 0; fits && d < next.size(); ++d) {
      fits = static_cast<int32_t>(d) == op.axis() || next[d] == first[d];
    }
    const auto sum =
        fits ? CheckedAdd(out[op.axis()], next[op.axis()]) : std::nullopt;
    if (!sum) {
      return BadShape(absl::StrCat("input ", i, " of shape ", ShapeText(next),
                                   " joined to ", ShapeText(first)),
                      "equal extents but for the axis");
    }
    out[op.axis()] = *sum;
  }
  return out;
}

absl::Status CheckReshape(Views inputs, const TensorView& output) {
  EK_RETURN_IF_ERROR(WantCount(inputs, 1, 1));
  if (NumElements(inputs[0].shape) != NumElements(output.shape)) {
    return BadType(
        absl::StrCat("[", absl::StrJoin(inputs[0].shape, ","), "] as [",
                     absl::StrJoin(output.shape, ","), "]"),
        "as many elements");
  }
  if (inputs[0].quantization.per_channel()) {
    return BadType("reshape of a tensor quantized per channel", "one scale");
  }
  return CheckMove(inputs[0], output);
}

absl::Status CheckTranspose(const v1::Transpose& op, Views inputs,
                            const TensorView& output) {
  EK_RETURN_IF_ERROR(WantCount(inputs, 1, 1));
  EK_RETURN_IF_ERROR(WantType(output, "output", inputs[0].type));
  const QuantizationView& in = inputs[0].quantization;
  const QuantizationView& out = output.quantization;
  const bool same = in.scale == out.scale && in.zero_point == out.zero_point;
  if (!same || (in.per_channel() && op.permutation(out.axis) != in.axis)) {
    return BadType("input and output have different quantization",
                   "the same, its axis moved with the dimensions");
  }
  return absl::OkStatus();
}

absl::Status CheckPad(const v1::Pad& op, Views inputs,
                      const TensorView& output) {
  EK_RETURN_IF_ERROR(WantCount(inputs, 1, 1));
  if (std::isnan(op.value())) return BadType("padding with NaN");
  if (inputs[0].quantization.per_channel()) {
    return BadType("padding of a tensor quantized per channel", "one scale");
  }
  if (inputs[0].type != v1::FLOAT32 && op.value() != 0 &&
      !inputs[0].quantization.present()) {
    return BadType(absl::StrCat("padding of ", TypeName(inputs[0].type),
                                " with ", op.value()),
                   "0 for integers without a scale");
  }
  return CheckMove(inputs[0], output);
}

absl::Status CheckConcat(Views inputs, const TensorView& output) {
  if (output.type == v1::FLOAT32 || IsQuantizedType(output.type)) {
    return WantUniform(inputs, output);
  }
  for (const TensorView& input : inputs) {
    EK_RETURN_IF_ERROR(CheckMove(input, output));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<Shape>> InferMovement(const v1::OpAttributes& op,
                                                 Views inputs) {
  switch (op.op_case()) {
    case v1::OpAttributes::kReshape:
      return BadShape("the shape of a reshape is that of its output tensor");
    case v1::OpAttributes::kTranspose:
      return One(TransposeShape(op.transpose(), inputs));
    case v1::OpAttributes::kPad:
      return One(PadShape(op.pad(), inputs));
    case v1::OpAttributes::kConcat:
      return One(ConcatShape(op.concat(), inputs));
    default:
      return NoSuchOp(op);
  }
}

absl::Status CheckMovement(const v1::OpAttributes& op, Views inputs,
                           Views outputs) {
  switch (op.op_case()) {
    case v1::OpAttributes::kReshape:
      return CheckReshape(inputs, outputs[0]);
    case v1::OpAttributes::kTranspose:
      return CheckTranspose(op.transpose(), inputs, outputs[0]);
    case v1::OpAttributes::kPad:
      return CheckPad(op.pad(), inputs, outputs[0]);
    case v1::OpAttributes::kConcat:
      return CheckConcat(inputs, outputs[0]);
    default:
      return NoSuchOp(op);
  }
}

absl::Status ComputeMovement(const v1::OpAttributes& op, Inputs inputs,
                             Outputs outputs, CpuPath) {
  switch (op.op_case()) {
    case v1::OpAttributes::kReshape:
      return Reshape(inputs[0], outputs[0]);
    case v1::OpAttributes::kTranspose:
      return Transpose(op.transpose(), inputs[0], outputs[0]);
    case v1::OpAttributes::kPad:
      return Pad(op.pad(), inputs[0], outputs[0]);
    case v1::OpAttributes::kConcat:
      return Concat(op.concat(), inputs, outputs[0]);
    default:
      return NoSuchOp(op);
  }
}

}  // namespace edgekiln::ops
