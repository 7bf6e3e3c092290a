#include <memory>
#include <utility>

#include "compiler/passes/graph_edit.h"
#include "compiler/passes/pass.h"

namespace edgekiln::compiler {
namespace {

// mat_mul(x, b) with a constant matrix b -> fully_connected(x, transposed b).
// Float only: the zero point of quantized weights differs between the two.
class ConvertMatMul : public Pass {
 public:
  absl::string_view name() const override { return "convert-mat-mul"; }

  absl::StatusOr<Changed> Run(const PassContext&, Graph& graph) const override {
    GraphEditor editor(graph);
    for (int32_t i = 0; i < static_cast<int32_t>(graph.ops.size()); ++i) {
      Op& op = graph.ops[i];
      if (!op.attributes.has_mat_mul()) continue;
      const Tensor& b = graph.tensors[op.inputs[1]];
      if (!b.is_constant() || b.type != v1::FLOAT32 || b.shape.size() != 2 ||
          b.shape[0] == 0) {
        continue;
      }
      const TensorId weights = editor.AddTensor(TransposedTensor(b, {1, 0}));
      editor.SetInput(i, 1, weights);
      op.attributes.mutable_fully_connected();
    }
    return editor.Finish() ? Changed::kYes : Changed::kNo;
  }
};

}  // namespace

std::unique_ptr<Pass> NewConvertMatMulPass() {
  return std::make_unique<ConvertMatMul>();
}

}  // namespace edgekiln::compiler
