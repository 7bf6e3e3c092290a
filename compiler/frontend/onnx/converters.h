#ifndef EK_COMPILER_FRONTEND_ONNX_CONVERTERS_H_
#define EK_COMPILER_FRONTEND_ONNX_CONVERTERS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "compiler/frontend/onnx/builder.h"
#include "compiler/frontend/onnx/node.h"

// One function per ONNX operator: reads the node, emits ops, binds the node's
// outputs. Errors name the node.
namespace edgekiln::compiler::onnx_import {

using Converter = absl::Status (*)(const Node& node, Builder& builder);

struct OperatorEntry {
  absl::string_view op_type;
  Converter convert;
  absl::string_view attributes;  // All that the op has, space-separated.
  // The oldest op set in which the operator is what the converter reads.
  int first_opset = 6;
};

// What ONNX Runtime adds to the standard.
inline constexpr absl::string_view kMicrosoftDomain = "com.microsoft";

// The operator of that domain, "" or kMicrosoftDomain, or null.
const OperatorEntry* FindOperator(absl::string_view domain,
                                  absl::string_view op_type);
// Every supported operator of the domain, for messages.
std::string OperatorNames(absl::string_view domain);

// convert_conv.cc
absl::Status ConvertConv(const Node& node, Builder& builder);
absl::Status ConvertConvTranspose(const Node& node, Builder& builder);

// convert_einsum.cc
absl::Status ConvertEinsum(const Node& node, Builder& builder);

// convert_elementwise.cc: functions of one value or two are told by op type
absl::Status ConvertUnary(const Node& node, Builder& builder);
absl::Status ConvertBinary(const Node& node, Builder& builder);
absl::Status ConvertGelu(const Node& node, Builder& builder);
absl::Status ConvertAdd(const Node& node, Builder& builder);
absl::Status ConvertSub(const Node& node, Builder& builder);
absl::Status ConvertMul(const Node& node, Builder& builder);
absl::Status ConvertDiv(const Node& node, Builder& builder);
absl::Status ConvertPRelu(const Node& node, Builder& builder);
absl::Status ConvertSum(const Node& node, Builder& builder);
absl::Status ConvertMean(const Node& node, Builder& builder);
absl::Status ConvertMax(const Node& node, Builder& builder);
absl::Status ConvertMin(const Node& node, Builder& builder);
absl::Status ConvertRelu(const Node& node, Builder& builder);
absl::Status ConvertClip(const Node& node, Builder& builder);
absl::Status ConvertWhere(const Node& node, Builder& builder);
absl::Status ConvertCast(const Node& node, Builder& builder);

// convert_functions.cc
absl::Status ConvertIsNan(const Node& node, Builder& builder);
absl::Status ConvertIsInf(const Node& node, Builder& builder);
absl::Status ConvertThresholdedRelu(const Node& node, Builder& builder);
absl::Status ConvertMish(const Node& node, Builder& builder);
absl::Status ConvertMod(const Node& node, Builder& builder);
absl::Status ConvertBitShift(const Node& node, Builder& builder);
absl::Status ConvertCastLike(const Node& node, Builder& builder);

// convert_grid_sample.cc
absl::Status ConvertGridSample(const Node& node, Builder& builder);

// convert_known.cc
absl::Status ConvertCompress(const Node& node, Builder& builder);
absl::Status ConvertNonZero(const Node& node, Builder& builder);
absl::Status ConvertUnique(const Node& node, Builder& builder);

// convert_loss.cc
absl::Status ConvertNegativeLogLikelihoodLoss(const Node& node,
                                              Builder& builder);
absl::Status ConvertSoftmaxCrossEntropyLoss(const Node& node, Builder& builder);

// convert_masks.cc
absl::Status ConvertTrilu(const Node& node, Builder& builder);
absl::Status ConvertEyeLike(const Node& node, Builder& builder);
absl::Status ConvertOneHot(const Node& node, Builder& builder);
absl::Status ConvertHardmax(const Node& node, Builder& builder);

// convert_matmul.cc
absl::Status ConvertGemm(const Node& node, Builder& builder);
absl::Status ConvertMatMul(const Node& node, Builder& builder);
absl::Status ConvertMatMulInteger(const Node& node, Builder& builder);
absl::Status ConvertConvInteger(const Node& node, Builder& builder);

// convert_movement.cc
absl::Status ConvertTranspose(const Node& node, Builder& builder);
absl::Status ConvertConcat(const Node& node, Builder& builder);
absl::Status ConvertPad(const Node& node, Builder& builder);
absl::Status ConvertSlice(const Node& node, Builder& builder);
absl::Status ConvertSplit(const Node& node, Builder& builder);
absl::Status ConvertTile(const Node& node, Builder& builder);
absl::Status ConvertGather(const Node& node, Builder& builder);
absl::Status ConvertGatherElements(const Node& node, Builder& builder);
absl::Status ConvertDepthToSpace(const Node& node, Builder& builder);
absl::Status ConvertSpaceToDepth(const Node& node, Builder& builder);

// convert_normalization.cc
absl::Status ConvertBatchNormalization(const Node& node, Builder& builder);
absl::Status ConvertInstanceNormalization(const Node& node, Builder& builder);
absl::Status ConvertLayerNormalization(const Node& node, Builder& builder);
absl::Status ConvertLrn(const Node& node, Builder& builder);
absl::Status ConvertSoftmax(const Node& node, Builder& builder);
absl::Status ConvertLogSoftmax(const Node& node, Builder& builder);

// convert_pool.cc
absl::Status ConvertAveragePool(const Node& node, Builder& builder);
absl::Status ConvertMaxPool(const Node& node, Builder& builder);
absl::Status ConvertGlobalAveragePool(const Node& node, Builder& builder);
absl::Status ConvertGlobalMaxPool(const Node& node, Builder& builder);
absl::Status ConvertLpPool(const Node& node, Builder& builder);
absl::Status ConvertGlobalLpPool(const Node& node, Builder& builder);

// convert_qlinear.cc
absl::Status ConvertQLinearConv(const Node& node, Builder& builder);
absl::Status ConvertQLinearMatMul(const Node& node, Builder& builder);
absl::Status ConvertQLinearAdd(const Node& node, Builder& builder);
absl::Status ConvertQLinearAveragePool(const Node& node, Builder& builder);
absl::Status ConvertQLinearGlobalAveragePool(const Node& node,
                                             Builder& builder);
absl::Status ConvertQLinearSoftmax(const Node& node, Builder& builder);
absl::Status ConvertQLinearUnary(const Node& node, Builder& builder);
absl::Status ConvertQLinearConcat(const Node& node, Builder& builder);
absl::Status ConvertQGemm(const Node& node, Builder& builder);
absl::Status ConvertFusedConv(const Node& node, Builder& builder);

// convert_quantize.cc
absl::Status ConvertQuantizeLinear(const Node& node, Builder& builder);
absl::Status ConvertDequantizeLinear(const Node& node, Builder& builder);
absl::Status ConvertDynamicQuantizeLinear(const Node& node, Builder& builder);

// convert_recurrent.cc
absl::Status ConvertLstm(const Node& node, Builder& builder);
absl::Status ConvertGru(const Node& node, Builder& builder);
absl::Status ConvertRnn(const Node& node, Builder& builder);

// convert_reduce.cc: Reduce* are told by op type
absl::Status ConvertReduce(const Node& node, Builder& builder);
absl::Status ConvertArgMax(const Node& node, Builder& builder);
absl::Status ConvertArgMin(const Node& node, Builder& builder);
absl::Status ConvertCumSum(const Node& node, Builder& builder);
absl::Status ConvertTopK(const Node& node, Builder& builder);

// convert_resize.cc
absl::Status ConvertResize(const Node& node, Builder& builder);
absl::Status ConvertUpsample(const Node& node, Builder& builder);

// convert_scatter.cc
absl::Status ConvertScatterElements(const Node& node, Builder& builder);
absl::Status ConvertScatterNd(const Node& node, Builder& builder);
absl::Status ConvertGatherNd(const Node& node, Builder& builder);
absl::Status ConvertReverseSequence(const Node& node, Builder& builder);
absl::Status ConvertMaxUnpool(const Node& node, Builder& builder);

// convert_shape.cc
absl::Status ConvertReshape(const Node& node, Builder& builder);
absl::Status ConvertFlatten(const Node& node, Builder& builder);
absl::Status ConvertSqueeze(const Node& node, Builder& builder);
absl::Status ConvertUnsqueeze(const Node& node, Builder& builder);
absl::Status ConvertShape(const Node& node, Builder& builder);
absl::Status ConvertSize(const Node& node, Builder& builder);
absl::Status ConvertIdentity(const Node& node, Builder& builder);
absl::Status ConvertDropout(const Node& node, Builder& builder);
absl::Status ConvertExpand(const Node& node, Builder& builder);
absl::Status ConvertConstant(const Node& node, Builder& builder);
absl::Status ConvertConstantOfShape(const Node& node, Builder& builder);
absl::Status ConvertRange(const Node& node, Builder& builder);

// convert_signal.cc
absl::Status ConvertDft(const Node& node, Builder& builder);
absl::Status ConvertStft(const Node& node, Builder& builder);
absl::Status ConvertHannWindow(const Node& node, Builder& builder);
absl::Status ConvertHammingWindow(const Node& node, Builder& builder);
absl::Status ConvertBlackmanWindow(const Node& node, Builder& builder);
absl::Status ConvertMelWeightMatrix(const Node& node, Builder& builder);

// convert_statistics.cc
absl::Status ConvertMeanVarianceNormalization(const Node& node,
                                              Builder& builder);
absl::Status ConvertLpNormalization(const Node& node, Builder& builder);
absl::Status ConvertGroupNormalization(const Node& node, Builder& builder);

}  // namespace edgekiln::compiler::onnx_import

#endif  // EK_COMPILER_FRONTEND_ONNX_CONVERTERS_H_
