// Normalizations that exporters write as arithmetic become one op:
//
//   e = exp(x - max(x)); e / sum(e)                            softmax
//   d = x - mean(x); d / sqrt(mean(d^2) + epsilon)             layer norm
//   layer norm * scale + bias, of the normalised shape         layer norm
//
// Results differ by float rounding.

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compiler/passes/graph_edit.h"
#include "compiler/passes/pass.h"
#include "compiler/passes/pattern.h"

namespace edgekiln::compiler {
namespace {

const Op* BinaryOf(GraphEditor& editor, TensorId id,
                   v1::Binary::Function function) {
  const Op* op = editor.producer(id);
  return op != nullptr && op->attributes.binary().function() == function &&
                 (ClampOf(op->attributes) == nullptr ||
                  !HasBounds(*ClampOf(op->attributes)))
             ? op
             : nullptr;
}

// The axes of a reduction of `x` that keeps its dimensions; empty for others.
std::vector<int32_t> ReducedAxes(GraphEditor& editor, TensorId id, TensorId x,
                                 v1::Reduce::Function function) {
  const Op* op = editor.producer(id);
  if (op == nullptr || op->inputs[0] != x ||
      op->attributes.reduce().function() != function ||
      !op->attributes.reduce().keep_dims()) {
    return {};
  }
  const auto& axes = op->attributes.reduce().axes();
  return {axes.begin(), axes.end()};
}

// First of the axes of a mean of `x` over its last dimensions that keeps them;
// -1 for others.
int MeanAxis(GraphEditor& editor, TensorId id, TensorId x) {
  const Op* op = editor.producer(id);
  if (op == nullptr || !op->attributes.has_reduce_mean() ||
      op->inputs[0] != x || !op->attributes.reduce_mean().keep_dims()) {
    return -1;
  }
  const auto& axes = op->attributes.reduce_mean().axes();
  const int rank = static_cast<int>(editor.tensor(x).shape.size());
  for (int i = 0; i < axes.size(); ++i) {
    if (axes[i] != rank - axes.size() + i) return -1;
  }
  return axes.empty() ? -1 : axes[0];
}

class RecognizeNormalizations : public Pass {
 public:
  absl::string_view name() const override { return "recognize-normalizations"; }

  absl::StatusOr<Changed> Run(const PassContext&, Graph& graph) const override {
    GraphEditor editor(graph);
    for (int32_t i = 0; i < static_cast<int32_t>(graph.ops.size()); ++i) {
      const Op& op = graph.ops[i];
      if (op.outputs.size() != 1 || op.inputs.empty() ||
          editor.tensor(op.outputs[0]).type != v1::FLOAT32) {
        continue;
      }
      const v1::Clamp* clamp = ClampOf(op.attributes);
      if (clamp == nullptr || HasBounds(*clamp)) continue;
      if (!Softmax(editor, i) && !LayerNorm(editor, i)) {
        ScaleOrBias(editor, i);
      }
    }
    return editor.Finish() ? Changed::kYes : Changed::kNo;
  }

 private:
  // Makes the op one of `x` alone.
  static void Become(GraphEditor& editor, int32_t index, TensorId x,
                     v1::OpAttributes attributes) {
    editor.SetInput(index, 0, x);
    editor.DropInputsFrom(index, 1);
    editor.SetAttributes(index, std::move(attributes));
  }

  static bool Softmax(GraphEditor& editor, int32_t index) {
    const Op& op = editor.graph().ops[index];
    if (op.attributes.binary().function() != v1::Binary::DIV) return false;
    const TensorId e = op.inputs[0];
    const Op* exp = UnaryOf(editor, e, v1::Unary::EXP);
    if (exp == nullptr) return false;
    const std::vector<int32_t> axes =
        ReducedAxes(editor, op.inputs[1], e, v1::Reduce::SUM);
    if (axes.size() != 1) return false;
    TensorId x = exp->inputs[0];
    const Op* less = BinaryOf(editor, x, v1::Binary::SUB);
    // Without the largest taken off the real value is the same.
    if (less != nullptr && ReducedAxes(editor, less->inputs[1], less->inputs[0],
                                       v1::Reduce::MAX) == axes) {
      x = less->inputs[0];
    }
    v1::OpAttributes attributes;
    attributes.mutable_softmax()->set_beta(1);
    attributes.mutable_softmax()->set_axis(axes[0]);
    Become(editor, index, x, std::move(attributes));
    return true;
  }

  // variance + epsilon, as the mean of the squares of d = x - mean(x).
  static std::optional<float> EpsilonOf(GraphEditor& editor, TensorId id,
                                        TensorId d, TensorId x, TensorId mean,
                                        int axis) {
    const Op* sum = editor.producer(id);
    if (sum == nullptr || !sum->attributes.has_add()) return std::nullopt;
    for (const int i : {1, 0}) {
      const auto epsilon = ScalarValue(editor.tensor(sum->inputs[i]));
      const Op* variance = editor.producer(sum->inputs[1 - i]);
      if (!epsilon.has_value() || !(*epsilon >= 0) || variance == nullptr) {
        continue;
      }
      const TensorId squares =
          variance->inputs.empty() ? kNoTensor : variance->inputs[0];
      if (MeanAxis(editor, sum->inputs[1 - i], squares) != axis) continue;
      const Op* square = UnaryOf(editor, squares, v1::Unary::SQUARE);
      const Op* difference =
          BinaryOf(editor, squares, v1::Binary::SQUARED_DIFFERENCE);
      const bool of_d = square != nullptr && square->inputs[0] == d;
      const bool of_x = difference != nullptr && difference->inputs[0] == x &&
                        difference->inputs[1] == mean;
      if (of_d || of_x) return static_cast<float>(*epsilon);
    }
    return std::nullopt;
  }

  static bool LayerNorm(GraphEditor& editor, int32_t index) {
    const Op& op = editor.graph().ops[index];
    const bool divides = op.attributes.binary().function() == v1::Binary::DIV;
    if (!divides && !op.attributes.has_mul()) return false;
    for (const int i : {0, 1}) {
      if (divides && i == 1) break;
      const TensorId d = op.inputs[i];
      const Op* less = BinaryOf(editor, d, v1::Binary::SUB);
      const Op* root = UnaryOf(editor, op.inputs[1 - i],
                               divides ? v1::Unary::SQRT : v1::Unary::RSQRT);
      if (less == nullptr || root == nullptr) continue;
      const TensorId x = less->inputs[0];
      const int axis = MeanAxis(editor, less->inputs[1], x);
      if (axis < 0) continue;
      const auto epsilon =
          EpsilonOf(editor, root->inputs[0], d, x, less->inputs[1], axis);
      if (!epsilon.has_value()) continue;
      v1::OpAttributes attributes;
      attributes.mutable_layer_normalization()->set_axis(axis);
      attributes.mutable_layer_normalization()->set_epsilon(*epsilon);
      Become(editor, index, x, std::move(attributes));
      return true;
    }
    return false;
  }

  // A constant of the normalised shape, as that shape; the scale or the bias of
  // the normalization before.
  static void ScaleOrBias(GraphEditor& editor, int32_t index) {
    const Op op = editor.graph().ops[index];
    const bool scales = op.attributes.has_mul();
    if (!scales && !op.attributes.has_add()) return;
    for (const int i : {1, 0}) {
      const Op* norm = editor.producer(op.inputs[1 - i]);
      if (norm == nullptr || !norm->attributes.has_layer_normalization() ||
          editor.uses(op.inputs[1 - i]) != 1 ||
          editor.tensor(op.inputs[1 - i]).shape !=
              editor.tensor(op.outputs[0]).shape) {
        continue;
      }
      const size_t slot = scales ? 1 : 2;
      const bool taken =
          norm->inputs.size() > slot && norm->inputs[slot] != kNoTensor;
      // A scale behind a bias would scale the bias too.
      const bool late =
          scales && norm->inputs.size() > 2 && norm->inputs[2] != kNoTensor;
      if (taken || late) continue;
      const auto constant = OfNormalisedShape(
          editor, op.inputs[i], editor.tensor(op.outputs[0]).shape,
          norm->attributes.layer_normalization().axis());
      if (!constant.has_value()) continue;
      Op merged = *norm;
      if (merged.inputs.size() <= slot)
        merged.inputs.resize(slot + 1, kNoTensor);
      merged.inputs[slot] = editor.AddTensor(*constant);
      merged.outputs = op.outputs;
      editor.MoveTo(index, op.inputs[1 - i], std::move(merged));
      return;
    }
  }

  static std::optional<Tensor> OfNormalisedShape(
      GraphEditor& editor, TensorId id, const std::vector<int64_t>& shape,
      int32_t axis) {
    Tensor tensor = editor.tensor(id);
    const std::vector<int64_t> wanted(shape.begin() + axis, shape.end());
    const int64_t elements = std::accumulate(wanted.begin(), wanted.end(),
                                             int64_t{1}, std::multiplies<>());
    if (!tensor.is_constant() || tensor.type != v1::FLOAT32 ||
        tensor.num_elements() != elements ||
        tensor.shape.size() < wanted.size() ||
        !std::equal(wanted.begin(), wanted.end(),
                    tensor.shape.end() - static_cast<int64_t>(wanted.size()))) {
      return std::nullopt;
    }
    tensor.shape = wanted;
    return tensor;
  }
};

}  // namespace

std::unique_ptr<Pass> NewRecognizeNormalizationsPass() {
  return std::make_unique<RecognizeNormalizations>();
}

}  // namespace edgekiln::compiler
