#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/checked_math.h"
#include "base/status_macros.h"
#include "ops/families.h"
#include "ops/kernels.h"
#include "ops/rules.h"
#include "ops/shape_inference.h"

// Values relative to their neighbours along an axis.
namespace edgekiln::ops {
namespace {

absl::Status CheckBatchNormalization(const v1::BatchNormalization& op,
                                     Views inputs, const TensorView& output) {
  EK_RETURN_IF_ERROR(WantCount(inputs, 5, 5));
  EK_RETURN_IF_ERROR(WantType(output, "output", v1::FLOAT32));
  EK_RETURN_IF_ERROR(WantUniform(inputs, output));
  if (!(op.epsilon() >= 0)) return BadType("epsilon is negative", "0 or more");
  for (size_t i = 1; i < inputs.size(); ++i) {
    if (inputs[i].shape.size() != 1 ||
        inputs[i].shape[0] != inputs[0].shape[op.axis()]) {
      return BadType(absl::StrCat("input ", i, " of shape [",
                                  absl::StrJoin(inputs[i].shape, ","), "]"),
                     absl::StrCat("[", inputs[0].shape[op.axis()], "]"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckSoftmax(const v1::Softmax& op, Views inputs,
                          const TensorView& output) {
  EK_RETURN_IF_ERROR(WantCount(inputs, 1, 1));
  EK_RETURN_IF_ERROR(WantUniform(inputs, output));
  if (std::isfinite(op.beta()) && op.beta() > 0) return absl::OkStatus();
  return BadType(absl::StrCat("beta ", op.beta()), "finite and above 0");
}

}  // namespace

absl::StatusOr<std::vector<Shape>> InferNormalization(
    const v1::OpAttributes& op, Views inputs) {
  switch (op.op_case()) {
    case v1::OpAttributes::kSoftmax:
      return One(AxisShape(op.softmax().axis(), inputs));
    case v1::OpAttributes::kBatchNormalization:
      return One(AxisShape(op.batch_normalization().axis(), inputs));
    default:
      return NoSuchOp(op);
  }
}

absl::Status CheckNormalization(const v1::OpAttributes& op, Views inputs,
                                Views outputs) {
  switch (op.op_case()) {
    case v1::OpAttributes::kSoftmax:
      return CheckSoftmax(op.softmax(), inputs, outputs[0]);
    case v1::OpAttributes::kBatchNormalization:
      return CheckBatchNormalization(op.batch_normalization(), inputs,
                                     outputs[0]);
    default:
      return NoSuchOp(op);
  }
}

absl::Status ComputeNormalization(const v1::OpAttributes& op, Inputs inputs,
                                  Outputs outputs, CpuPath) {
  switch (op.op_case()) {
    case v1::OpAttributes::kSoftmax:
      return Softmax(op.softmax(), inputs[0], outputs[0]);
    case v1::OpAttributes::kBatchNormalization:
      return BatchNormalization(op.batch_normalization(), inputs, outputs[0]);
    default:
      return NoSuchOp(op);
  }
}

}  // namespace edgekiln::ops
