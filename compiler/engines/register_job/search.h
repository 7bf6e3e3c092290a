#ifndef EK_COMPILER_ENGINES_REGISTER_JOB_SEARCH_H_
#define EK_COMPILER_ENGINES_REGISTER_JOB_SEARCH_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/engines/register_job/placement.h"
#include "compiler/engines/register_job/sequence.h"
#include "edgekiln/v1/engines/register_job.pb.h"

// How an op is cut, for few cycles by the engine's occupancy and the costs of
// moves.
//
// The search covers even cuts of each axis. Rows: the smallest size for 1 .. 8
// tiles, then for counts that grow by a quarter, and single rows. Columns,
// which are cut less often: 1 .. 4, then by a half. Channels: as rows, in
// multiples of what the engine's layouts have in blocks, and below one block
// its halves. Images or channels are the outer loop.
//
// All combinations are taken in the order of a lower bound of their cycles: the
// larger of the host's moves and register writes in sequence, and the engine's
// jobs between the first loads and the last store. What moves and jobs cost is
// found for those alone whose jobs take the host less time to start than the
// best combination takes as a whole. In that order, each choice of one
// or two rooms for inputs, constants and outputs is timed step by step, until
// no remaining bound beats the best, or kMaxTimed combinations or
// kMaxTimedTiles tiles have been timed.
//
// Input channels are not cut: no kernel adds to existing sums.
namespace edgekiln::compiler::register_job {

inline constexpr int kMaxTimed = 256;
// Bound on the tiles timed in all; the combination that reaches it is the last
// one timed.
inline constexpr int64_t kMaxTimedTiles = int64_t{1} << 15;
// Cycles of the host's clock that an op may take by its bound. Waiting and
// polls at most double and add to it, so that times within a plan fit 64 bits.
inline constexpr int64_t kMaxPlannedCycles = int64_t{1} << 54;

struct Choice {
  Decision decision;
  TileNeeds needs;
  int64_t bytes = 0;   // Rooms and resident tensors.
  int64_t cycles = 0;  // Of the host's clock, from the first step to the end.
};

// Nothing if no tiling fits `bytes` of the engine's memory. With attempts of a
// recipe, the first one's tiling with the largest objective, channels in the
// outer loop. OUT_OF_RANGE if all that fit exceed kMaxPlannedCycles.
absl::StatusOr<std::optional<Choice>> BestChoice(
    const Placement& placement, int64_t bytes,
    const v1::register_job::TileDecisions& decisions);

// The fewest bytes of the engine's memory with which BestChoice() finds a
// tiling. OUT_OF_RANGE if the registers can express no tiling: names the
// register or variable that is too narrow for the smallest.
absl::StatusOr<int64_t> SmallestBytes(
    const Placement& placement,
    const v1::register_job::TileDecisions& decisions);

}  // namespace edgekiln::compiler::register_job

#endif  // EK_COMPILER_ENGINES_REGISTER_JOB_SEARCH_H_
