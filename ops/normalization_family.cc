#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "ops/families.h"
#include "ops/float16.h"
#include "ops/kernels.h"
#include "ops/rules.h"
#include "ops/shape_inference.h"

// Values relative to their neighbours along an axis.
namespace edgekiln::ops {
namespace {

bool IsFloat(v1::ElementType type) {
  return type == v1::FLOAT16 || type == v1::FLOAT32 || type == v1::FLOAT64;
}

// Inputs and output of one float type.
absl::Status WantFloats(Views inputs, const TensorView& output) {
  if (!IsFloat(output.type)) {
    return BadType(absl::StrCat("output is ", TypeName(output.type)),
                   "a float type");
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].present()) continue;
    EK_RETURN_IF_ERROR(
        WantType(inputs[i], absl::StrCat("input ", i), output.type));
  }
  return absl::OkStatus();
}

// The same, or INT8, UINT8 or INT16 with one scale each.
absl::Status WantValues(Views inputs, const TensorView& output) {
  if (output.type != v1::INT16 && !IsQuantizedType(output.type)) {
    return WantFloats(inputs, output);
  }
  EK_RETURN_IF_ERROR(WantType(inputs[0], "input 0", output.type));
  EK_RETURN_IF_ERROR(WantPerTensor(inputs[0], "input 0"));
  return WantPerTensor(output, "output");
}

absl::Status WantFinite(float value, absl::string_view which, bool at_least_0) {
  if (std::isfinite(value) && (!at_least_0 || value >= 0)) {
    return absl::OkStatus();
  }
  return BadType(absl::StrCat(which, " ", value),
                 at_least_0 ? "finite and 0 or more" : "finite");
}

// Input `index`, if it is there, has this shape.
absl::Status WantShape(Views inputs, size_t index,
                       absl::Span<const int64_t> shape) {
  if (index >= inputs.size() || !inputs[index].present() ||
      inputs[index].shape == shape) {
    return absl::OkStatus();
  }
  return BadType(absl::StrCat("input ", index, " of shape ",
                              ShapeText(inputs[index].shape)),
                 ShapeText(shape));
}

absl::Status CheckBatchNormalization(const v1::BatchNormalization& op,
                                     Views inputs, const TensorView& output) {
  EK_RETURN_IF_ERROR(WantCount(inputs, 5, 5));
  EK_RETURN_IF_ERROR(WantFloats(inputs, output));
  EK_RETURN_IF_ERROR(WantFinite(op.epsilon(), "epsilon", true));
  for (size_t i = 1; i < inputs.size(); ++i) {
    EK_RETURN_IF_ERROR(
        WantShape(inputs, i, inputs[0].shape.subspan(op.axis(), 1)));
  }
  return absl::OkStatus();
}

absl::Status CheckSoftmax(const v1::Softmax& op, Views inputs,
                          const TensorView& output) {
  EK_RETURN_IF_ERROR(WantCount(inputs, 1, 1));
  EK_RETURN_IF_ERROR(WantValues(inputs, output));
  if (std::isfinite(op.beta()) && op.beta() > 0) return absl::OkStatus();
  return BadType(absl::StrCat("beta ", op.beta()), "finite and above 0");
}

absl::Status CheckLocalResponse(const v1::LocalResponseNormalization& op,
                                Views inputs, const TensorView& output) {
  EK_RETURN_IF_ERROR(WantCount(inputs, 1, 1));
  EK_RETURN_IF_ERROR(WantFloats(inputs, output));
  EK_RETURN_IF_ERROR(WantFinite(op.alpha(), "alpha", false));
  EK_RETURN_IF_ERROR(WantFinite(op.beta(), "beta", false));
  EK_RETURN_IF_ERROR(WantFinite(op.bias(), "bias", false));
  if (op.size() >= 1) return absl::OkStatus();
  return BadType(absl::StrCat("size ", op.size()), "1 or more");
}

absl::Status CheckLayerNormalization(const v1::LayerNormalization& op,
                                     Views inputs, const TensorView& output) {
  EK_RETURN_IF_ERROR(WantCount(inputs, 1, 3));
  EK_RETURN_IF_ERROR(WantFloats(inputs, output));
  EK_RETURN_IF_ERROR(WantFinite(op.epsilon(), "epsilon", true));
  const auto normalised = inputs[0].shape.subspan(op.axis());
  EK_RETURN_IF_ERROR(WantShape(inputs, 1, normalised));
  return WantShape(inputs, 2, normalised);
}

absl::Status CheckL2Normalization(const v1::L2Normalization& op, Views inputs,
                                  const TensorView& output) {
  EK_RETURN_IF_ERROR(WantCount(inputs, 1, 1));
  EK_RETURN_IF_ERROR(WantValues(inputs, output));
  return WantFinite(op.epsilon(), "epsilon", true);
}

absl::Status CheckLogSoftmax(Views inputs, const TensorView& output) {
  EK_RETURN_IF_ERROR(WantCount(inputs, 1, 1));
  return WantValues(inputs, output);
}

absl::StatusOr<int32_t> AxisOf(const v1::OpAttributes& op) {
  switch (op.op_case()) {
    case v1::OpAttributes::kSoftmax:
      return op.softmax().axis();
    case v1::OpAttributes::kBatchNormalization:
      return op.batch_normalization().axis();
    case v1::OpAttributes::kLocalResponseNormalization:
      return op.local_response_normalization().axis();
    case v1::OpAttributes::kLayerNormalization:
      return op.layer_normalization().axis();
    case v1::OpAttributes::kL2Normalization:
      return op.l2_normalization().axis();
    case v1::OpAttributes::kLogSoftmax:
      return op.log_softmax().axis();
    default:
      return NoSuchOp(op);
  }
}

}  // namespace

absl::StatusOr<std::vector<Shape>> InferNormalization(
    const v1::OpAttributes& op, Views inputs) {
  EK_ASSIGN_OR_RETURN(const int32_t axis, AxisOf(op));
  return One(AxisShape(axis, inputs));
}

absl::Status CheckNormalization(const v1::OpAttributes& op, Views inputs,
                                Views outputs) {
  switch (op.op_case()) {
    case v1::OpAttributes::kSoftmax:
      return CheckSoftmax(op.softmax(), inputs, outputs[0]);
    case v1::OpAttributes::kBatchNormalization:
      return CheckBatchNormalization(op.batch_normalization(), inputs,
                                     outputs[0]);
    case v1::OpAttributes::kLocalResponseNormalization:
      return CheckLocalResponse(op.local_response_normalization(), inputs,
                                outputs[0]);
    case v1::OpAttributes::kLayerNormalization:
      return CheckLayerNormalization(op.layer_normalization(), inputs,
                                     outputs[0]);
    case v1::OpAttributes::kL2Normalization:
      return CheckL2Normalization(op.l2_normalization(), inputs, outputs[0]);
    case v1::OpAttributes::kLogSoftmax:
      return CheckLogSoftmax(inputs, outputs[0]);
    default:
      return NoSuchOp(op);
  }
}

absl::Status ComputeNormalization(const v1::OpAttributes& op, Inputs inputs,
                                  Outputs outputs, CpuPath path) {
  if (outputs[0].type == v1::FLOAT16) {
    return ComputeInFloat(inputs, outputs, [&](Inputs from, Outputs to) {
      return ComputeNormalization(op, from, to, path);
    });
  }
  switch (op.op_case()) {
    case v1::OpAttributes::kSoftmax:
      return Softmax(op.softmax(), inputs[0], outputs[0]);
    case v1::OpAttributes::kBatchNormalization:
      return BatchNormalization(op.batch_normalization(), inputs, outputs[0]);
    case v1::OpAttributes::kLocalResponseNormalization:
      return LocalResponseNormalization(op.local_response_normalization(),
                                        inputs[0], outputs[0]);
    case v1::OpAttributes::kLayerNormalization:
      return LayerNormalization(op.layer_normalization(), inputs, outputs[0]);
    case v1::OpAttributes::kL2Normalization:
      return L2Normalization(op.l2_normalization(), inputs[0], outputs[0]);
    case v1::OpAttributes::kLogSoftmax:
      return LogSoftmax(op.log_softmax(), inputs[0], outputs[0]);
    default:
      return NoSuchOp(op);
  }
}

}  // namespace edgekiln::ops
