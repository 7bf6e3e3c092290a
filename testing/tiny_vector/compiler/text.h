#ifndef EK_TESTING_TINY_VECTOR_COMPILER_TEXT_H_
#define EK_TESTING_TINY_VECTOR_COMPILER_TEXT_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "target/isa_view.h"

namespace edgekiln::compiler::tiny_vector {

// A word a line: "REG_WRITE PIECES 3", "LOAD_A". INVALID_ARGUMENT begins with
// "word N: ".
absl::StatusOr<std::string> Disassemble(const target::IsaView& isa,
                                        absl::string_view code);
// The inverse. What follows "#" on a line, and empty lines, count for nothing.
// INVALID_ARGUMENT begins with "line N: ", from 1.
absl::StatusOr<std::string> Assemble(const target::IsaView& isa,
                                     absl::string_view text);

}  // namespace edgekiln::compiler::tiny_vector

#endif  // EK_TESTING_TINY_VECTOR_COMPILER_TEXT_H_
