// A batch normalization with nothing to fold into becomes a depthwise
// convolution of 1x1, which accelerators have; where it does not run over the
// last of four dimensions, a multiplication and an addition.

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

struct ScaleAndOffset {
  std::vector<float> scale;
  std::vector<float> offset;
};

ScaleAndOffset Rounded(const Affine& affine) {
  return {{affine.scale.begin(), affine.scale.end()},
          {affine.offset.begin(), affine.offset.end()}};
}

class Lowering {
 public:
  explicit Lowering(Graph& graph) : graph_(graph), names_(graph) {}

  Changed Run() {
    std::vector<Op> before = std::move(graph_.ops);
    bool changed = false;
    for (Op& op : before) {
      std::optional<Affine> affine;
      if (op.attributes.has_batch_normalization()) {
        affine = AffineOfNormalization(graph_, op);
      }
      if (!affine.has_value()) {
        ops_.push_back(std::move(op));
        continue;
      }
      changed = true;
      const ScaleAndOffset constants = Rounded(*affine);
      const int rank =
          static_cast<int>(graph_.tensors[op.outputs[0]].shape.size());
      if (rank == 4 && op.attributes.batch_normalization().axis() == 3) {
        LowerToDepthwise(op, constants);
      } else {
        LowerToArithmetic(op, constants);
      }
    }
    graph_.ops = std::move(ops_);
    return changed ? Changed::kYes : Changed::kNo;
  }

 private:
  TensorId AddConstant(const Op& op, absl::string_view role,
                       std::vector<int64_t> shape,
                       const std::vector<float>& values) {
    Tensor like;
    like.name = names_.TensorName(
        absl::StrCat(graph_.tensors[op.outputs[0]].name, ".", role));
    graph_.tensors.push_back(FloatTensorLike(like, std::move(shape), values));
    return static_cast<TensorId>(graph_.tensors.size()) - 1;
  }

  void LowerToDepthwise(Op& op, const ScaleAndOffset& constants) {
    const int64_t channels = static_cast<int64_t>(constants.scale.size());
    v1::OpAttributes attributes;
    v1::DepthwiseConv2d* conv = attributes.mutable_depthwise_conv2d();
    conv->set_depth_multiplier(1);
    v1::Window2d* window = conv->mutable_window();
    window->set_stride_h(1);
    window->set_stride_w(1);
    window->set_dilation_h(1);
    window->set_dilation_w(1);
    op.attributes = std::move(attributes);
    op.inputs = {op.inputs[0],
                 AddConstant(op, "scale", {1, 1, 1, channels}, constants.scale),
                 AddConstant(op, "offset", {channels}, constants.offset)};
    ops_.push_back(std::move(op));
  }

  void LowerToArithmetic(Op& op, const ScaleAndOffset& constants) {
    const Tensor output = graph_.tensors[op.outputs[0]];
    std::vector<int64_t> shape(output.shape.size(), 1);
    shape[op.attributes.batch_normalization().axis()] =
        static_cast<int64_t>(constants.scale.size());
    const TensorId scale = AddConstant(op, "scale", shape, constants.scale);
    const TensorId offset = AddConstant(op, "offset", shape, constants.offset);
    Tensor scaled = output;
    scaled.name = names_.TensorName(absl::StrCat(output.name, ".scaled"));
    const TensorId middle = static_cast<TensorId>(graph_.tensors.size());
    graph_.tensors.push_back(std::move(scaled));
    Op mul;
    mul.id = names_.OpId(absl::StrCat(op.id, ".scale"));
    mul.name = op.name;
    mul.attributes.mutable_mul();
    mul.inputs = {op.inputs[0], scale};
    mul.outputs = {middle};
    ops_.push_back(std::move(mul));
    op.attributes.mutable_add();
    op.inputs = {middle, offset};
    ops_.push_back(std::move(op));
  }

  Graph& graph_;
  FreshNames names_;
  std::vector<Op> ops_;
};

class LowerBatchNormalization : public Pass {
 public:
  absl::string_view name() const override {
    return "lower-batch-normalization";
  }

  absl::StatusOr<Changed> Run(const PassContext&, Graph& graph) const override {
    return Lowering(graph).Run();
  }
};

}  // namespace

std::unique_ptr<Pass> NewLowerBatchNormalizationPass() {
  return std::make_unique<LowerBatchNormalization>();
}

}  // namespace edgekiln::compiler
