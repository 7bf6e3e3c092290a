#ifndef EK_COMPILER_CODEGEN_FIRMWARE_ASSEMBLY_CALLS_H_
#define EK_COMPILER_CODEGEN_FIRMWARE_ASSEMBLY_CALLS_H_

// Who calls whom in assembler text for x86-64, as clang -S writes it.

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace edgekiln::compiler {

// A call graph for BoundStack(). Jumps to another function are calls; a call or
// jump by a register or memory is one by pointer. Frames are of `stack_usage`,
// the text that -fstack-usage makes beside the object, and the return address.
// INVALID_ARGUMENT for calls outside of functions and other texts of frames.
absl::StatusOr<std::string> AssemblyCallGraph(absl::string_view assembly,
                                              absl::string_view stack_usage);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_FIRMWARE_ASSEMBLY_CALLS_H_
