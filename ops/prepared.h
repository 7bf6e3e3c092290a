#ifndef EK_OPS_PREPARED_H_
#define EK_OPS_PREPARED_H_

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "ops/cpu_path.h"
#include "ops/tensor_view.h"

namespace edgekiln::ops {

// An op that has been checked and made ready once, to be computed many times:
// constant weights are rearranged, shapes and quantization resolved.
// Thread-safe.
class PreparedOp {
 public:
  virtual ~PreparedOp() = default;

  // `inputs` and `outputs` have the types, and the constant ones the data, that
  // the op was prepared with.
  virtual absl::Status Run(absl::Span<const TensorView> inputs,
                           absl::Span<const MutableTensorView> outputs,
                           CpuPath path) const = 0;
};

}  // namespace edgekiln::ops

#endif  // EK_OPS_PREPARED_H_
