#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "compiler/passes/graph_edit.h"
#include "compiler/passes/pass.h"
#include "compiler/passes/transposed_tensor.h"

namespace edgekiln::compiler {
namespace {

// mat_mul(x, b) with a constant matrix b -> fully_connected(x, transposed b);
// so also where b is made of a constant by a Dequantize. Float only: the zero
// point of quantized weights differs between the two.
class ConvertMatMul : public Pass {
 public:
  absl::string_view name() const override { return "convert-mat-mul"; }

  absl::StatusOr<Changed> Run(const PassContext&, Graph& graph) const override {
    GraphEditor editor(graph);
    for (int32_t i = 0; i < static_cast<int32_t>(graph.ops.size()); ++i) {
      Op& op = graph.ops[i];
      if (!op.attributes.has_mat_mul()) continue;
      const TensorId b = op.inputs[1];
      const Tensor matrix = graph.tensors[b];
      if (matrix.type != v1::FLOAT32 || matrix.shape.size() != 2 ||
          matrix.shape[0] == 0 || !IsConstantLike(editor, b)) {
        continue;
      }
      editor.SetInput(i, 1, Transposed(editor, i, b));
      op.attributes.mutable_fully_connected();
    }
    return editor.Finish() ? Changed::kYes : Changed::kNo;
  }

 private:
  static TensorId Transposed(GraphEditor& editor, int32_t op, TensorId b) {
    Tensor matrix = editor.tensor(b);
    if (matrix.is_constant()) {
      return editor.AddTensor(TransposedTensor(matrix, {1, 0}));
    }
    std::swap(matrix.shape[0], matrix.shape[1]);
    matrix.name = absl::StrCat(matrix.name, ".transposed");
    return editor.InsertBefore(
        op, absl::StrCat(editor.graph().ops[op].id, ".weights"),
        TransposeAttributes({1, 0}), b, std::move(matrix));
  }
};

}  // namespace

std::unique_ptr<Pass> NewConvertMatMulPass() {
  return std::make_unique<ConvertMatMul>();
}

}  // namespace edgekiln::compiler
