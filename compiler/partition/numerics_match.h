#ifndef EK_COMPILER_PARTITION_NUMERICS_MATCH_H_
#define EK_COMPILER_PARTITION_NUMERICS_MATCH_H_

#include <string>

#include "compiler/ir/graph.h"
#include "compiler/passes/product_sums.h"
#include "edgekiln/v1/target.pb.h"

namespace edgekiln::compiler {

// Empty if an engine with these numerics computes the op bit for bit: weights
// and bias constant, activations not, all quantized. Else what the engine
// needs, worded as in Match.failed. Reads no constant data but weights of which
// the numerics do not take all values, or with accumulators below 32 bits.
// `ranges` has what the op reads.
std::string WhyNotNumerics(const Graph& graph, const Op& op,
                           const v1::Numerics& numerics,
                           const ValueRanges& ranges);

// A tensor's name, shortened for a sentence about one layer.
std::string ShortName(const Tensor& tensor);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_PARTITION_NUMERICS_MATCH_H_
