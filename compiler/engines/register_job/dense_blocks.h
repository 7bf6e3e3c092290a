#ifndef EK_COMPILER_ENGINES_REGISTER_JOB_DENSE_BLOCKS_H_
#define EK_COMPILER_ENGINES_REGISTER_JOB_DENSE_BLOCKS_H_

#include <cstdint>

#include "compiler/engines/backend.h"
#include "compiler/engines/register_job/chip.h"

namespace edgekiln::compiler::register_job {

// Whether system memory has room for the weights of the region's depthwise
// convolution as dense blocks. They take several times the bytes, so that those
// of a network share what constants and the largest activations leave: each op
// gets its part if all before it have theirs.
bool DenseBlocksFit(const Chip& chip, const Region& region);

}  // namespace edgekiln::compiler::register_job

#endif  // EK_COMPILER_ENGINES_REGISTER_JOB_DENSE_BLOCKS_H_
