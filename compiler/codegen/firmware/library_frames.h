#ifndef EK_COMPILER_CODEGEN_FIRMWARE_LIBRARY_FRAMES_H_
#define EK_COMPILER_CODEGEN_FIRMWARE_LIBRARY_FRAMES_H_

// The stack that functions of a compiler's own library take: gcc's libgcc.a has
// the arithmetic that a processor lacks.

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace edgekiln::compiler {

// A call graph for BoundStack() of those of `functions` that `archive`, the
// library's bytes, has, and of all that they call. Frames are those that the
// debug information tells (.debug_frame, .eh_frame). What has none, or is no
// arithmetic, or cannot be read is left out, so that its size stays unknown.
std::string LibraryCallGraph(absl::string_view archive,
                             const std::vector<std::string>& functions);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_FIRMWARE_LIBRARY_FRAMES_H_
