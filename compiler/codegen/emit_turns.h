#ifndef EK_COMPILER_CODEGEN_EMIT_TURNS_H_
#define EK_COMPILER_CODEGEN_EMIT_TURNS_H_

#include "absl/status/status.h"
#include "compiler/codegen/program_writer.h"
#include "compiler/ir/graph.h"
#include "edgekiln/v1/program.pb.h"
#include "edgekiln/v1/target.pb.h"
#include "edgekiln/v1/tiling.pb.h"

namespace edgekiln::compiler {

// Writes the steps of a program some of whose engines the host drives, in the
// order of `plans.turns`. INVALID_ARGUMENT if the plans do not belong to the
// partition; RESOURCE_EXHAUSTED if activations exceed RAM.
absl::Status EmitTurns(const Graph& graph, const v1::Partition& partition,
                       const v1::RegionPlans& plans, const v1::Machine& machine,
                       ProgramWriter& writer);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_EMIT_TURNS_H_
