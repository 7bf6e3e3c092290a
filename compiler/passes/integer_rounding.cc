#include "compiler/passes/integer_rounding.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "compiler/passes/graph_edit.h"
#include "ops/quantized_parameters.h"
#include "ops/requantize.h"
#include "ops/rounding.h"

namespace edgekiln::compiler {
namespace {

using ops::TensorView;
using Views = std::vector<TensorView>;

constexpr v1::Rounding kEven = v1::HALF_EVEN;
constexpr int64_t kLargestProduct = 255 * 255;  // Of two 8-bit values.

// How large the size of a value less its zero point may be.
int64_t LargestValue(const TensorView& tensor) {
  const ops::QuantizedRange range = ops::RangeOf(tensor.type);
  return int64_t{range.max} - range.min;
}

// Products that are summed for one output.
int64_t DepthOf(const v1::OpAttributes& op, const Views& inputs) {
  if (op.has_mat_mul()) return inputs[0].shape.back();
  const auto w = inputs[1].shape;
  // Depthwise weights have their channels at the end, all others in front.
  const int64_t channels = op.has_depthwise_conv2d() ? w.back() : w[0];
  return channels == 0 ? 0 : ops::NumElements(w) / channels;
}

int64_t LargestBias(const Views& inputs) {
  if (inputs.size() < 3 || inputs[2].type != v1::INT32 ||
      inputs[2].data == nullptr) {
    return 0;
  }
  const int32_t* bias = inputs[2].as<int32_t>();
  int64_t largest = 0;
  for (int64_t i = 0; i < ops::NumElements(inputs[2].shape); ++i) {
    largest = std::max(largest, std::abs(int64_t{bias[i]}));
  }
  return largest;
}

bool DotMayTie(const v1::OpAttributes& op, const Views& inputs,
               const TensorView& output) {
  const auto parameters = ops::DotParameters(
      {}, kEven, inputs[0].quantization, inputs[1].quantization,
      output.quantization, output.type, output.shape.back());
  if (!parameters.ok()) return true;
  const int64_t largest =
      DepthOf(op, inputs) * kLargestProduct + LargestBias(inputs);
  return std::any_of(parameters->multiplier.begin(),
                     parameters->multiplier.end(),
                     [largest](const ops::FixedPointMultiplier& factor) {
                       return ops::MayTie(factor, largest);
                     });
}

bool ChangeMayTie(const TensorView& input, const TensorView& output) {
  const auto change = ops::ChangeOfScale({}, kEven, input.quantization,
                                         output.quantization, output.type);
  return !change.ok() || (!change->identity &&
                          ops::MayTie(change->multiplier, LargestValue(input)));
}

bool SumMayTie(const Views& inputs, const TensorView& output) {
  const auto sum = ops::AddParameters({}, kEven, inputs[0].quantization,
                                      inputs[1].quantization,
                                      output.quantization, output.type);
  // Two operands of 8 bits, shifted, at half of their scale.
  return !sum.ok() || ops::MayTie(sum->output_multiplier, int64_t{1} << 28);
}

bool ProductMayTie(const Views& inputs, const TensorView& output) {
  const auto product = ops::MulParameters({}, kEven, inputs[0].quantization,
                                          inputs[1].quantization,
                                          output.quantization, output.type);
  return !product.ok() || ops::MayTie(product->multiplier, kLargestProduct);
}

int64_t CountOf(const v1::AveragePool2d& pool) {
  return int64_t{pool.kernel_h()} * pool.kernel_w();
}

bool MayTie(const v1::OpAttributes& op, const Views& inputs,
            const TensorView& output) {
  // Floats tie where exact arithmetic does not.
  if (ops::HalfEvenFormOf(op) == ops::HalfEvenForm::kFloats) return true;
  switch (op.op_case()) {
    case v1::OpAttributes::kAdd:
    case v1::OpAttributes::kBinary:
      return SumMayTie(inputs, output);
    case v1::OpAttributes::kMul:
      return ProductMayTie(inputs, output);
    case v1::OpAttributes::kClip:
    case v1::OpAttributes::kConcat:
    case v1::OpAttributes::kQuantize:
      return std::any_of(
          inputs.begin(), inputs.end(),
          [&](const TensorView& x) { return ChangeMayTie(x, output); });
    case v1::OpAttributes::kAveragePool2D:
      return AverageMayTie(op.average_pool2d());
    case v1::OpAttributes::kConv2D:
    case v1::OpAttributes::kConv3D:
    case v1::OpAttributes::kDepthwiseConv2D:
    case v1::OpAttributes::kTransposedConv:
    case v1::OpAttributes::kFullyConnected:
    case v1::OpAttributes::kMatMul:
      return DotMayTie(op, inputs, output);
    default:
      return true;
  }
}

// The significand of a scale as an odd number.
int64_t OddPart(float scale) {
  int exponent = 0;
  auto odd = static_cast<int64_t>(std::ldexp(std::frexp(scale, &exponent), 24));
  while (odd != 0 && odd % 2 == 0) odd /= 2;
  return odd;
}

}  // namespace

bool CountsAll(const v1::AveragePool2d& pool) {
  const v1::Window2d& window = pool.window();
  return pool.count_include_pad() ||
         (window.pad_top() == 0 && window.pad_bottom() == 0 &&
          window.pad_left() == 0 && window.pad_right() == 0);
}

bool AverageMayTie(const v1::AveragePool2d& pool) {
  return CountOf(pool) % 2 == 0 || (CountOf(pool) > 1 && !CountsAll(pool));
}

v1::Rounding IntegerRounding(const v1::OpAttributes& op,
                             const std::vector<TensorView>& inputs,
                             const TensorView& output) {
  if (ops::HalfEvenFormOf(op) == ops::HalfEvenForm::kNone) return v1::HALF_UP;
  const v1::Clamp* clamp = ClampOf(op);
  const bool bounds_tie =
      clamp != nullptr &&
      ops::ClampRange(*clamp, v1::HALF_UP, output.quantization, output.type) !=
          ops::ClampRange(*clamp, kEven, output.quantization, output.type);
  return bounds_tie || MayTie(op, inputs, output) ? kEven : v1::HALF_UP;
}

AverageForm AverageFormOf(const v1::AveragePool2d& pool, const Tensor& input,
                          const Tensor& output) {
  const int64_t count = CountOf(pool);
  const float from = input.quantization->scale[0];
  const float to = output.quantization->scale[0];
  // Every sum, and with so few values every distance to a tie, is a float.
  constexpr int64_t kMaxSum = int64_t{1} << 24;
  constexpr int64_t kFew = 4096;
  const bool exact = count <= kFew && OddPart(from) * 255 * count < kMaxSum;
  // One sum in so many is a tie; at most every second of them differs.
  constexpr int64_t kMany = 100;
  if (input.quantization == output.quantization) {
    return !AverageMayTie(pool) || exact || (CountsAll(pool) && count >= kMany)
               ? AverageForm::kInteger
               : AverageForm::kFloat;
  }
  if (!CountsAll(pool)) return AverageForm::kFloat;
  // Scales that have no power of two between them make no ties. Others: sums
  // are divided by this.
  const double divisor = static_cast<double>(count) * to / from;
  const bool ties =
      OddPart(from) == OddPart(to) && std::fmod(divisor, 2.0) == 0;
  const bool power_of_two = (count & (count - 1)) == 0;
  return !ties || (exact && power_of_two) || divisor >= kMany
             ? AverageForm::kWeighted
             : AverageForm::kFloat;
}

}  // namespace edgekiln::compiler
