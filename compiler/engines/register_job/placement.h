#ifndef EK_COMPILER_ENGINES_REGISTER_JOB_PLACEMENT_H_
#define EK_COMPILER_ENGINES_REGISTER_JOB_PLACEMENT_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "compiler/engines/backend.h"
#include "compiler/engines/register_job/chip.h"
#include "compiler/engines/register_job/operation.h"
#include "edgekiln/v1/layout.pb.h"

namespace edgekiln::compiler::register_job {

// Where a tensor of the border lies as a whole.
struct Operand {
  TensorId tensor = kNoTensor;  // By storage; kNoTensor: the op has none.
  int32_t memory = 0;
  bool resident = false;  // In the memory of the engine.
  v1::Layout whole;       // Of the image {h, w, c}.
  bool present() const { return tensor != kNoTensor; }
};

// One op on an engine, and its operands.
struct Placement {
  const Chip* chip = nullptr;
  Operation operation;  // Its variables have the kernel's code.
  int32_t job = 0;      // Position of the kernel's job.
  Operand input;
  Operand input2;
  Operand output;
};

// By storage: the memory of tensors that are not in system memory `ram`.
using Residents = absl::flat_hash_map<TensorId, int32_t>;

// The region is one op. INVALID_ARGUMENT if it is not, or the engine has no job
// for it; UNIMPLEMENTED if it cannot work on a resident.
absl::StatusOr<Placement> PlaceOperands(const Chip& chip, const Region& region,
                                        int32_t ram,
                                        const Residents& residents);

// How the engine has an operand, of the job of a tile or of the whole op.
absl::StatusOr<v1::Layout> LayoutOf(const Placement& placement,
                                    target::JobOperand operand,
                                    const target::JobVariables& variables);

// Of a whole tensor that the engine reads or writes: over {h, w, c}.
absl::StatusOr<v1::Layout> WholeLayout(const Placement& placement,
                                       target::JobOperand operand);

// Bytes of the resident tensors, each counted once, as they are aligned.
int64_t ResidentBytes(const Placement& placement);
// Operands that are resident, each tensor once.
std::vector<const Operand*> ResidentsOf(const Placement& placement);

}  // namespace edgekiln::compiler::register_job

#endif  // EK_COMPILER_ENGINES_REGISTER_JOB_PLACEMENT_H_
