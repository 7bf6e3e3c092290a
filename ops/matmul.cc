#include <memory>
#include <vector>

#include "base/status_macros.h"
#include "ops/dot.h"
#include "ops/kernels.h"

namespace edgekiln::ops {
namespace {

struct MatMulGeometry {
  int64_t rows, depth, columns;
  std::vector<int64_t> batch;  // Leading dimensions of the output.
};

MatMulGeometry GeometryOf(Inputs inputs, absl::Span<const int64_t> out) {
  return {out[out.size() - 2],
          inputs[0].shape.back(),
          out.back(),
          {out.begin(), out.end() - 2}};
}

// Index of the matrix of `input` that broadcasting pairs with matrix `index` of
// the output.
int64_t BroadcastMatrix(int64_t index, const std::vector<int64_t>& batch,
                        absl::Span<const int64_t> input) {
  int64_t result = 0;
  int64_t stride = 1;
  const int64_t dims = static_cast<int64_t>(input.size()) - 2;
  for (int64_t i = 0; i < std::ssize(batch); ++i) {
    const int64_t extent = batch[batch.size() - 1 - i];
    const int64_t position = index % extent;
    index /= extent;
    if (i >= dims) continue;
    const int64_t own = input[dims - 1 - i];
    result += (own == 1 ? 0 : position) * stride;
    stride *= own;
  }
  return result;
}

template <typename Dot>
class Product : public PreparedOp {
 public:
  Product(MatMulGeometry g, Dot dot, const TensorView& right)
      : geometry_(std::move(g)), dot_(std::move(dot)) {
    if (right.data == nullptr) return;
    const int64_t matrices =
        NumElements(right.shape.first(right.shape.size() - 2));
    if (!FitsPacked(matrices, geometry_.depth, geometry_.columns)) return;
    for (int64_t m = 0; m < matrices; ++m) packed_.push_back(Pack(right, m));
  }

  absl::Status Run(Inputs inputs, Outputs outputs,
                   CpuPath path) const override {
    const MatMulGeometry& g = geometry_;
    for (int64_t m = 0; m < NumElements(g.batch); ++m) {
      const auto* a =
          inputs[0].as<typename Dot::Value>() +
          BroadcastMatrix(m, g.batch, inputs[0].shape) * g.rows * g.depth;
      const int64_t b = BroadcastMatrix(m, g.batch, inputs[1].shape);
      const DotTarget to{outputs[0], m * g.rows * g.columns, g.columns, 0, {}};
      if (packed_.empty()) {
        MultiplyDense(dot_, Pack(inputs[1], b), a, g.rows, g.depth, to, path);
      } else {
        MultiplyDense(dot_, packed_[b], a, g.rows, g.depth, to, path);
      }
    }
    return absl::OkStatus();
  }

 private:
  typename Dot::Right Pack(const TensorView& right, int64_t matrix) const {
    const MatMulGeometry& g = geometry_;
    return dot_.Pack(right, {matrix * g.depth * g.columns, g.depth, g.columns,
                             g.columns, 1, 0});
  }

  const MatMulGeometry geometry_;
  const Dot dot_;
  std::vector<typename Dot::Right> packed_;  // Empty: the right side varies.
};

}  // namespace

absl::StatusOr<std::unique_ptr<PreparedOp>> PrepareMatMul(
    v1::Rounding rounding, Inputs inputs, const TensorView& output) {
  const MatMulGeometry g = GeometryOf(inputs, output.shape);
  return WithDot({}, rounding, inputs, output, g.columns, [&](auto dot) {
    return std::make_unique<Product<decltype(dot)>>(g, std::move(dot),
                                                    inputs[1]);
  });
}

}  // namespace edgekiln::ops
