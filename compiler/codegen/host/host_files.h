#ifndef EK_COMPILER_CODEGEN_HOST_HOST_FILES_H_
#define EK_COMPILER_CODEGEN_HOST_HOST_FILES_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "compiler/codegen/c/c_sources.h"
#include "compiler/ir/graph.h"
#include "edgekiln/v1/program.pb.h"
#include "edgekiln/v1/target.pb.h"

namespace edgekiln::compiler {

// The folder c/ of a bundle of a chip with engines, docs/bundle.md: the host's
// part of `program`, and `make check`, which compares it, on models of the
// engines, with what the reference interpreter computes of `graph`, the network
// that the program is of. UNIMPLEMENTED where the host's part has no C, with
// the reason.
absl::StatusOr<std::vector<CFile>> HostFiles(const v1::Program& program,
                                             const Graph& graph,
                                             absl::string_view constants,
                                             const v1::Machine& machine);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_HOST_HOST_FILES_H_
