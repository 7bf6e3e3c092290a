#ifndef EK_COMPILER_FRONTEND_TFLITE_CONVERTERS_H_
#define EK_COMPILER_FRONTEND_TFLITE_CONVERTERS_H_

#include <vector>

#include "absl/status/status.h"
#include "compiler/frontend/tflite/conversion.h"
#include "compiler/frontend/tflite/schema_generated.h"

// What each builtin operator becomes, one function per family of operators; a
// function tells them apart by Conversion::code().
namespace edgekiln::compiler::tflite_import {

using Converter = absl::Status (*)(Conversion& c);

// Null for an operator that has none.
Converter ConverterOf(tflite::BuiltinOperator code);

// All operators that have a converter, ascending.
std::vector<tflite::BuiltinOperator> ConvertibleOperators();

// convert_elementwise.cc
absl::Status ConvertUnary(Conversion& c);
absl::Status ConvertBinary(Conversion& c);
absl::Status ConvertAddOrMul(Conversion& c);
absl::Status ConvertAddN(Conversion& c);
absl::Status ConvertClip(Conversion& c);
absl::Status ConvertSelect(Conversion& c);
absl::Status ConvertCast(Conversion& c);
absl::Status ConvertQuantize(Conversion& c);
absl::Status ConvertDequantize(Conversion& c);
// convert_dot.cc
absl::Status ConvertConv2d(Conversion& c);
absl::Status ConvertDepthwise(Conversion& c);
absl::Status ConvertTransposeConv(Conversion& c);
absl::Status ConvertPool(Conversion& c);
absl::Status ConvertFullyConnected(Conversion& c);
absl::Status ConvertBatchMatMul(Conversion& c);
// convert_reduce.cc
absl::Status ConvertReduce(Conversion& c);
absl::Status ConvertArgReduce(Conversion& c);
absl::Status ConvertCumsum(Conversion& c);
absl::Status ConvertTopK(Conversion& c);
absl::Status ConvertNormalization(Conversion& c);
absl::Status ConvertResize(Conversion& c);
// convert_move.cc
absl::Status ConvertReshape(Conversion& c);
absl::Status ConvertExpandDims(Conversion& c);
absl::Status ConvertSqueeze(Conversion& c);
absl::Status ConvertTranspose(Conversion& c);
absl::Status ConvertConcat(Conversion& c);
absl::Status ConvertPack(Conversion& c);
absl::Status ConvertPad(Conversion& c);
absl::Status ConvertTile(Conversion& c);
absl::Status ConvertBroadcastTo(Conversion& c);
absl::Status ConvertFill(Conversion& c);
absl::Status ConvertShape(Conversion& c);
absl::Status ConvertZerosLike(Conversion& c);
// convert_slice.cc
absl::Status ConvertSlice(Conversion& c);
absl::Status ConvertStridedSlice(Conversion& c);
absl::Status ConvertSplit(Conversion& c);
absl::Status ConvertUnpack(Conversion& c);
absl::Status ConvertReverse(Conversion& c);
absl::Status ConvertGather(Conversion& c);
// convert_space.cc
absl::Status ConvertSpaceToDepth(Conversion& c);
absl::Status ConvertDepthToSpace(Conversion& c);
absl::Status ConvertSpaceToBatch(Conversion& c);
absl::Status ConvertBatchToSpace(Conversion& c);
// convert_indexed.cc
absl::Status ConvertGatherNd(Conversion& c);
absl::Status ConvertReverseSequence(Conversion& c);
absl::Status ConvertScatterNd(Conversion& c);
absl::Status ConvertOneHot(Conversion& c);
// convert_rnn.cc
absl::Status ConvertSequenceRnn(Conversion& c);
absl::Status ConvertRnn(Conversion& c);
// convert_recurrent.cc
absl::Status ConvertLstm(Conversion& c);
absl::Status ConvertSvdf(Conversion& c);

}  // namespace edgekiln::compiler::tflite_import

#endif  // EK_COMPILER_FRONTEND_TFLITE_CONVERTERS_H_
