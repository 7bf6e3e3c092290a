#include "ops/evaluate.h"

#include <algorithm>
#include <vector>

#include "base/status_macros.h"
#include "ops/families.h"
#include "ops/shape_inference.h"

namespace edgekiln::ops {

absl::Status Evaluate(const v1::OpAttributes& attributes,
                      absl::Span<const TensorView> inputs,
                      absl::Span<const MutableTensorView> outputs,
                      const EvaluateOptions& options) {
  std::vector<TensorView> output_types;
  for (const MutableTensorView& output : outputs) {
    output_types.push_back(output.type_only());
  }
  EK_RETURN_IF_ERROR(CheckOp(attributes, inputs, output_types));
  const auto is_empty = [](const MutableTensorView& output) {
    return NumElements(output.shape) == 0;
  };
  if (std::all_of(outputs.begin(), outputs.end(), is_empty)) {
    return absl::OkStatus();
  }
  return FamilyOf(attributes)
      .compute(attributes, inputs, outputs, options.cpu_path);
}

}  // namespace edgekiln::ops
