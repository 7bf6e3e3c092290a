#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/checked_math.h"
#include "base/status_macros.h"
#include "ops/families.h"
#include "ops/kernels.h"
#include "ops/rules.h"
#include "ops/shape_inference.h"

// Pooling windows.
namespace edgekiln::ops {
namespace {

template <typename Pool>
absl::StatusOr<Shape> PoolShape(const Pool& op, Views inputs) {
  EK_RETURN_IF_ERROR(WantInputs(inputs, 1));
  EK_RETURN_IF_ERROR(WantRank(inputs, 0, 4));
  const auto x = inputs[0].shape;
  EK_ASSIGN_OR_RETURN(
      const auto out,
      WindowExtents(op.window(), x, op.kernel_h(), op.kernel_w()));
  return Shape{x[0], out.first, out.second, x[3]};
}

template <typename Pool>
absl::Status CheckPool(const Pool& op, Views inputs, const TensorView& output) {
  EK_RETURN_IF_ERROR(WantCount(inputs, 1, 1));
  EK_RETURN_IF_ERROR(CheckClamp(op.clamp()));
  EK_RETURN_IF_ERROR(WantUniform(inputs, output));
  // A window of padding only has nothing to average or compare, and sums of
  // int32 must hold the window.
  const v1::Window2d& window = op.window();
  const int64_t reach_h = int64_t{op.kernel_h() - 1} * window.dilation_h() + 1;
  const int64_t reach_w = int64_t{op.kernel_w() - 1} * window.dilation_w() + 1;
  if (window.pad_top() >= reach_h || window.pad_bottom() >= reach_h ||
      window.pad_left() >= reach_w || window.pad_right() >= reach_w) {
    return BadType("pooling window that lies in the padding entirely",
                   "paddings smaller than the window");
  }
  if (window.dilation_h() != 1 || window.dilation_w() != 1) {
    return BadType("dilated pooling window", "dilation 1");
  }
  if (int64_t{op.kernel_h()} * op.kernel_w() > (1 << 22)) {
    return BadType("pooling window is too large", "", "4194304 elements");
  }
  return CheckMove(inputs[0], output);
}

}  // namespace

absl::StatusOr<std::vector<Shape>> InferPooling(const v1::OpAttributes& op,
                                                Views inputs) {
  switch (op.op_case()) {
    case v1::OpAttributes::kAveragePool2D:
      return One(PoolShape(op.average_pool2d(), inputs));
    case v1::OpAttributes::kMaxPool2D:
      return One(PoolShape(op.max_pool2d(), inputs));
    default:
      return NoSuchOp(op);
  }
}

absl::Status CheckPooling(const v1::OpAttributes& op, Views inputs,
                          Views outputs) {
  switch (op.op_case()) {
    case v1::OpAttributes::kAveragePool2D:
      return CheckPool(op.average_pool2d(), inputs, outputs[0]);
    case v1::OpAttributes::kMaxPool2D:
      return CheckPool(op.max_pool2d(), inputs, outputs[0]);
    default:
      return NoSuchOp(op);
  }
}

absl::Status ComputePooling(const v1::OpAttributes& op, Inputs inputs,
                            Outputs outputs, CpuPath) {
  switch (op.op_case()) {
    case v1::OpAttributes::kAveragePool2D:
      return AveragePool2d(op.average_pool2d(), inputs[0], outputs[0]);
    case v1::OpAttributes::kMaxPool2D:
      return MaxPool2d(op.max_pool2d(), inputs[0], outputs[0]);
    default:
      return NoSuchOp(op);
  }
}

}  // namespace edgekiln::ops
