// Many values to one along axes, and what is ordered or summed along one.

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/frontend/onnx/axes.h"
#include "compiler/frontend/onnx/converters.h"
#include "compiler/frontend/onnx/ir_ops.h"

namespace edgekiln::compiler::onnx_import {
namespace {

struct Reduction {
  absl::string_view op_type;
  v1::Reduce::Function function;  // Unspecified: the mean.
};

constexpr Reduction kReductions[] = {
    {"ReduceL1", v1::Reduce::L1},
    {"ReduceL2", v1::Reduce::L2},
    {"ReduceMax", v1::Reduce::MAX},
    {"ReduceMean", v1::Reduce::FUNCTION_UNSPECIFIED},
    {"ReduceMin", v1::Reduce::MIN},
    {"ReduceProd", v1::Reduce::PRODUCT},
    {"ReduceSum", v1::Reduce::SUM},
};

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
  const int first_input_opset =
      reduction->function == v1::Reduce::SUM ? 13 : 18;
  EK_ASSIGN_OR_RETURN(std::vector<int32_t> axes,
                      AxesArgument(node, builder, 1, first_input_opset, rank));
  EK_ASSIGN_OR_RETURN(const bool noop,
                      node.Flag("noop_with_empty_axes", false));
  EK_ASSIGN_OR_RETURN(const bool keep, node.Flag("keepdims", true));
  if (axes.empty()) {
    if (noop) return builder.Bind(node, 0, x);
    for (int32_t i = 0; i < rank; ++i) axes.push_back(i);
  }
  EK_ASSIGN_OR_RETURN(
      const TensorId y,
      builder.Emit(node, "",
                   reduction->function == v1::Reduce::FUNCTION_UNSPECIFIED
                       ? MeanOp(axes, keep)
                       : ReduceOp(reduction->function, axes, keep),
                   {x}));
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
