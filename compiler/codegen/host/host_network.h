#ifndef EK_COMPILER_CODEGEN_HOST_HOST_NETWORK_H_
#define EK_COMPILER_CODEGEN_HOST_HOST_NETWORK_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/codegen/c/c_sources.h"
#include "compiler/codegen/c/operators.h"
#include "edgekiln/v1/program.pb.h"
#include "edgekiln/v1/target.pb.h"

namespace edgekiln::compiler {

// `edgekiln_driver.h`, `PREFIX.h` and `PREFIX.c`: what the host of a chip with
// engines does for an inference, with the loader and the states. `operators`
// are those of the program's host ops (HostOperators()). INVALID_ARGUMENT or
// UNIMPLEMENTED for a move that MoveFunction() or TransferTables refuse.
absl::StatusOr<std::vector<CFile>> HostNetwork(const v1::Program& program,
                                               const COperators& operators,
                                               const v1::Machine& machine,
                                               const std::string& prefix);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_HOST_HOST_NETWORK_H_
