#ifndef EK_COMPILER_QUANTIZE_EQUALIZE_H_
#define EK_COMPILER_QUANTIZE_EQUALIZE_H_

#include <vector>

#include "compiler/ir/graph.h"

namespace edgekiln::compiler {

// Evens out the ranges of channels between neighbouring layers of a float
// graph: what a layer gives in channel c is divided by s[c], and the next layer
// multiplies it by s[c] again, so that one scale fits the weights of all
// channels (Nagel et al., "Data-Free Quantization Through Weight Equalization
// and Bias Correction", 2019, section 4.1). The network computes the same, up
// to the rounding of floats.
//
// Done where both layers have weights that are constant, only the second reads
// the first, and nothing but a ReLU, pools and a flattening lies between them:
// no upper limit, which would be another one for each channel. `wanted`: by op,
// whether its weights share a scale. Says whether anything was changed.
bool Equalize(Graph& graph, const std::vector<bool>& wanted);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_QUANTIZE_EQUALIZE_H_
