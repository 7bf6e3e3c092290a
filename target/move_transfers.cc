#include "target/move_transfers.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace edgekiln::target {

absl::StatusOr<MoveTransfersView::End> MoveTransfersView::EndOf(
    const v1::Location& location, const v1::Layout& layout,
    int64_t reversed_bytes) {
  const int64_t group = std::max(layout.reversed_bytes(), 1);
  const End end = {static_cast<int64_t>(location.address()),
                   (group - 1) ^ (reversed_bytes - 1)};
  if (end.address % group == 0) return end;
  return absl::InvalidArgumentError(
      "a layout with reversed bytes begins within a group");
}

absl::StatusOr<MoveTransfersView> MoveTransfersView::Create(
    const v1::Program::Move& move, const v1::Layout& from, const v1::Layout& to,
    const RegisterTransfers& transfers, int64_t most) {
  EK_ASSIGN_OR_RETURN(const int64_t count, MoveTransfers(from, to, 1));
  if (count > most) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "a move takes ", count, " transfers, more than the ", most, " left"));
  }
  MoveTransfersView view(transfers);
  view.first_.from_memory = move.from().memory();
  view.first_.to_memory = move.to().memory();
  EK_ASSIGN_OR_RETURN(
      view.from_, EndOf(move.from(), from, transfers.reversed_bytes()), "from");
  EK_ASSIGN_OR_RETURN(view.to_,
                      EndOf(move.to(), to, transfers.reversed_bytes()), "to");
  EK_ASSIGN_OR_RETURN(view.loops_, TransferLoopsOf(from, to));
  for (const TransferLoop& loop : view.loops_) {
    if (loop.bytes == 1 || view.HasWholeGroups(loop)) continue;
    return absl::InvalidArgumentError(
        "a transfer cuts a group of bytes that the link does not reverse");
  }
  return view;
}

bool MoveTransfersView::HasWholeGroups(const TransferLoop& loop) const {
  if (from_.flip != to_.flip) return false;
  const int64_t group = from_.flip + 1;
  return from_.At(loop.from, true) % group == 0 &&
         to_.At(loop.to, true) % group == 0 && loop.bytes % group == 0 &&
         std::all_of(loop.counters.begin(), loop.counters.end(),
                     [group](const TransferLoop::Counter& counter) {
                       return counter.from_step % group == 0 &&
                              counter.to_step % group == 0;
                     });
}

absl::Status MoveTransfersView::Visit(
    const TransferLoop& loop,
    absl::FunctionRef<absl::Status(const std::vector<TransferValue>&)> visit)
    const {
  const bool whole = HasWholeGroups(loop);
  Transfer transfer = first_;
  transfer.bytes = loop.bytes;
  std::vector<int64_t> index(loop.counters.size(), 0);
  int64_t from = loop.from;
  int64_t to = loop.to;
  while (true) {
    transfer.from_addr = from_.At(from, whole);
    transfer.to_addr = to_.At(to, whole);
    EK_ASSIGN_OR_RETURN(const std::vector<TransferValue> values,
                        transfers_->Encode(transfer));
    EK_RETURN_IF_ERROR(visit(values));
    size_t c = index.size();
    for (; c > 0; --c) {
      const TransferLoop::Counter& counter = loop.counters[c - 1];
      from += counter.from_step;
      to += counter.to_step;
      if (++index[c - 1] < counter.count) break;
      from -= counter.count * counter.from_step;
      to -= counter.count * counter.to_step;
      index[c - 1] = 0;
    }
    if (c == 0) return absl::OkStatus();
  }
}

}  // namespace edgekiln::target
