// y = conv(x) followed by y * s[c] + t[c] is one convolution with other weights
// and bias. Results differ from before by float rounding.

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compiler/passes/affine.h"
#include "compiler/passes/graph_edit.h"
#include "compiler/passes/pass.h"

namespace edgekiln::compiler {
namespace {

// Dimension of the weights that counts output channels; -1 for other ops.
int ChannelAxis(const Op& op) {
  if (op.attributes.has_conv2d() || op.attributes.has_fully_connected()) {
    return 0;
  }
  return op.attributes.has_depthwise_conv2d() ? 3 : -1;
}

std::vector<float> ScaledWeights(const std::vector<float>& weights,
                                 const std::vector<int64_t>& shape, int axis,
                                 const std::vector<double>& scale) {
  int64_t inner = 1;
  for (size_t i = axis + 1; i < shape.size(); ++i) inner *= shape[i];
  std::vector<float> scaled(weights.size());
  for (size_t i = 0; i < weights.size(); ++i) {
    const int64_t channel = (static_cast<int64_t>(i) / inner) % shape[axis];
    scaled[i] = static_cast<float>(weights[i] * scale[channel]);
  }
  return scaled;
}

class FoldScaleAndBias : public Pass {
 public:
  absl::string_view name() const override { return "fold-scale-and-bias"; }

  absl::StatusOr<Changed> Run(const PassContext&, Graph& graph) const override {
    GraphEditor editor(graph);
    for (int32_t i = 0; i < static_cast<int32_t>(graph.ops.size()); ++i) {
      Visit(editor, i);
    }
    return editor.Finish() ? Changed::kYes : Changed::kNo;
  }

 private:
  static void Visit(GraphEditor& editor, int32_t index) {
    const Op& op = editor.graph().ops[index];
    Op* before = editor.producer(op.inputs[0]);
    if (before == nullptr || editor.uses(op.inputs[0]) != 1) return;
    const int axis = ChannelAxis(*before);
    if (axis < 0 || HasBounds(*ClampOf(before->attributes))) return;
    // A broadcast that makes the result larger is no business of weights.
    if (editor.tensor(op.inputs[0]).shape !=
        editor.tensor(op.outputs[0]).shape) {
      return;
    }
    const std::optional<Affine> affine = ChannelAffine(editor.graph(), op);
    if (!affine.has_value()) return;
    if (!Apply(editor, *before, axis, *affine)) return;
    const v1::Clamp* clamp = ClampOf(editor.graph().ops[index].attributes);
    if (clamp != nullptr && HasBounds(*clamp)) {
      *MutableClamp(before->attributes) = *clamp;
    }
    editor.FuseIntoProducer(index);
  }

  // New weights and bias of `op`; false if they are not known now.
  static bool Apply(GraphEditor& editor, Op& op, int axis,
                    const Affine& affine) {
    const Tensor weights = editor.tensor(op.inputs[1]);
    const std::optional<std::vector<float>> values =
        FloatConstantValues(weights);
    if (!values.has_value()) return false;
    const size_t channels = affine.scale.size();
    std::vector<float> bias(channels, 0.0f);
    Tensor like = weights;
    like.name = absl::StrCat(weights.name, ".bias");
    if (op.inputs.size() > 2 && op.inputs[2] != kNoTensor) {
      like = editor.tensor(op.inputs[2]);
      const auto old = FloatConstantValues(like);
      if (!old.has_value()) return false;
      bias = *old;
    }
    for (size_t c = 0; c < channels; ++c) {
      bias[c] =
          static_cast<float>(bias[c] * affine.scale[c] + affine.offset[c]);
    }
    const int32_t index = static_cast<int32_t>(&op - editor.graph().ops.data());
    if (std::any_of(affine.scale.begin(), affine.scale.end(),
                    [](double factor) { return factor != 1.0; })) {
      editor.SetInput(
          index, 1,
          editor.AddTensor(FloatTensorLike(
              weights, weights.shape,
              ScaledWeights(*values, weights.shape, axis, affine.scale))));
    }
    editor.SetInput(index, 2,
                    editor.AddTensor(FloatTensorLike(
                        like, {static_cast<int64_t>(channels)}, bias)));
    return true;
  }
};

}  // namespace

std::unique_ptr<Pass> NewFoldScaleAndBiasPass() {
  return std::make_unique<FoldScaleAndBias>();
}

}  // namespace edgekiln::compiler
