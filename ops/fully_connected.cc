#include <memory>
#include <optional>

#include "base/status_macros.h"
#include "ops/dot.h"
#include "ops/kernels.h"

namespace edgekiln::ops {
namespace {

template <typename Dot>
class Layer : public PreparedOp {
 public:
  Layer(Dot dot, const TensorView& weights) : dot_(std::move(dot)) {
    if (weights.data != nullptr) packed_.emplace(Pack(weights));
  }

  absl::Status Run(Inputs inputs, Outputs outputs,
                   CpuPath path) const override {
    const int64_t columns = inputs[1].shape[0];
    const int64_t depth = inputs[1].shape[1];
    const int64_t rows = NumElements(outputs[0].shape) / columns;
    const DotTarget to{outputs[0], 0, columns, 0, InputOr(inputs, 2)};
    const auto* x = inputs[0].as<typename Dot::Value>();
    if (packed_.has_value()) {
      MultiplyDense(dot_, *packed_, x, rows, depth, to, path);
    } else {
      MultiplyDense(dot_, Pack(inputs[1]), x, rows, depth, to, path);
    }
    return absl::OkStatus();
  }

 private:
  typename Dot::Right Pack(const TensorView& w) const {
    return dot_.Pack(w, {0, w.shape[1], w.shape[0], 1, w.shape[1], 0});
  }

  const Dot dot_;
  std::optional<typename Dot::Right> packed_;  // Absent: weights vary.
};

}  // namespace

absl::StatusOr<std::unique_ptr<PreparedOp>> PrepareFullyConnected(
    const v1::FullyConnected& op, v1::Rounding rounding, Inputs inputs,
    const TensorView& output) {
  return WithDot(op.clamp(), rounding, inputs, output, inputs[1].shape[0],
                 [&](auto dot) {
                   return std::make_unique<Layer<decltype(dot)>>(std::move(dot),
                                                                 inputs[1]);
                 });
}

}  // namespace edgekiln::ops
