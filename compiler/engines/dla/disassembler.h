#ifndef EK_COMPILER_ENGINES_DLA_DISASSEMBLER_H_
#define EK_COMPILER_ENGINES_DLA_DISASSEMBLER_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "target/isa_view.h"

// Command streams as text, one word a line, and back to the same bytes:
//
//   REG_WRITE IN_ADDR 4096
//   OP_CONV half_even wait 3
//   OP_END
//
// '#' starts a comment; empty lines are skipped when assembling.
namespace edgekiln::compiler::dla {

// INVALID_ARGUMENT names the word that the instruction set does not have.
absl::StatusOr<std::string> Disassemble(const target::IsaView& isa,
                                        absl::string_view code);

// The inverse. INVALID_ARGUMENT names the line.
absl::StatusOr<std::string> Assemble(const target::IsaView& isa,
                                     absl::string_view text);

}  // namespace edgekiln::compiler::dla

#endif  // EK_COMPILER_ENGINES_DLA_DISASSEMBLER_H_
