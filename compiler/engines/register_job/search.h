#ifndef EK_COMPILER_ENGINES_REGISTER_JOB_SEARCH_H_
#define EK_COMPILER_ENGINES_REGISTER_JOB_SEARCH_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/engines/register_job/placement.h"
#include "compiler/engines/register_job/sequence.h"

// How an op is cut, for few cycles by the engine's occupancy and the costs of
// moves.
//
// The search covers even cuts of each axis. Rows: the smallest size for 1 .. 8
// tiles, then for counts that grow by a quarter, and single rows. Columns,
// which are cut less often: 1 .. 4, then by a half. Channels: as rows, in
// multiples of what the engine's layouts have in blocks, and below one block
// its halves. Images or channels are the outer loop.
//
// All combinations are put in order of the cycles that they cannot be faster
// than: the host's moves and register writes one after another, or the engine's
// jobs between the first loads and the last store. In that order each choice of
// one room or two for inputs, constants and outputs is timed step by step,
// until no combination that is left can be faster, or kMaxTimed of them or
// kMaxTimedTiles of their tiles have been timed.
//
// Input channels are not cut: no kernel adds to sums that are there already.
namespace edgekiln::compiler::register_job {

inline constexpr int kMaxTimed = 256;
// Tiles of all that are timed; the one that exceeds it is the last.
inline constexpr int64_t kMaxTimedTiles = int64_t{1} << 15;

struct Choice {
  Decision decision;
  TileNeeds needs;
  int64_t bytes = 0;   // Rooms and resident tensors.
  int64_t cycles = 0;  // Of the host's clock, from the first step to the end.
};

// Nothing if no tiling fits `bytes` of the engine's memory.
absl::StatusOr<std::optional<Choice>> BestChoice(const Placement& placement,
                                                 int64_t bytes);

// Of all tilings that the search covers the least that one needs, in bytes of
// the engine's memory. INVALID_ARGUMENT if none can be described to the engine.
absl::StatusOr<int64_t> SmallestBytes(const Placement& placement);

}  // namespace edgekiln::compiler::register_job

#endif  // EK_COMPILER_ENGINES_REGISTER_JOB_SEARCH_H_
