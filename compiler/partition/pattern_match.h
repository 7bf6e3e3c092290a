#ifndef EK_COMPILER_PARTITION_PATTERN_MATCH_H_
#define EK_COMPILER_PARTITION_PATTERN_MATCH_H_

#include <string>

#include "compiler/ir/graph.h"
#include "edgekiln/v1/target.pb.h"

namespace edgekiln::compiler {

// Whether `pattern` takes `op`. Empty: it does. Otherwise the limit that it
// breaks, as half a sentence ("kernel 9x9 exceeds 7"). A pattern of another op
// answers kNotThisOp.
inline constexpr char kNotThisOp[] = "-";
std::string WhyNot(const Graph& graph, const Op& op,
                   const v1::OpPattern& pattern);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_PARTITION_PATTERN_MATCH_H_
