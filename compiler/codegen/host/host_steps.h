#ifndef EK_COMPILER_CODEGEN_HOST_HOST_STEPS_H_
#define EK_COMPILER_CODEGEN_HOST_HOST_STEPS_H_

#include <string>

#include "absl/status/statusor.h"
#include "compiler/codegen/c/operators.h"
#include "edgekiln/v1/program.pb.h"
#include "edgekiln/v1/target.pb.h"

namespace edgekiln::compiler {

// The walk over a program's steps.
struct HostSteps {
  // Tables, and `static int PREFIX_walk(void)`, which returns 0, or 1 + the
  // layer of an operator that met an index out of range. With moves that no
  // registers start also `void PREFIX_copy(const struct edgekiln_move *move)`.
  std::string text;
  bool has_steps = false;  // Else there is no walk.
  bool has_moves = false;
};

// Errors as of HostNetwork().
absl::StatusOr<HostSteps> WriteHostSteps(const v1::Program& program,
                                         const COperators& operators,
                                         const v1::Machine& machine,
                                         const std::string& prefix);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_HOST_HOST_STEPS_H_
