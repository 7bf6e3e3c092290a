#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/checked_math.h"
#include "base/status_macros.h"
#include "ops/families.h"
#include "ops/kernels.h"
#include "ops/rules.h"
#include "ops/shape_inference.h"

// Cells that carry a state from step to step.
namespace edgekiln::ops {

absl::StatusOr<std::vector<Shape>> InferRecurrent(const v1::OpAttributes& op,
                                                  Views) {
  return NoSuchOp(op);
}

absl::Status CheckRecurrent(const v1::OpAttributes& op, Views, Views) {
  return NoSuchOp(op);
}

absl::Status ComputeRecurrent(const v1::OpAttributes& op, Inputs, Outputs,
                              CpuPath) {
  return NoSuchOp(op);
}

}  // namespace edgekiln::ops
