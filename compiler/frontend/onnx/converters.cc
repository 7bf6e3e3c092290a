#include "compiler/frontend/onnx/converters.h"

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"

namespace edgekiln::compiler::onnx_import {
namespace {

constexpr OperatorEntry kOperators[] = {
    {"Abs", ConvertUnary, ""},
    {"Add", ConvertAdd, "axis broadcast"},
    {"And", ConvertBinary, "axis broadcast", 1},
    {"ArgMax", ConvertArgMax, "axis keepdims select_last_index", 1},
    {"ArgMin", ConvertArgMin, "axis keepdims select_last_index", 1},
    {"AveragePool", ConvertAveragePool,
     "auto_pad ceil_mode count_include_pad dilations kernel_shape pads "
     "strides",
     1},
    {"BatchNormalization", ConvertBatchNormalization,
     "epsilon is_test momentum spatial training_mode"},
    {"Cast", ConvertCast, "round_mode saturate to"},
    {"Ceil", ConvertUnary, ""},
    {"Clip", ConvertClip, "max min"},
    {"Concat", ConvertConcat, "axis", 4},
    {"Constant", ConvertConstant,
     "sparse_value value value_float value_floats value_int value_ints "
     "value_string value_strings",
     1},
    {"ConstantOfShape", ConvertConstantOfShape, "value"},
    {"Conv", ConvertConv, "auto_pad dilations group kernel_shape pads strides",
     1},
    {"ConvInteger", ConvertConvInteger,
     "auto_pad dilations group kernel_shape pads strides"},
    {"ConvTranspose", ConvertConvTranspose,
     "auto_pad dilations group kernel_shape output_padding output_shape pads "
     "strides",
     1},
    {"CumSum", ConvertCumSum, "exclusive reverse"},
    {"DepthToSpace", ConvertDepthToSpace, "blocksize mode", 1},
    {"DequantizeLinear", ConvertDequantizeLinear, "axis block_size"},
    {"Div", ConvertDiv, "axis broadcast"},
    {"Dropout", ConvertDropout, "is_test ratio seed"},
    {"DynamicQuantizeLinear", ConvertDynamicQuantizeLinear, ""},
    {"Einsum", ConvertEinsum, "equation"},
    {"Elu", ConvertUnary, "alpha"},
    {"Equal", ConvertBinary, "axis broadcast", 1},
    {"Erf", ConvertUnary, ""},
    {"Exp", ConvertUnary, ""},
    {"Expand", ConvertExpand, ""},
    {"Flatten", ConvertFlatten, "axis", 1},
    {"Floor", ConvertUnary, ""},
    {"Gather", ConvertGather, "axis", 1},
    {"GatherElements", ConvertGatherElements, "axis"},
    {"Gelu", ConvertGelu, "approximate"},
    {"Gemm", ConvertGemm, "alpha beta broadcast transA transB"},
    {"GlobalAveragePool", ConvertGlobalAveragePool, "", 1},
    {"GlobalMaxPool", ConvertGlobalMaxPool, "", 1},
    {"Greater", ConvertBinary, "axis broadcast", 1},
    {"GreaterOrEqual", ConvertBinary, ""},
    {"GRU", ConvertGru,
     "activation_alpha activation_beta activations clip direction hidden_size "
     "layout linear_before_reset output_sequence",
     3},
    {"HardSigmoid", ConvertUnary, "alpha beta"},
    {"HardSwish", ConvertUnary, ""},
    {"Identity", ConvertIdentity, "", 1},
    {"InstanceNormalization", ConvertInstanceNormalization, "epsilon"},
    {"LayerNormalization", ConvertLayerNormalization,
     "axis epsilon stash_type"},
    {"LeakyRelu", ConvertUnary, "alpha"},
    {"Less", ConvertBinary, "axis broadcast", 1},
    {"LessOrEqual", ConvertBinary, ""},
    {"Log", ConvertUnary, ""},
    {"LogSoftmax", ConvertLogSoftmax, "axis", 1},
    {"LRN", ConvertLrn, "alpha beta bias size", 1},
    {"LSTM", ConvertLstm,
     "activation_alpha activation_beta activations clip direction hidden_size "
     "input_forget layout output_sequence",
     1},
    {"MatMul", ConvertMatMul, "", 1},
    {"MatMulInteger", ConvertMatMulInteger, ""},
    {"Max", ConvertMax, ""},
    {"MaxPool", ConvertMaxPool,
     "auto_pad ceil_mode dilations kernel_shape pads storage_order strides", 1},
    {"Mean", ConvertMean, ""},
    {"Min", ConvertMin, ""},
    {"Mul", ConvertMul, "axis broadcast"},
    {"Neg", ConvertUnary, ""},
    {"Not", ConvertUnary, "", 1},
    {"Or", ConvertBinary, "axis broadcast", 1},
    {"Pad", ConvertPad, "mode pads value", 2},
    {"Pow", ConvertBinary, "axis broadcast"},
    {"PRelu", ConvertPRelu, ""},
    {"QLinearConv", ConvertQLinearConv,
     "auto_pad dilations group kernel_shape pads strides"},
    {"QLinearMatMul", ConvertQLinearMatMul, ""},
    {"QuantizeLinear", ConvertQuantizeLinear,
     "axis block_size output_dtype saturate"},
    {"Range", ConvertRange, ""},
    {"Reciprocal", ConvertUnary, ""},
    {"ReduceL1", ConvertReduce, "axes keepdims noop_with_empty_axes", 1},
    {"ReduceL2", ConvertReduce, "axes keepdims noop_with_empty_axes", 1},
    {"ReduceMax", ConvertReduce, "axes keepdims noop_with_empty_axes", 1},
    {"ReduceMean", ConvertReduce, "axes keepdims noop_with_empty_axes", 1},
    {"ReduceMin", ConvertReduce, "axes keepdims noop_with_empty_axes", 1},
    {"ReduceProd", ConvertReduce, "axes keepdims noop_with_empty_axes", 1},
    {"ReduceSum", ConvertReduce, "axes keepdims noop_with_empty_axes", 1},
    {"Relu", ConvertRelu, ""},
    {"Reshape", ConvertReshape, "allowzero", 5},
    {"Resize", ConvertResize,
     "antialias axes coordinate_transformation_mode cubic_coeff_a "
     "exclude_outside extrapolation_value keep_aspect_ratio_policy mode "
     "nearest_mode"},
    {"Round", ConvertUnary, ""},
    {"Selu", ConvertUnary, "alpha gamma"},
    {"Shape", ConvertShape, "end start", 1},
    {"Sigmoid", ConvertUnary, ""},
    {"Sign", ConvertUnary, ""},
    {"Size", ConvertSize, "", 1},
    {"Slice", ConvertSlice, "axes ends starts", 1},
    {"Softmax", ConvertSoftmax, "axis", 1},
    {"Softplus", ConvertUnary, "", 1},
    {"Softsign", ConvertUnary, "", 1},
    {"SpaceToDepth", ConvertSpaceToDepth, "blocksize", 1},
    {"Split", ConvertSplit, "axis num_outputs split", 2},
    {"Sqrt", ConvertUnary, ""},
    {"Squeeze", ConvertSqueeze, "axes", 1},
    {"Sub", ConvertSub, "axis broadcast"},
    {"Sum", ConvertSum, ""},
    {"Tanh", ConvertUnary, ""},
    {"Tile", ConvertTile, ""},
    {"TopK", ConvertTopK, "axis k largest sorted", 1},
    {"Transpose", ConvertTranspose, "perm", 1},
    {"Unsqueeze", ConvertUnsqueeze, "axes", 1},
    {"Upsample", ConvertUpsample, "mode scales"},
    {"Where", ConvertWhere, ""},
    {"Xor", ConvertBinary, "axis broadcast", 1},
};

constexpr OperatorEntry kMicrosoftOperators[] = {
    {"DequantizeLinear", ConvertDequantizeLinear, "axis block_size"},
    {"FusedConv", ConvertFusedConv,
     "activation activation_params auto_pad dilations group kernel_shape pads "
     "strides"},
    {"Gelu", ConvertGelu, ""},
    {"QGemm", ConvertQGemm, "alpha transA transB"},
    {"QLinearAdd", ConvertQLinearAdd, ""},
    {"QLinearAveragePool", ConvertQLinearAveragePool,
     "auto_pad ceil_mode channels_last count_include_pad kernel_shape pads "
     "strides"},
    {"QLinearConcat", ConvertQLinearConcat, "axis"},
    {"QLinearGlobalAveragePool", ConvertQLinearGlobalAveragePool,
     "channels_last"},
    {"QLinearLeakyRelu", ConvertQLinearUnary, "alpha"},
    {"QLinearMul", ConvertQLinearAdd, ""},
    {"QLinearSigmoid", ConvertQLinearUnary, ""},
    {"QLinearSoftmax", ConvertQLinearSoftmax, "axis opset"},
    {"QuantizeLinear", ConvertQuantizeLinear, "axis block_size"},
};

absl::Span<const OperatorEntry> OperatorsOf(absl::string_view domain) {
  if (domain == kMicrosoftDomain) return kMicrosoftOperators;
  return kOperators;
}

}  // namespace

const OperatorEntry* FindOperator(absl::string_view domain,
                                  absl::string_view op_type) {
  for (const OperatorEntry& entry : OperatorsOf(domain)) {
    if (entry.op_type == op_type) return &entry;
  }
  return nullptr;
}

std::string OperatorNames(absl::string_view domain) {
  std::string names;
  for (const OperatorEntry& entry : OperatorsOf(domain)) {
    absl::StrAppend(&names, names.empty() ? "" : " ", entry.op_type);
  }
  return names;
}

}  // namespace edgekiln::compiler::onnx_import
