#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/checked_math.h"
#include "base/status_macros.h"
#include "ops/families.h"
#include "ops/kernels.h"
#include "ops/rules.h"
#include "ops/shape_inference.h"

// One value, or a running one, out of many along axes.
namespace edgekiln::ops {
namespace {

absl::StatusOr<Shape> MeanShape(const v1::ReduceMean& op, Views inputs) {
  EK_RETURN_IF_ERROR(WantInputs(inputs, 1));
  const auto x = inputs[0].shape;
  Shape out(x.begin(), x.end());
  int32_t last = -1;
  for (const int32_t axis : op.axes()) {
    if (axis <= last || axis >= std::ssize(x) || x[axis] < 1) {
      return BadShape(
          absl::StrCat("mean over axis ", axis, " of ", ShapeText(x)),
          "ascending axes of the input that are not empty");
    }
    last = axis;
    out[axis] = op.keep_dims() ? 1 : -1;
  }
  std::erase(out, -1);
  return out;
}

absl::Status CheckMean(const v1::ReduceMean& op, Views inputs,
                       const TensorView& output) {
  EK_RETURN_IF_ERROR(WantCount(inputs, 1, 1));
  EK_RETURN_IF_ERROR(WantUniform(inputs, output));
  int64_t count = 1;
  for (const int32_t axis : op.axes()) count *= inputs[0].shape[axis];
  if (output.type == v1::FLOAT32 || count <= (1 << 23)) return absl::OkStatus();
  return BadType(absl::StrCat("mean of ", count, " values"), "",
                 "8388608 values in an int32 sum");
}

}  // namespace

absl::StatusOr<std::vector<Shape>> InferReduction(const v1::OpAttributes& op,
                                                  Views inputs) {
  switch (op.op_case()) {
    case v1::OpAttributes::kReduceMean:
      return One(MeanShape(op.reduce_mean(), inputs));
    default:
      return NoSuchOp(op);
  }
}

absl::Status CheckReduction(const v1::OpAttributes& op, Views inputs,
                            Views outputs) {
  switch (op.op_case()) {
    case v1::OpAttributes::kReduceMean:
      return CheckMean(op.reduce_mean(), inputs, outputs[0]);
    default:
      return NoSuchOp(op);
  }
}

absl::Status ComputeReduction(const v1::OpAttributes& op, Inputs inputs,
                              Outputs outputs, CpuPath) {
  switch (op.op_case()) {
    case v1::OpAttributes::kReduceMean:
      return ReduceMean(op.reduce_mean(), inputs[0], outputs[0]);
    default:
      return NoSuchOp(op);
  }
}

}  // namespace edgekiln::ops
