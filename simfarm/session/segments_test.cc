#include "simfarm/session/segments.h"

#include "base/rng.h"
#include "gtest/gtest.h"

namespace edgekiln::simfarm {
namespace {

using Merged = SegmentMerger::Merged;
constexpr auto kCompute = v1::TimelineSegment::COMPUTE;
constexpr auto kRead = v1::TimelineSegment::DMA_READ;

TEST(SegmentMergerTest, JoinsWhatTouchesAndIsTheSame) {
  SegmentMerger merger(2, 100);
  merger.Add(0, {0, 5, 1, kCompute});
  merger.Add(1, {5, 9, 1, kCompute});
  merger.Add(0, {5, 9, 1, kCompute});
  merger.Add(0, {9, 9, 1, kCompute});  // Nothing.
  merger.Add(0, {9, 10, 1, kRead});    // Of another kind.
  merger.Add(0, {10, 11, 2, kRead});   // Of another layer.
  merger.Add(0, {12, 13, 2, kRead});   // After a gap.
  const auto& units = merger.Finish();
  ASSERT_EQ(units[0].size(), 4u);
  EXPECT_EQ(units[0][0].segment.end, 9);
  EXPECT_EQ(units[0][0].busy_cycles, 9);
  EXPECT_EQ(units[0][3].segment.begin, 12);
  ASSERT_EQ(units[1].size(), 1u);
}

TEST(SegmentMergerTest, TooManyBecomeTheLongest) {
  SegmentMerger merger(1, 1);
  merger.Add(0, {100, 103, 1, kCompute});
  merger.Add(0, {104, 110, 2, kRead});
  merger.Add(0, {111, 113, 1, kCompute});
  const auto& units = merger.Finish();
  ASSERT_EQ(units[0].size(), 1u);
  const Merged& merged = units[0][0];
  EXPECT_EQ(merged.segment.begin, 100);
  EXPECT_EQ(merged.segment.end, 113);
  EXPECT_EQ(merged.busy_cycles, 3 + 6 + 2);
  EXPECT_EQ(merged.segment.layer, 2);
  EXPECT_EQ(merged.segment.kind, kRead);
}

TEST(SegmentMergerTest, KeepsOrderAndBusyCycles) {
  Rng rng(3);
  for (int round = 0; round < 100; ++round) {
    const int64_t limit = rng.InRange(3, 40);
    SegmentMerger merger(3, limit);
    int64_t busy[3] = {};
    int64_t end[3] = {};
    for (int i = 0; i < 500; ++i) {
      const int unit = static_cast<int>(rng.Below(3));
      const int64_t begin = end[unit] + rng.InRange(0, 3);
      end[unit] = begin + rng.InRange(0, i % 7 == 0 ? 1000 : 5);
      busy[unit] += end[unit] - begin;
      merger.Add(unit, {begin, end[unit], static_cast<int32_t>(rng.Below(3)),
                        kCompute});
    }
    const auto& units = merger.Finish();
    int64_t total = 0;
    for (int unit = 0; unit < 3; ++unit) {
      int64_t merged_busy = 0;
      int64_t last_end = 0;
      for (const Merged& each : units[unit]) {
        EXPECT_GE(each.segment.begin, last_end);
        EXPECT_LE(each.busy_cycles, each.segment.end - each.segment.begin);
        EXPECT_LE(each.labelled_cycles, each.busy_cycles);
        last_end = each.segment.end;
        merged_busy += each.busy_cycles;
      }
      EXPECT_LE(last_end, end[unit]);
      EXPECT_EQ(merged_busy, busy[unit]);
      total += static_cast<int64_t>(units[unit].size());
    }
    EXPECT_LE(total, limit);
    EXPECT_GT(total, limit / 8);  // No fewer than it takes.
  }
}

TEST(SegmentMergerTest, LongTimesEnd) {
  constexpr int64_t kEnd = int64_t{1} << 62;
  SegmentMerger merger(1, 1);
  merger.Add(0, {0, 1, 0, kCompute});
  merger.Add(0, {kEnd - 1, kEnd, 0, kCompute});
  EXPECT_EQ(merger.Finish()[0].size(), 1u);
}

}  // namespace
}  // namespace edgekiln::simfarm
