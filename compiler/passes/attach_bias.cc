// y = conv(x, w), z = y + b[c]  ->  z = conv(x, w, b). Every bit stays: the op
// adds its bias last. Unlike fold-scale-and-bias this asks for no values, so
// that weights and biases may come from a Dequantize.

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compiler/passes/graph_edit.h"
#include "compiler/passes/pass.h"

namespace edgekiln::compiler {
namespace {

bool TakesBias(const Op* op) {
  if (op == nullptr) return false;
  const v1::OpAttributes& attributes = op->attributes;
  return (attributes.has_conv2d() || attributes.has_depthwise_conv2d() ||
          attributes.has_fully_connected()) &&
         (op->inputs.size() < 3 || op->inputs[2] == kNoTensor) &&
         !HasBounds(*ClampOf(attributes));
}

// Whether the tensor has one value per channel of the last dimension.
bool IsPerChannel(const Tensor& tensor, int64_t channels) {
  return tensor.type == v1::FLOAT32 && !tensor.shape.empty() &&
         tensor.shape.back() == channels && tensor.num_elements() == channels;
}

class AttachBias : public Pass {
 public:
  absl::string_view name() const override { return "attach-bias"; }

  absl::StatusOr<Changed> Run(const PassContext&, Graph& graph) const override {
    GraphEditor editor(graph);
    for (int32_t i = 0; i < static_cast<int32_t>(graph.ops.size()); ++i) {
      if (!graph.ops[i].attributes.has_add()) continue;
      for (const int bias : {1, 0}) {
        if (Visit(editor, i, bias)) break;
      }
    }
    return editor.Finish() ? Changed::kYes : Changed::kNo;
  }

 private:
  static bool Visit(GraphEditor& editor, int32_t index, int bias) {
    const Op add = editor.graph().ops[index];
    const TensorId sum = add.inputs[1 - bias];
    const TensorId addend = add.inputs[bias];
    const Op* dot = editor.producer(sum);
    const Tensor& output = editor.tensor(add.outputs[0]);
    if (!TakesBias(dot) || editor.uses(sum) != 1 || output.shape.empty() ||
        editor.tensor(sum).shape != output.shape ||
        !IsPerChannel(editor.tensor(addend), output.shape.back()) ||
        !IsConstantLike(editor, addend)) {
      return false;
    }
    // The sum takes the place of the addition: there the bias is known.
    Op merged = *dot;
    merged.inputs.resize(3, kNoTensor);
    merged.inputs[2] = AsVector(editor, index, addend);
    merged.outputs = add.outputs;
    if (HasBounds(add.attributes.add().clamp())) {
      *MutableClamp(merged.attributes) = add.attributes.add().clamp();
    }
    editor.MoveTo(index, sum, std::move(merged));
    return true;
  }

  static TensorId AsVector(GraphEditor& editor, int32_t op, TensorId bias) {
    Tensor tensor = editor.tensor(bias);
    if (tensor.shape.size() == 1) return bias;
    tensor.shape = {tensor.num_elements()};
    tensor.name = absl::StrCat(tensor.name, ".vector");
    if (tensor.is_constant()) return editor.AddTensor(std::move(tensor));
    return editor.InsertBefore(op,
                               absl::StrCat(editor.graph().ops[op].id, ".bias"),
                               ReshapeAttributes(), bias, std::move(tensor));
  }
};

}  // namespace

std::unique_ptr<Pass> NewAttachBiasPass() {
  return std::make_unique<AttachBias>();
}

}  // namespace edgekiln::compiler
