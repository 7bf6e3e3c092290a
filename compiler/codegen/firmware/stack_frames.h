#ifndef EK_COMPILER_CODEGEN_FIRMWARE_STACK_FRAMES_H_
#define EK_COMPILER_CODEGEN_FIRMWARE_STACK_FRAMES_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

// What clang's -fstack-usage says, and call graphs as BoundStack() reads them.
namespace edgekiln::compiler {

struct StackFrame {
  std::string bytes;
  std::string kind;  // "static", "dynamic"
};

struct StackFrames {
  std::string file;
  std::map<std::string, StackFrame, std::less<>> by_function;  // C names.

  // Null for functions without one.
  const StackFrame* Find(absl::string_view function) const;
};

// Of lines "FILE:LINE:FUNCTION <tab> BYTES <tab> KIND"; INVALID_ARGUMENT for
// others.
absl::StatusOr<StackFrames> ReadStackFrames(absl::string_view text);

// The callee of a call by pointer, as gcc writes it.
inline constexpr char kByPointer[] = "__indirect_call";

// By titles, as gcc has them: "name", of static functions "file:name".
struct CallEdge {
  std::string from;
  std::string to;
};
using FramesByTitle = std::map<std::string, const StackFrame*>;

// `extra_bytes` are added to every frame.
std::string CallGraphText(const FramesByTitle& functions,
                          const std::vector<CallEdge>& calls,
                          int extra_bytes = 0);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_FIRMWARE_STACK_FRAMES_H_
