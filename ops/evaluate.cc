#include "ops/evaluate.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "base/status_macros.h"
#include "ops/families.h"
#include "ops/shape_inference.h"

namespace edgekiln::ops {

namespace {

template <typename View>
bool AllEmpty(absl::Span<const View> outputs) {
  return std::all_of(outputs.begin(), outputs.end(), [](const View& output) {
    return NumElements(output.shape) == 0;
  });
}

// An op that nothing can be prepared for.
class PlainOp : public PreparedOp {
 public:
  explicit PlainOp(const v1::OpAttributes& attributes)
      : attributes_(attributes), family_(FamilyOf(attributes)) {}

  absl::Status Run(Inputs inputs, Outputs outputs,
                   CpuPath path) const override {
    if (AllEmpty(outputs)) return absl::OkStatus();
    return family_.compute(attributes_, inputs, outputs, path);
  }

 private:
  const v1::OpAttributes& attributes_;
  const OpFamily family_;
};

}  // namespace

absl::Status Evaluate(const v1::OpAttributes& attributes,
                      absl::Span<const TensorView> inputs,
                      absl::Span<const MutableTensorView> outputs,
                      const EvaluateOptions& options) {
  std::vector<TensorView> output_types;
  for (const MutableTensorView& output : outputs) {
    output_types.push_back(output.type_only());
  }
  EK_RETURN_IF_ERROR(CheckOp(attributes, inputs, output_types));
  if (AllEmpty(outputs)) return absl::OkStatus();
  return FamilyOf(attributes)
      .compute(attributes, inputs, outputs, options.cpu_path);
}

absl::StatusOr<std::unique_ptr<PreparedOp>> Prepare(
    const v1::OpAttributes& attributes, absl::Span<const TensorView> inputs,
    absl::Span<const TensorView> outputs) {
  EK_RETURN_IF_ERROR(CheckOp(attributes, inputs, outputs));
  const OpFamily family = FamilyOf(attributes);
  std::unique_ptr<PreparedOp> prepared;
  if (family.prepare != nullptr && !AllEmpty(outputs)) {
    EK_ASSIGN_OR_RETURN(prepared, family.prepare(attributes, inputs, outputs));
  }
  if (prepared == nullptr) prepared = std::make_unique<PlainOp>(attributes);
  return prepared;
}

}  // namespace edgekiln::ops
