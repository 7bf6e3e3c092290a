#ifndef EK_COMPILER_PARTITION_FACTORS_MATCH_H_
#define EK_COMPILER_PARTITION_FACTORS_MATCH_H_

#include <string>

#include "compiler/ir/graph.h"
#include "edgekiln/v1/target.pb.h"

namespace edgekiln::compiler {

// Empty if an engine with these numerics scales the op's sums, or the operands
// of an addition, to its result. Else what it needs, worded as in Match.failed.
// Operands and result are quantized with one scale, weights with one or one per
// channel.
std::string WhyNotFactors(const Graph& graph, const Op& op,
                          const v1::Numerics& numerics);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_PARTITION_FACTORS_MATCH_H_
