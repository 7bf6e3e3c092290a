#include "compiler/passes/op_traits.h"

#include "compiler/passes/graph_edit.h"

namespace edgekiln::compiler {

bool IsMovement(v1::OpAttributes::OpCase op) {
  switch (op) {
    case v1::OpAttributes::kReshape:
    case v1::OpAttributes::kTranspose:
    case v1::OpAttributes::kSlice:
    case v1::OpAttributes::kBroadcastTo:
    case v1::OpAttributes::kTile:
    case v1::OpAttributes::kGather:
    case v1::OpAttributes::kGatherElements:
    case v1::OpAttributes::kGatherNd:
    case v1::OpAttributes::kReverseSequence:
      return true;
    default:
      return false;
  }
}

bool MovesValues(const Op& op) {
  if (op.outputs.size() != 1) return false;
  const v1::OpAttributes& attributes = op.attributes;
  switch (attributes.op_case()) {
    case v1::OpAttributes::kPad:
      return attributes.pad().mode() != v1::Pad::CONSTANT ||
             attributes.pad().value() == 0;
    case v1::OpAttributes::kResize:
      return attributes.resize().mode() == v1::Resize::NEAREST &&
             attributes.resize().coordinates() !=
                 v1::Resize::TF_CROP_AND_RESIZE;
    default:
      return IsMovement(attributes.op_case());
  }
}

bool ChoosesValues(const Op& op) {
  if (op.outputs.size() != 1) return false;
  const v1::OpAttributes& attributes = op.attributes;
  switch (attributes.op_case()) {
    case v1::OpAttributes::kMaxPool2D:
      return !HasBounds(attributes.max_pool2d().clamp());
    case v1::OpAttributes::kPool:
      return attributes.pool().function() == v1::Pool::MAXIMUM &&
             !HasBounds(attributes.pool().clamp());
    case v1::OpAttributes::kReduce:
      return attributes.reduce().function() == v1::Reduce::MAX ||
             attributes.reduce().function() == v1::Reduce::MIN;
    default:
      return MovesValues(op);
  }
}

bool HasIntegerMeaning(const Op& op) {
  switch (op.attributes.op_case()) {
    case v1::OpAttributes::kAdd:
    case v1::OpAttributes::kMul:
    case v1::OpAttributes::kClip:
    case v1::OpAttributes::kSoftmax:
    case v1::OpAttributes::kLogSoftmax:
    case v1::OpAttributes::kL2Normalization:
    case v1::OpAttributes::kLayerNormalization:
    case v1::OpAttributes::kMatMul:
    case v1::OpAttributes::kReduceMean:
    case v1::OpAttributes::kConcat:
    case v1::OpAttributes::kAveragePool2D:
    case v1::OpAttributes::kTransposedConv:
    case v1::OpAttributes::kConv3D:
    case v1::OpAttributes::kPad:
    case v1::OpAttributes::kResize:
      return true;
    case v1::OpAttributes::kUnary:
      switch (op.attributes.unary().function()) {
        case v1::Unary::IS_NAN:
        case v1::Unary::IS_INF:
        case v1::Unary::BITWISE_NOT:
          return false;
        default:
          return true;
      }
    case v1::OpAttributes::kReduce:
      return op.attributes.reduce().function() == v1::Reduce::SUM;
    case v1::OpAttributes::kBinary:
      switch (op.attributes.binary().function()) {
        case v1::Binary::SUB:
        case v1::Binary::DIV:
        case v1::Binary::MINIMUM:
        case v1::Binary::MAXIMUM:
        case v1::Binary::SQUARED_DIFFERENCE:
        case v1::Binary::PRELU:
          return true;
        default:
          return false;
      }
    default:
      return false;
  }
}

}  // namespace edgekiln::compiler
