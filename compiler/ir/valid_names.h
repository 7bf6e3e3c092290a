#ifndef EK_COMPILER_IR_VALID_NAMES_H_
#define EK_COMPILER_IR_VALID_NAMES_H_

#include <string>

#include "compiler/ir/graph.h"

// Names of a model file are bytes; names of a graph are protobuf strings, which
// must be UTF-8. Front ends hand over graphs whose names are.
namespace edgekiln::compiler {

// `name` with each byte that is not part of UTF-8, and each control character,
// written as "\xNN": "caf<E9>" becomes "caf\xE9". Other names stay as they are.
std::string ValidName(const std::string& name);

// Makes every name of the graph valid. Where two tensors would end up with one
// name, the later one in the graph gets "#1", "#2" and so on.
void MakeNamesValid(Graph& graph);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_IR_VALID_NAMES_H_
