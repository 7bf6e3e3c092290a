#ifndef EK_TESTING_TINY_VECTOR_COMPILER_EMIT_H_
#define EK_TESTING_TINY_VECTOR_COMPILER_EMIT_H_

#include "absl/status/statusor.h"
#include "compiler/engines/backend.h"

namespace edgekiln::compiler::tiny_vector {

// The stream of a planned region, and what it shows after which word.
// INVALID_ARGUMENT if `plan` is not about this region on this machine.
absl::StatusOr<RegionCode> EmitRegion(const Region& region,
                                      const v1::RegionPlan& plan,
                                      const v1::Machine& machine,
                                      const RegionMemory& memory);

}  // namespace edgekiln::compiler::tiny_vector

#endif  // EK_TESTING_TINY_VECTOR_COMPILER_EMIT_H_
