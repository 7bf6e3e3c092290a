#ifndef EK_TARGET_VALIDATE_MACHINE_H_
#define EK_TARGET_VALIDATE_MACHINE_H_

// What every stage may rely on when it is handed a Machine or Capabilities.

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "edgekiln/v1/target.pb.h"

namespace edgekiln::target {

// Largest memory a machine may have.
inline constexpr int64_t kMaxMemoryBytes = int64_t{1} << 32;

// Checks a machine as a whole: counts, names, memories that do not overlap, a
// scratchpad per engine, addresses that fit the registers, an instruction set
// that encodes and whose timing compiles, host costs. The machine may come from
// outside. INVALID_ARGUMENT names the part.
absl::Status ValidateMachine(const v1::Machine& machine);

// Checks op patterns, and that the engine of `machine` at the same position has
// the commands they need.
absl::Status ValidateCapabilities(const v1::Capabilities& capabilities,
                                  const v1::Machine& machine);

// What the folders of an engine model are called: "dla". Empty for none.
absl::string_view EngineFolder(v1::EngineDescriptor::Model model);

}  // namespace edgekiln::target

#endif  // EK_TARGET_VALIDATE_MACHINE_H_
