#include "compiler/frontend/tflite/converters.h"

#include <algorithm>
#include <iterator>

namespace edgekiln::compiler::tflite_import {
namespace {

using Op = tflite::BuiltinOperator;

struct Entry {
  Op code;
  Converter converter;
};

constexpr Entry kTable[] = {
    {Op::ABS, ConvertUnary},
    {Op::ADD, ConvertAddOrMul},
    {Op::ADD_N, ConvertAddN},
    {Op::ARG_MAX, ConvertArgReduce},
    {Op::ARG_MIN, ConvertArgReduce},
    {Op::AVERAGE_POOL_2D, ConvertPool},
    {Op::BATCH_MATMUL, ConvertBatchMatMul},
    {Op::BATCH_TO_SPACE_ND, ConvertBatchToSpace},
    {Op::BITWISE_XOR, ConvertBinary},
    {Op::BROADCAST_TO, ConvertBroadcastTo},
    {Op::CAST, ConvertCast},
    {Op::CEIL, ConvertUnary},
    {Op::CONCATENATION, ConvertConcat},
    {Op::CONV_2D, ConvertConv2d},
    {Op::COS, ConvertUnary},
    {Op::CUMSUM, ConvertCumsum},
    {Op::DENSIFY, ConvertReshape},  // Read as dense values.
    {Op::DEPTHWISE_CONV_2D, ConvertDepthwise},
    {Op::DEPTH_TO_SPACE, ConvertDepthToSpace},
    {Op::DEQUANTIZE, ConvertDequantize},
    {Op::DIV, ConvertBinary},
    {Op::ELU, ConvertUnary},
    {Op::EQUAL, ConvertBinary},
    {Op::EXP, ConvertUnary},
    {Op::EXPAND_DIMS, ConvertExpandDims},
    {Op::FILL, ConvertFill},
    {Op::FLOOR, ConvertUnary},
    {Op::FLOOR_DIV, ConvertBinary},
    {Op::FLOOR_MOD, ConvertBinary},
    {Op::FULLY_CONNECTED, ConvertFullyConnected},
    {Op::GATHER, ConvertGather},
    {Op::GATHER_ND, ConvertGatherNd},
    {Op::GELU, ConvertUnary},
    {Op::GREATER, ConvertBinary},
    {Op::GREATER_EQUAL, ConvertBinary},
    {Op::HARD_SWISH, ConvertUnary},
    {Op::L2_NORMALIZATION, ConvertNormalization},
    {Op::LEAKY_RELU, ConvertUnary},
    {Op::LESS, ConvertBinary},
    {Op::LESS_EQUAL, ConvertBinary},
    {Op::LOCAL_RESPONSE_NORMALIZATION, ConvertNormalization},
    {Op::LOG, ConvertUnary},
    {Op::LOGICAL_AND, ConvertBinary},
    {Op::LOGICAL_NOT, ConvertUnary},
    {Op::LOGICAL_OR, ConvertBinary},
    {Op::LOGISTIC, ConvertUnary},
    {Op::LOG_SOFTMAX, ConvertNormalization},
    {Op::MAXIMUM, ConvertBinary},
    {Op::MAX_POOL_2D, ConvertPool},
    {Op::MEAN, ConvertReduce},
    {Op::MINIMUM, ConvertBinary},
    {Op::MIRROR_PAD, ConvertPad},
    {Op::MUL, ConvertAddOrMul},
    {Op::NEG, ConvertUnary},
    {Op::NOT_EQUAL, ConvertBinary},
    {Op::ONE_HOT, ConvertOneHot},
    {Op::PACK, ConvertPack},
    {Op::PAD, ConvertPad},
    {Op::PADV2, ConvertPad},
    {Op::POW, ConvertBinary},
    {Op::PRELU, ConvertBinary},
    {Op::QUANTIZE, ConvertQuantize},
    {Op::RANK, ConvertShape},
    {Op::REDUCE_ALL, ConvertReduce},
    {Op::REDUCE_ANY, ConvertReduce},
    {Op::REDUCE_MAX, ConvertReduce},
    {Op::REDUCE_MIN, ConvertReduce},
    {Op::REDUCE_PROD, ConvertReduce},
    {Op::RELU, ConvertClip},
    {Op::RELU6, ConvertClip},
    {Op::RELU_0_TO_1, ConvertClip},
    {Op::RELU_N1_TO_1, ConvertClip},
    {Op::RESHAPE, ConvertReshape},
    {Op::RESIZE_BILINEAR, ConvertResize},
    {Op::RESIZE_NEAREST_NEIGHBOR, ConvertResize},
    {Op::REVERSE_SEQUENCE, ConvertReverseSequence},
    {Op::REVERSE_V2, ConvertReverse},
    {Op::RIGHT_SHIFT, ConvertBinary},
    {Op::RNN, ConvertRnn},
    {Op::ROUND, ConvertUnary},
    {Op::RSQRT, ConvertUnary},
    {Op::SCATTER_ND, ConvertScatterNd},
    {Op::SELECT, ConvertSelect},
    {Op::SELECT_V2, ConvertSelect},
    {Op::SHAPE, ConvertShape},
    {Op::SIGN, ConvertUnary},
    {Op::SIN, ConvertUnary},
    {Op::SLICE, ConvertSlice},
    {Op::SOFTMAX, ConvertNormalization},
    {Op::SPACE_TO_BATCH_ND, ConvertSpaceToBatch},
    {Op::SPACE_TO_DEPTH, ConvertSpaceToDepth},
    {Op::SPLIT, ConvertSplit},
    {Op::SPLIT_V, ConvertSplit},
    {Op::SQRT, ConvertUnary},
    {Op::SQUARE, ConvertUnary},
    {Op::SQUARED_DIFFERENCE, ConvertBinary},
    {Op::SQUEEZE, ConvertSqueeze},
    {Op::STRIDED_SLICE, ConvertStridedSlice},
    {Op::SUB, ConvertBinary},
    {Op::SUM, ConvertReduce},
    {Op::SVDF, ConvertSvdf},
    {Op::TANH, ConvertUnary},
    {Op::TILE, ConvertTile},
    {Op::TOPK_V2, ConvertTopK},
    {Op::TRANSPOSE, ConvertTranspose},
    {Op::TRANSPOSE_CONV, ConvertTransposeConv},
    {Op::UNIDIRECTIONAL_SEQUENCE_LSTM, ConvertLstm},
    {Op::UNIDIRECTIONAL_SEQUENCE_RNN, ConvertSequenceRnn},
    {Op::UNPACK, ConvertUnpack},
    {Op::ZEROS_LIKE, ConvertZerosLike},
};

}  // namespace

Converter ConverterOf(tflite::BuiltinOperator code) {
  const auto* entry =
      std::find_if(std::begin(kTable), std::end(kTable),
                   [&](const Entry& e) { return e.code == code; });
  return entry == std::end(kTable) ? nullptr : entry->converter;
}

std::vector<tflite::BuiltinOperator> ConvertibleOperators() {
  std::vector<tflite::BuiltinOperator> codes;
  for (const Entry& entry : kTable) codes.push_back(entry.code);
  std::sort(codes.begin(), codes.end());
  return codes;
}

}  // namespace edgekiln::compiler::tflite_import
