#ifndef EK_TARGET_MOVE_COST_H_
#define EK_TARGET_MOVE_COST_H_

// Cycles of a link to move an array from one layout to another. Depends on the
// link and the two layouts only; shared by compiler and simulator.
//
// A transfer is `dimensions` nested counters over both places at once. The
// first counts bytes that lie together in both; each further one has a step in
// either place. The counters that a move needs follow from the terms:
//
//  1. Terms of an axis that are one step in a row (blocks that lie one behind
//     the other) are one. Where the terms of the two layouts cut an axis, both
//     are cut: an axis is then the digits of its index, each with a count and a
//     step in either place. Where cuts do not divide each other (blocks of 2
//     and of 3), each index of the axis is walked by itself.
//  2. A block that the axis fills only partly is walked apart from the full
//     ones: a part of the array of its own.
//  3. In each part, digits whose step is the bytes that lie together so far,
//     in both places, make these bytes more. Of the others, those that are one
//     step in a row in both places become one.
//  4. The `dimensions` - 1 digits that count most are counted by the transfer;
//     it starts anew for all values of the others.
//
// A link that counts nothing but bytes (`dimensions` is 1) moves them as they
// lie: groups of reversed bytes stay groups if both layouts reverse alike and
// every step is a multiple of the group. Otherwise each byte is a transfer of
// its own. Others count bytes as they lie before groups are reversed, and have
// a transfer for each byte only where the two layouts do not reverse alike.
//
// The move takes, of the clock of the link's owner,
//   transfers * setup_cycles + ceil(bytes / bytes_per_cycle)
// cycles, where each transfer counts the bytes of its values, rounded up to a
// multiple of granule_bytes.

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "edgekiln/v1/layout.pb.h"
#include "edgekiln/v1/target.pb.h"

namespace edgekiln::target {

struct MoveSize {
  int64_t transfers = 0;
  int64_t bytes = 0;  // Of all transfers, in whole granules.
};

// Of an array without elements: 0. dimensions and granule_bytes >= 1.
// INVALID_ARGUMENT if a layout is illegal (layout.h) or they are of two arrays;
// OUT_OF_RANGE if the granules' bytes exceed 64 bits.
absl::StatusOr<MoveSize> MoveSizeOf(const v1::Layout& from,
                                    const v1::Layout& to, int dimensions,
                                    int64_t granule_bytes);

// Transfers of a link that counts nothing but bytes, of one part of a move: one
// for each value of the counters, the last of which counts fastest. Places are
// bytes from the begin of either layout, as they lie before groups are
// reversed; the byte at `p` lies at p ^ (reversed_bytes - 1).
struct TransferLoop {
  struct Counter {
    int64_t count = 1;
    int64_t from_step = 0;
    int64_t to_step = 0;
  };
  int64_t from = 0;
  int64_t to = 0;
  int64_t bytes = 0;  // Of each.
  std::vector<Counter> counters;
};

// As many transfers as MoveSizeOf() with `dimensions` 1 counts. Errors as
// there.
absl::StatusOr<std::vector<TransferLoop>> TransferLoopsOf(
    const v1::Layout& from, const v1::Layout& to);

// Its transfers.
absl::StatusOr<int64_t> MoveTransfers(const v1::Layout& from,
                                      const v1::Layout& to, int dimensions);

// `link` is of a machine that passed ValidateMachine(). Errors as above;
// OUT_OF_RANGE on overflow.
absl::StatusOr<int64_t> MoveCycles(const v1::ResolvedLink& link,
                                   const v1::Layout& from,
                                   const v1::Layout& to);

}  // namespace edgekiln::target

#endif  // EK_TARGET_MOVE_COST_H_
