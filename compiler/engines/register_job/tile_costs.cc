#include "compiler/engines/register_job/tile_costs.h"

#include <algorithm>

#include "base/rounding.h"
#include "base/status_macros.h"
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

}  // namespace

absl::StatusOr<int64_t> TileCosts::BytesOf(Role& role, const Cut& h,
                                           const Cut& w, const Cut& c) {
  const ImagePart part = PartIn(role.output, h, w, c);
  const auto [place, is_new] = role.bytes.try_emplace(part.extents, 0);
  if (is_new) {
    EK_ASSIGN_OR_RETURN(const v1::Layout layout,
                        LayoutOf(placement_, role.job_operand,
                                 VariablesOf(placement_.operation, h, w, c)));
    place->second = placement_.chip->Aligned(layout.size_bytes());
  }
  return place->second;
}

absl::StatusOr<int64_t> TileCosts::MoveCycles(Role& role, const Cut& h,
                                              const Cut& w, const Cut& c) {
  const ImagePart part = PartIn(role.output, h, w, c);
  const auto [place, is_new] = role.cycles.try_emplace(part.extents, 0);
  if (is_new) {
    EK_ASSIGN_OR_RETURN(const v1::Layout layout,
                        LayoutOf(placement_, role.job_operand,
                                 VariablesOf(placement_.operation, h, w, c)));
    const Operand& operand = *role.operand;
    // NeedsOf() has seen that there is one.
    const v1::Layout there =
        target::PartOf(operand.whole, part.begin, part.extents)->layout;
    const Chip& chip = *placement_.chip;
    absl::StatusOr<Chip::Move> move =
        role.output ? chip.MoveBetween(chip.memory(), target::Canonical(layout),
                                       operand.memory, there)
                    : chip.MoveBetween(operand.memory, there, chip.memory(),
                                       target::Canonical(layout));
    if (!move.ok()) return move.status();
    place->second = move->host_cycles;
  }
  return place->second;
}

absl::StatusOr<ConstantRoom> TileCosts::ConstantRoomOf(const Cut& c) {
  const Operation& operation = placement_.operation;
  if (!operation.has_table()) return ConstantRoom{};
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

absl::StatusOr<int64_t> TileCosts::ConstantCycles(const Cut& c) {
  EK_ASSIGN_OR_RETURN(const ConstantRoom room, ConstantRoomOf(c));
  if (room.bytes == 0) return 0;
  const auto [place, is_new] = constant_cycles_.try_emplace(room.bytes, 0);
  if (is_new) {
    const Chip& chip = *placement_.chip;
    const v1::Layout bytes = target::DenseLayout({room.bytes}, 1);
    EK_ASSIGN_OR_RETURN(
        const Chip::Move move,
        chip.MoveBetween(chip.flash(), bytes, chip.memory(), bytes));
    place->second = move.host_cycles;
  }
  return place->second;
}

// Whether the part has a layout, and begins at an aligned address.
TileCosts::AxisPart TileCosts::PartOnAxis(Role& role, int axis, int64_t begin,
                                          int64_t extent) const {
  const v1::Layout& whole = role.operand->whole;
  if (extent == whole.extents(axis)) return AxisPart::kAligned;
  const auto [place, is_new] =
      role.parts.try_emplace({axis, begin, extent}, AxisPart::kNone);
  if (is_new) {
    Extents begins = {0, 0, 0};
    Extents extents = {whole.extents(0), whole.extents(1), whole.extents(2)};
    begins[axis] = begin;
    extents[axis] = extent;
    if (const auto part = target::PartOf(whole, begins, extents)) {
      const int64_t alignment = placement_.chip->alignment_bytes();
      place->second = part->offset % alignment == 0 ? AxisPart::kAligned
                                                    : AxisPart::kUnaligned;
    }
  }
  return place->second;
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
          place->second = target::SamePlaces(
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
    Role& role, const TileSet& tiles) const {
  const Operand& operand = *role.operand;
  if (!operand.present()) return Access::kNone;
  if (!operand.resident && HasOneTermAnAxis(operand.whole)) {
    return Access::kMoved;
  }
  bool aligned = true;
  const CutAxis* const axes[] = {&tiles.h, &tiles.w, &tiles.c};
  for (int axis = 0; axis < 3; ++axis) {
    for (const Cut& cut : axes[axis]->cuts) {
      const int64_t begin = role.output ? cut.begin : cut.in_begin;
      const int64_t extent = role.output ? cut.size() : cut.in_size();
      const AxisPart part = PartOnAxis(role, axis, begin, extent);
      if (part == AxisPart::kNone) return std::nullopt;
      if (part == AxisPart::kUnaligned) aligned = false;
    }
  }
  if (!operand.resident) return Access::kMoved;
  if (aligned) {
    EK_ASSIGN_OR_RETURN(const bool direct, IsDirect(role, tiles));
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

absl::StatusOr<std::optional<TileNeeds>> TileCosts::NeedsOf(
    const TileSet& tiles) {
  TileNeeds needs;
  const struct {
    Role* role;
    Access* access;
    int64_t* bytes;
  } roles[] = {{&input_, &needs.input, &needs.input_bytes},
               {&input2_, &needs.input2, &needs.input_bytes},
               {&output_, &needs.output, &needs.output_bytes}};
  for (const auto& [role, access, bytes] : roles) {
    EK_ASSIGN_OR_RETURN(const std::optional<Access> found,
                        AccessOf(*role, tiles));
    if (!found) return std::nullopt;
    *access = *found;
    if (*found != Access::kMoved) continue;
    for (const CutAxis::Kind& h : tiles.h.kinds) {
      for (const CutAxis::Kind& w : tiles.w.kinds) {
        for (const CutAxis::Kind& c : tiles.c.kinds) {
          EK_ASSIGN_OR_RETURN(const int64_t tile,
                              BytesOf(*role, h.first, w.first, c.first));
          *bytes = std::max(*bytes, tile);
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
  for (const CutAxis::Kind& h : tiles.h.kinds) {
    for (const CutAxis::Kind& w : tiles.w.kinds) {
      for (const CutAxis::Kind& c : tiles.c.kinds) {
        TileCycles& tile = table.tiles.emplace_back();
        EK_ASSIGN_OR_RETURN(
            const int64_t occupancy,
            chip.view().OccupancyCycles(
                placement_.job,
                VariablesOf(placement_.operation, h.first, w.first, c.first)));
        tile.job = chip.HostCycles(occupancy);
        const struct {
          Access access;
          Role* role;
          int64_t* cycles;
        } roles[] = {{needs.input, &input_, &tile.input},
                     {needs.input2, &input2_, &tile.input2},
                     {needs.output, &output_, &tile.output}};
        for (const auto& [access, role, cycles] : roles) {
          if (access != Access::kMoved) continue;
          EK_ASSIGN_OR_RETURN(*cycles,
                              MoveCycles(*role, h.first, w.first, c.first));
        }
      }
    }
  }
  for (const CutAxis::Kind& c : tiles.c.kinds) {
    EK_ASSIGN_OR_RETURN(const int64_t cycles, ConstantCycles(c.first));
    table.constants.push_back(cycles);
  }
  return table;
}

}  // namespace edgekiln::compiler::register_job
