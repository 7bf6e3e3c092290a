#include "simfarm/session/timeline.h"

#include <cstdint>
#include <vector>

#include "base/error.h"
#include "base/rng.h"
#include "gtest/gtest.h"

namespace edgekiln::simfarm {
namespace {

using Spent = StreamTiming::Spent;

TEST(TimelineTest, FirstSpanOwns) {
  Timeline timeline(3);
  timeline.Add(10, 20, 0, Spent::kComputing);
  timeline.Add(30, 40, 0, Spent::kTransfer);
  timeline.Add(0, 50, 1, Spent::kComputing);  // 10 + 10 + 10 are left.
  timeline.Add(45, 60, 2, Spent::kControl);   // 10 are left.
  timeline.Add(5, 5, 2, Spent::kComputing);
  EXPECT_EQ(timeline.owned()[0].compute_cycles, 10);
  EXPECT_EQ(timeline.owned()[0].transfer_cycles, 10);
  EXPECT_EQ(timeline.owned()[1].compute_cycles, 30);
  EXPECT_EQ(timeline.owned()[2].control_cycles, 10);
}

TEST(TimelineTest, AgreesWithCountingCycleByCycle) {
  Rng rng(1);
  for (int round = 0; round < 200; ++round) {
    Timeline timeline(4);
    std::vector<int> owner(64, -1);
    std::vector<int64_t> want(4, 0);
    for (int i = 0; i < 12; ++i) {
      const int64_t begin = rng.InRange(0, 60);
      const int64_t end = rng.InRange(begin, 63);
      const int32_t layer = static_cast<int32_t>(rng.Below(4));
      timeline.Add(begin, end, layer, Spent::kComputing);
      for (int64_t t = begin; t < end; ++t) {
        if (owner[t] >= 0) continue;
        owner[t] = layer;
        ++want[layer];
      }
    }
    for (int layer = 0; layer < 4; ++layer) {
      EXPECT_EQ(timeline.owned()[layer].compute_cycles, want[layer]);
    }
  }
}

TEST(TimelineTest, ConvertsClocksUpwards) {
  EXPECT_EQ(*ConvertCycles(10, 500, 500), 10);
  EXPECT_EQ(*ConvertCycles(10, 300, 500), 17);
  EXPECT_EQ(*ConvertCycles(0, 300, 500), 0);
  EXPECT_FALSE(ConvertCycles(int64_t{1} << 61, 1, 1000).ok());
}

TEST(ConvertCyclesTest, RefusesMoreThanAProgramMayTake) {
  constexpr int64_t kHalf = int64_t{1} << 61;
  const auto doubled = ConvertCycles(kHalf, 1'000'000, 2'000'000);
  ASSERT_TRUE(doubled.ok()) << doubled.status();
  EXPECT_EQ(*doubled, 2 * kHalf);
  const auto more = ConvertCycles(kHalf + 1, 1'000'000, 2'000'000);
  const auto detail = GetErrorDetail(more.status());
  ASSERT_TRUE(detail.has_value()) << more.status();
  EXPECT_EQ(detail->reason, "TOO_MANY_CYCLES");
  EXPECT_EQ(detail->fault, Fault::kUser);
}

}  // namespace
}  // namespace edgekiln::simfarm
