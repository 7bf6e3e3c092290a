#ifndef EK_COMPILER_PASSES_AFFINE_H_
#define EK_COMPILER_PASSES_AFFINE_H_

#include <optional>
#include <vector>

#include "compiler/ir/graph.h"

namespace edgekiln::compiler {

// y = x * scale[c] + offset[c], c counting one dimension.
struct Affine {
  std::vector<double> scale;
  std::vector<double> offset;
};

// What a batch normalization computes along its axis; empty if one of its
// parameters is not a constant.
std::optional<Affine> AffineOfNormalization(const Graph& graph, const Op& op);

// What a normalization, multiplication or addition does to its first input, if
// that is a float scale and offset per channel of the last dimension. A clamp
// is not looked at.
std::optional<Affine> ChannelAffine(const Graph& graph, const Op& op);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_PASSES_AFFINE_H_
