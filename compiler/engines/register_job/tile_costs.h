#ifndef EK_COMPILER_ENGINES_REGISTER_JOB_TILE_COSTS_H_
#define EK_COMPILER_ENGINES_REGISTER_JOB_TILE_COSTS_H_

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "compiler/engines/register_job/cut_places.h"
#include "compiler/engines/register_job/op_costs.h"
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

struct TileNeeds {
  Access input = Access::kNone;
  Access input2 = Access::kNone;
  Access output = Access::kNone;
  // Of the largest tile, aligned; 0: no room is needed.
  int64_t input_bytes = 0;  // Also for input2.
  int64_t constant_bytes = 0;
  int64_t output_bytes = 0;
  int64_t job_channels = 0;  // Of the output, per job: the most that one takes.
  // Moves pass through system memory; of the largest one there. NeedsOf()
  // leaves it 0: it is RearrangedBytes() of the same tiles.
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
  // Of a tile by the kinds of moves of its cuts: at((h * kinds of w) + w) *
  // kinds of c + c.
  std::vector<TileMoves> tiles;
  std::vector<MoveCost> constants;  // By kind of moves of c.
  // The engine's, of a job: alike, by kinds of jobs, channels being the jobs'.
  std::vector<int64_t> jobs;
};

// Remembers layouts' sizes and moves' costs, in part in the placement's
// OpCosts. The size of an operand is taken to depend on its own extents only,
// and the cost of its move on where it begins in a group of reversed bytes as
// well: of tiles with other paddings or the other operand's extents, one stands
// for all. Not thread-safe.
class TileCosts {
 public:
  explicit TileCosts(const Placement& placement)
      : placement_(placement),
        maker_(placement.operation, CutPlaceOf(placement)),
        op_(placement.costs != nullptr ? *placement.costs : own_) {}
  TileCosts(const TileCosts&) = delete;
  TileCosts& operator=(const TileCosts&) = delete;

  TileSet Tiles(const Tiling& tiling) { return maker_.Tiles(tiling); }
  // The jobs of these tiles.
  TileSet Jobs(const TileSet& tiles, const TileNeeds& needs) {
    return maker_.Jobs(tiles, needs.job_channels);
  }

  // Nothing if tiles cannot be moved between the rooms and where the tensors
  // lie, or are no jobs however their channels are cut further.
  absl::StatusOr<std::optional<TileNeeds>> NeedsOf(const TileSet& tiles);
  // The output channels per job, at most, of tiles of so many; 0: there are no
  // such jobs, however the image is cut.
  absl::StatusOr<int64_t> MostJobChannels(int64_t channels);
  absl::StatusOr<CycleTable> CyclesOf(const TileSet& tiles,
                                      const TileNeeds& needs);
  // Of these tiles, aligned; 0 if the host rearranges none. `tiles` is
  // Tiles()'s.
  absl::StatusOr<int64_t> RearrangedBytes(const TileSet& tiles,
                                          const TileNeeds& needs);
  // Of output channels `c`.
  absl::StatusOr<ConstantRoom> ConstantRoomOf(const Cut& c);

  const Placement& placement() const { return placement_; }

 private:
  using Extents = std::array<int64_t, 3>;
  struct Role {
    Role(const Operand& operand, target::JobOperand job_operand,
         CutOperand which, OpCosts::Role& op)
        : operand(&operand),
          job_operand(job_operand),
          which(which),
          output(job_operand == target::JobOperand::kOut),
          op(&op) {}
    const Operand* operand;
    target::JobOperand job_operand;
    CutOperand which;
    bool output;
    OpCosts::Role* op;  // What all placements have in common.
    struct Moved {
      MoveCost cost;
      int64_t rearranged_bytes = 0;  // 0: the host does not rearrange it.
    };
    // By extents, channels of padding, and place of the first byte.
    absl::flat_hash_map<std::array<int64_t, 5>, Moved> moves;
    // Whether the part of one axis {axis, begin, extent} has a layout; those of
    // all cuts of an axis {axis, size}; whether a job finds a part of these
    // extents of a resident tensor as it lies.
    absl::flat_hash_map<Extents, bool> parts;
    absl::flat_hash_map<std::array<int64_t, 2>, bool> parts_of_axes;
    absl::flat_hash_map<Extents, bool> direct;
    std::optional<bool> moves_within;  // See MovesWithin().
  };

  absl::StatusOr<int64_t> BytesOf(Role& role, const Cut& h, const Cut& w,
                                  const Cut& c);
  absl::StatusOr<Role::Moved> MoveOf(Role& role, const CutAxis::Kind& h_kind,
                                     const CutAxis::Kind& w_kind,
                                     const CutAxis::Kind& c_kind);
  MoveCost CostOf(const Chip::Move& move) const;
  absl::StatusOr<std::optional<Access>> AccessOf(Role& role,
                                                 const TileSet& tiles,
                                                 const TileSet& jobs) const;
  // Whether the host has a link for moves within the engine's memory.
  bool MovesWithin(Role& role) const;
  bool HasPart(Role& role, int axis, int64_t begin, int64_t extent) const;
  bool HasPartsOfAxis(Role& role, int axis, const CutAxis& cuts) const;
  bool HasParts(Role& role, const TileSet& tiles) const;
  absl::StatusOr<bool> IsDirect(Role& role, const TileSet& tiles) const;
  absl::StatusOr<MoveCost> ConstantCycles(const Cut& c);
  // With so many channels per job.
  absl::StatusOr<std::optional<TileNeeds>> NeedsWith(const TileSet& tiles,
                                                     const TileSet& jobs);
  // Output channels per job that tiles of so many are tried with, falling.
  using JobSizes = absl::InlinedVector<int64_t, 16>;
  JobSizes JobSizesOf(int64_t channels) const;
  // Whether no job of so many output channels is one, whatever its image.
  absl::StatusOr<bool> AreRefused(int64_t channels);
  absl::StatusOr<bool> AreJobs(const TileSet& jobs);
  // Of the engine's clock.
  absl::StatusOr<int64_t> OccupancyOf(const Cut& h, const Cut& w, const Cut& c);
  absl::StatusOr<bool> ArePartsOfRooms(Role& role, const TileSet& tiles,
                                       const TileSet& jobs) const;
  // Whether the jobs of one tile find their parts of its room.
  absl::StatusOr<bool> ArePartsOfRoom(const Role& role, const Cut& h,
                                      const Cut& w, const Cut& tile,
                                      const CutAxis& jobs) const;
  absl::StatusOr<bool> FindConstants(const CutAxis& jobs);

  const Placement& placement_;
  TileSetMaker maker_;
  OpCosts own_;
  OpCosts& op_;  // Of the placement, or own_.
  Role input_{placement_.input, target::JobOperand::kIn, CutOperand::kInput,
              op_.input};
  Role input2_{placement_.input2, target::JobOperand::kIn2, CutOperand::kInput2,
               op_.input2};
  Role output_{placement_.output, target::JobOperand::kOut, CutOperand::kOutput,
               op_.output};
  absl::flat_hash_map<int64_t, MoveCost> constant_cycles_;  // By bytes.
};

}  // namespace edgekiln::compiler::register_job

#endif  // EK_COMPILER_ENGINES_REGISTER_JOB_TILE_COSTS_H_
