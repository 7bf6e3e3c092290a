#ifndef EK_COMPILER_CODEGEN_PLANE_SUMS_H_
#define EK_COMPILER_CODEGEN_PLANE_SUMS_H_

// Host ops that add up whole channels of an image, in whichever order: an
// average pool over all of it, or a depthwise convolution that is one. Where an
// engine has channels as planes, one after the other, they need no other order,
// also if the bytes of words are reversed.

#include <vector>

#include "compiler/ir/graph.h"
#include "edgekiln/v1/layout.pb.h"
#include "edgekiln/v1/program.pb.h"

namespace edgekiln::compiler {

// Whether the op's first input, int8 [1, h, w, c], is read so; not by its
// second one, too.
bool IsPlaneSum(const Graph& graph, const Op& op);

// Whether [1, h, w, c] lies as c planes without gaps, each of whole groups of
// reversed bytes.
bool LiesInPlanes(const v1::Layout& layout);

// The op over planes, as one over a dense array [1, c, h * w, 1] that makes
// [1, c, 1, 1].
struct PlaneSum {
  v1::OpAttributes attributes;
  std::vector<Tensor> inputs;  // Constants with their values.
  Tensor output;
};
PlaneSum AsPlaneSum(const Graph& graph, const Op& op);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_PLANE_SUMS_H_
