#ifndef EK_COMPILER_IR_STORAGE_H_
#define EK_COMPILER_IR_STORAGE_H_

#include <vector>

#include "compiler/ir/graph.h"

namespace edgekiln::compiler {

// Storage of every tensor: reshapes share their input's.
std::vector<TensorId> StorageOf(const Graph& graph);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_IR_STORAGE_H_
