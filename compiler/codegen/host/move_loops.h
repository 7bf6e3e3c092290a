#ifndef EK_COMPILER_CODEGEN_HOST_MOVE_LOOPS_H_
#define EK_COMPILER_CODEGEN_HOST_MOVE_LOOPS_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "edgekiln/v1/layout.pb.h"

namespace edgekiln::compiler {

// `static void FUNCTION(const uint8_t *from, uint8_t *to)` in C: brings an
// array from one layout to another of the same extents. INVALID_ARGUMENT for
// layouts that are none, or not of one array; UNIMPLEMENTED above 2 GiB.
absl::StatusOr<std::string> MoveFunction(absl::string_view function,
                                         const v1::Layout& from,
                                         const v1::Layout& to);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_HOST_MOVE_LOOPS_H_
