#ifndef EK_COMPILER_PLANNING_OFFSET_ALLOCATOR_H_
#define EK_COMPILER_PLANNING_OFFSET_ALLOCATOR_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

// Static memory planning: every buffer's life is known, so each gets a fixed
// offset such that buffers alive at the same time never overlap.
namespace edgekiln::compiler {

struct BufferLife {
  int64_t size_bytes = 0;       // > 0.
  int64_t alignment_bytes = 1;  // > 0.
  // Alive at every instant in [begin, end], both included. What an instant is,
  // is the caller's business (a command, a layer).
  int64_t begin = 0;
  int64_t end = 0;
};

struct OffsetPlan {
  std::vector<int64_t> offsets;  // One per buffer, from 0.
  int64_t peak_bytes = 0;        // Highest offset + size.
};

enum class PlacementOrder {
  // Earliest birth first. Exact when lives nest like a stack.
  kByBirth,
  // Biggest first, the usual heuristic for few long-lived tensors.
  kBySize,
};

// First fit in `order`; ties are broken by index, so the result is a pure
// function of the arguments. O(n^2) in buffers that are alive together.
OffsetPlan AllocateOffsets(absl::Span<const BufferLife> buffers,
                           PlacementOrder order);

// The better of both orders (the smaller peak; births on a tie).
OffsetPlan AllocateOffsets(absl::Span<const BufferLife> buffers);

// The same if that stays within `limit_bytes`; else what reaches beyond is
// placed earlier, a bounded number of times. A higher peak than the limit says
// that no such plan was found, not that there is none.
OffsetPlan AllocateOffsetsWithin(absl::Span<const BufferLife> buffers,
                                 int64_t limit_bytes);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_PLANNING_OFFSET_ALLOCATOR_H_
