#include "compiler/passes/depthwise_average.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "compiler/passes/clamps.h"
#include "compiler/passes/integer_rounding.h"

namespace edgekiln::compiler {
namespace {

int64_t CountOf(const v1::AveragePool2d& pool) {
  return int64_t{pool.kernel_h()} * pool.kernel_w();
}

}  // namespace

DepthwiseAverage AsDepthwise(const v1::AveragePool2d& pool,
                             const Tensor& output) {
  const int64_t count = CountOf(pool);
  const int64_t channels = output.shape[3];
  DepthwiseAverage average;
  Tensor& weights = average.weights;
  weights.name = absl::StrCat(output.name, ".average");
  weights.type = v1::INT8;
  weights.shape = {1, pool.kernel_h(), pool.kernel_w(), channels};
  weights.quantization = Quantization{
      .scale = {static_cast<float>(1.0 / static_cast<double>(count))},
      .zero_point = {0},
      .axis = 0};
  weights.data =
      ConstantData(std::string(static_cast<size_t>(count * channels), '\x01'));
  v1::DepthwiseConv2d& conv = *average.attributes.mutable_depthwise_conv2d();
  *conv.mutable_window() = pool.window();
  if (HasBounds(pool.clamp())) *conv.mutable_clamp() = pool.clamp();
  conv.set_depth_multiplier(1);
  return average;
}

bool IsExactAsDepthwise(const v1::AveragePool2d& pool) {
  const int64_t count = CountOf(pool);
  constexpr int64_t kMost = 4096;  // Sums of more are refused.
  return CountsAll(pool) && count > 0 && count <= kMost &&
         (count & (count - 1)) == 0;
}

}  // namespace edgekiln::compiler
