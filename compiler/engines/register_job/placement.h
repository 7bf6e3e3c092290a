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
  v1::Layout whole;       // Of the image {h, w, c}; canonical.
  // Of the output: the input that it lies over, element by element.
  TensorId over = kNoTensor;
  bool present() const { return tensor != kNoTensor; }
};

struct OpCosts;  // op_costs.h

// One op on an engine, and its operands.
struct Placement {
  const Chip* chip = nullptr;
  Operation operation;  // Its variables have the kernel's code.
  int32_t job = 0;      // Position of the kernel's job.
  Operand input;
  Operand input2;
  Operand output;
  // Jobs read weights and biases where they lie in system memory.
  bool constants_in_place = false;
  // Of a depthwise convolution as dense ones: channels of each. 0: it is none.
  int64_t block = 0;
  // Of jobs whose weights are cells: output channels of each but the last one,
  // whose constants lie by themselves. 0: jobs have no cells.
  int64_t cell_channels = 0;
  // Inputs are brought row by row of each channel.
  bool by_row = false;
  // Channels were rounded up to a multiple of it (padded_channels.h); 0: not.
  int64_t input_channels_multiple = 0;
  // Shared by placements of equal ops on one job; null: by none.
  OpCosts* costs = nullptr;

  // Whether a tile may be several jobs.
  bool cuts_jobs() const;
  // Whether jobs read a table.
  bool has_table() const { return chip->view().HasTable(job); }
};

// Where a tensor lies, in a legal layout of its own shape.
struct Border {
  int32_t memory = 0;
  v1::Layout layout;
  TensorId over = kNoTensor;  // Of an output: lies over this input.
};
using Borders = absl::flat_hash_map<TensorId, Border>;  // By storage.

// Tensors that `borders` does not list are dense in memory `ram`.
// INVALID_ARGUMENT if the region is not one op, or the engine has no job for
// it; UNIMPLEMENTED if no layout expresses the job's view of a border, or the
// output cannot overwrite that input.
// `dense_blocks`: a depthwise convolution as dense ones of blocks of channels;
// UNIMPLEMENTED if the engine has no job for that.
absl::StatusOr<Placement> PlaceOperands(const Chip& chip, const Region& region,
                                        int32_t ram, const Borders& borders,
                                        bool dense_blocks = false);

// Position of the first of the kernel's jobs that some cut of the op can be: of
// its image whole, and all, few or one of its channels. INVALID_ARGUMENT if the
// engine has no job for it.
absl::StatusOr<int32_t> FindJob(const Chip& chip, const Operation& operation,
                                v1::RegisterJobs::Kernel kernel);

// Layout that the engine gives an operand of the job with these variables.
absl::StatusOr<v1::Layout> LayoutOf(const Placement& placement,
                                    target::JobOperand operand,
                                    const target::JobVariables& variables);

// Layout of the whole tensor as the engine reads or writes it, over {h, w, c}.
absl::StatusOr<v1::Layout> WholeLayout(const Placement& placement,
                                       target::JobOperand operand);

// Aligned bytes of the resident tensors, each counted once; an output that lies
// over an input adds none.
int64_t ResidentBytes(const Placement& placement);
// Operands that are resident, each tensor once.
std::vector<const Operand*> ResidentsOf(const Placement& placement);

}  // namespace edgekiln::compiler::register_job

#endif  // EK_COMPILER_ENGINES_REGISTER_JOB_PLACEMENT_H_
