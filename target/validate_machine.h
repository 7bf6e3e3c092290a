#ifndef EK_TARGET_VALIDATE_MACHINE_H_
#define EK_TARGET_VALIDATE_MACHINE_H_

// What every stage may rely on when it is handed a Machine or Capabilities.

#include "absl/status/status.h"
#include "edgekiln/v1/target.pb.h"

namespace edgekiln::target {

// Largest memory a machine may have.
inline constexpr int64_t kMaxMemoryBytes = int64_t{1} << 32;

// Checks a machine as a whole: counts, names, memories that do not overlap, a
// scratchpad per engine, addresses that fit the registers, an instruction set
// that encodes and whose timing compiles, host costs. The machine may come from
// outside. INVALID_ARGUMENT names the part.
absl::Status ValidateMachine(const v1::Machine& machine);

// Checks resolved patterns, and that the engine of `machine` at the same
// position can run them.
absl::Status ValidateCapabilities(const v1::Capabilities& capabilities,
                                  const v1::Machine& machine);

}  // namespace edgekiln::target

#endif  // EK_TARGET_VALIDATE_MACHINE_H_
