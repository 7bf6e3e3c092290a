#ifndef EK_COMPILER_CODEGEN_FIRMWARE_OBJECT_CALLS_H_
#define EK_COMPILER_CODEGEN_FIRMWARE_OBJECT_CALLS_H_

// Who calls whom in an object file, for compilers that do not write it down.

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace edgekiln::compiler {

// A call graph for BoundStack(). Calls are those that the linker fills in, so
// that functions must have sections of their own (-ffunction-sections), and a
// static function that calls itself is not noticed. A function whose code jumps
// to an address in a register calls by a pointer. Frames are of `stack_usage`,
// the text that -fstack-usage makes beside the object.
//
// INVALID_ARGUMENT for other files than objects of RISC-V and Arm with 32 bits,
// and for other texts.
absl::StatusOr<std::string> ObjectCallGraph(absl::string_view object,
                                            absl::string_view stack_usage);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_FIRMWARE_OBJECT_CALLS_H_
