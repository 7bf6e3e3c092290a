#ifndef EK_COMPILER_ENGINES_REGISTER_JOB_CONSTANTS_IN_PLACE_H_
#define EK_COMPILER_ENGINES_REGISTER_JOB_CONSTANTS_IN_PLACE_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "compiler/engines/register_job/placement.h"
#include "compiler/engines/register_job/tiles.h"
#include "edgekiln/v1/layout.pb.h"

// Weights and biases that jobs read where they lie in system memory.
namespace edgekiln::compiler::register_job {

// Where the constants of a whole op lie that jobs read in place.
struct WholeConstants {
  // From their first byte on. Of dense blocks, those of a whole block, and
  // `bytes` the bytes of all, one after the other.
  v1::Layout weights;
  v1::Layout bias;
  int64_t bias_offset = 0;  // From there.
  int64_t bytes = 0;
  int64_t block_bytes = 0;  // Of a dense block; else 0.
};

// OUT_OF_RANGE if the descriptor's expressions give no such places.
absl::StatusOr<WholeConstants> WholeConstantsOf(const Placement& placement);

// `weights_addr`, from the first byte of `whole`, of a job for output channels
// `c`; nothing if no job finds them there.
absl::StatusOr<std::optional<int64_t>> AddressOfPart(
    const Placement& placement, const WholeConstants& whole, const Cut& c);

}  // namespace edgekiln::compiler::register_job

#endif  // EK_COMPILER_ENGINES_REGISTER_JOB_CONSTANTS_IN_PLACE_H_
