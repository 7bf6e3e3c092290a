#include "compiler/frontend/onnx/converters.h"

#include "absl/strings/str_cat.h"

namespace edgekiln::compiler::onnx_import {
namespace {

constexpr OperatorEntry kOperators[] = {
    {"Add", ConvertAdd, "axis broadcast"},
    {"AveragePool", ConvertAveragePool,
     "auto_pad ceil_mode count_include_pad dilations kernel_shape pads "
     "strides"},
    {"BatchNormalization", ConvertBatchNormalization,
     "epsilon is_test momentum spatial training_mode"},
    {"Cast", ConvertCast, "to saturate"},
    {"Clip", ConvertClip, "min max"},
    {"Concat", ConvertConcat, "axis"},
    {"Constant", ConvertConstant,
     "sparse_value value value_float value_floats value_int value_ints "
     "value_string value_strings"},
    {"ConstantOfShape", ConvertConstantOfShape, "value"},
    {"Conv", ConvertConv, "auto_pad dilations group kernel_shape pads strides"},
    {"Div", ConvertDiv, "axis broadcast"},
    {"Dropout", ConvertDropout, "is_test ratio seed"},
    {"Flatten", ConvertFlatten, "axis"},
    {"Gather", ConvertGather, "axis"},
    {"Gemm", ConvertGemm, "alpha beta broadcast transA transB"},
    {"GlobalAveragePool", ConvertGlobalAveragePool, ""},
    {"GlobalMaxPool", ConvertGlobalMaxPool, ""},
    {"Identity", ConvertIdentity, ""},
    {"MatMul", ConvertMatMul, ""},
    {"MaxPool", ConvertMaxPool,
     "auto_pad ceil_mode dilations kernel_shape pads storage_order strides"},
    {"Mul", ConvertMul, "axis broadcast"},
    {"Neg", ConvertNeg, ""},
    {"Pad", ConvertPad, "mode pads value"},
    {"ReduceMean", ConvertReduceMean, "axes keepdims noop_with_empty_axes"},
    {"Relu", ConvertRelu, ""},
    {"Reshape", ConvertReshape, "allowzero"},
    {"Shape", ConvertShape, "end start"},
    {"Slice", ConvertSlice, "axes ends starts"},
    {"Softmax", ConvertSoftmax, "axis"},
    {"Squeeze", ConvertSqueeze, "axes"},
    {"Sub", ConvertSub, "axis broadcast"},
    {"Sum", ConvertSum, ""},
    {"Transpose", ConvertTranspose, "perm"},
    {"Unsqueeze", ConvertUnsqueeze, "axes"},
};

}  // namespace

const OperatorEntry* FindOperator(absl::string_view op_type) {
  for (const OperatorEntry& entry : kOperators) {
    if (entry.op_type == op_type) return &entry;
  }
  return nullptr;
}

std::string OperatorNames() {
  std::string names;
  for (const OperatorEntry& entry : kOperators) {
    absl::StrAppend(&names, names.empty() ? "" : " ", entry.op_type);
  }
  return names;
}

}  // namespace edgekiln::compiler::onnx_import
