#include "compiler/engines/register_job/transfer.h"

#include <algorithm>
#include <utility>

#include "base/status_macros.h"
#include "target/layout_parts.h"

namespace edgekiln::compiler::register_job {

v1::Layout PartInRoom(const v1::Layout& room,
                      const std::array<int64_t, 3>& extents) {
  if (std::equal(extents.begin(), extents.end(), room.extents().begin(),
                 room.extents().end())) {
    return target::Canonical(room);
  }
  // From the first element on there always is one.
  return target::PartOf(room, {0, 0, 0}, extents)->layout;
}

absl::StatusOr<Transfer> TransferOf(const Placement& placement,
                                    const Operand& operand,
                                    target::JobOperand role, const Cut& h,
                                    const Cut& w, const Cut& c) {
  const Chip& chip = *placement.chip;
  const bool stores = role == target::JobOperand::kOut;
  const ImagePart part = stores ? OutputPart(h, w, c) : InputPart(h, w, c);
  Transfer transfer;
  auto there = target::PartOf(operand.whole, part.begin, part.extents);
  transfer.tensor_offset = there->offset;
  transfer.tensor = std::move(there->layout);
  EK_ASSIGN_OR_RETURN(
      const v1::Layout room,
      LayoutOf(placement, role, VariablesOf(placement.operation, h, w, c)));
  transfer.room = PartInRoom(room, part.extents);
  if (stores) {
    EK_ASSIGN_OR_RETURN(transfer.move,
                        chip.MoveBetween(chip.memory(), transfer.room,
                                         operand.memory, transfer.tensor));
    return transfer;
  }
  EK_ASSIGN_OR_RETURN(transfer.move,
                      chip.MoveBetween(operand.memory, transfer.tensor,
                                       chip.memory(), transfer.room));
  if (placement.by_row) {
    EK_ASSIGN_OR_RETURN(transfer.move,
                        MoveByRow(chip, operand.memory, transfer.tensor,
                                  transfer.room, transfer.move));
  }
  transfer.filler = FillerOf(operand, room, c.in_padding);
  if (transfer.filler) {
    EK_ASSIGN_OR_RETURN(const int64_t cycles,
                        FillerCycles(chip, operand, *transfer.filler));
    transfer.move.host_cycles += cycles;
  }
  return transfer;
}

}  // namespace edgekiln::compiler::register_job
