// Many values to one along axes, and what is ordered or summed along one.

#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/frontend/onnx/axes.h"
#include "compiler/frontend/onnx/converters.h"
#include "compiler/frontend/onnx/ir_ops.h"

namespace edgekiln::compiler::onnx_import {
namespace {

// What is done to the values before they are summed, or to the sum.
enum class Around { kNothing, kSquaresBefore, kLogBehind, kExpAndLog };

struct Reduction {
  absl::string_view op_type;
  v1::Reduce::Function function;  // Unspecified: the mean.
  Around around = Around::kNothing;
};

constexpr Reduction kReductions[] = {
    {"ReduceL1", v1::Reduce::L1},
    {"ReduceL2", v1::Reduce::L2},
    {"ReduceLogSum", v1::Reduce::SUM, Around::kLogBehind},
    {"ReduceLogSumExp", v1::Reduce::SUM, Around::kExpAndLog},
    {"ReduceMax", v1::Reduce::MAX},
    {"ReduceMean", v1::Reduce::FUNCTION_UNSPECIFIED},
    {"ReduceMin", v1::Reduce::MIN},
    {"ReduceProd", v1::Reduce::PRODUCT},
    {"ReduceSum", v1::Reduce::SUM},
    {"ReduceSumSquare", v1::Reduce::SUM, Around::kSquaresBefore},
};

// log(sum(exp(x))) with the largest value taken off, which keeps the powers
// finite; an infinite one is not.
absl::StatusOr<TensorId> LogSumExp(const Node& node, Builder& builder,
                                   TensorId x, const std::vector<int32_t>& axes,
                                   bool keep) {
  v1::Clamp finite;
  finite.set_min(std::numeric_limits<float>::lowest());
  finite.set_max(std::numeric_limits<float>::max());
  EK_ASSIGN_OR_RETURN(
      TensorId largest,
      builder.Emit(node, "max", ReduceOp(v1::Reduce::MAX, axes, true), {x}));
  EK_ASSIGN_OR_RETURN(largest,
                      builder.Emit(node, "finite", ClipOp(finite), {largest}));
  EK_ASSIGN_OR_RETURN(
      TensorId y,
      builder.Emit(node, "less", BinaryOp(v1::Binary::SUB), {x, largest}));
  EK_ASSIGN_OR_RETURN(y,
                      builder.Emit(node, "exp", UnaryOp(v1::Unary::EXP), {y}));
  EK_ASSIGN_OR_RETURN(
      y, builder.Emit(node, "sum", ReduceOp(v1::Reduce::SUM, axes, keep), {y}));
  EK_ASSIGN_OR_RETURN(y,
                      builder.Emit(node, "log", UnaryOp(v1::Unary::LOG), {y}));
  EK_ASSIGN_OR_RETURN(
      largest, builder.Reshape(node, "max-shaped", largest, builder.shape(y)));
  return builder.Emit(node, "", AddOp(), {y, largest});
}

absl::StatusOr<TensorId> Reduced(const Node& node, Builder& builder,
                                 const Reduction& reduction, TensorId x,
                                 const std::vector<int32_t>& axes, bool keep) {
  if (reduction.function == v1::Reduce::FUNCTION_UNSPECIFIED) {
    return builder.Emit(node, "", MeanOp(axes, keep), {x});
  }
  const v1::OpAttributes op = ReduceOp(reduction.function, axes, keep);
  switch (reduction.around) {
    case Around::kSquaresBefore: {
      EK_ASSIGN_OR_RETURN(
          x, builder.Emit(node, "squares", UnaryOp(v1::Unary::SQUARE), {x}));
      return builder.Emit(node, "", op, {x});
    }
    case Around::kLogBehind: {
      EK_ASSIGN_OR_RETURN(x, builder.FloatInput(node, 0));
      EK_ASSIGN_OR_RETURN(x, builder.Emit(node, "sum", op, {x}));
      return builder.Emit(node, "", UnaryOp(v1::Unary::LOG), {x});
    }
    case Around::kExpAndLog: {
      EK_ASSIGN_OR_RETURN(x, builder.FloatInput(node, 0));
      return LogSumExp(node, builder, x, axes, keep);
    }
    case Around::kNothing:
      break;
  }
  return builder.Emit(node, "", op, {x});
}

// Of no axes: each value by itself, as if it were reduced.
absl::StatusOr<TensorId> NotReduced(const Node& node, Builder& builder,
                                    const Reduction& reduction, TensorId x) {
  if (reduction.around == Around::kSquaresBefore) {
    return builder.Emit(node, "", UnaryOp(v1::Unary::SQUARE), {x});
  }
  if (reduction.around == Around::kLogBehind) {
    EK_ASSIGN_OR_RETURN(x, builder.FloatInput(node, 0));
    return builder.Emit(node, "", UnaryOp(v1::Unary::LOG), {x});
  }
  if (reduction.function == v1::Reduce::L1 ||
      reduction.function == v1::Reduce::L2) {
    return builder.Emit(node, "", UnaryOp(v1::Unary::ABS), {x});
  }
  return x;
}

absl::Status ConvertArgReduce(const Node& node, Builder& builder,
                              v1::ArgReduce::Function function) {
  EK_ASSIGN_OR_RETURN(const TensorId x, builder.PlainInput(node, 0));
  EK_ASSIGN_OR_RETURN(const int32_t axis,
                      AxisAttribute(node, 0, builder.rank(x)));
  EK_ASSIGN_OR_RETURN(const bool keep, node.Flag("keepdims", true));
  EK_ASSIGN_OR_RETURN(const bool last, node.Flag("select_last_index", false));
  v1::OpAttributes attributes;
  v1::ArgReduce* op = attributes.mutable_arg_reduce();
  op->set_function(function);
  op->set_axis(axis);
  op->set_keep_dims(keep);
  op->set_select_last(last);
  EK_ASSIGN_OR_RETURN(const TensorId y,
                      builder.Emit(node, "", std::move(attributes), {x}));
  return builder.Bind(node, 0, y);
}

}  // namespace

absl::Status ConvertReduce(const Node& node, Builder& builder) {
  const Reduction* reduction = kReductions;
  while (reduction->op_type != node.op_type()) ++reduction;
  EK_ASSIGN_OR_RETURN(const TensorId x, builder.PlainInput(node, 0));
  const int64_t rank = builder.rank(x);
  const int first_input_opset = node.op_type() == "ReduceSum" ? 13 : 18;
  EK_ASSIGN_OR_RETURN(std::vector<int32_t> axes,
                      AxesArgument(node, builder, 1, first_input_opset, rank));
  EK_ASSIGN_OR_RETURN(const bool noop,
                      node.Flag("noop_with_empty_axes", false));
  EK_ASSIGN_OR_RETURN(const bool keep, node.Flag("keepdims", true));
  if (axes.empty()) {
    if (noop) {
      EK_ASSIGN_OR_RETURN(const TensorId y,
                          NotReduced(node, builder, *reduction, x));
      return builder.Bind(node, 0, y);
    }
    for (int32_t i = 0; i < rank; ++i) axes.push_back(i);
  }
  EK_ASSIGN_OR_RETURN(const TensorId y,
                      Reduced(node, builder, *reduction, x, axes, keep));
  return builder.Bind(node, 0, y);
}

absl::Status ConvertArgMax(const Node& node, Builder& builder) {
  return ConvertArgReduce(node, builder, v1::ArgReduce::MAX);
}

absl::Status ConvertArgMin(const Node& node, Builder& builder) {
  return ConvertArgReduce(node, builder, v1::ArgReduce::MIN);
}

absl::Status ConvertCumSum(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const TensorId x, builder.PlainInput(node, 0));
  EK_ASSIGN_OR_RETURN(const std::vector<int64_t> given,
                      builder.ConstantIntegers(node, 1));
  if (given.size() != 1) return node.Invalid("the axis is not one number");
  EK_ASSIGN_OR_RETURN(const int32_t axis,
                      CheckedAxis(node, given[0], builder.rank(x)));
  EK_ASSIGN_OR_RETURN(const bool exclusive, node.Flag("exclusive", false));
  EK_ASSIGN_OR_RETURN(const bool reverse, node.Flag("reverse", false));
  v1::OpAttributes attributes;
  v1::CumSum* op = attributes.mutable_cum_sum();
  op->set_axis(axis);
  op->set_exclusive(exclusive);
  op->set_reverse(reverse);
  EK_ASSIGN_OR_RETURN(const TensorId y,
                      builder.Emit(node, "", std::move(attributes), {x}));
  return builder.Bind(node, 0, y);
}

absl::Status ConvertTopK(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const TensorId x, builder.PlainInput(node, 0));
  int64_t k = 0;
  if (node.opset() < 10) {
    EK_ASSIGN_OR_RETURN(k, node.Int("k", 0));
  } else {
    EK_ASSIGN_OR_RETURN(const std::vector<int64_t> given,
                        builder.ConstantIntegers(node, 1));
    if (given.size() != 1) return node.Invalid("k is not one number");
    k = given[0];
  }
  EK_ASSIGN_OR_RETURN(const int32_t axis,
                      AxisAttribute(node, -1, builder.rank(x)));
  EK_ASSIGN_OR_RETURN(const bool largest, node.Flag("largest", true));
  if (k < 0 || k > builder.shape(x)[axis]) {
    return node.Invalid(
        absl::StrCat("k is ", k, " of ", builder.shape(x)[axis], " values"));
  }
  v1::OpAttributes attributes;
  v1::TopK* op = attributes.mutable_top_k();
  op->set_k(k);
  op->set_axis(axis);
  op->set_smallest(!largest);
  EK_ASSIGN_OR_RETURN(const std::vector<TensorId> y,
                      builder.EmitAll(node, "", std::move(attributes), {x},
                                      {{builder.tensor(x).type}, {v1::INT64}}));
  EK_RETURN_IF_ERROR(builder.Bind(node, 0, y[0]));
  return builder.Bind(node, 1, y[1]);
}

}  // namespace edgekiln::compiler::onnx_import
