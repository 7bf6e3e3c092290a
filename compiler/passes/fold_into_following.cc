// conv(x * s[c] + t[c]) is one convolution with other weights and bias, where
// the convolution adds no padding of its own or t is 0. Results differ from
// before by float rounding. What fold-scale-and-bias can put into an op before
// it has gone there.

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

bool HasPadding(const v1::Window2d& window) {
  return window.pad_top() != 0 || window.pad_bottom() != 0 ||
         window.pad_left() != 0 || window.pad_right() != 0;
}

bool IsZeroPad(const Op& op) {
  return op.attributes.has_pad() &&
         op.attributes.pad().mode() == v1::Pad::CONSTANT &&
         op.attributes.pad().value() == 0;
}

// How the weights of an op meet the channels of its input.
struct Layout {
  int64_t channels = 0;  // Of the input.
  int64_t output_channels = 0;
  bool depthwise = false;
  int64_t multiplier = 1;  // Depthwise: output channels per channel.
  bool pads = false;
};

std::optional<Layout> LayoutOf(const GraphEditor& editor, const Op& op) {
  const v1::OpAttributes& attributes = op.attributes;
  if (op.inputs.size() < 2 || op.inputs[1] == kNoTensor) return std::nullopt;
  const std::vector<int64_t>& shape = editor.tensor(op.inputs[1]).shape;
  if (attributes.has_conv2d() && attributes.conv2d().groups() <= 1) {
    return Layout{shape[3], shape[0], false, 1,
                  HasPadding(attributes.conv2d().window())};
  }
  if (attributes.has_fully_connected() &&
      editor.tensor(op.inputs[0]).shape.back() == shape[1]) {
    return Layout{shape[1], shape[0], false, 1, false};
  }
  if (attributes.has_depthwise_conv2d()) {
    const int64_t multiplier = attributes.depthwise_conv2d().depth_multiplier();
    return Layout{shape[3] / multiplier, shape[3], true, multiplier,
                  HasPadding(attributes.depthwise_conv2d().window())};
  }
  return std::nullopt;
}

class FoldIntoFollowing : public Pass {
 public:
  absl::string_view name() const override { return "fold-into-following"; }

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
    const std::optional<Layout> layout = LayoutOf(editor, op);
    if (!layout.has_value() || editor.uses(op.inputs[0]) != 1) return;
    const Op* before = editor.producer(op.inputs[0]);
    Op* pad = nullptr;
    if (before != nullptr && IsZeroPad(*before)) {
      pad = editor.producer(op.inputs[0]);
      if (editor.uses(pad->inputs[0]) != 1) return;
      before = editor.producer(pad->inputs[0]);
    }
    if (before == nullptr || (ClampOf(before->attributes) != nullptr &&
                              HasBounds(*ClampOf(before->attributes)))) {
      return;
    }
    // A broadcast that makes the result larger is no business of weights.
    if (editor.tensor(before->inputs[0]).shape !=
        editor.tensor(before->outputs[0]).shape) {
      return;
    }
    const std::optional<Affine> affine = ChannelAffine(editor.graph(), *before);
    if (!affine.has_value() ||
        static_cast<int64_t>(affine->scale.size()) != layout->channels) {
      return;
    }
    const bool moves = std::any_of(affine->offset.begin(), affine->offset.end(),
                                   [](double offset) { return offset != 0; });
    if (moves && (layout->pads || pad != nullptr)) return;
    const TensorId source = before->inputs[0];
    if (!Apply(editor, index, *layout, *affine, moves)) return;
    if (pad == nullptr) {
      editor.SetInput(index, 0, source);
    } else {
      editor.SetInput(static_cast<int32_t>(pad - editor.graph().ops.data()), 0,
                      source);
    }
  }

  // New weights and bias; false if they are not known now.
  static bool Apply(GraphEditor& editor, int32_t index, const Layout& layout,
                    const Affine& affine, bool moves) {
    const Op& op = editor.graph().ops[index];
    const Tensor weights = editor.tensor(op.inputs[1]);
    std::optional<std::vector<float>> values = FloatConstantValues(weights);
    if (!values.has_value() || values->empty()) return false;
    std::vector<double> bias(static_cast<size_t>(layout.output_channels), 0);
    Tensor like = weights;
    like.name = absl::StrCat(weights.name, ".bias");
    const bool has_bias = op.inputs.size() > 2 && op.inputs[2] != kNoTensor;
    if (has_bias) {
      like = editor.tensor(op.inputs[2]);
      const auto old = FloatConstantValues(like);
      if (!old.has_value()) return false;
      bias.assign(old->begin(), old->end());
    }
    const size_t per_output = values->size() / bias.size();
    for (size_t i = 0; i < values->size(); ++i) {
      const size_t output = layout.depthwise ? i % bias.size() : i / per_output;
      const size_t channel =
          layout.depthwise ? output / static_cast<size_t>(layout.multiplier)
                           : i % static_cast<size_t>(layout.channels);
      bias[output] += (*values)[i] * affine.offset[channel];
      (*values)[i] = static_cast<float>((*values)[i] * affine.scale[channel]);
    }
    editor.SetInput(
        index, 1,
        editor.AddTensor(FloatTensorLike(weights, weights.shape, *values)));
    if (!moves) return true;
    if (op.inputs.size() < 3) editor.SetInput(index, 2, kNoTensor);
    const std::vector<float> rounded(bias.begin(), bias.end());
    editor.SetInput(index, 2,
                    editor.AddTensor(FloatTensorLike(
                        like, {layout.output_channels}, rounded)));
    return true;
  }
};

}  // namespace

std::unique_ptr<Pass> NewFoldIntoFollowingPass() {
  return std::make_unique<FoldIntoFollowing>();
}

}  // namespace edgekiln::compiler
