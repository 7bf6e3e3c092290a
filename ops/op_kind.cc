#include "ops/shape_inference.h"

namespace edgekiln::ops {

// Not from the descriptor: building those of a file costs a short-lived process
// more than reading a small model does.
absl::string_view OpKind(const v1::OpAttributes& attributes) {
  switch (attributes.op_case()) {
    case v1::OpAttributes::kConv2D:
      return "conv2d";
    case v1::OpAttributes::kDepthwiseConv2D:
      return "depthwise_conv2d";
    case v1::OpAttributes::kFullyConnected:
      return "fully_connected";
    case v1::OpAttributes::kAdd:
      return "add";
    case v1::OpAttributes::kAveragePool2D:
      return "average_pool2d";
    case v1::OpAttributes::kMaxPool2D:
      return "max_pool2d";
    case v1::OpAttributes::kSoftmax:
      return "softmax";
    case v1::OpAttributes::kReshape:
      return "reshape";
    case v1::OpAttributes::kTranspose:
      return "transpose";
    case v1::OpAttributes::kClip:
      return "clip";
    case v1::OpAttributes::kBatchNormalization:
      return "batch_normalization";
    case v1::OpAttributes::kPad:
      return "pad";
    case v1::OpAttributes::kQuantize:
      return "quantize";
    case v1::OpAttributes::kDequantize:
      return "dequantize";
    case v1::OpAttributes::kMul:
      return "mul";
    case v1::OpAttributes::kConcat:
      return "concat";
    case v1::OpAttributes::kReduceMean:
      return "reduce_mean";
    case v1::OpAttributes::kMatMul:
      return "mat_mul";
    case v1::OpAttributes::kUnary:
      return "unary";
    case v1::OpAttributes::kBinary:
      return "binary";
    case v1::OpAttributes::kSelect:
      return "select";
    case v1::OpAttributes::kCast:
      return "cast";
    case v1::OpAttributes::kReduce:
      return "reduce";
    case v1::OpAttributes::kArgReduce:
      return "arg_reduce";
    case v1::OpAttributes::kCumSum:
      return "cum_sum";
    case v1::OpAttributes::kGather:
      return "gather";
    case v1::OpAttributes::kGatherElements:
      return "gather_elements";
    case v1::OpAttributes::kSlice:
      return "slice";
    case v1::OpAttributes::kBroadcastTo:
      return "broadcast_to";
    case v1::OpAttributes::kTile:
      return "tile";
    case v1::OpAttributes::kResize:
      return "resize";
    case v1::OpAttributes::kTopK:
      return "top_k";
    case v1::OpAttributes::kConv3D:
      return "conv3d";
    case v1::OpAttributes::kTransposedConv:
      return "transposed_conv";
    case v1::OpAttributes::kPool:
      return "pool";
    case v1::OpAttributes::kLocalResponseNormalization:
      return "local_response_normalization";
    case v1::OpAttributes::kLayerNormalization:
      return "layer_normalization";
    case v1::OpAttributes::kL2Normalization:
      return "l2_normalization";
    case v1::OpAttributes::kLogSoftmax:
      return "log_softmax";
    case v1::OpAttributes::kLstm:
      return "lstm";
    case v1::OpAttributes::kGru:
      return "gru";
    case v1::OpAttributes::kSvdf:
      return "svdf";
    case v1::OpAttributes::kRnn:
      return "rnn";
    case v1::OpAttributes::kGatherNd:
      return "gather_nd";
    case v1::OpAttributes::kScatterElements:
      return "scatter_elements";
    case v1::OpAttributes::kScatterNd:
      return "scatter_nd";
    case v1::OpAttributes::kReverseSequence:
      return "reverse_sequence";
    case v1::OpAttributes::kGridSample:
      return "grid_sample";
    case v1::OpAttributes::kRequantize:
      return "requantize";
    case v1::OpAttributes::OP_NOT_SET:
      break;
  }
  return "";
}

}  // namespace edgekiln::ops
