#include "compiler/engines/register_job/tile_costs.h"

#include <algorithm>

#include "base/rounding.h"
#include "base/status_macros.h"
#include "compiler/engines/register_job/transfer.h"
#include "target/layout.h"
#include "target/layout_parts.h"

namespace edgekiln::compiler::register_job {
namespace {

using target::JobOperand;
using target::JobVariables;

ImagePart PartIn(bool output, const Cut& h, const Cut& w, const Cut& c) {
  return output ? OutputPart(h, w, c) : InputPart(h, w, c);
}

// Whether every part of such an array has a layout. `layout` is canonical.
bool HasOneTermAnAxis(const v1::Layout& layout) {
  for (int t = 1; t < layout.terms_size(); ++t) {
    if (layout.terms(t).axis() == layout.terms(t - 1).axis()) return false;
  }
  return true;
}

// Job sizes above this are multiples of it.
constexpr int64_t kJobBlock = 16;

// Whether an operand of a job is that part of an array: a job is told the
// address of its first byte.
bool SameSteps(v1::Layout operand, const v1::Layout& part) {
  operand.set_first_byte(part.first_byte());
  return target::SamePlaces(operand, part);
}

}  // namespace

absl::StatusOr<int64_t> TileCosts::BytesOf(Role& role, const Cut& h,
                                           const Cut& w, const Cut& c) {
  const Extents extents = role.output
                              ? Extents{h.size(), w.size(), c.size()}
                              : Extents{h.in_size(), w.in_size(), c.in_size()};
  const auto [place, is_new] = role.bytes.try_emplace(extents, 0);
  if (is_new) {
    EK_ASSIGN_OR_RETURN(const v1::Layout layout,
                        LayoutOf(placement_, role.job_operand,
                                 VariablesOf(placement_.operation, h, w, c)));
    place->second = placement_.chip->Aligned(layout.size_bytes());
  }
  return place->second;
}

MoveCost TileCosts::CostOf(const Chip::Move& move) const {
  return {move.host_cycles, move.window == placement_.chip->engine()};
}

absl::StatusOr<TileCosts::Role::Moved> TileCosts::MoveOf(Role& role,
                                                         const Cut& h,
                                                         const Cut& w,
                                                         const Cut& c) {
  const ImagePart part = PartIn(role.output, h, w, c);
  const auto [place, is_new] =
      role.moves.try_emplace({part.extents[0], part.extents[1], part.extents[2],
                              role.output ? c.padding : c.in_padding},
                             Role::Moved{});
  if (is_new) {
    // NeedsOf() has seen that there is such a part.
    EK_ASSIGN_OR_RETURN(
        const Transfer transfer,
        TransferOf(placement_, *role.operand, role.job_operand, h, w, c));
    place->second.cost = CostOf(transfer.move);
    if (transfer.move.rearranges) {
      place->second.rearranged_bytes =
          placement_.chip->Aligned(transfer.room.size_bytes());
    }
  }
  return place->second;
}

absl::StatusOr<ConstantRoom> TileCosts::ConstantRoomOf(const Cut& c) {
  const Operation& operation = placement_.operation;
  if (!placement_.has_table()) return ConstantRoom{};
  const auto [place, is_new] =
      constants_.try_emplace({c.size(), c.in_size()}, ConstantRoom{});
  ConstantRoom& room = place->second;
  if (is_new) {
    if (operation.weights != kNoTensor) {
      const TileSet all(operation,
                        {operation.out.h, operation.out.w, operation.out.c});
      EK_ASSIGN_OR_RETURN(
          const v1::Layout weights,
          LayoutOf(placement_, JobOperand::kWeights,
                   VariablesOf(operation, all.h.cuts[0], all.w.cuts[0], c)));
      room.table_offset = placement_.chip->Aligned(
          RoundUp(weights.size_bytes(), target::kJobTableAlignment));
    }
    room.bytes = room.table_offset + c.size() * target::kJobTableEntryBytes;
  }
  return room;
}

absl::StatusOr<MoveCost> TileCosts::ConstantCycles(const Cut& c) {
  EK_ASSIGN_OR_RETURN(const ConstantRoom room, ConstantRoomOf(c));
  if (room.bytes == 0) return MoveCost{};
  const auto [place, is_new] =
      constant_cycles_.try_emplace(room.bytes, MoveCost{});
  if (is_new) {
    const Chip& chip = *placement_.chip;
    const v1::Layout bytes = target::DenseLayout({room.bytes}, 1);
    EK_ASSIGN_OR_RETURN(
        const Chip::Move move,
        chip.MoveBetween(chip.flash(), bytes, chip.memory(), bytes));
    place->second = CostOf(move);
  }
  return place->second;
}

// Whether the part has a layout, and begins at an aligned address.
bool TileCosts::HasPart(Role& role, int axis, int64_t begin,
                        int64_t extent) const {
  const v1::Layout& whole = role.operand->whole;
  if (extent == whole.extents(axis)) return true;
  const auto [place, is_new] =
      role.parts.try_emplace({axis, begin, extent}, false);
  if (is_new) {
    Extents begins = {0, 0, 0};
    Extents extents = {whole.extents(0), whole.extents(1), whole.extents(2)};
    begins[axis] = begin;
    extents[axis] = extent;
    place->second = target::PartOf(whole, begins, extents).has_value();
  }
  return place->second;
}

bool TileCosts::HasParts(Role& role, const TileSet& tiles) const {
  const CutAxis* const axes[] = {&tiles.h, &tiles.w, &tiles.c};
  for (int axis = 0; axis < 3; ++axis) {
    for (const Cut& cut : axes[axis]->cuts) {
      const int64_t begin = role.output ? cut.begin : cut.in_begin;
      const int64_t extent = role.output ? cut.size() - cut.padding
                                         : cut.in_size() - cut.in_padding;
      if (!HasPart(role, axis, begin, extent)) return false;
    }
  }
  return true;
}

absl::StatusOr<bool> TileCosts::IsDirect(Role& role,
                                         const TileSet& tiles) const {
  for (const CutAxis::Kind& h : tiles.h.kinds) {
    for (const CutAxis::Kind& w : tiles.w.kinds) {
      for (const CutAxis::Kind& c : tiles.c.kinds) {
        const ImagePart part = PartIn(role.output, h.first, w.first, c.first);
        const auto [place, is_new] =
            role.direct.try_emplace(part.extents, false);
        if (is_new) {
          EK_ASSIGN_OR_RETURN(const v1::Layout layout,
                              LayoutOf(placement_, role.job_operand,
                                       VariablesOf(placement_.operation,
                                                   h.first, w.first, c.first)));
          place->second = SameSteps(
              layout,
              target::PartOf(role.operand->whole, part.begin, part.extents)
                  ->layout);
        }
        if (!place->second) return false;
      }
    }
  }
  // Operands include gaps: those of the last tile must not exceed the tensor's
  // room.
  const Cut& h = tiles.h.cuts.back();
  const Cut& w = tiles.w.cuts.back();
  const Cut& c = tiles.c.cuts.back();
  const ImagePart part = PartIn(role.output, h, w, c);
  EK_ASSIGN_OR_RETURN(const v1::Layout layout,
                      LayoutOf(placement_, role.job_operand,
                               VariablesOf(placement_.operation, h, w, c)));
  const v1::Layout& whole = role.operand->whole;
  return target::PartOf(whole, part.begin, part.extents)->offset +
             layout.size_bytes() <=
         whole.size_bytes();
}

absl::StatusOr<std::optional<Access>> TileCosts::AccessOf(
    Role& role, const TileSet& tiles, const TileSet& jobs) const {
  const Operand& operand = *role.operand;
  if (!operand.present()) return Access::kNone;
  if (!operand.resident && HasOneTermAnAxis(operand.whole)) {
    return Access::kMoved;
  }
  if (!HasParts(role, tiles)) return std::nullopt;
  if (!operand.resident) return Access::kMoved;
  if (HasParts(role, jobs)) {
    EK_ASSIGN_OR_RETURN(const bool direct, IsDirect(role, jobs));
    if (direct) return Access::kDirect;
  }
  // A move within the engine's memory, if the host has a link for that.
  const Chip& chip = *placement_.chip;
  if (!chip.MoveBetween(chip.memory(), operand.whole, chip.memory(),
                        operand.whole)
           .ok()) {
    return std::nullopt;
  }
  return Access::kMoved;
}

absl::StatusOr<bool> TileCosts::FindsConstants(const Cut& c) {
  if (!whole_) {
    EK_ASSIGN_OR_RETURN(whole_, WholeConstantsOf(placement_));
  }
  const auto [place, is_new] = found_.try_emplace({c.begin, c.end}, false);
  if (is_new) {
    EK_ASSIGN_OR_RETURN(const auto address,
                        AddressOfPart(placement_, *whole_, c));
    place->second = address.has_value();
  }
  return place->second;
}

absl::StatusOr<bool> TileCosts::AreJobs(const TileSet& jobs) {
  const target::RegisterJobsView& view = placement_.chip->view();
  for (const CutAxis::Kind& h : jobs.h.kinds) {
    for (const CutAxis::Kind& w : jobs.w.kinds) {
      for (const CutAxis::Kind& c : jobs.c.kinds) {
        const absl::Status taken = view.CheckJob(
            placement_.job,
            VariablesOf(placement_.operation, h.first, w.first, c.first));
        if (absl::IsOutOfRange(taken)) return false;
        EK_RETURN_IF_ERROR(taken);
      }
    }
  }
  if (!placement_.constants_in_place) return true;
  for (const Cut& c : jobs.c.cuts) {
    EK_ASSIGN_OR_RETURN(const bool finds, FindsConstants(c));
    if (!finds) return false;
  }
  return true;
}

absl::StatusOr<bool> TileCosts::IsPartOfRoom(const Role& role, const Cut& h,
                                             const Cut& w, const Cut& tile,
                                             const Cut& job) const {
  const Operation& operation = placement_.operation;
  EK_ASSIGN_OR_RETURN(const v1::Layout room,
                      LayoutOf(placement_, role.job_operand,
                               VariablesOf(operation, h, w, tile)));
  const int64_t begin =
      role.output ? job.begin - tile.begin : job.in_begin - tile.in_begin;
  const int64_t size = role.output ? job.size() : job.in_size();
  const auto part = target::PartOf(room, {0, 0, begin},
                                   {room.extents(0), room.extents(1), size});
  if (!part) return false;
  EK_ASSIGN_OR_RETURN(const v1::Layout layout,
                      LayoutOf(placement_, role.job_operand,
                               VariablesOf(operation, h, w, job)));
  return SameSteps(layout, part->layout);
}

// Jobs of a tile that is moved find their parts of it in its room.
absl::StatusOr<bool> TileCosts::ArePartsOfRooms(Role& role,
                                                const TileSet& tiles,
                                                const TileSet& jobs) const {
  const bool out = role.output;
  for (const CutAxis::Kind& h : tiles.h.kinds) {
    for (const CutAxis::Kind& w : tiles.w.kinds) {
      for (const CutAxis::Kind& kind : tiles.c.kinds) {
        const Cut& tile = kind.first;
        for (const Cut& job : jobs.c.cuts) {
          if (job.begin < tile.begin || job.end > tile.end) continue;
          const auto [place, is_new] = role.parts_of_rooms.try_emplace(
              {out ? h.first.size() : h.first.in_size(),
               out ? w.first.size() : w.first.in_size(),
               out ? tile.size() : tile.in_size(),
               out ? job.begin - tile.begin : job.in_begin - tile.in_begin,
               out ? job.size() : job.in_size()},
              false);
          if (is_new) {
            EK_ASSIGN_OR_RETURN(
                place->second, IsPartOfRoom(role, h.first, w.first, tile, job));
          }
          if (!place->second) return false;
        }
      }
    }
  }
  return true;
}

absl::StatusOr<std::optional<TileNeeds>> TileCosts::NeedsOf(
    const TileSet& tiles) {
  const Operation& operation = placement_.operation;
  const int64_t channels = tiles.c.cuts[0].size();
  const Cut& last = tiles.c.cuts.back();
  if (last.padding == last.size()) return std::nullopt;
  if (!placement_.cuts_jobs()) return NeedsWith(tiles, tiles);
  // Halves below a block, whole blocks above.
  std::vector<int64_t> sizes;
  for (int64_t n = channels; n > 0;
       n = n > kJobBlock ? (n - 1) / kJobBlock * kJobBlock : n / 2) {
    if (placement_.block > 0 && n > placement_.block) continue;
    const bool whole = channels == operation.out.c || channels % n == 0;
    if (whole && IsLegal(operation, {1, 1, n})) sizes.push_back(n);
  }
  for (const int64_t n : sizes) {
    const TileSet jobs = JobsOf(operation, tiles, n);
    EK_ASSIGN_OR_RETURN(const bool are_jobs, AreJobs(jobs));
    if (!are_jobs) continue;
    EK_ASSIGN_OR_RETURN(const auto needs, NeedsWith(tiles, jobs));
    if (needs) return needs;
  }
  return std::nullopt;
}

absl::StatusOr<std::optional<TileNeeds>> TileCosts::NeedsWith(
    const TileSet& tiles, const TileSet& jobs) {
  TileNeeds needs;
  needs.job_channels = jobs.c.cuts[0].size();
  const struct {
    Role* role;
    Access* access;
    int64_t* bytes;
  } roles[] = {{&input_, &needs.input, &needs.input_bytes},
               {&input2_, &needs.input2, &needs.input_bytes},
               {&output_, &needs.output, &needs.output_bytes}};
  for (const auto& [role, access, bytes] : roles) {
    EK_ASSIGN_OR_RETURN(const std::optional<Access> found,
                        AccessOf(*role, tiles, jobs));
    if (!found) return std::nullopt;
    *access = *found;
    if (*found != Access::kMoved) continue;
    if (jobs.c.cuts.size() > tiles.c.cuts.size()) {
      EK_ASSIGN_OR_RETURN(const bool parts,
                          ArePartsOfRooms(*role, tiles, jobs));
      if (!parts) return std::nullopt;
    }
    for (const CutAxis::Kind& h : tiles.h.kinds) {
      for (const CutAxis::Kind& w : tiles.w.kinds) {
        for (const CutAxis::Kind& c : tiles.c.kinds) {
          EK_ASSIGN_OR_RETURN(const int64_t tile,
                              BytesOf(*role, h.first, w.first, c.first));
          *bytes = std::max(*bytes, tile);
          if (!placement_.chip->rearranges()) continue;
          EK_ASSIGN_OR_RETURN(const Role::Moved moved,
                              MoveOf(*role, h.first, w.first, c.first));
          needs.rearranged_bytes =
              std::max(needs.rearranged_bytes, moved.rearranged_bytes);
        }
      }
    }
  }
  for (const CutAxis::Kind& c : tiles.c.kinds) {
    EK_ASSIGN_OR_RETURN(const ConstantRoom room, ConstantRoomOf(c.first));
    needs.constant_bytes =
        std::max(needs.constant_bytes, placement_.chip->Aligned(room.bytes));
  }
  return needs;
}

absl::StatusOr<CycleTable> TileCosts::CyclesOf(const TileSet& tiles,
                                               const TileNeeds& needs) {
  CycleTable table;
  const Chip& chip = *placement_.chip;
  const TileSet jobs = JobsOf(placement_.operation, tiles, needs.job_channels);
  for (const CutAxis::Kind& h : tiles.h.kinds) {
    for (const CutAxis::Kind& w : tiles.w.kinds) {
      for (const CutAxis::Kind& c : jobs.c.kinds) {
        EK_ASSIGN_OR_RETURN(
            const int64_t occupancy,
            chip.view().OccupancyCycles(
                placement_.job,
                VariablesOf(placement_.operation, h.first, w.first, c.first)));
        table.jobs.push_back(chip.HostCycles(occupancy));
      }
      for (const CutAxis::Kind& c : tiles.c.kinds) {
        TileMoves& tile = table.tiles.emplace_back();
        const struct {
          Access access;
          Role* role;
          MoveCost* cost;
        } roles[] = {{needs.input, &input_, &tile.input},
                     {needs.input2, &input2_, &tile.input2},
                     {needs.output, &output_, &tile.output}};
        for (const auto& [access, role, cost] : roles) {
          if (access != Access::kMoved) continue;
          EK_ASSIGN_OR_RETURN(const Role::Moved moved,
                              MoveOf(*role, h.first, w.first, c.first));
          *cost = moved.cost;
        }
      }
    }
  }
  for (const CutAxis::Kind& c : tiles.c.kinds) {
    EK_ASSIGN_OR_RETURN(const MoveCost cost, ConstantCycles(c.first));
    table.constants.push_back(cost);
  }
  return table;
}

}  // namespace edgekiln::compiler::register_job
