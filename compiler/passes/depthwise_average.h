#ifndef EK_COMPILER_PASSES_DEPTHWISE_AVERAGE_H_
#define EK_COMPILER_PASSES_DEPTHWISE_AVERAGE_H_

#include "compiler/ir/graph.h"

// An average pool as a depthwise convolution with int8 weights of 1 and a scale
// of 1 / count: it has one rounding where an average and a change of scale have
// two, and takes zero points off first.
namespace edgekiln::compiler {

struct DepthwiseAverage {
  v1::OpAttributes attributes;
  Tensor weights;
};

// The form of `pool`, whose windows hold all of their values, and which makes
// `output`. The weights are named after `output`.
DepthwiseAverage AsDepthwise(const v1::AveragePool2d& pool,
                             const Tensor& output);

// Whether that form rounds uint8 averages, input and output quantized likewise,
// as the pool does: its factor is a power of two.
bool IsExactAsDepthwise(const v1::AveragePool2d& pool);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_PASSES_DEPTHWISE_AVERAGE_H_
