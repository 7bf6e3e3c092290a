#include "compiler/passes/clamps.h"

namespace edgekiln::compiler {
namespace {

bool TakesClamp(const v1::Binary& binary) {
  return binary.function() == v1::Binary::SUB ||
         binary.function() == v1::Binary::DIV;
}

}  // namespace

const v1::Clamp* ClampOf(const v1::OpAttributes& attributes) {
  switch (attributes.op_case()) {
    case v1::OpAttributes::kConv2D:
      return &attributes.conv2d().clamp();
    case v1::OpAttributes::kDepthwiseConv2D:
      return &attributes.depthwise_conv2d().clamp();
    case v1::OpAttributes::kFullyConnected:
      return &attributes.fully_connected().clamp();
    case v1::OpAttributes::kAdd:
      return &attributes.add().clamp();
    case v1::OpAttributes::kMul:
      return &attributes.mul().clamp();
    case v1::OpAttributes::kAveragePool2D:
      return &attributes.average_pool2d().clamp();
    case v1::OpAttributes::kMaxPool2D:
      return &attributes.max_pool2d().clamp();
    case v1::OpAttributes::kClip:
      return &attributes.clip().clamp();
    case v1::OpAttributes::kRequantize:
      return &attributes.requantize().clamp();
    case v1::OpAttributes::kConv3D:
      return &attributes.conv3d().clamp();
    case v1::OpAttributes::kTransposedConv:
      return &attributes.transposed_conv().clamp();
    case v1::OpAttributes::kPool:
      return &attributes.pool().clamp();
    case v1::OpAttributes::kBinary:
      return TakesClamp(attributes.binary()) ? &attributes.binary().clamp()
                                             : nullptr;
    default:
      return nullptr;
  }
}

v1::Clamp* MutableClamp(v1::OpAttributes& attributes) {
  switch (attributes.op_case()) {
    case v1::OpAttributes::kConv2D:
      return attributes.mutable_conv2d()->mutable_clamp();
    case v1::OpAttributes::kDepthwiseConv2D:
      return attributes.mutable_depthwise_conv2d()->mutable_clamp();
    case v1::OpAttributes::kFullyConnected:
      return attributes.mutable_fully_connected()->mutable_clamp();
    case v1::OpAttributes::kAdd:
      return attributes.mutable_add()->mutable_clamp();
    case v1::OpAttributes::kMul:
      return attributes.mutable_mul()->mutable_clamp();
    case v1::OpAttributes::kAveragePool2D:
      return attributes.mutable_average_pool2d()->mutable_clamp();
    case v1::OpAttributes::kMaxPool2D:
      return attributes.mutable_max_pool2d()->mutable_clamp();
    case v1::OpAttributes::kClip:
      return attributes.mutable_clip()->mutable_clamp();
    case v1::OpAttributes::kRequantize:
      return attributes.mutable_requantize()->mutable_clamp();
    case v1::OpAttributes::kConv3D:
      return attributes.mutable_conv3d()->mutable_clamp();
    case v1::OpAttributes::kTransposedConv:
      return attributes.mutable_transposed_conv()->mutable_clamp();
    case v1::OpAttributes::kPool:
      return attributes.mutable_pool()->mutable_clamp();
    case v1::OpAttributes::kBinary:
      return TakesClamp(attributes.binary())
                 ? attributes.mutable_binary()->mutable_clamp()
                 : nullptr;
    default:
      return nullptr;
  }
}

bool HasBounds(const v1::Clamp& clamp) {
  return clamp.has_min() || clamp.has_max();
}

}  // namespace edgekiln::compiler
