#ifndef EDGEKILN_COMPILER_FRONTEND_ONNX_CONVERTERS_H_
#define EDGEKILN_COMPILER_FRONTEND_ONNX_CONVERTERS_H_

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
};

// The operator of the default domain, or null.
const OperatorEntry* FindOperator(absl::string_view op_type);
// Every supported operator, for messages.
std::string OperatorNames();

// convert_window.cc
absl::Status ConvertConv(const Node& node, Builder& builder);
absl::Status ConvertAveragePool(const Node& node, Builder& builder);
absl::Status ConvertMaxPool(const Node& node, Builder& builder);
absl::Status ConvertGlobalAveragePool(const Node& node, Builder& builder);
absl::Status ConvertGlobalMaxPool(const Node& node, Builder& builder);

// convert_arithmetic.cc
absl::Status ConvertAdd(const Node& node, Builder& builder);
absl::Status ConvertSub(const Node& node, Builder& builder);
absl::Status ConvertMul(const Node& node, Builder& builder);
absl::Status ConvertDiv(const Node& node, Builder& builder);
absl::Status ConvertSum(const Node& node, Builder& builder);
absl::Status ConvertNeg(const Node& node, Builder& builder);
absl::Status ConvertRelu(const Node& node, Builder& builder);
absl::Status ConvertClip(const Node& node, Builder& builder);
absl::Status ConvertBatchNormalization(const Node& node, Builder& builder);
absl::Status ConvertSoftmax(const Node& node, Builder& builder);
absl::Status ConvertReduceMean(const Node& node, Builder& builder);

// convert_matmul.cc
absl::Status ConvertGemm(const Node& node, Builder& builder);
absl::Status ConvertMatMul(const Node& node, Builder& builder);

// convert_shape.cc
absl::Status ConvertReshape(const Node& node, Builder& builder);
absl::Status ConvertFlatten(const Node& node, Builder& builder);
absl::Status ConvertSqueeze(const Node& node, Builder& builder);
absl::Status ConvertUnsqueeze(const Node& node, Builder& builder);
absl::Status ConvertTranspose(const Node& node, Builder& builder);
absl::Status ConvertIdentity(const Node& node, Builder& builder);
absl::Status ConvertDropout(const Node& node, Builder& builder);
absl::Status ConvertConcat(const Node& node, Builder& builder);
absl::Status ConvertPad(const Node& node, Builder& builder);

// convert_constant.cc: values known while importing.
absl::Status ConvertConstant(const Node& node, Builder& builder);
absl::Status ConvertConstantOfShape(const Node& node, Builder& builder);
absl::Status ConvertShape(const Node& node, Builder& builder);
absl::Status ConvertGather(const Node& node, Builder& builder);
absl::Status ConvertSlice(const Node& node, Builder& builder);
absl::Status ConvertCast(const Node& node, Builder& builder);
// Whether the inputs are all constants of integer type: such a node is shape
// arithmetic and is computed here, not emitted.
bool IsIntegerArithmetic(const Node& node, const Builder& builder);
absl::Status ConvertIntegerArithmetic(const Node& node, Builder& builder);

}  // namespace edgekiln::compiler::onnx_import

#endif  // EDGEKILN_COMPILER_FRONTEND_ONNX_CONVERTERS_H_
