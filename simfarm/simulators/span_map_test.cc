#include "simfarm/simulators/span_map.h"

#include <malloc.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace edgekiln::simfarm {
namespace {

// The same, byte by byte.
class PlainMap {
 public:
  explicit PlainMap(int64_t size) : states_(static_cast<size_t>(size), 0) {}
  void Assign(int64_t begin, int64_t end, int state) {
    std::fill(states_.begin() + begin, states_.begin() + end, state);
  }
  int64_t Spans(int64_t begin, int64_t end) const {
    int64_t spans = 0;
    for (int64_t i = begin; i < end; ++i) {
      spans += i == begin || At(i) != At(i - 1) ? 1 : 0;
    }
    return spans;
  }
  int At(int64_t i) const { return states_[static_cast<size_t>(i)]; }

 private:
  std::vector<int> states_;
};

// Every byte once, and in as few spans as there can be.
void ExpectEqual(const SpanMap<int>& map, const PlainMap& plain, int64_t begin,
                 int64_t end) {
  int64_t at = begin;
  int64_t spans = 0;
  EXPECT_TRUE(map.ForEach(begin, end, [&](int64_t from, int64_t to, int state) {
    EXPECT_EQ(from, at);
    EXPECT_LT(from, to);
    for (int64_t i = from; i < to; ++i) EXPECT_EQ(state, plain.At(i)) << i;
    at = to;
    ++spans;
    return true;
  }));
  EXPECT_EQ(at, std::max(begin, end));
  EXPECT_EQ(spans, plain.Spans(begin, end));
}

TEST(SpanMapTest, EqualsAMapOfBytes) {
  // No new memory holds zeros.
  constexpr int kSoiled = 0x55;
  mallopt(M_PERTURB, kSoiled);
  std::mt19937_64 random(3);
  for (const int64_t size : {1, 2, 63, 64, 65, 200, 4096, 4097, 300'000}) {
    SpanMap<int> map(size);
    PlainMap plain(size);
    const auto below = [&](int64_t limit) {
      return static_cast<int64_t>(random() % static_cast<uint64_t>(limit));
    };
    for (int step = 0; step < 300; ++step) {
      const int64_t begin = below(size + 1);
      // Mostly short spans: those cross the ends of others.
      const int64_t end =
          std::min(size, begin + below(step % 5 == 0 ? size + 1 : 70));
      const int state = static_cast<int>(below(3));
      if (step % 3 == 0) {
        map.Transform(begin, end, [&](int old) { return (old + state) % 3; });
        for (int64_t i = begin; i < end; ++i) {
          plain.Assign(i, i + 1, (plain.At(i) + state) % 3);
        }
      } else {
        map.Assign(begin, end, state);
        plain.Assign(begin, end, state);
      }
      ExpectEqual(map, plain, begin, std::min(size, end + 9));
      if (testing::Test::HasFailure()) return;
    }
    ExpectEqual(map, plain, 0, size);
  }
  mallopt(M_PERTURB, 0);
}

// Maps that are too large for the heap.
TEST(SpanMapTest, LargeMapsBeginWithZeroAsWell) {
  for (const int64_t size : {int64_t{1} << 21, int64_t{1} << 22}) {
    SpanMap<uint64_t> map(size);
    map.Assign(size - 2, size, 7);
    std::vector<uint64_t> states;
    EXPECT_TRUE(map.ForEach(0, size, [&](int64_t, int64_t, uint64_t state) {
      states.push_back(state);
      return true;
    }));
    EXPECT_EQ(states, (std::vector<uint64_t>{0, 7}));
  }
}

TEST(SpanMapTest, StopsWhenToldTo) {
  SpanMap<int> map(10);
  map.Assign(2, 4, 1);
  int calls = 0;
  EXPECT_FALSE(map.ForEach(0, 10, [&](int64_t, int64_t, int state) {
    ++calls;
    return state == 0;
  }));
  EXPECT_EQ(calls, 2);
}

TEST(PositionSetTest, FindsNeighboursOverManyLevels) {
  constexpr int64_t kSize = int64_t{1} << 26;
  PositionSet set(kSize);
  EXPECT_EQ(set.AtOrBefore(kSize - 1), -1);
  EXPECT_EQ(set.AtOrAfter(0), kSize);
  set.Add(5);
  set.Add(kSize - 3);
  EXPECT_EQ(set.AtOrBefore(4), -1);
  EXPECT_EQ(set.AtOrBefore(5), 5);
  EXPECT_EQ(set.AtOrBefore(kSize - 4), 5);
  EXPECT_EQ(set.AtOrAfter(6), kSize - 3);
  EXPECT_EQ(set.AtOrAfter(kSize - 2), kSize);
  EXPECT_EQ(set.AtOrAfter(kSize), kSize);
  set.Remove(5);
  EXPECT_EQ(set.AtOrBefore(kSize - 4), -1);
  EXPECT_EQ(set.AtOrAfter(0), kSize - 3);
}

}  // namespace
}  // namespace edgekiln::simfarm
