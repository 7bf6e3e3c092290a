#ifndef EK_COMPILER_CODEGEN_FIRMWARE_STACK_BOUND_H_
#define EK_COMPILER_CODEGEN_FIRMWARE_STACK_BOUND_H_

// How much stack compiled C code can need.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace edgekiln::compiler {

// A call that is written as one by a pointer.
struct PointerCall {
  std::string caller;  // C names, as in the source.
  std::string callee;
};

// The most bytes of stack that a call of any function of `call_graphs` takes,
// its callees included; 0 if nobody knows: there is recursion, a frame whose
// size depends on data, a callee without a size, or a call by pointer of a
// function that calls none of `pointer_calls`, which has all such calls of the
// functions that it names. Of the functions of `libraries` only those count
// that are called. Call graphs are what gcc's -fcallgraph-info=su writes, one
// for each source file, or ObjectCallGraph(). INVALID_ARGUMENT for other texts.
absl::StatusOr<int64_t> BoundStack(
    const std::vector<std::string>& call_graphs,
    const std::vector<std::string>& libraries = {},
    const std::vector<PointerCall>& pointer_calls = {});

// The file of a source tree that tells of them: "CALLER CALLEE" in each line.
inline constexpr char kPointerCallsFile[] = "pointer_calls.txt";
std::string PointerCallsText(const std::vector<PointerCall>& calls);
// INVALID_ARGUMENT for lines that are no such ones.
absl::StatusOr<std::vector<PointerCall>> ParsePointerCalls(
    absl::string_view text);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_FIRMWARE_STACK_BOUND_H_
