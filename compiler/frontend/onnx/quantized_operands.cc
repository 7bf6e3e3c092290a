#include "compiler/frontend/onnx/quantized_operands.h"

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/frontend/onnx/axes.h"
#include "compiler/frontend/onnx/ir_ops.h"
#include "compiler/frontend/onnx/tensor_data.h"

namespace edgekiln::compiler::onnx_import {

absl::StatusOr<Quantization> ReadQuantization(const Node& node,
                                              const Builder& builder, int scale,
                                              int zero, int64_t axis,
                                              int64_t rank, bool dead) {
  EK_ASSIGN_OR_RETURN(const Tensor* scales, builder.ConstantInput(node, scale));
  if (scales->shape.size() > 1) {
    return node.Unsupported("a scale of more than one dimension",
                            "one scale, or one per channel",
                            "quantize per tensor or per channel");
  }
  Quantization quantization;
  EK_ASSIGN_OR_RETURN(quantization.scale, FloatValues(*scales), node.Label());
  const size_t count = quantization.scale.size();
  for (const float value : quantization.scale) {
    const bool may_be_zero = dead && count > 1;
    if (!std::isfinite(value) || !(may_be_zero ? value >= 0 : value > 0)) {
      return node.Invalid(absl::StrCat("a scale of ", value));
    }
  }
  std::vector<int64_t> zeros;
  if (node.has_input(zero)) {
    EK_ASSIGN_OR_RETURN(zeros, builder.ConstantIntegers(node, zero));
  }
  if (zeros.empty()) zeros.push_back(0);
  if (zeros.size() == 1) zeros.resize(count, zeros[0]);
  if (count == 0 || zeros.size() != count) {
    return node.Invalid(
        absl::StrCat(count, " scales and ", zeros.size(), " zero points"));
  }
  for (const int64_t value : zeros) {
    if (value < std::numeric_limits<int32_t>::min() ||
        value > std::numeric_limits<int32_t>::max()) {
      return node.Invalid(absl::StrCat("a zero point of ", value));
    }
    quantization.zero_point.push_back(static_cast<int32_t>(value));
  }
  if (count > 1) {
    EK_ASSIGN_OR_RETURN(quantization.axis, CheckedAxis(node, axis, rank));
  }
  return quantization;
}

absl::StatusOr<TensorId> DequantizedOperand(const Node& node, Builder& builder,
                                            absl::string_view role, int index,
                                            int scale, int zero, int64_t axis) {
  EK_ASSIGN_OR_RETURN(TensorId x, builder.Input(node, index));
  EK_ASSIGN_OR_RETURN(
      const Quantization quantization,
      ReadQuantization(node, builder, scale, zero, axis, builder.rank(x),
                       /*dead=*/builder.tensor(x).is_constant()));
  if (quantization.per_channel() &&
      static_cast<int64_t>(quantization.scale.size()) !=
          builder.shape(x)[quantization.axis]) {
    return node.Invalid(absl::StrCat(quantization.scale.size(), " scales for ",
                                     builder.shape(x)[quantization.axis],
                                     " channels of input ", index));
  }
  EK_ASSIGN_OR_RETURN(
      x, builder.Quantized(node, absl::StrCat("meaning-", index), x,
                           quantization));
  return builder.Emit(node, role, DequantizeOp(), {x});
}

}  // namespace edgekiln::compiler::onnx_import
