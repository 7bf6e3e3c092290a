#ifndef EK_COMPILER_CODEGEN_FIRMWARE_STACK_BOUND_H_
#define EK_COMPILER_CODEGEN_FIRMWARE_STACK_BOUND_H_

// How much stack compiled C code can need.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace edgekiln::compiler {

// The most bytes of stack that a call of any function takes, its callees
// included; 0 if nobody knows: there is recursion, a call by pointer, a frame
// whose size depends on data, or a callee without a size, as those of
// libraries. `call_graphs` are what gcc's -fcallgraph-info=su writes, one for
// each source file. INVALID_ARGUMENT for texts that are none.
absl::StatusOr<int64_t> BoundStack(const std::vector<std::string>& call_graphs);

// Functions that are called and of which nobody knows the size: what libraries
// have, perhaps. Sorted. Errors as of BoundStack().
absl::StatusOr<std::vector<std::string>> UnknownFunctions(
    const std::vector<std::string>& call_graphs);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_FIRMWARE_STACK_BOUND_H_
