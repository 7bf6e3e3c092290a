#ifndef EK_COMPILER_ENGINES_REGISTER_JOB_OP_COSTS_H_
#define EK_COMPILER_ENGINES_REGISTER_JOB_OP_COSTS_H_

#include <array>
#include <cstdint>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "compiler/engines/register_job/constants_in_place.h"

namespace edgekiln::compiler::register_job {

// Room for the constants of a tile: the weights, then the table.
struct ConstantRoom {
  int64_t table_offset = 0;
  int64_t bytes = 0;  // 0: the op has none.
};

// What TileCosts has found of an op that does not depend on where its tensors
// lie: placements of equal ops on one job may share it.
struct OpCosts {
  template <size_t kSize, typename Value>
  using Map = absl::flat_hash_map<std::array<int64_t, kSize>, Value>;

  struct Role {
    Map<3, int64_t> bytes;  // By extents of the job.
    // By rows and columns of a room, the output channels of its tile, and those
    // of a job: whether all of the tile's jobs find their parts there.
    Map<4, bool> parts_of_rooms;
  };
  Role input;
  Role input2;
  Role output;
  Map<2, ConstantRoom> constants;  // By channels of output and input.
  // Of constants in place: whether all jobs of so many channels find theirs.
  std::optional<WholeConstants> whole;
  Map<1, bool> found;
  Map<1, bool> refused;           // By channels of a job.
  Map<1, int64_t> most_channels;  // By those of a tile.
  // The engine's cycles, by rows, columns and channels of a job's input and
  // output, and its rows and columns of padding.
  Map<8, int64_t> occupancy;
};

}  // namespace edgekiln::compiler::register_job

#endif  // EK_COMPILER_ENGINES_REGISTER_JOB_OP_COSTS_H_
