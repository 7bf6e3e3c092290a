#ifndef EK_COMPILER_CODEGEN_FIRMWARE_LARGE_CHECK_H_
#define EK_COMPILER_CODEGEN_FIRMWARE_LARGE_CHECK_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "compiler/ir/graph.h"

namespace edgekiln::compiler {

// Of the interpreter, for what it computes here: stages that make bundles run
// it beside much else.
inline constexpr int64_t kCheckBufferBytes = int64_t{1} << 30;

// Text of a `check.c` for a network whose values are too large for C arrays:
// the program makes the inputs of one sample itself, and compares a digest of
// each output with the reference interpreter's. `include` and `start` as in
// CheckOptions. Empty where the network computes nothing of such inputs, and
// where the interpreter needs more than kCheckBufferBytes.
absl::StatusOr<std::string> LargeCheckText(const Graph& graph,
                                           const std::string& prefix,
                                           const std::string& include,
                                           const std::string& start);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_FIRMWARE_LARGE_CHECK_H_
