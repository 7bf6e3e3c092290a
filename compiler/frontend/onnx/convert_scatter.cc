// Values that index tensors pick by tuples, or place.

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/checked_math.h"
#include "base/status_macros.h"
#include "compiler/frontend/onnx/axes.h"
#include "compiler/frontend/onnx/converters.h"
#include "compiler/frontend/onnx/ir_ops.h"
#include "compiler/frontend/onnx/tensor_data.h"
#include "compiler/frontend/onnx/window.h"

namespace edgekiln::compiler::onnx_import {
namespace {

absl::StatusOr<v1::ScatterReduction> Reduction(const Node& node) {
  constexpr v1::ScatterReduction kReductions[] = {
      v1::SCATTER_REPLACE, v1::SCATTER_ADD, v1::SCATTER_MUL, v1::SCATTER_MAX,
      v1::SCATTER_MIN};
  EK_ASSIGN_OR_RETURN(const int word,
                      WordAttribute(node, "reduction", "none",
                                    {"none", "add", "mul", "max", "min"}));
  return kReductions[word];
}

absl::Status EmitScatter(const Node& node, Builder& builder,
                         v1::OpAttributes attributes) {
  std::vector<TensorId> inputs;
  for (int i = 0; i < 3; ++i) {
    EK_ASSIGN_OR_RETURN(const TensorId input, builder.PlainInput(node, i));
    inputs.push_back(input);
  }
  EK_ASSIGN_OR_RETURN(
      const TensorId y,
      builder.Emit(node, "", std::move(attributes), std::move(inputs)));
  return builder.Bind(node, 0, y);
}

// What ops with two inputs pick keeps its scale.
absl::Status EmitPick(const Node& node, Builder& builder, TensorId x,
                      v1::OpAttributes attributes) {
  EK_ASSIGN_OR_RETURN(const TensorId indices, builder.PlainInput(node, 1));
  EK_ASSIGN_OR_RETURN(
      const TensorId y,
      builder.Emit(node, "", std::move(attributes), {x, indices}));
  return builder.Bind(node, 0, y);
}

// A quantized input keeps its scale if it has one only.
absl::StatusOr<TensorId> Movable(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const TensorId x, builder.Input(node, 0));
  const auto& quantization = builder.tensor(x).quantization;
  if (!quantization.has_value() || !quantization->per_channel()) return x;
  return builder.PlainInput(node, 0);
}

// The output extents of the pool that MaxUnpool undoes.
absl::StatusOr<std::vector<int64_t>> UnpooledShape(
    const Node& node, const std::vector<int64_t>& x) {
  EK_ASSIGN_OR_RETURN(const std::vector<int64_t> kernel,
                      node.Ints("kernel_shape"));
  EK_ASSIGN_OR_RETURN(std::vector<int64_t> strides, node.Ints("strides"));
  EK_ASSIGN_OR_RETURN(std::vector<int64_t> pads, node.Ints("pads"));
  const size_t dims = x.size() < 2 ? 0 : x.size() - 2;
  if (strides.empty()) strides.assign(dims, 1);
  if (pads.empty()) pads.assign(2 * dims, 0);
  if (dims == 0 || kernel.size() != dims || strides.size() != dims ||
      pads.size() != 2 * dims) {
    return node.Invalid("kernel, strides or pads of another rank");
  }
  constexpr int64_t kMost = int64_t{1} << 31;
  std::vector<int64_t> shape = {x[0], x[1]};
  for (size_t i = 0; i < dims; ++i) {
    for (const int64_t value :
         {kernel[i], strides[i], pads[i], pads[dims + i]}) {
      if (value < 0 || value > kMost) {
        return node.Invalid(absl::StrCat(value, " in kernel, strides or pads"));
      }
    }
    const auto reach = CheckedMul(x[i + 2] - 1, strides[i]);
    const auto extent = reach ? CheckedAdd(*reach, kernel[i]) : std::nullopt;
    if (!extent || *extent < pads[i] + pads[dims + i]) {
      return node.Invalid("an extent below 0 or too large");
    }
    shape.push_back(*extent - pads[i] - pads[dims + i]);
  }
  return shape;
}

}  // namespace

absl::Status ConvertScatterElements(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const TensorId x, builder.Input(node, 0));
  v1::OpAttributes attributes;
  v1::ScatterElements* op = attributes.mutable_scatter_elements();
  EK_ASSIGN_OR_RETURN(const int32_t axis,
                      AxisAttribute(node, 0, builder.rank(x)));
  EK_ASSIGN_OR_RETURN(const v1::ScatterReduction reduction, Reduction(node));
  op->set_axis(axis);
  op->set_reduction(reduction);
  return EmitScatter(node, builder, std::move(attributes));
}

absl::Status ConvertScatterNd(const Node& node, Builder& builder) {
  v1::OpAttributes attributes;
  EK_ASSIGN_OR_RETURN(const v1::ScatterReduction reduction, Reduction(node));
  attributes.mutable_scatter_nd()->set_reduction(reduction);
  return EmitScatter(node, builder, std::move(attributes));
}

absl::Status ConvertGatherNd(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const TensorId x, Movable(node, builder));
  EK_ASSIGN_OR_RETURN(const int64_t shared, node.Int("batch_dims", 0));
  if (shared < 0 || shared > builder.rank(x)) {
    return node.Invalid(absl::StrCat("batch_dims ", shared));
  }
  v1::OpAttributes attributes;
  attributes.mutable_gather_nd()->set_batch_dims(static_cast<int32_t>(shared));
  return EmitPick(node, builder, x, std::move(attributes));
}

absl::Status ConvertReverseSequence(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const TensorId x, Movable(node, builder));
  const int64_t rank = builder.rank(x);
  EK_ASSIGN_OR_RETURN(const int64_t batch, node.Int("batch_axis", 1));
  EK_ASSIGN_OR_RETURN(const int64_t time, node.Int("time_axis", 0));
  v1::OpAttributes attributes;
  v1::ReverseSequence* op = attributes.mutable_reverse_sequence();
  EK_ASSIGN_OR_RETURN(const int32_t batch_axis, CheckedAxis(node, batch, rank));
  EK_ASSIGN_OR_RETURN(const int32_t time_axis, CheckedAxis(node, time, rank));
  op->set_batch_axis(batch_axis);
  op->set_time_axis(time_axis);
  return EmitPick(node, builder, x, std::move(attributes));
}

// The indices count the elements of the pool's input, in row-major order.
absl::Status ConvertMaxUnpool(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const TensorId x, builder.FloatInput(node, 0));
  EK_ASSIGN_OR_RETURN(const TensorId indices, builder.PlainInput(node, 1));
  EK_ASSIGN_OR_RETURN(const std::vector<int64_t> shape,
                      UnpooledShape(node, builder.shape(x)));
  const auto elements = CheckedProduct(shape);
  if (!elements || !IsSaneShape(shape)) {
    return node.TooLarge(absl::StrCat("[", absl::StrJoin(shape, ","), "]"));
  }
  EK_ASSIGN_OR_RETURN(
      const TensorId empty,
      builder.BroadcastTo(node, "empty", builder.Scalar(node, x, 0),
                          {*elements}));
  const int64_t count = builder.tensor(x).num_elements();
  EK_ASSIGN_OR_RETURN(const TensorId values,
                      builder.Reshape(node, "values", x, {count}));
  EK_ASSIGN_OR_RETURN(const TensorId at,
                      builder.Reshape(node, "at", indices, {count}));
  v1::OpAttributes scatter;
  scatter.mutable_scatter_elements();
  EK_ASSIGN_OR_RETURN(TensorId y, builder.Emit(node, "", std::move(scatter),
                                               {empty, at, values}));
  EK_ASSIGN_OR_RETURN(y, builder.Reshape(node, "unpooled", y, shape));
  if (node.has_input(2)) {
    EK_ASSIGN_OR_RETURN(const std::vector<int64_t> wanted,
                        builder.ConstantIntegers(node, 2));
    if (wanted.size() != shape.size() ||
        !std::equal(shape.begin(), shape.end(), wanted.begin(),
                    std::less_equal<>())) {
      return node.Unsupported(
          absl::StrCat("output shape [", absl::StrJoin(wanted, ","), "]"),
          absl::StrCat("at least [", absl::StrJoin(shape, ","), "]"),
          "crop the result by a Slice");
    }
    const std::vector<int64_t> before(shape.size(), 0);
    std::vector<int64_t> after(shape.size());
    std::transform(wanted.begin(), wanted.end(), shape.begin(), after.begin(),
                   std::minus<>());
    EK_ASSIGN_OR_RETURN(
        y, builder.Emit(node, "padded", PadOp(before, after), {y}));
  }
  return builder.Bind(node, 0, y);
}

}  // namespace edgekiln::compiler::onnx_import
