#include "compiler/engines/register_job/tile_costs.h"

#include <algorithm>
#include <utility>

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

// The value in the map, which gets it if it is new and no error.
template <typename Map, typename Compute>
absl::StatusOr<typename Map::mapped_type> Known(
    Map& map, const typename Map::key_type& key, const Compute& compute) {
  const auto known = map.find(key);
  if (known != map.end()) return known->second;
  EK_ASSIGN_OR_RETURN(const typename Map::mapped_type value, compute());
  map.emplace(key, value);
  return value;
}

// Whether the variable is one that depends on how an image is cut.
bool DependsOnImage(target::JobVariable variable) {
  switch (variable) {
    case target::JobVariable::kInH:
    case target::JobVariable::kInW:
    case target::JobVariable::kOutH:
    case target::JobVariable::kOutW:
    case target::JobVariable::kPadTop:
    case target::JobVariable::kPadLeft:
      return true;
    default:
      return false;
  }
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
  return Known(role.op->bytes, extents, [&]() -> absl::StatusOr<int64_t> {
    EK_ASSIGN_OR_RETURN(const v1::Layout layout,
                        LayoutOf(placement_, role.job_operand,
                                 VariablesOf(placement_.operation, h, w, c)));
    return placement_.chip->Aligned(layout.size_bytes());
  });
}

MoveCost TileCosts::CostOf(const Chip::Move& move) const {
  return {move.host_cycles, move.window == placement_.chip->engine()};
}

absl::StatusOr<TileCosts::Role::Moved> TileCosts::MoveOf(
    Role& role, const CutAxis::Kind& h_kind, const CutAxis::Kind& w_kind,
    const CutAxis::Kind& c_kind) {
  const Cut& h = h_kind.first;
  const Cut& w = w_kind.first;
  const Cut& c = c_kind.first;
  const ImagePart part = PartIn(role.output, h, w, c);
  const auto [place, is_new] = role.moves.try_emplace(
      {part.extents[0], part.extents[1], part.extents[2],
       role.output ? c.padding : c.in_padding,
       PlaceInGroup(*role.operand, role.which, h_kind, w_kind, c_kind)},
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
  return Known(
      op_.constants, {c.size(), c.in_size()},
      [&]() -> absl::StatusOr<ConstantRoom> {
        ConstantRoom room;
        if (operation.weights != kNoTensor) {
          const TileSet all =
              maker_.Tiles({operation.out.h, operation.out.w, operation.out.c});
          EK_ASSIGN_OR_RETURN(const v1::Layout weights,
                              LayoutOf(placement_, JobOperand::kWeights,
                                       VariablesOf(operation, all.h->cuts[0],
                                                   all.w->cuts[0], c)));
          room.table_offset = placement_.chip->Aligned(
              RoundUp(weights.size_bytes(), target::kJobTableAlignment));
        }
        room.bytes = room.table_offset + c.size() * target::kJobTableEntryBytes;
        return room;
      });
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

bool TileCosts::HasPartsOfAxis(Role& role, int axis,
                               const CutAxis& cuts) const {
  const auto [place, is_new] =
      role.parts_of_axes.try_emplace({axis, cuts.cuts[0].size()}, false);
  if (is_new) {
    place->second =
        std::all_of(cuts.cuts.begin(), cuts.cuts.end(), [&](const Cut& cut) {
          return role.output
                     ? HasPart(role, axis, cut.begin, cut.size() - cut.padding)
                     : HasPart(role, axis, cut.in_begin,
                               cut.in_size() - cut.in_padding);
        });
  }
  return place->second;
}

bool TileCosts::HasParts(Role& role, const TileSet& tiles) const {
  return HasPartsOfAxis(role, 0, *tiles.h) &&
         HasPartsOfAxis(role, 1, *tiles.w) && HasPartsOfAxis(role, 2, *tiles.c);
}

absl::StatusOr<bool> TileCosts::IsDirect(Role& role,
                                         const TileSet& tiles) const {
  for (const CutAxis::Kind& h : tiles.h->jobs.all) {
    for (const CutAxis::Kind& w : tiles.w->jobs.all) {
      for (const CutAxis::Kind& c : tiles.c->jobs.all) {
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
  const Cut& h = tiles.h->cuts.back();
  const Cut& w = tiles.w->cuts.back();
  const Cut& c = tiles.c->cuts.back();
  const ImagePart part = PartIn(role.output, h, w, c);
  EK_ASSIGN_OR_RETURN(const v1::Layout layout,
                      LayoutOf(placement_, role.job_operand,
                               VariablesOf(placement_.operation, h, w, c)));
  const v1::Layout& whole = role.operand->whole;
  return target::PartOf(whole, part.begin, part.extents)->offset +
             layout.size_bytes() <=
         whole.size_bytes();
}

bool TileCosts::MovesWithin(Role& role) const {
  if (!role.moves_within) {
    const Chip& chip = *placement_.chip;
    const v1::Layout& whole = role.operand->whole;
    role.moves_within =
        chip.MoveBetween(chip.memory(), whole, chip.memory(), whole).ok();
  }
  return *role.moves_within;
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
  if (!MovesWithin(role)) return std::nullopt;
  return Access::kMoved;
}

absl::StatusOr<bool> TileCosts::FindConstants(const CutAxis& jobs) {
  return Known(op_.found, {jobs.cuts[0].size()}, [&]() -> absl::StatusOr<bool> {
    if (!op_.whole) {
      EK_ASSIGN_OR_RETURN(op_.whole, WholeConstantsOf(placement_));
    }
    for (const Cut& c : jobs.cuts) {
      EK_ASSIGN_OR_RETURN(const auto address,
                          AddressOfPart(placement_, *op_.whole, c));
      if (!address) return false;
    }
    return true;
  });
}

absl::StatusOr<bool> TileCosts::AreJobs(const TileSet& jobs) {
  const target::RegisterJobsView& view = placement_.chip->view();
  for (const CutAxis::Kind& h : jobs.h->jobs.all) {
    for (const CutAxis::Kind& w : jobs.w->jobs.all) {
      for (const CutAxis::Kind& c : jobs.c->jobs.all) {
        const target::JobVariables variables =
            VariablesOf(placement_.operation, h.first, w.first, c.first);
        // Most of them are refused: without an error's text.
        if (view.FailedCondition(placement_.job, variables) >= 0) return false;
        const absl::Status taken = view.CheckJob(placement_.job, variables);
        if (absl::IsOutOfRange(taken)) return false;
        EK_RETURN_IF_ERROR(taken);
      }
    }
  }
  if (!placement_.constants_in_place) return true;
  return FindConstants(*jobs.c);
}

absl::StatusOr<bool> TileCosts::ArePartsOfRoom(const Role& role, const Cut& h,
                                               const Cut& w, const Cut& tile,
                                               const CutAxis& jobs) const {
  const Operation& operation = placement_.operation;
  EK_ASSIGN_OR_RETURN(const v1::Layout room,
                      LayoutOf(placement_, role.job_operand,
                               VariablesOf(operation, h, w, tile)));
  std::optional<target::PartComparison> parts;  // Of jobs of `size`.
  int64_t size = 0;
  const auto first = std::lower_bound(
      jobs.cuts.begin(), jobs.cuts.end(), tile.begin,
      [](const Cut& job, int64_t begin) { return job.begin < begin; });
  for (auto job = first; job != jobs.cuts.end() && job->end <= tile.end;
       ++job) {
    const int64_t channels = role.output ? job->size() : job->in_size();
    if (!parts || channels != size) {
      EK_ASSIGN_OR_RETURN(const v1::Layout layout,
                          LayoutOf(placement_, role.job_operand,
                                   VariablesOf(operation, h, w, *job)));
      parts.emplace(room, 2, layout);
      size = channels;
    }
    if (!parts->SameSteps(role.output ? job->begin - tile.begin
                                      : job->in_begin - tile.in_begin)) {
      return false;
    }
  }
  return true;
}

// Jobs of a tile that is moved find their parts of it in its room.
absl::StatusOr<bool> TileCosts::ArePartsOfRooms(Role& role,
                                                const TileSet& tiles,
                                                const TileSet& jobs) const {
  const bool out = role.output;
  for (const CutAxis::Kind& h : tiles.h->jobs.all) {
    for (const CutAxis::Kind& w : tiles.w->jobs.all) {
      for (const CutAxis::Kind& tile : tiles.c->jobs.all) {
        EK_ASSIGN_OR_RETURN(const bool parts,
                            Known(role.op->parts_of_rooms,
                                  {out ? h.first.size() : h.first.in_size(),
                                   out ? w.first.size() : w.first.in_size(),
                                   tile.first.size(), jobs.c->cuts[0].size()},
                                  [&] {
                                    return ArePartsOfRoom(role, h.first,
                                                          w.first, tile.first,
                                                          *jobs.c);
                                  }));
        if (!parts) return false;
      }
    }
  }
  return true;
}

// Halves below a block, whole blocks above.
TileCosts::JobSizes TileCosts::JobSizesOf(int64_t channels) const {
  const Operation& operation = placement_.operation;
  if (!placement_.cuts_jobs()) return {channels};
  JobSizes sizes;
  for (int64_t n = channels; n > 0;
       n = n > kJobBlock ? (n - 1) / kJobBlock * kJobBlock : n / 2) {
    if (placement_.block > 0 && n > placement_.block) continue;
    const bool whole = channels == operation.out.c || channels % n == 0;
    if (whole && IsLegal(operation, {1, 1, n})) sizes.push_back(n);
  }
  return sizes;
}

absl::StatusOr<bool> TileCosts::AreRefused(int64_t channels) {
  return Known(op_.refused, {channels}, [&]() -> absl::StatusOr<bool> {
    const Operation& operation = placement_.operation;
    const target::RegisterJobsView& view = placement_.chip->view();
    const TileSet jobs =
        maker_.Tiles({operation.out.h, operation.out.w, channels});
    for (const CutAxis::Kind& c : jobs.c->jobs.all) {
      const int32_t failed = view.FailedCondition(
          placement_.job,
          VariablesOf(operation, jobs.h->cuts[0], jobs.w->cuts[0], c.first));
      if (failed < 0) continue;
      const std::vector<target::JobVariable> used =
          view.VariablesOfCondition(placement_.job, failed);
      if (std::none_of(used.begin(), used.end(), DependsOnImage)) return true;
    }
    if (!placement_.constants_in_place) return false;
    EK_ASSIGN_OR_RETURN(const bool finds, FindConstants(*jobs.c));
    return !finds;
  });
}

absl::StatusOr<int64_t> TileCosts::MostJobChannels(int64_t channels) {
  if (!placement_.cuts_jobs()) return channels;
  return Known(op_.most_channels, {channels}, [&]() -> absl::StatusOr<int64_t> {
    for (const int64_t n : JobSizesOf(channels)) {
      EK_ASSIGN_OR_RETURN(const bool refused, AreRefused(n));
      if (!refused) return n;
    }
    return 0;
  });
}

absl::StatusOr<std::optional<TileNeeds>> TileCosts::NeedsOf(
    const TileSet& tiles) {
  const int64_t channels = tiles.c->cuts[0].size();
  const Cut& last = tiles.c->cuts.back();
  if (last.padding == last.size()) return std::nullopt;
  if (!placement_.cuts_jobs()) return NeedsWith(tiles, tiles);
  for (const int64_t n : JobSizesOf(channels)) {
    EK_ASSIGN_OR_RETURN(const bool refused, AreRefused(n));
    if (refused) continue;
    const TileSet jobs = maker_.Jobs(tiles, n);
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
  needs.job_channels = jobs.c->cuts[0].size();
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
    if (jobs.c->cuts.size() > tiles.c->cuts.size()) {
      EK_ASSIGN_OR_RETURN(const bool parts,
                          ArePartsOfRooms(*role, tiles, jobs));
      if (!parts) return std::nullopt;
    }
    for (const CutAxis::Kind& h : tiles.h->jobs.all) {
      for (const CutAxis::Kind& w : tiles.w->jobs.all) {
        for (const CutAxis::Kind& c : tiles.c->jobs.all) {
          EK_ASSIGN_OR_RETURN(const int64_t tile,
                              BytesOf(*role, h.first, w.first, c.first));
          *bytes = std::max(*bytes, tile);
        }
      }
    }
  }
  for (const CutAxis::Kind& c : tiles.c->jobs.all) {
    EK_ASSIGN_OR_RETURN(const ConstantRoom room, ConstantRoomOf(c.first));
    needs.constant_bytes =
        std::max(needs.constant_bytes, placement_.chip->Aligned(room.bytes));
  }
  return needs;
}

absl::StatusOr<int64_t> TileCosts::RearrangedBytes(const TileSet& tiles,
                                                   const TileNeeds& needs) {
  int64_t bytes = 0;
  if (!placement_.chip->rearranges()) return bytes;
  for (const auto& [access, role] :
       {std::pair(needs.input, &input_), std::pair(needs.input2, &input2_),
        std::pair(needs.output, &output_)}) {
    if (access != Access::kMoved) continue;
    for (const CutAxis::Kind& h : tiles.h->moves.all) {
      for (const CutAxis::Kind& w : tiles.w->moves.all) {
        for (const CutAxis::Kind& c : tiles.c->moves.all) {
          EK_ASSIGN_OR_RETURN(const Role::Moved moved, MoveOf(*role, h, w, c));
          bytes = std::max(bytes, moved.rearranged_bytes);
        }
      }
    }
  }
  return bytes;
}

absl::StatusOr<int64_t> TileCosts::OccupancyOf(const Cut& h, const Cut& w,
                                               const Cut& c) {
  return Known(op_.occupancy,
               {h.in_size(), w.in_size(), c.in_size(), h.size(), w.size(),
                c.size(), h.pad_before, w.pad_before},
               [&] {
                 return placement_.chip->view().OccupancyCycles(
                     placement_.job,
                     VariablesOf(placement_.operation, h, w, c));
               });
}

absl::StatusOr<CycleTable> TileCosts::CyclesOf(const TileSet& tiles,
                                               const TileNeeds& needs) {
  CycleTable table;
  const Chip& chip = *placement_.chip;
  const TileSet jobs = Jobs(tiles, needs);
  for (const CutAxis::Kind& h : jobs.h->jobs.all) {
    for (const CutAxis::Kind& w : jobs.w->jobs.all) {
      for (const CutAxis::Kind& c : jobs.c->jobs.all) {
        EK_ASSIGN_OR_RETURN(const int64_t occupancy,
                            OccupancyOf(h.first, w.first, c.first));
        table.jobs.push_back(chip.HostCycles(occupancy));
      }
    }
  }
  for (const CutAxis::Kind& h : tiles.h->moves.all) {
    for (const CutAxis::Kind& w : tiles.w->moves.all) {
      for (const CutAxis::Kind& c : tiles.c->moves.all) {
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
          EK_ASSIGN_OR_RETURN(const Role::Moved moved, MoveOf(*role, h, w, c));
          *cost = moved.cost;
        }
      }
    }
  }
  for (const CutAxis::Kind& c : tiles.c->moves.all) {
    EK_ASSIGN_OR_RETURN(const MoveCost cost, ConstantCycles(c.first));
    table.constants.push_back(cost);
  }
  return table;
}

}  // namespace edgekiln::compiler::register_job
