#ifndef EK_OPS_EVALUATE_H_
#define EK_OPS_EVALUATE_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "edgekiln/v1/graph.pb.h"
#include "ops/cpu_path.h"
#include "ops/prepared.h"
#include "ops/tensor_view.h"

// What every op means, in one function: the IR interpreter and the simulated
// host both compute through it. docs/numerics.md says the same in prose.
//
// Thread-safe: pure functions of their arguments.
namespace edgekiln::ops {

struct EvaluateOptions {
  CpuPath cpu_path = CpuPath::kAuto;  // Changes speed only, never results.
};

// Checks types and shapes (shape_inference.h: CheckOp), then computes
// `outputs`. Outputs must not overlap inputs. INVALID_ARGUMENT if the op does
// not accept these types or shapes; UNIMPLEMENTED for a combination that no
// kernel covers.
absl::Status Evaluate(const v1::OpAttributes& attributes,
                      absl::Span<const TensorView> inputs,
                      absl::Span<const MutableTensorView> outputs,
                      const EvaluateOptions& options = {});

// The same in two steps, for an op that is computed many times: checked here,
// and what can be rearranged of constant inputs (those with data) is. What
// `attributes`, shapes and quantizations point to must outlive the result;
// views of outputs need no data.
absl::StatusOr<std::unique_ptr<PreparedOp>> Prepare(
    const v1::OpAttributes& attributes, absl::Span<const TensorView> inputs,
    absl::Span<const TensorView> outputs);

}  // namespace edgekiln::ops

#endif  // EK_OPS_EVALUATE_H_
