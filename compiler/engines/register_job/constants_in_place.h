#ifndef EK_COMPILER_ENGINES_REGISTER_JOB_CONSTANTS_IN_PLACE_H_
#define EK_COMPILER_ENGINES_REGISTER_JOB_CONSTANTS_IN_PLACE_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "compiler/engines/register_job/placement.h"
#include "compiler/engines/register_job/tiles.h"
#include "edgekiln/v1/layout.pb.h"
#include "target/register_jobs.h"

// Weights, biases and a converter's numbers that jobs read where they lie in
// system memory.
namespace edgekiln::compiler::register_job {

// Where the constants of a whole op lie that jobs read in place.
struct WholeConstants {
  // From their first byte on. Of dense blocks, those of a whole block, and
  // `bytes` the bytes of all, one after the other. Where weights are cells, the
  // layout is not used.
  v1::Layout weights;
  v1::Layout channels;  // What there is of each output channel: the bias.
  int64_t channels_offset = 0;  // From there.
  int64_t bytes = 0;
  // Of a block that lies by itself, a dense one or one of cells; else 0.
  int64_t block_bytes = 0;
};

// What the jobs have of each output channel beside weights.
target::JobOperand OfChannels(const Placement& placement);

// Output channels of the block of cells that begins at `begin`.
Cut CellCut(const Placement& placement, int64_t begin);

// Variables of a job for output channels `c` whose constants lie at 0.
target::JobVariables BlockVariables(const Operation& operation, const Cut& c);

// OUT_OF_RANGE if the descriptor's expressions give no such places.
absl::StatusOr<WholeConstants> WholeConstantsOf(const Placement& placement);

// `weights_addr`, from the first byte of `whole`, of a job for output channels
// `c`; nothing if no job finds them there.
absl::StatusOr<std::optional<int64_t>> AddressOfPart(
    const Placement& placement, const WholeConstants& whole, const Cut& c);

}  // namespace edgekiln::compiler::register_job

#endif  // EK_COMPILER_ENGINES_REGISTER_JOB_CONSTANTS_IN_PLACE_H_
