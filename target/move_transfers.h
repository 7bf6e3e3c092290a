#ifndef EK_TARGET_MOVE_TRANSFERS_H_
#define EK_TARGET_MOVE_TRANSFERS_H_

// The transfers of a move over a link that registers start, as these tell them.
// Shared by compiler and simulator.

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "edgekiln/v1/layout.pb.h"
#include "edgekiln/v1/program.pb.h"
#include "target/move_cost.h"
#include "target/register_transfers.h"

namespace edgekiln::target {

// A move's transfers with their places in memory.
class MoveTransfersView {
 public:
  // INVALID_ARGUMENT if the link cannot move them as MoveSizeOf() counts them:
  // a transfer cuts a group of reversed bytes that the link does not reverse.
  // RESOURCE_EXHAUSTED if they are more than `most`. Other errors are
  // TransferLoopsOf()'s. `transfers` must outlive it.
  static absl::StatusOr<MoveTransfersView> Create(
      const v1::Program::Move& move, const v1::Layout& from,
      const v1::Layout& to, const RegisterTransfers& transfers, int64_t most);

  const std::vector<TransferLoop>& loops() const { return loops_; }

  // What the host writes for each transfer of a loop, in the order of its
  // counters. Ends with the first error, RegisterTransfers::Encode()'s or
  // visit's.
  absl::Status Visit(
      const TransferLoop& loop,
      absl::FunctionRef<absl::Status(const std::vector<TransferValue>&)> visit)
      const;

 private:
  // One end of a move: from places in a layout to addresses as the link counts
  // them.
  struct End {
    int64_t address = 0;
    int64_t flip = 0;
    int64_t At(int64_t place, bool whole_groups) const {
      return whole_groups ? address + place : (address + place) ^ flip;
    }
  };

  explicit MoveTransfersView(const RegisterTransfers& transfers)
      : transfers_(&transfers) {}
  static absl::StatusOr<End> EndOf(const v1::Location& location,
                                   const v1::Layout& layout,
                                   int64_t reversed_bytes);
  // Whether its transfers are whole groups in both places.
  bool HasWholeGroups(const TransferLoop& loop) const;

  const RegisterTransfers* transfers_;
  Transfer first_;  // Its memories.
  End from_, to_;
  std::vector<TransferLoop> loops_;
};

}  // namespace edgekiln::target

#endif  // EK_TARGET_MOVE_TRANSFERS_H_
