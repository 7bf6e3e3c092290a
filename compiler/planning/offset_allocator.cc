#include "compiler/planning/offset_allocator.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/rounding.h"

namespace edgekiln::compiler {
namespace {

std::vector<int32_t> Order(absl::Span<const BufferLife> buffers,
                           PlacementOrder order) {
  std::vector<int32_t> indices(buffers.size());
  std::iota(indices.begin(), indices.end(), 0);
  const auto key = [&](int32_t i) {
    const BufferLife& b = buffers[i];
    return order == PlacementOrder::kBySize
               ? std::make_tuple(-b.size_bytes, b.begin, i)
               : std::make_tuple(b.begin, int64_t{i}, i);
  };
  std::sort(indices.begin(), indices.end(),
            [&](int32_t a, int32_t b) { return key(a) < key(b); });
  return indices;
}

// A buffer that has its place.
struct Placed {
  int64_t offset = 0;
  int64_t limit = 0;  // Behind its last byte.
  int64_t birth = 0;
  int64_t death = 0;
};

// First fit, one after the other.
OffsetPlan Place(absl::Span<const BufferLife> buffers,
                 absl::Span<const int32_t> indices, bool by_birth) {
  OffsetPlan plan;
  plan.offsets.assign(buffers.size(), -1);
  std::vector<Placed> placed;  // The lowest first.
  placed.reserve(buffers.size());
  for (const int32_t i : indices) {
    const BufferLife& buffer = buffers[i];
    // What is born from now on does not meet it.
    if (by_birth) {
      std::erase_if(placed, [&](const Placed& other) {
        return other.death < buffer.begin;
      });
    }
    int64_t offset = 0;
    for (const Placed& other : placed) {
      if (other.offset >= offset + buffer.size_bytes) break;
      if (other.birth > buffer.end || other.death < buffer.begin) continue;
      if (other.limit > offset) {
        offset = RoundUp(other.limit, buffer.alignment_bytes);
      }
    }
    plan.offsets[i] = offset;
    const int64_t limit = offset + buffer.size_bytes;
    plan.peak_bytes = std::max(plan.peak_bytes, limit);
    const auto above = std::upper_bound(
        placed.begin(), placed.end(), offset,
        [](int64_t at, const Placed& other) { return at < other.offset; });
    placed.insert(above, {offset, limit, buffer.begin, buffer.end});
  }
  return plan;
}

// The first buffer that ends where all of them end.
int32_t Highest(absl::Span<const BufferLife> buffers, const OffsetPlan& plan) {
  int32_t i = 0;
  while (plan.offsets[i] + buffers[i].size_bytes < plan.peak_bytes) ++i;
  return i;
}

// Rounds of moving what does not fit to the front.
constexpr int kRepairs = 48;

}  // namespace

OffsetPlan AllocateOffsets(absl::Span<const BufferLife> buffers,
                           PlacementOrder order) {
  return Place(buffers, Order(buffers, order),
               order == PlacementOrder::kByBirth);
}

OffsetPlan AllocateOffsets(absl::Span<const BufferLife> buffers) {
  OffsetPlan by_birth = AllocateOffsets(buffers, PlacementOrder::kByBirth);
  OffsetPlan by_size = AllocateOffsets(buffers, PlacementOrder::kBySize);
  return by_size.peak_bytes < by_birth.peak_bytes ? by_size : by_birth;
}

OffsetPlan AllocateOffsetsWithin(absl::Span<const BufferLife> buffers,
                                 int64_t limit_bytes) {
  OffsetPlan best = AllocateOffsets(buffers);
  std::vector<int32_t> order = Order(buffers, PlacementOrder::kBySize);
  for (int i = 0; i < kRepairs && best.peak_bytes > limit_bytes; ++i) {
    const OffsetPlan plan = Place(buffers, order, /*by_birth=*/false);
    if (plan.peak_bytes < best.peak_bytes) best = plan;
    const auto culprit =
        std::find(order.begin(), order.end(), Highest(buffers, plan));
    std::rotate(order.begin(), culprit, culprit + 1);
  }
  return best;
}

}  // namespace edgekiln::compiler
