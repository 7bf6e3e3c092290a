#ifndef EK_COMPILER_ENGINES_REGISTER_JOB_PADDED_CHANNELS_H_
#define EK_COMPILER_ENGINES_REGISTER_JOB_PADDED_CHANNELS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "compiler/engines/register_job/placement.h"
#include "compiler/ir/graph.h"
#include "edgekiln/v1/layout.pb.h"

// Convolutions whose jobs have more input channels than their tensors: the
// weights of these are 0, so that they change no result. What they read is any
// bytes that have been written.
namespace edgekiln::compiler::register_job {

// Rounds the input channels of a convolution, and all channels of a depthwise
// one, up to a multiple of `multiple`; 0 or 1: nothing changes. Nor does an op
// change whose constants are moved, whose tensors stay in the engine's memory
// or have gaps, or whose rounded weights no job takes.
void PadChannels(const Graph& graph, int64_t multiple, Placement& placement);

// Bytes of a room that no element of the tensor fills. They are written before
// the tile is brought, with the first bytes of the tensor.
struct Filler {
  int64_t begin = 0;  // From the first byte of the room.
  int64_t bytes = 0;
  int64_t run_bytes = 0;  // Of the tensor, moved at once.
};
// Of the room of a tile of the input, whose last `padding` channels only jobs
// have. Nothing if it has none.
std::optional<Filler> FillerOf(const Operand& input, const v1::Layout& room,
                               int64_t padding);
// Host cycles of its moves.
absl::StatusOr<int64_t> FillerCycles(const Chip& chip, const Operand& input,
                                     const Filler& filler);

// `dense` with `padding` zeros behind each `row_bytes`.
std::string WithZeros(std::string dense, int64_t row_bytes, int64_t padding);

}  // namespace edgekiln::compiler::register_job

#endif  // EK_COMPILER_ENGINES_REGISTER_JOB_PADDED_CHANNELS_H_
