#include "compiler/codegen/c/emitters.h"

namespace edgekiln::compiler {

absl::Status EmitStep(StepWriter& w) {
  using Op = v1::OpAttributes;
  switch (w.op().op_case()) {
    case Op::kConv2D:
    case Op::kDepthwiseConv2D:
    case Op::kFullyConnected:
    case Op::kMatMul:
    case Op::kConv3D:
    case Op::kTransposedConv:
      return EmitDot(w);
    case Op::kAveragePool2D:
    case Op::kMaxPool2D:
    case Op::kPool:
      return EmitPooling(w);
    case Op::kRequantize:
      return EmitRequantize(w);
    case Op::kQuantize:
      return EmitQuantize(w);
    case Op::kDequantize:
      return EmitDequantize(w);
    case Op::kCast:
      return EmitCast(w);
    case Op::kUnary:
      return EmitUnary(w);
    case Op::kClip:
      return EmitClip(w);
    case Op::kAdd:
    case Op::kMul:
    case Op::kBinary:
      return EmitBinary(w);
    case Op::kSelect:
      return EmitSelect(w);
    case Op::kReshape:
    case Op::kTranspose:
    case Op::kPad:
    case Op::kConcat:
    case Op::kSlice:
    case Op::kBroadcastTo:
    case Op::kTile:
      return EmitMovement(w);
    case Op::kGather:
    case Op::kGatherElements:
    case Op::kGatherNd:
    case Op::kScatterElements:
    case Op::kScatterNd:
    case Op::kReverseSequence:
      return EmitIndexed(w);
    case Op::kGridSample:
      return EmitGridSample(w);
    case Op::kReduceMean:
    case Op::kReduce:
      return EmitReduction(w);
    case Op::kArgReduce:
    case Op::kTopK:
    case Op::kCumSum:
      return EmitOrder(w);
    case Op::kSoftmax:
    case Op::kLogSoftmax:
      return EmitSoftmax(w);
    case Op::kBatchNormalization:
    case Op::kLocalResponseNormalization:
    case Op::kLayerNormalization:
    case Op::kL2Normalization:
      return EmitNormalization(w);
    case Op::kResize:
      return EmitResize(w);
    case Op::kLstm:
    case Op::kGru:
    case Op::kRnn:
    case Op::kSvdf:
      return EmitRecurrent(w);
    case Op::OP_NOT_SET:
      break;
  }
  return w.Unsupported("op without attributes");
}

}  // namespace edgekiln::compiler
