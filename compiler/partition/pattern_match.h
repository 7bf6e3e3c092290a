#ifndef EK_COMPILER_PARTITION_PATTERN_MATCH_H_
#define EK_COMPILER_PARTITION_PATTERN_MATCH_H_

#include <string>

#include "compiler/ir/graph.h"
#include "edgekiln/v1/target.pb.h"

namespace edgekiln::compiler {

// Whether `pattern` takes `op`. Empty: it does. Otherwise what the pattern
// needs and `op` has not: "kernels up to 7 (here 9x9)". What is of this layer
// only stands in parentheses, so that reports can count layers with one reason.
// A pattern of another op answers kNotThisOp.
inline constexpr char kNotThisOp[] = "-";
std::string WhyNot(const Graph& graph, const Op& op,
                   const v1::OpPattern& pattern);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_PARTITION_PATTERN_MATCH_H_
