#ifndef EK_COMPILER_CODEGEN_IN_PLACE_OPS_H_
#define EK_COMPILER_CODEGEN_IN_PLACE_OPS_H_

// Ops of the host that write their result over their input, element by
// element. Elements may lie in any order, if they fill their place.

#include <vector>

#include "compiler/ir/graph.h"
#include "edgekiln/v1/layout.pb.h"
#include "edgekiln/v1/program.pb.h"

namespace edgekiln::compiler {

// By op, whether it is one: nothing else reads its input, which some op makes
// and the caller does not see.
std::vector<bool> InPlaceOps(const Graph& graph,
                             const v1::Partition& partition);

// Whether elements of one byte take all bytes from the layout's first one on,
// so that a dense array of as many elements is made of the same bytes.
bool LiesWithoutGaps(const v1::Layout& layout);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_IN_PLACE_OPS_H_
