// A transpose in front of a fully connected layer becomes another order of
// its weights:
//
//   %t = transpose(%x) {permutation [0,3,1,2]}
//   %r = reshape(%t)                              %r = reshape(%x)
//   %y = fully_connected(%r, %w)               -> %y = fully_connected(%r, %w')

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compiler/passes/graph_edit.h"
#include "compiler/passes/pass.h"
#include "compiler/passes/transposed_tensor.h"

namespace edgekiln::compiler {
namespace {

// First dimension of the transpose that lies within one row of `row` elements,
// if rows stay rows: the dimensions before keep their places, those from it on
// stay among themselves and make up a row. -1 otherwise.
int RowDimension(const Tensor& transposed, const v1::Transpose& transpose,
                 int64_t row) {
  int first = transpose.permutation_size();
  int64_t elements = 1;
  while (first > 0 && elements < row) elements *= transposed.shape[--first];
  // Extents of 1 may go with the row or not; with it is always right.
  while (first > 0 && transposed.shape[first - 1] == 1 &&
         transpose.permutation(first - 1) != first - 1) {
    --first;
  }
  if (elements != row) return -1;
  for (int i = 0; i < first; ++i) {
    if (transpose.permutation(i) != i) return -1;
  }
  return first;
}

// Weights [N, K] for the elements of a row in the order they had before the
// transpose.
Tensor PermutedWeights(const Tensor& weights, const Tensor& transposed,
                       const v1::Transpose& transpose, int first) {
  Tensor spread = weights;
  spread.shape = {weights.shape[0]};
  std::vector<int32_t> inverse(1 + transposed.shape.size() - first, 0);
  for (int i = first; i < transpose.permutation_size(); ++i) {
    spread.shape.push_back(transposed.shape[i]);
    inverse[1 + transpose.permutation(i) - first] = 1 + i - first;
  }
  Tensor result = TransposedTensor(spread, inverse);
  result.shape = weights.shape;
  result.name = absl::StrCat(weights.name, ".permuted");
  return result;
}

class PermuteWeights : public Pass {
 public:
  absl::string_view name() const override { return "permute-weights"; }

  absl::StatusOr<Changed> Run(const PassContext&, Graph& graph) const override {
    GraphEditor editor(graph);
    for (int32_t i = 0; i < static_cast<int32_t>(graph.ops.size()); ++i) {
      if (graph.ops[i].attributes.has_fully_connected()) Visit(editor, i);
    }
    return editor.Finish() ? Changed::kYes : Changed::kNo;
  }

 private:
  static void Visit(GraphEditor& editor, int32_t index) {
    const Op op = editor.graph().ops[index];
    const Op* before = editor.producer(op.inputs[0]);
    const Op* reshape = nullptr;
    if (before != nullptr && before->attributes.has_reshape()) {
      reshape = before;
      before = editor.producer(reshape->inputs[0]);
    }
    if (before == nullptr || !before->attributes.has_transpose()) return;
    const v1::Transpose transpose = before->attributes.transpose();
    const Tensor& weights = editor.tensor(op.inputs[1]);
    const Tensor& transposed = editor.tensor(before->outputs[0]);
    if (!weights.is_constant()) return;
    const int first = RowDimension(transposed, transpose, weights.shape[1]);
    if (first < 0) return;
    Tensor permuted = PermutedWeights(weights, transposed, transpose, first);
    const TensorId x = before->inputs[0];
    // The layer flattens its input anyway, but a shape with rows is easier to
    // read and to place.
    Tensor flat = editor.tensor(op.inputs[0]);
    flat.name = absl::StrCat(flat.name, ".flat");
    if (reshape == nullptr) {
      flat.shape = {flat.num_elements() / weights.shape[1], weights.shape[1]};
    }
    editor.SetInput(index, 1, editor.AddTensor(std::move(permuted)));
    const TensorId row =
        editor.InsertBefore(index, absl::StrCat(op.id, ".flatten"),
                            ReshapeAttributes(), x, std::move(flat));
    editor.SetInput(index, 0, row);
  }
};

}  // namespace

std::unique_ptr<Pass> NewPermuteWeightsPass() {
  return std::make_unique<PermuteWeights>();
}

}  // namespace edgekiln::compiler
