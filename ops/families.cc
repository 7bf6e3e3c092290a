#include "ops/families.h"

#include "ops/converter.h"
#include "ops/rounding.h"

namespace edgekiln::ops {
namespace {

absl::StatusOr<std::vector<Shape>> InferNothing(const v1::OpAttributes& op,
                                                Views) {
  return NoSuchOp(op);
}

absl::Status CheckNothing(const v1::OpAttributes& op, Views, Views) {
  return NoSuchOp(op);
}

absl::Status ComputeNothing(const v1::OpAttributes& op, Inputs, Outputs,
                            CpuPath) {
  return NoSuchOp(op);
}

OpFamily KindOf(const v1::OpAttributes& op) {
  switch (op.op_case()) {
    case v1::OpAttributes::kConv2D:
    case v1::OpAttributes::kDepthwiseConv2D:
    case v1::OpAttributes::kFullyConnected:
    case v1::OpAttributes::kMatMul:
    case v1::OpAttributes::kConv3D:
    case v1::OpAttributes::kTransposedConv:
      return {InferDot, CheckDot, ComputeDot, PrepareDot};
    case v1::OpAttributes::kAveragePool2D:
    case v1::OpAttributes::kMaxPool2D:
    case v1::OpAttributes::kPool:
      return {InferPooling, CheckPooling, ComputePooling};
    case v1::OpAttributes::kSoftmax:
    case v1::OpAttributes::kBatchNormalization:
    case v1::OpAttributes::kLocalResponseNormalization:
    case v1::OpAttributes::kLayerNormalization:
    case v1::OpAttributes::kL2Normalization:
    case v1::OpAttributes::kLogSoftmax:
      return {InferNormalization, CheckNormalization, ComputeNormalization};
    case v1::OpAttributes::kResize:
      return {InferResampling, CheckResampling, ComputeResampling};
    case v1::OpAttributes::kLstm:
    case v1::OpAttributes::kGru:
    case v1::OpAttributes::kRnn:
    case v1::OpAttributes::kSvdf:
      return {InferRecurrent, CheckRecurrent, ComputeRecurrent};
    case v1::OpAttributes::kAdd:
    case v1::OpAttributes::kMul:
    case v1::OpAttributes::kClip:
    case v1::OpAttributes::kUnary:
    case v1::OpAttributes::kBinary:
    case v1::OpAttributes::kSelect:
    case v1::OpAttributes::kCast:
    case v1::OpAttributes::kQuantize:
    case v1::OpAttributes::kDequantize:
    case v1::OpAttributes::kRequantize:
      return {InferElementwise, CheckElementwise, ComputeElementwise};
    case v1::OpAttributes::kReshape:
    case v1::OpAttributes::kTranspose:
    case v1::OpAttributes::kPad:
    case v1::OpAttributes::kConcat:
    case v1::OpAttributes::kGather:
    case v1::OpAttributes::kGatherElements:
    case v1::OpAttributes::kSlice:
    case v1::OpAttributes::kBroadcastTo:
    case v1::OpAttributes::kTile:
      return {InferMovement, CheckMovement, ComputeMovement};
    case v1::OpAttributes::kReduceMean:
    case v1::OpAttributes::kReduce:
    case v1::OpAttributes::kArgReduce:
    case v1::OpAttributes::kCumSum:
    case v1::OpAttributes::kTopK:
      return {InferReduction, CheckReduction, ComputeReduction};
    case v1::OpAttributes::kGatherNd:
    case v1::OpAttributes::kScatterElements:
    case v1::OpAttributes::kScatterNd:
    case v1::OpAttributes::kReverseSequence:
    case v1::OpAttributes::kGridSample:
      return {InferIndexed, CheckIndexed, ComputeIndexed};
    case v1::OpAttributes::OP_NOT_SET:
      break;
  }
  return {InferNothing, CheckNothing, ComputeNothing};
}

}  // namespace

OpFamily FamilyOf(const v1::OpAttributes& op) {
  OpFamily family = KindOf(op);
  if (op.has_converter()) {
    family.compute = ComputeConverted;
    family.prepare = PrepareConverted;
  }
  if (op.rounding() == v1::HALF_EVEN &&
      HalfEvenFormOf(op) == HalfEvenForm::kFloats) {
    family.compute = ComputeThroughFloats;
    family.prepare = nullptr;
  }
  return family;
}

}  // namespace edgekiln::ops
