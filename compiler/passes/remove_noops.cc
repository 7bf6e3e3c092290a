#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "compiler/passes/graph_edit.h"
#include "compiler/passes/pass.h"

namespace edgekiln::compiler {
namespace {

bool SameType(const Tensor& a, const Tensor& b) {
  return a.type == b.type && a.shape == b.shape &&
         a.quantization == b.quantization;
}

bool AllZero(const google::protobuf::RepeatedField<int64_t>& values) {
  return std::all_of(values.begin(), values.end(),
                     [](int64_t value) { return value == 0; });
}

bool IsIdentityPermutation(const v1::Transpose& transpose) {
  for (int i = 0; i < transpose.permutation_size(); ++i) {
    if (transpose.permutation(i) != i) return false;
  }
  return true;
}

bool IsFloatConstantOf(const Tensor& tensor, float wanted) {
  const std::optional<std::vector<float>> values = FloatConstantValues(tensor);
  return values.has_value() &&
         std::all_of(values->begin(), values->end(),
                     [wanted](float value) { return value == wanted; });
}

// Whether the op returns its first input bit for bit.
bool IsNoop(const Graph& graph, const Op& op) {
  const Tensor& input = graph.tensors[op.inputs[0]];
  const Tensor& output = graph.tensors[op.outputs[0]];
  if (!SameType(input, output)) return false;
  const v1::OpAttributes& attributes = op.attributes;
  switch (attributes.op_case()) {
    case v1::OpAttributes::kReshape:
      return true;
    case v1::OpAttributes::kTranspose:
      return IsIdentityPermutation(attributes.transpose());
    case v1::OpAttributes::kClip:
      return !HasBounds(attributes.clip().clamp());
    case v1::OpAttributes::kPad:
      return AllZero(attributes.pad().before()) &&
             AllZero(attributes.pad().after());
    case v1::OpAttributes::kConcat:
      return op.inputs.size() == 1;
    case v1::OpAttributes::kMul:
      return !HasBounds(attributes.mul().clamp()) &&
             IsFloatConstantOf(graph.tensors[op.inputs[1]], 1.0f);
    case v1::OpAttributes::kReduceMean:
      return attributes.reduce_mean().axes().empty();
    // Not an addition of 0: it turns -0 into 0.
    default:
      return false;
  }
}

class RemoveNoops : public Pass {
 public:
  absl::string_view name() const override { return "remove-noops"; }

  absl::StatusOr<Changed> Run(const PassContext&, Graph& graph) const override {
    GraphEditor editor(graph);
    for (int32_t i = 0; i < static_cast<int32_t>(graph.ops.size()); ++i) {
      const Op& op = graph.ops[i];
      if (op.attributes.has_reshape()) {
        // reshape(reshape(x)) reads x itself; the inner one may die.
        const Op* inner = editor.producer(op.inputs[0]);
        if (inner != nullptr && inner->attributes.has_reshape()) {
          editor.SetInput(i, 0, inner->inputs[0]);
        }
      }
      if (!op.inputs.empty() && op.inputs[0] != kNoTensor &&
          IsNoop(graph, op)) {
        editor.ReplaceByInput(i, op.inputs[0]);
      }
    }
    return editor.Finish() ? Changed::kYes : Changed::kNo;
  }
};

}  // namespace

std::unique_ptr<Pass> NewRemoveNoopsPass() {
  return std::make_unique<RemoveNoops>();
}

}  // namespace edgekiln::compiler
