#ifndef EK_COMPILER_ENGINES_REGISTER_JOB_TILE_COSTS_H_
#define EK_COMPILER_ENGINES_REGISTER_JOB_TILE_COSTS_H_

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "compiler/engines/register_job/constants_in_place.h"
#include "compiler/engines/register_job/placement.h"
#include "compiler/engines/register_job/tiles.h"

// Bytes and cycles of an op's tiles, by kind of tile.
namespace edgekiln::compiler::register_job {

// How a job accesses an operand.
enum class Access {
  kNone,    // The op has no such operand.
  kDirect,  // In the resident tensor: nothing is moved.
  kMoved,   // In a room; the host brings it there, or takes it away.
};

// Room for the constants of a tile: the weights, then the table.
struct ConstantRoom {
  int64_t table_offset = 0;
  int64_t bytes = 0;  // 0: the op has none.
};

struct TileNeeds {
  Access input = Access::kNone;
  Access input2 = Access::kNone;
  Access output = Access::kNone;
  // Of the largest tile, aligned; 0: no room is needed.
  int64_t input_bytes = 0;  // Also for input2.
  int64_t constant_bytes = 0;
  int64_t output_bytes = 0;
  int64_t job_channels = 0;  // Of the output, per job: the most that one takes.
  // Moves pass through system memory; of the largest one there.
  int64_t rearranged_bytes = 0;
};

// In cycles of the host's clock.
struct MoveCost {
  int64_t cycles = 0;
  bool waits = false;  // For the engine's jobs: the link is in its window.
};
struct TileMoves {
  MoveCost input;
  MoveCost input2;
  MoveCost output;
};

struct CycleTable {
  // Of a tile by the kinds of its cuts: at((h * kinds of w) + w) * kinds of c +
  // c.
  std::vector<TileMoves> tiles;
  std::vector<MoveCost> constants;  // By kind of c.
  // The engine's, of a job: alike, with the kinds of the jobs' channels.
  std::vector<int64_t> jobs;
};

// Remembers layouts' sizes and moves' costs. The size of an operand, and the
// cost of its move, are taken to depend on its own extents only: of tiles with
// other paddings or the other operand's extents, one stands for all. Not
// thread-safe.
class TileCosts {
 public:
  explicit TileCosts(const Placement& placement) : placement_(placement) {}

  // Nothing if tiles cannot be moved between the rooms and where the tensors
  // lie, or are no jobs however their channels are cut further.
  absl::StatusOr<std::optional<TileNeeds>> NeedsOf(const TileSet& tiles);
  absl::StatusOr<CycleTable> CyclesOf(const TileSet& tiles,
                                      const TileNeeds& needs);
  // Of output channels `c`.
  absl::StatusOr<ConstantRoom> ConstantRoomOf(const Cut& c);

  const Placement& placement() const { return placement_; }

 private:
  using Extents = std::array<int64_t, 3>;
  struct Role {
    const Operand* operand = nullptr;
    target::JobOperand job_operand = target::JobOperand::kIn;
    bool output = false;
    absl::flat_hash_map<Extents, int64_t> bytes;  // By extents of the job.
    struct Moved {
      MoveCost cost;
      int64_t rearranged_bytes = 0;  // 0: the host does not rearrange it.
    };
    absl::flat_hash_map<std::array<int64_t, 4>, Moved> moves;
    // Whether the part of one axis {axis, begin, extent} has a layout, and
    // whether a job finds a part of these extents of a resident tensor as it
    // lies.
    absl::flat_hash_map<Extents, bool> parts;
    absl::flat_hash_map<Extents, bool> direct;
    // By extents of a room, and the first channel and their number of a job's
    // part of it: whether the job finds it there.
    absl::flat_hash_map<std::array<int64_t, 5>, bool> parts_of_rooms;
  };

  absl::StatusOr<int64_t> BytesOf(Role& role, const Cut& h, const Cut& w,
                                  const Cut& c);
  absl::StatusOr<Role::Moved> MoveOf(Role& role, const Cut& h, const Cut& w,
                                     const Cut& c);
  MoveCost CostOf(const Chip::Move& move) const;
  absl::StatusOr<std::optional<Access>> AccessOf(Role& role,
                                                 const TileSet& tiles,
                                                 const TileSet& jobs) const;
  bool HasPart(Role& role, int axis, int64_t begin, int64_t extent) const;
  bool HasParts(Role& role, const TileSet& tiles) const;
  absl::StatusOr<bool> IsDirect(Role& role, const TileSet& tiles) const;
  absl::StatusOr<MoveCost> ConstantCycles(const Cut& c);
  // With so many channels per job.
  absl::StatusOr<std::optional<TileNeeds>> NeedsWith(const TileSet& tiles,
                                                     const TileSet& jobs);
  absl::StatusOr<bool> AreJobs(const TileSet& jobs);
  absl::StatusOr<bool> ArePartsOfRooms(Role& role, const TileSet& tiles,
                                       const TileSet& jobs) const;
  // Whether a job of channels `job` finds its part of the tile's room.
  absl::StatusOr<bool> IsPartOfRoom(const Role& role, const Cut& h,
                                    const Cut& w, const Cut& tile,
                                    const Cut& job) const;
  absl::StatusOr<bool> FindsConstants(const Cut& c);

  const Placement& placement_;
  Role input_{
      &placement_.input, target::JobOperand::kIn, false, {}, {}, {}, {}, {}};
  Role input2_{
      &placement_.input2, target::JobOperand::kIn2, false, {}, {}, {}, {}, {}};
  Role output_{
      &placement_.output, target::JobOperand::kOut, true, {}, {}, {}, {}, {}};
  absl::flat_hash_map<std::array<int64_t, 2>, ConstantRoom> constants_;
  absl::flat_hash_map<int64_t, MoveCost> constant_cycles_;  // By bytes.
  // Of constants in place: whether jobs of channels {begin, end} find theirs.
  std::optional<WholeConstants> whole_;
  absl::flat_hash_map<std::array<int64_t, 2>, bool> found_;
};

}  // namespace edgekiln::compiler::register_job

#endif  // EK_COMPILER_ENGINES_REGISTER_JOB_TILE_COSTS_H_
