// Padding in front of a window becomes the window's own.

#include <memory>
#include <utility>

#include "compiler/passes/graph_edit.h"
#include "compiler/passes/pass.h"

namespace edgekiln::compiler {
namespace {

// A pad with 0 of height and width only.
const v1::Pad* SpatialZeroPad(const Op* op) {
  if (op == nullptr || !op->attributes.has_pad()) return nullptr;
  const v1::Pad& pad = op->attributes.pad();
  if (pad.before_size() != 4 || pad.value() != 0.0f ||
      pad.mode() != v1::Pad::CONSTANT) {
    return nullptr;
  }
  for (const int dimension : {0, 3}) {
    if (pad.before(dimension) != 0 || pad.after(dimension) != 0) return nullptr;
  }
  // Windows count in int32; sums of two such paddings must fit as well.
  for (const int dimension : {1, 2}) {
    if (pad.before(dimension) > (1 << 20) || pad.after(dimension) > (1 << 20)) {
      return nullptr;
    }
  }
  return &pad;
}

bool HasPadding(const v1::Window2d& window) {
  return window.pad_top() != 0 || window.pad_bottom() != 0 ||
         window.pad_left() != 0 || window.pad_right() != 0;
}

v1::Window2d Padded(v1::Window2d window, const v1::Pad& pad) {
  window.set_pad_top(window.pad_top() + static_cast<int32_t>(pad.before(1)));
  window.set_pad_bottom(window.pad_bottom() +
                        static_cast<int32_t>(pad.after(1)));
  window.set_pad_left(window.pad_left() + static_cast<int32_t>(pad.before(2)));
  window.set_pad_right(window.pad_right() + static_cast<int32_t>(pad.after(2)));
  return window;
}

// A pool must find an element in each window (ops::CheckOp).
bool FitsPool(const v1::Window2d& window, int32_t kernel_h, int32_t kernel_w) {
  return window.pad_top() < kernel_h && window.pad_bottom() < kernel_h &&
         window.pad_left() < kernel_w && window.pad_right() < kernel_w;
}

// Whether everything the op makes is 0 or more.
bool IsNonNegative(const Op* op) {
  if (op == nullptr) return false;
  const v1::Clamp* clamp = ClampOf(op->attributes);
  return clamp != nullptr && clamp->has_min() && clamp->min() >= 0;
}

class MergePads : public Pass {
 public:
  absl::string_view name() const override { return "merge-pads"; }

  absl::StatusOr<Changed> Run(const PassContext&, Graph& graph) const override {
    GraphEditor editor(graph);
    for (int32_t i = 0; i < static_cast<int32_t>(graph.ops.size()); ++i) {
      Op& op = graph.ops[i];
      if (op.inputs.empty()) continue;
      const Op* before = editor.producer(op.inputs[0]);
      const v1::Pad* pad = SpatialZeroPad(before);
      if (pad == nullptr) continue;
      const Op* source = editor.producer(before->inputs[0]);
      if (Merge(op, *pad, editor.tensor(op.outputs[0]), source)) {
        editor.SetInput(i, 0, before->inputs[0]);
      }
    }
    return editor.Finish() ? Changed::kYes : Changed::kNo;
  }

 private:
  // Widens the window of `op`; false if that would not be the same.
  static bool Merge(Op& op, const v1::Pad& pad, const Tensor& output,
                    const Op* source) {
    v1::OpAttributes& attributes = op.attributes;
    if (attributes.has_conv2d()) {
      v1::Window2d* window = attributes.mutable_conv2d()->mutable_window();
      *window = Padded(*window, pad);
      return true;
    }
    if (attributes.has_depthwise_conv2d()) {
      v1::Window2d* window =
          attributes.mutable_depthwise_conv2d()->mutable_window();
      *window = Padded(*window, pad);
      return true;
    }
    if (attributes.has_max_pool2d()) {
      return MergeMaxPool(*attributes.mutable_max_pool2d(), pad, source);
    }
    // Integer averages over counted padding round differently.
    if (attributes.has_average_pool2d() && output.type == v1::FLOAT32) {
      return MergeAveragePool(*attributes.mutable_average_pool2d(), pad);
    }
    return false;
  }

  // Zeros lose against values of 0 and more, as a window's own padding does.
  static bool MergeMaxPool(v1::MaxPool2d& pool, const v1::Pad& pad,
                           const Op* source) {
    const v1::Window2d window = Padded(pool.window(), pad);
    if (!IsNonNegative(source) ||
        !FitsPool(window, pool.kernel_h(), pool.kernel_w())) {
      return false;
    }
    *pool.mutable_window() = window;
    return true;
  }

  static bool MergeAveragePool(v1::AveragePool2d& pool, const v1::Pad& pad) {
    const v1::Window2d window = Padded(pool.window(), pad);
    const bool excludes =
        HasPadding(pool.window()) && !pool.count_include_pad();
    if (excludes || !FitsPool(window, pool.kernel_h(), pool.kernel_w())) {
      return false;
    }
    *pool.mutable_window() = window;
    pool.set_count_include_pad(true);
    return true;
  }
};

}  // namespace

std::unique_ptr<Pass> NewMergePadsPass() {
  return std::make_unique<MergePads>();
}

}  // namespace edgekiln::compiler
