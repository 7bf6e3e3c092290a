#ifndef EK_COMPILER_IR_GRAPH_OUTLINE_H_
#define EK_COMPILER_IR_GRAPH_OUTLINE_H_

#include "absl/status/statusor.h"
#include "compiler/ir/graph.h"
#include "edgekiln/v1/graph.pb.h"

// A graph without the bytes of its constants: a few kilobytes that tell all but
// values, for what is decided by shapes and types.
namespace edgekiln::compiler {

v1::Graph OutlineOf(const Graph& graph);

// The graph with zeros for constants, which take no memory until they are read.
// Verifies as GraphFromProto does; bytes are hostile.
absl::StatusOr<Graph> GraphFromOutline(const v1::Graph& outline);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_IR_GRAPH_OUTLINE_H_
