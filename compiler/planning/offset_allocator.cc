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

}  // namespace

OffsetPlan AllocateOffsets(absl::Span<const BufferLife> buffers,
                           PlacementOrder order) {
  OffsetPlan plan;
  plan.offsets.assign(buffers.size(), -1);
  // Placed buffers that may still meet a later one. In birth order those that
  // died before the present birth are dropped for good.
  std::vector<int32_t> placed;
  std::vector<std::pair<int64_t, int64_t>> taken;  // [offset, end) in the way.
  for (const int32_t i : Order(buffers, order)) {
    const BufferLife& buffer = buffers[i];
    taken.clear();
    size_t kept = 0;
    for (const int32_t other : placed) {
      const BufferLife& o = buffers[other];
      const bool gone =
          order == PlacementOrder::kByBirth && o.end < buffer.begin;
      if (gone) continue;
      placed[kept++] = other;
      if (o.begin <= buffer.end && buffer.begin <= o.end) {
        taken.emplace_back(plan.offsets[other],
                           plan.offsets[other] + o.size_bytes);
      }
    }
    placed.resize(kept);
    std::sort(taken.begin(), taken.end());
    int64_t offset = 0;
    for (const auto& [begin, end] : taken) {
      if (begin >= offset + buffer.size_bytes) break;
      offset = std::max(offset, RoundUp(end, buffer.alignment_bytes));
    }
    plan.offsets[i] = offset;
    plan.peak_bytes = std::max(plan.peak_bytes, offset + buffer.size_bytes);
    placed.push_back(i);
  }
  return plan;
}

OffsetPlan AllocateOffsets(absl::Span<const BufferLife> buffers) {
  OffsetPlan by_birth = AllocateOffsets(buffers, PlacementOrder::kByBirth);
  OffsetPlan by_size = AllocateOffsets(buffers, PlacementOrder::kBySize);
  return by_size.peak_bytes < by_birth.peak_bytes ? by_size : by_birth;
}

}  // namespace edgekiln::compiler
