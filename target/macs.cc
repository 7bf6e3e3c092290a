#include "target/macs.h"

#include <algorithm>

#include "base/checked_math.h"

namespace edgekiln::target {
namespace {

using Count = std::optional<int64_t>;

Count Times(Count a, Count b) {
  return a && b ? CheckedMul(*a, *b) : std::nullopt;
}

// Products of a matrix with one vector; none for an absent matrix.
Count MatrixElements(absl::Span<const ShapeSpan> inputs, size_t index) {
  if (index >= inputs.size() || inputs[index].empty()) return 0;
  return CheckedProduct(inputs[index]);
}

// `steps` times the matrices `first` and `second` and perhaps a third one.
Count MatricesPerStep(Count steps, absl::Span<const ShapeSpan> inputs,
                      size_t first, size_t second, size_t third) {
  Count sum = 0;
  for (const size_t index : {first, second, third}) {
    const Count next = MatrixElements(inputs, index);
    sum = sum && next ? CheckedAdd(*sum, *next) : std::nullopt;
  }
  return Times(steps, sum);
}

}  // namespace

Count MultiplyAccumulates(const v1::OpAttributes& attributes,
                          absl::Span<const ShapeSpan> inputs,
                          absl::Span<const ShapeSpan> outputs) {
  if (inputs.size() < 2 || inputs[0].empty() || inputs[1].empty() ||
      outputs.empty()) {
    return 0;
  }
  const ShapeSpan x = inputs[0];
  const ShapeSpan w = inputs[1];
  const Count outs = CheckedProduct(outputs[0]);
  switch (attributes.op_case()) {
    case v1::OpAttributes::kConv2D:
    case v1::OpAttributes::kConv3D:
    case v1::OpAttributes::kFullyConnected:
      return Times(outs, CheckedProduct(w.subspan(1)));
    case v1::OpAttributes::kDepthwiseConv2D:
      // [1,KH,KW,channels]: each channel sees its own window only.
      return Times(outs, CheckedProduct(w.first(w.size() - 1)));
    case v1::OpAttributes::kMatMul:
      return Times(outs, x.back());
    case v1::OpAttributes::kTransposedConv: {
      // Each input element meets one window of every output channel of its
      // group.
      const Count reach = CheckedProduct(w.first(w.size() - 1));
      const int64_t groups = std::max(1, attributes.transposed_conv().groups());
      const Count all = Times(CheckedProduct(x), reach);
      return all ? Count(*all / groups) : std::nullopt;
    }
    case v1::OpAttributes::kLstm:
      return MatricesPerStep(
          CheckedProduct(x.first(std::min<size_t>(x.size(), 2))), inputs, 1, 2,
          8);
    case v1::OpAttributes::kGru:
    case v1::OpAttributes::kRnn:
      return MatricesPerStep(
          CheckedProduct(x.first(std::min<size_t>(x.size(), 2))), inputs, 1, 2,
          inputs.size());
    case v1::OpAttributes::kSvdf:
      return MatricesPerStep(x[0], inputs, 1, 2, inputs.size());
    default:
      return 0;
  }
}

}  // namespace edgekiln::target
