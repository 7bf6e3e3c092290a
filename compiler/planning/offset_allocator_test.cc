#include "compiler/planning/offset_allocator.h"

#include <cstdint>
#include <vector>

#include "base/rng.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

bool Disjoint(const BufferLife& a, int64_t at_a, const BufferLife& b,
              int64_t at_b) {
  const bool together = a.begin <= b.end && b.begin <= a.end;
  return !together || at_a + a.size_bytes <= at_b ||
         at_b + b.size_bytes <= at_a;
}

TEST(OffsetAllocatorTest, ReusesWhatHasDied) {
  const std::vector<BufferLife> buffers = {
      {.size_bytes = 100, .begin = 0, .end = 1},
      {.size_bytes = 50, .begin = 1, .end = 2},
      {.size_bytes = 100, .begin = 2, .end = 3},
  };
  const OffsetPlan plan = AllocateOffsets(buffers);
  EXPECT_EQ(plan.offsets[0], 0);
  EXPECT_EQ(plan.offsets[1], 100);
  EXPECT_EQ(plan.offsets[2], 0);
  EXPECT_EQ(plan.peak_bytes, 150);
}

TEST(OffsetAllocatorTest, KeepsAlignment) {
  const std::vector<BufferLife> buffers = {
      {.size_bytes = 3, .begin = 0, .end = 0},
      {.size_bytes = 8, .alignment_bytes = 4, .begin = 0, .end = 0},
  };
  const OffsetPlan plan = AllocateOffsets(buffers, PlacementOrder::kByBirth);
  EXPECT_EQ(plan.offsets[1], 4);
  EXPECT_EQ(plan.peak_bytes, 12);
}

TEST(OffsetAllocatorTest, RandomBuffersNeverMeet) {
  Rng rng(7);
  int repaired = 0;
  for (int round = 0; round < 200; ++round) {
    std::vector<BufferLife> buffers;
    for (int i = 0; i < 40; ++i) {
      BufferLife life;
      life.size_bytes = 1 + static_cast<int64_t>(rng.Next() % 100);
      life.alignment_bytes = rng.Next() % 2 == 0 ? 1 : 4;
      life.begin = static_cast<int64_t>(rng.Next() % 30);
      life.end = life.begin + static_cast<int64_t>(rng.Next() % 10);
      buffers.push_back(life);
    }
    const OffsetPlan plain = AllocateOffsets(buffers);
    const OffsetPlan within = AllocateOffsetsWithin(buffers, 1);
    EXPECT_LE(within.peak_bytes, plain.peak_bytes);
    repaired += within.peak_bytes < plain.peak_bytes ? 1 : 0;
    // What fits is left as it is.
    EXPECT_EQ(AllocateOffsetsWithin(buffers, plain.peak_bytes).offsets,
              plain.offsets);
    for (const OffsetPlan& plan :
         {AllocateOffsets(buffers, PlacementOrder::kByBirth),
          AllocateOffsets(buffers, PlacementOrder::kBySize), within}) {
      for (size_t a = 0; a < buffers.size(); ++a) {
        EXPECT_EQ(plan.offsets[a] % buffers[a].alignment_bytes, 0);
        EXPECT_LE(plan.offsets[a] + buffers[a].size_bytes, plan.peak_bytes);
        for (size_t b = a + 1; b < buffers.size(); ++b) {
          EXPECT_TRUE(Disjoint(buffers[a], plan.offsets[a], buffers[b],
                               plan.offsets[b]))
              << "round " << round << ": " << a << " and " << b;
        }
      }
    }
  }
  EXPECT_GT(repaired, 100);
}

}  // namespace
}  // namespace edgekiln::compiler
