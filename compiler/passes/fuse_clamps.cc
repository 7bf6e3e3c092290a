#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "compiler/passes/graph_edit.h"
#include "compiler/passes/pass.h"

namespace edgekiln::compiler {
namespace {

// first, then second, as one: limiting to [a,b] and then to [c,d] limits to
// [limit(a), limit(b)] with limit = to [c,d].
v1::Clamp Composed(const v1::Clamp& first, const v1::Clamp& second) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float low = second.has_min() ? second.min() : -kInfinity;
  const float high = second.has_max() ? second.max() : kInfinity;
  const auto limit = [low, high](float v) {
    return std::min(std::max(v, low), high);
  };
  v1::Clamp both;
  const float min = limit(first.has_min() ? first.min() : -kInfinity);
  const float max = limit(first.has_max() ? first.max() : kInfinity);
  if (min != -kInfinity) both.set_min(min);
  if (max != kInfinity) both.set_max(max);
  return both;
}

bool SameValues(const Tensor& a, const Tensor& b) {
  return a.type == b.type && a.quantization == b.quantization;
}

// The op that a clip of `clipped` can move into, or null: what makes it, or
// what makes the input of reshapes, transposes and max pools before it, which
// limiting passes through unchanged. A max pool takes it itself if nothing
// before it can.
Op* ClampOwner(GraphEditor& editor, TensorId clipped) {
  Op* fallback = nullptr;
  while (editor.uses(clipped) == 1) {
    Op* op = editor.producer(clipped);
    if (op == nullptr) return fallback;
    const bool pools = op->attributes.has_max_pool2d();
    const bool passes =
        pools || op->attributes.has_reshape() || op->attributes.has_transpose();
    if (!passes) return ClampOf(op->attributes) != nullptr ? op : fallback;
    if (pools && fallback == nullptr) fallback = op;
    clipped = op->inputs[0];
  }
  return fallback;
}

// relu(conv(x)) -> conv(x) with a clamp. Quantized tensors only where the clip
// changes no scale, so that every value stays the same.
class FuseClamps : public Pass {
 public:
  absl::string_view name() const override { return "fuse-clamps"; }

  absl::StatusOr<Changed> Run(const PassContext&, Graph& graph) const override {
    GraphEditor editor(graph);
    for (int32_t i = 0; i < static_cast<int32_t>(graph.ops.size()); ++i) {
      const Op& clip = graph.ops[i];
      if (!clip.attributes.has_clip() ||
          !SameValues(editor.tensor(clip.inputs[0]),
                      editor.tensor(clip.outputs[0]))) {
        continue;
      }
      Op* owner = ClampOwner(editor, clip.inputs[0]);
      if (owner == nullptr) continue;
      v1::Clamp* clamp = MutableClamp(owner->attributes);
      *clamp = Composed(*clamp, clip.attributes.clip().clamp());
      editor.FuseIntoProducer(i);
    }
    return editor.Finish() ? Changed::kYes : Changed::kNo;
  }
};

}  // namespace

std::unique_ptr<Pass> NewFuseClampsPass() {
  return std::make_unique<FuseClamps>();
}

}  // namespace edgekiln::compiler
