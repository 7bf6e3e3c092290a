// Ops that keep or set values by where they are: a comparison of positions, and
// a choice.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "compiler/frontend/onnx/axes.h"
#include "compiler/frontend/onnx/converters.h"
#include "compiler/frontend/onnx/ir_ops.h"
#include "compiler/frontend/onnx/tensor_data.h"
#include "compiler/frontend/onnx/type_attribute.h"

namespace edgekiln::compiler::onnx_import {
namespace {

// 0, 1, ... along one axis of `rank` dimensions, from `first` on.
TensorId Positions(const Node& node, Builder& builder, int64_t first,
                   int64_t count, int64_t rank, int64_t axis) {
  std::vector<int64_t> values(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) values[i] = first + i;
  std::vector<int64_t> shape(static_cast<size_t>(rank), 1);
  shape[axis] = count;
  return builder.AddConstant(Int64Constant(
      absl::StrCat(builder.prefix(), node.main_output(), ".positions"),
      std::move(shape), values));
}

// Compares column - row with `k` for each element of a matrix: bool.
absl::StatusOr<TensorId> Diagonals(const Node& node, Builder& builder,
                                   v1::Binary::Function compare, int64_t rows,
                                   int64_t columns, int64_t k) {
  k = std::clamp(k, -rows - 1, columns + 1);
  constexpr int64_t kMaxBytes = int64_t{1} << 20;
  if (rows * columns > kMaxBytes || !builder.MayMake(rows * columns)) {
    if (!builder.MayMake((rows + columns) * 8)) {
      return node.TooLarge(absl::StrCat("a mask of ", rows, " x ", columns));
    }
    const TensorId column = Positions(node, builder, 0, columns, 2, 1);
    const TensorId row = Positions(node, builder, k, rows, 2, 0);
    return builder.Emit(node, "mask", BinaryOp(compare), {column, row});
  }
  std::string mask;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      const bool set = compare == v1::Binary::EQUAL              ? j - i == k
                       : compare == v1::Binary::GREATER_OR_EQUAL ? j - i >= k
                                                                 : j - i <= k;
      mask.push_back(set ? '\1' : '\0');
    }
  }
  Tensor constant;
  constant.name = absl::StrCat(builder.prefix(), node.main_output(), ".mask");
  constant.type = v1::BOOL;
  constant.shape = {rows, columns};
  constant.data = ConstantData(std::move(mask));
  return builder.AddConstant(std::move(constant));
}

}  // namespace

absl::Status ConvertTrilu(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const TensorId x, builder.PlainInput(node, 0));
  EK_ASSIGN_OR_RETURN(const bool upper, node.Flag("upper", true));
  int64_t k = 0;
  if (node.has_input(1)) {
    EK_ASSIGN_OR_RETURN(const std::vector<int64_t> given,
                        builder.ConstantIntegers(node, 1));
    if (given.size() != 1) return node.Invalid("k is not one number");
    k = given[0];
  }
  const std::vector<int64_t> shape = builder.shape(x);
  if (shape.size() < 2) return node.Invalid("the input is not a matrix");
  EK_ASSIGN_OR_RETURN(const TensorId mask,
                      Diagonals(node, builder,
                                upper ? v1::Binary::GREATER_OR_EQUAL
                                      : v1::Binary::LESS_OR_EQUAL,
                                shape[shape.size() - 2], shape.back(), k));
  const TensorId zero = builder.Scalar(node, x, 0);
  EK_ASSIGN_OR_RETURN(const TensorId y,
                      builder.Emit(node, "", SelectOp(), {mask, x, zero}));
  return builder.Bind(node, 0, y);
}

absl::Status ConvertEyeLike(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const TensorId x, builder.Input(node, 0));
  EK_ASSIGN_OR_RETURN(const int64_t k, node.Int("k", 0));
  v1::ElementType type = builder.tensor(x).type;
  if (node.Has("dtype")) {
    EK_ASSIGN_OR_RETURN(type, TypeAttribute(node, "dtype"));
  }
  const std::vector<int64_t> shape = builder.shape(x);
  if (shape.size() != 2) return node.Invalid("the input is not a matrix");
  EK_ASSIGN_OR_RETURN(
      const TensorId mask,
      Diagonals(node, builder, v1::Binary::EQUAL, shape[0], shape[1], k));
  EK_ASSIGN_OR_RETURN(const TensorId y, builder.Cast(node, "", mask, type));
  return builder.Bind(node, 0, y);
}

absl::Status ConvertOneHot(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(TensorId at, builder.PlainInput(node, 0));
  EK_ASSIGN_OR_RETURN(const double given, builder.ConstantNumber(node, 1));
  EK_ASSIGN_OR_RETURN(const TensorId values, builder.PlainInput(node, 2));
  constexpr double kMaxDepth = 1 << 24;
  if (!(given >= 1 && given <= kMaxDepth) ||
      !builder.MayMake(static_cast<int64_t>(given) * 8)) {
    return node.Unsupported(absl::StrFormat("depth %.17g", given),
                            absl::StrFormat("1 to %.0f, and no more than the "
                                            "model's size allows",
                                            kMaxDepth),
                            "replace it by a Gather from an identity matrix");
  }
  const auto depth = static_cast<int64_t>(given);
  if (builder.shape(values) != std::vector<int64_t>{2}) {
    return node.Invalid("the values are not two");
  }
  const int64_t rank = builder.rank(at) + 1;
  EK_ASSIGN_OR_RETURN(const int32_t axis, AxisAttribute(node, -1, rank));
  EK_ASSIGN_OR_RETURN(at, builder.Cast(node, "whole", at, v1::INT64));
  std::vector<int64_t> shape = builder.shape(at);
  shape.insert(shape.begin() + axis, 1);
  EK_ASSIGN_OR_RETURN(at, builder.Reshape(node, "shaped", at, shape));
  // Negative ones count from the end.
  const TensorId zero = builder.Scalar(node, at, 0);
  const TensorId end = builder.Scalar(node, at, static_cast<double>(depth));
  EK_ASSIGN_OR_RETURN(
      const TensorId negative,
      builder.Emit(node, "negative", BinaryOp(v1::Binary::LESS), {at, zero}));
  EK_ASSIGN_OR_RETURN(const TensorId shifted,
                      builder.Emit(node, "from-end", AddOp(), {at, end}));
  EK_ASSIGN_OR_RETURN(
      at, builder.Emit(node, "index", SelectOp(), {negative, shifted, at}));
  const TensorId classes = Positions(node, builder, 0, depth, rank, axis);
  EK_ASSIGN_OR_RETURN(
      const TensorId hit,
      builder.Emit(node, "hit", BinaryOp(v1::Binary::EQUAL), {at, classes}));
  TensorId parts[2];
  for (const int64_t i : {0, 1}) {
    const std::string role = i == 0 ? "off" : "on";
    EK_ASSIGN_OR_RETURN(parts[i],
                        builder.Emit(node, absl::StrCat(role, "-value"),
                                     SliceOp({i}, {1}, {1}), {values}));
    EK_ASSIGN_OR_RETURN(parts[i], builder.Reshape(node, role, parts[i], {}));
  }
  EK_ASSIGN_OR_RETURN(
      const TensorId y,
      builder.Emit(node, "", SelectOp(), {hit, parts[1], parts[0]}));
  return builder.Bind(node, 0, y);
}

// Before op set 13 over all dimensions from `axis` on, as if they were one.
absl::Status ConvertHardmax(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(TensorId x, builder.PlainInput(node, 0));
  const std::vector<int64_t> shape = builder.shape(x);
  const bool flattens = node.opset() < 13;
  EK_ASSIGN_OR_RETURN(int32_t axis,
                      AxisAttribute(node, flattens ? 1 : -1, builder.rank(x)));
  if (flattens) {
    std::vector<int64_t> rows = {1, 1};
    for (size_t i = 0; i < shape.size(); ++i) {
      rows[static_cast<int32_t>(i) < axis ? 0 : 1] *= shape[i];
    }
    EK_ASSIGN_OR_RETURN(x, builder.Reshape(node, "rows", x, std::move(rows)));
    axis = 1;
  }
  v1::OpAttributes largest;
  largest.mutable_arg_reduce()->set_function(v1::ArgReduce::MAX);
  largest.mutable_arg_reduce()->set_axis(axis);
  largest.mutable_arg_reduce()->set_keep_dims(true);
  EK_ASSIGN_OR_RETURN(const TensorId at,
                      builder.Emit(node, "largest", largest, {x}));
  const int64_t extent = builder.shape(x)[axis];
  if (!builder.MayMake(extent * 8)) {
    return node.TooLarge(absl::StrCat("an axis of ", extent));
  }
  const TensorId all =
      Positions(node, builder, 0, extent, builder.rank(x), axis);
  EK_ASSIGN_OR_RETURN(
      const TensorId hit,
      builder.Emit(node, "hit", BinaryOp(v1::Binary::EQUAL), {at, all}));
  EK_ASSIGN_OR_RETURN(TensorId y,
                      builder.Cast(node, "", hit, builder.tensor(x).type));
  EK_ASSIGN_OR_RETURN(y, builder.Reshape(node, "unrows", y, shape));
  return builder.Bind(node, 0, y);
}

}  // namespace edgekiln::compiler::onnx_import
