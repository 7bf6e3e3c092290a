#ifndef EK_COMPILER_ENGINES_REGISTER_JOB_TRANSFER_H_
#define EK_COMPILER_ENGINES_REGISTER_JOB_TRANSFER_H_

#include <array>
#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "compiler/engines/register_job/padded_channels.h"
#include "compiler/engines/register_job/placement.h"
#include "compiler/engines/register_job/tiles.h"
#include "edgekiln/v1/layout.pb.h"

namespace edgekiln::compiler::register_job {

// How a tile gets from its tensor into its room, or back.
struct Transfer {
  Chip::Move move;  // Its cycles include those of the filler.
  int64_t tensor_offset = 0;
  v1::Layout tensor;             // Of the part there.
  v1::Layout room;               // Of the same elements, canonical.
  std::optional<Filler> filler;  // Written before.
};

// The tensor must have that part. UNIMPLEMENTED if no link joins the memories.
absl::StatusOr<Transfer> TransferOf(const Placement& placement,
                                    const Operand& operand,
                                    target::JobOperand role, const Cut& h,
                                    const Cut& w, const Cut& c);

// The layout of a room's elements that a tensor has, the first `extents` of
// each axis.
v1::Layout PartInRoom(const v1::Layout& room,
                      const std::array<int64_t, 3>& extents);

}  // namespace edgekiln::compiler::register_job

#endif  // EK_COMPILER_ENGINES_REGISTER_JOB_TRANSFER_H_
