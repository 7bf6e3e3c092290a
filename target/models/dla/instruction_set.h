#ifndef EK_TARGET_MODELS_DLA_INSTRUCTION_SET_H_
#define EK_TARGET_MODELS_DLA_INSTRUCTION_SET_H_

// Requirements of the engine model COARSE_DLA on an instruction set.

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "edgekiln/v1/target.pb.h"
#include "target/models/dla/commands.h"

namespace edgekiln::target {

// INVALID_ARGUMENT that points to docs/targets/dla.md.
absl::Status DlaError(std::string what, std::string where, std::string fix);

// Only names that the model knows, all registers that the commands read, signed
// where values are, `reads` complete, an opcode above 0, a rounding only where
// there is something to round, REG_WRITE and OP_END.
absl::Status CheckDlaInstructions(const v1::Isa& isa);

// The commands that compute an op, by its name; none if no command does.
std::vector<DlaCommand> DlaCommandsOf(absl::string_view op, const v1::Isa& isa);

// Null if the instruction set does not have it.
const v1::CommandDescriptor* FindCommand(const v1::Isa& isa,
                                         DlaCommand command);
const v1::RegisterDescriptor* FindRegister(const v1::Isa& isa, DlaRegister reg);

}  // namespace edgekiln::target

#endif  // EK_TARGET_MODELS_DLA_INSTRUCTION_SET_H_
