#ifndef EK_COMPILER_ENGINES_REGISTER_JOB_TILE_COSTS_H_
#define EK_COMPILER_ENGINES_REGISTER_JOB_TILE_COSTS_H_

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
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
};

// In cycles of the host's clock.
struct TileCycles {
  int64_t input = 0;
  int64_t input2 = 0;
  int64_t output = 0;
  int64_t job = 0;  // The engine's.
};

struct CycleTable {
  // Of a tile by the kinds of its cuts: at((h * kinds of w) + w) * kinds of c +
  // c.
  std::vector<TileCycles> tiles;
  std::vector<int64_t> constants;  // By kind of c.
};

// Remembers layouts' sizes and moves' costs. The size of an operand, and the
// cost of its move, are taken to depend on its own extents only: of tiles with
// other paddings or the other operand's extents, one stands for all. Not
// thread-safe.
class TileCosts {
 public:
  explicit TileCosts(const Placement& placement) : placement_(placement) {}

  // Nothing if tiles cannot be moved between the rooms and where the tensors
  // lie.
  absl::StatusOr<std::optional<TileNeeds>> NeedsOf(const TileSet& tiles);
  absl::StatusOr<CycleTable> CyclesOf(const TileSet& tiles,
                                      const TileNeeds& needs);
  // Of output channels `c`.
  absl::StatusOr<ConstantRoom> ConstantRoomOf(const Cut& c);

  const Placement& placement() const { return placement_; }

 private:
  using Extents = std::array<int64_t, 3>;
  enum class AxisPart { kNone, kUnaligned, kAligned };
  struct Role {
    const Operand* operand = nullptr;
    target::JobOperand job_operand = target::JobOperand::kIn;
    bool output = false;
    absl::flat_hash_map<Extents, int64_t> bytes;
    absl::flat_hash_map<Extents, int64_t> cycles;
    // Parts on one axis by {axis, begin, extent}, and whether a job finds a
    // part of these extents of a resident tensor as it lies.
    absl::flat_hash_map<Extents, AxisPart> parts;
    absl::flat_hash_map<Extents, bool> direct;
  };

  absl::StatusOr<int64_t> BytesOf(Role& role, const Cut& h, const Cut& w,
                                  const Cut& c);
  absl::StatusOr<int64_t> MoveCycles(Role& role, const Cut& h, const Cut& w,
                                     const Cut& c);
  absl::StatusOr<std::optional<Access>> AccessOf(Role& role,
                                                 const TileSet& tiles) const;
  AxisPart PartOnAxis(Role& role, int axis, int64_t begin,
                      int64_t extent) const;
  absl::StatusOr<bool> IsDirect(Role& role, const TileSet& tiles) const;
  absl::StatusOr<int64_t> ConstantCycles(const Cut& c);

  const Placement& placement_;
  Role input_{
      &placement_.input, target::JobOperand::kIn, false, {}, {}, {}, {}};
  Role input2_{
      &placement_.input2, target::JobOperand::kIn2, false, {}, {}, {}, {}};
  Role output_{
      &placement_.output, target::JobOperand::kOut, true, {}, {}, {}, {}};
  absl::flat_hash_map<std::array<int64_t, 2>, ConstantRoom> constants_;
  absl::flat_hash_map<int64_t, int64_t> constant_cycles_;  // By bytes.
};

}  // namespace edgekiln::compiler::register_job

#endif  // EK_COMPILER_ENGINES_REGISTER_JOB_TILE_COSTS_H_
