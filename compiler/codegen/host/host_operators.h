#ifndef EK_COMPILER_CODEGEN_HOST_HOST_OPERATORS_H_
#define EK_COMPILER_CODEGEN_HOST_HOST_OPERATORS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "compiler/codegen/c/operators.h"
#include "edgekiln/v1/program.pb.h"
#include "edgekiln/v1/target.pb.h"

namespace edgekiln::compiler {

// The C of a program's host ops, in the order of its steps. Constants are read
// where the program has them; kernels that want them in another order have
// copies, unless flash is too small for these. UNIMPLEMENTED for an op without
// C, or one with a tensor whose address its type does not allow.
absl::StatusOr<COperators> HostOperators(const v1::Program& program,
                                         absl::string_view constants,
                                         const v1::Machine& machine,
                                         const std::string& prefix);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_HOST_HOST_OPERATORS_H_
