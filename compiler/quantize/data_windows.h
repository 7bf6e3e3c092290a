#ifndef EK_COMPILER_QUANTIZE_DATA_WINDOWS_H_
#define EK_COMPILER_QUANTIZE_DATA_WINDOWS_H_

#include "compiler/ir/graph.h"

namespace edgekiln::compiler {

// Whether `reader`, of what `pad` makes, is a maximum over windows of which
// each holds at least one element that the Pad did not add.
bool EveryWindowHasData(const Graph& graph, const Op& pad, const Op& reader);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_QUANTIZE_DATA_WINDOWS_H_
