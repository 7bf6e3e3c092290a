#include "target/move_cost.h"

#include <algorithm>
#include <map>
#include <vector>

#include "base/rng.h"
#include "gtest/gtest.h"
#include "target/layout.h"

namespace edgekiln::target {
namespace {

// [h, w, c] in blocks of channels: c / block, h, w, c % block.
v1::Layout Blocked(int64_t h, int64_t w, int64_t c, int64_t block) {
  v1::Layout layout;
  layout.set_element_bits(8);
  for (const int64_t extent : {h, w, c}) layout.add_extents(extent);
  const auto term = [&](int axis, int64_t divide, int64_t modulo,
                        int64_t stride) {
    v1::Layout::Term& added = *layout.add_terms();
    added.set_axis(axis);
    added.set_divide(divide);
    added.set_modulo(modulo);
    added.set_stride_bytes(stride);
  };
  term(2, block, 0, h * w * block);
  term(0, 0, 0, w * block);
  term(1, 0, 0, block);
  term(2, 0, block, 1);
  layout.set_size_bytes((c + block - 1) / block * block * h * w);
  return layout;
}

int64_t Transfers(const v1::Layout& from, const v1::Layout& to,
                  int dimensions) {
  const auto transfers = MoveTransfers(from, to, dimensions);
  EXPECT_TRUE(transfers.ok()) << transfers.status();
  return transfers.value_or(-1);
}

TEST(MoveCostTest, CountsTransfers) {
  const v1::Layout dense = DenseLayout({6, 5, 32}, 1);
  // Blocks lie as they are, whatever the terms.
  EXPECT_EQ(Transfers(dense, dense, 1), 1);
  EXPECT_EQ(Transfers(Blocked(6, 5, 32, 8), Blocked(6, 5, 32, 8), 1), 1);
  EXPECT_EQ(Transfers(DenseLayout({1, 1, 10}, 1), Blocked(1, 1, 10, 4), 1), 1);
  // Runs of 8 bytes: 30 pixels by 4 blocks.
  EXPECT_EQ(Transfers(dense, Blocked(6, 5, 32, 8), 1), 120);
  EXPECT_EQ(Transfers(dense, Blocked(6, 5, 32, 8), 2), 4);
  EXPECT_EQ(Transfers(Blocked(6, 5, 32, 8), dense, 3), 1);
  // Runs of 4: 30 pixels, 4 blocks of 8, 2 of 4 inside.
  EXPECT_EQ(Transfers(Blocked(6, 5, 32, 8), Blocked(6, 5, 32, 4), 2), 4 * 2);
  // Rows of a wider image are apart, and so are h and w.
  const v1::Layout rows = StridedLayout({6, 5, 32}, {512, 32, 1}, 1);
  EXPECT_EQ(Transfers(rows, dense, 1), 6);
  EXPECT_EQ(Transfers(rows, dense, 2), 1);
  EXPECT_EQ(Transfers(rows, Blocked(6, 5, 32, 8), 2), 5 * 4);
  EXPECT_EQ(Transfers(rows, Blocked(6, 5, 32, 8), 3), 4);
  // 20 channels: a part of two full blocks and one of 4.
  EXPECT_EQ(Transfers(DenseLayout({6, 5, 20}, 1), Blocked(6, 5, 20, 8), 2), 3);
  EXPECT_EQ(Transfers(DenseLayout({6, 5, 20}, 1), Blocked(6, 5, 20, 8), 3), 2);
  // Blocks of 2 and 3 do not fit each other: channel by channel.
  EXPECT_EQ(Transfers(Blocked(6, 5, 12, 2), Blocked(6, 5, 12, 3), 2), 12);
  EXPECT_EQ(Transfers(DenseLayout({0, 5}, 1), DenseLayout({0, 5}, 1), 1), 0);
  EXPECT_EQ(Transfers(DenseLayout({}, 4), DenseLayout({}, 4), 1), 1);
}

TEST(MoveCostTest, EachTransferCostsItsSetup) {
  v1::ResolvedLink link;
  link.set_dimensions(2);
  link.set_setup_cycles(16);
  link.set_bytes_per_cycle(8);
  const v1::Layout from = StridedLayout({6, 5, 31}, {512, 31, 1}, 1);
  const v1::Layout to = DenseLayout({6, 5, 31}, 1);
  EXPECT_EQ(*MoveCycles(link, from, to), 16 + 117);  // 930 bytes.
  link.set_dimensions(1);
  EXPECT_EQ(*MoveCycles(link, from, to), 6 * 16 + 117);
  EXPECT_EQ(*MoveCycles(link, DenseLayout({0}, 1), DenseLayout({0}, 1)), 0);
  link.set_setup_cycles(INT64_MAX / 3);
  EXPECT_EQ(MoveCycles(link, from, to).status().code(),
            absl::StatusCode::kOutOfRange);
}

// Each transfer takes the time of whole granules.
TEST(MoveCostTest, GranulesRoundEachTransferUp) {
  v1::ResolvedLink link;
  link.set_dimensions(1);
  link.set_setup_cycles(10);
  link.set_bytes_per_cycle(16);
  link.set_granule_bytes(32);
  const v1::Layout rows = StridedLayout({6, 40}, {64, 1}, 1);
  const v1::Layout dense = DenseLayout({6, 40}, 1);
  // Six of 40 bytes, 64 in granules.
  EXPECT_EQ(*MoveCycles(link, rows, dense), 6 * 10 + 6 * 64 / 16);
  // One of 240 bytes, 256 in granules.
  EXPECT_EQ(*MoveCycles(link, dense, dense), 10 + 16);
  link.set_dimensions(2);
  EXPECT_EQ(*MoveCycles(link, rows, dense), 10 + 16);
  EXPECT_EQ(*MoveCycles(link, DenseLayout({0}, 1), DenseLayout({0}, 1)), 0);
  // Of the two parts of a partly filled block, each transfer by itself: 16
  // rows of 16 channels are one, 4 channels of each are another.
  link.set_granule_bytes(64);
  EXPECT_EQ(
      *MoveCycles(link, DenseLayout({1, 16, 20}, 1), Blocked(1, 16, 20, 16)),
      20 + (256 + 64) / 16);
}

// A link that counts bytes alone moves them as they lie; others address each.
TEST(MoveCostTest, ReversedBytesMoveInWholeGroups) {
  const auto reversed = [](v1::Layout layout, int32_t bytes) {
    layout.set_reversed_bytes(bytes);
    layout.set_size_bytes((layout.size_bytes() + 7) / 8 * 8);
    return layout;
  };
  const v1::Layout rows = StridedLayout({6, 40}, {64, 1}, 1);
  const v1::Layout dense = DenseLayout({6, 40}, 1);
  EXPECT_EQ(Transfers(reversed(rows, 4), reversed(dense, 4), 1), 6);
  EXPECT_EQ(Transfers(reversed(rows, 4), reversed(dense, 4), 2), 1);
  // Byte by byte where they are not reversed alike, and where rows begin within
  // a group.
  EXPECT_EQ(Transfers(reversed(rows, 4), dense, 2), 240);
  EXPECT_EQ(Transfers(reversed(rows, 4), reversed(dense, 8), 2), 240);
  const v1::Layout odd = StridedLayout({6, 40}, {62, 1}, 1);
  EXPECT_EQ(Transfers(reversed(odd, 4), reversed(dense, 4), 1), 240);
  EXPECT_EQ(Transfers(reversed(odd, 4), reversed(dense, 4), 2), 1);
  EXPECT_EQ(Transfers(reversed(odd, 2), reversed(dense, 2), 1), 6);
  // The second block, of 4 channels, begins within a group: it alone is moved
  // byte by byte.
  v1::Layout blocks = Blocked(1, 1, 20, 16);
  blocks.mutable_terms(0)->set_stride_bytes(18);
  blocks.set_size_bytes(34);
  EXPECT_EQ(Transfers(reversed(blocks, 4), reversed(blocks, 4), 1), 1 + 4);
}

TEST(MoveCostTest, RefusesWhatIsNoMove) {
  const v1::Layout array = DenseLayout({2, 3}, 1);
  EXPECT_FALSE(MoveTransfers(array, DenseLayout({3, 2}, 1), 1).ok());
  EXPECT_FALSE(MoveTransfers(array, DenseLayout({2, 3}, 2), 1).ok());
  v1::Layout illegal = array;
  illegal.mutable_terms(0)->set_stride_bytes(1);
  EXPECT_FALSE(MoveTransfers(array, illegal, 1).ok());
  EXPECT_FALSE(MoveTransfers(illegal, array, 1).ok());
}

// Places of all elements, in dense order.
std::vector<int64_t> PlacesOf(const v1::Layout& message) {
  const auto layout = Layout::Create(message);
  EXPECT_TRUE(layout.ok()) << layout.status();
  std::vector<int64_t> places(layout->dense_bytes());
  layout->VisitRuns([&](const Layout::Run& run) {
    for (int64_t i = 0; i < run.bytes; ++i) {
      places[run.dense_offset + i] = run.offset + i;
    }
    return true;
  });
  return places;
}

// Lengths of what lies together in both places, found element by element.
std::vector<int64_t> NaiveRuns(const v1::Layout& from, const v1::Layout& to) {
  const std::vector<int64_t> a = PlacesOf(from);
  const std::vector<int64_t> b = PlacesOf(to);
  std::map<int64_t, int64_t> at;
  for (size_t i = 0; i < a.size(); ++i) at[a[i]] = b[i];
  std::vector<int64_t> runs;
  for (const auto& [place, there] : at) {
    const auto before = at.find(place - 1);
    if (before == at.end() || before->second != there - 1) runs.push_back(0);
    ++runs.back();
  }
  return runs;
}

// The terms of each axis, placed in random order with gaps.
v1::Layout RandomLayout(Rng& rng, std::vector<int64_t> extents, bool partial) {
  v1::Layout layout;
  layout.set_element_bits(8);
  struct Part {
    v1::Layout::Term term;
    int64_t count = 1;
  };
  std::vector<Part> parts;
  for (size_t axis = 0; axis < extents.size(); ++axis) {
    const int64_t extent = extents[axis];
    layout.add_extents(extent);
    int64_t block = int64_t{1} << rng.Below(4);
    if (!partial && extent % block != 0) block = 1;
    Part low;
    low.term.set_axis(static_cast<int32_t>(axis));
    if (block == 1 || block >= extent) {
      low.count = extent;
      parts.push_back(low);
      continue;
    }
    Part high = low;
    low.term.set_modulo(block);
    low.count = block;
    high.term.set_divide(block);
    high.count = (extent + block - 1) / block;
    parts.push_back(low);
    parts.push_back(high);
  }
  rng.Shuffle(parts);
  int64_t span = 1;
  for (Part& part : parts) {
    part.term.set_stride_bytes(span + (rng.Below(4) == 0 ? rng.Below(3) : 0));
    span += (part.count - 1) * part.term.stride_bytes();
    *layout.add_terms() = part.term;
  }
  layout.set_size_bytes(span);
  return layout;
}

TEST(MoveCostTest, PlainTransfersAreRunsThatLieTogether) {
  Rng rng(3);
  int compared = 0;
  for (int round = 0; round < 400; ++round) {
    const bool partial = round % 2 == 1;
    std::vector<int64_t> extents;
    for (int axis = 0; axis < 3; ++axis) extents.push_back(1 + rng.Below(16));
    const v1::Layout from = RandomLayout(rng, extents, partial);
    const v1::Layout to = RandomLayout(rng, extents, partial);
    const int64_t plain = Transfers(from, to, 1);
    const std::vector<int64_t> runs = NaiveRuns(from, to);
    const auto naive = static_cast<int64_t>(runs.size());
    // The last of one row may happen to touch the first of another, which no
    // counter can follow.
    const bool even = std::count(runs.begin(), runs.end(), runs[0]) == naive;
    if (even && !partial) {
      ++compared;
      EXPECT_EQ(plain, naive);
    } else {
      EXPECT_GE(plain, naive);
    }
    EXPECT_EQ(Transfers(to, from, 1), plain);
    for (int d = 2; d < 5; ++d) {
      EXPECT_LE(Transfers(from, to, d), Transfers(from, to, d - 1));
    }
  }
  EXPECT_GT(compared, 100);
}

// Where each byte goes, by where it was; both as they lie.
std::map<int64_t, int64_t> Moved(const v1::Layout& from, const v1::Layout& to) {
  const std::vector<int64_t> a = PlacesOf(from);
  const std::vector<int64_t> b = PlacesOf(to);
  std::map<int64_t, int64_t> moved;
  for (size_t i = 0; i < a.size(); ++i) moved[a[i]] = b[i];
  return moved;
}

int64_t InGroup(int64_t place, const v1::Layout& layout) {
  return layout.reversed_bytes() == 0 ? place
                                      : place ^ (layout.reversed_bytes() - 1);
}

// The same by transfers, and how many there are.
std::map<int64_t, int64_t> MovedByLoops(const v1::Layout& from,
                                        const v1::Layout& to, int64_t* count) {
  std::map<int64_t, int64_t> moved;
  const auto loops = TransferLoopsOf(from, to);
  EXPECT_TRUE(loops.ok()) << loops.status();
  *count = 0;
  for (const TransferLoop& loop : *loops) {
    int64_t transfers = 1;
    for (const auto& counter : loop.counters) transfers *= counter.count;
    *count += transfers;
    for (int64_t t = 0; t < transfers; ++t) {
      int64_t source = loop.from;
      int64_t target = loop.to;
      int64_t left = t;
      for (const auto& counter : loop.counters) {
        source += left % counter.count * counter.from_step;
        target += left % counter.count * counter.to_step;
        left /= counter.count;
      }
      for (int64_t i = 0; i < loop.bytes; ++i) {
        const auto [at, is_new] = moved.try_emplace(InGroup(source + i, from),
                                                    InGroup(target + i, to));
        EXPECT_TRUE(is_new) << at->first;
      }
    }
  }
  return moved;
}

TEST(MoveCostTest, LoopsMoveEveryByteInAsManyTransfersAsCounted) {
  Rng rng(4);
  for (int round = 0; round < 400; ++round) {
    std::vector<int64_t> extents;
    for (int axis = 0; axis < 3; ++axis) extents.push_back(1 + rng.Below(12));
    v1::Layout from = RandomLayout(rng, extents, round % 2 == 1);
    v1::Layout to = RandomLayout(rng, extents, round % 2 == 1);
    for (v1::Layout* layout : {&from, &to}) {
      if (rng.Below(3) == 0) continue;
      layout->set_reversed_bytes(rng.Below(4) == 0 ? 2 : 4);
      layout->set_first_byte(rng.Below(4) == 0 ? 1 : 0);
      layout->set_size_bytes((layout->size_bytes() + 1 + 3) / 4 * 4);
    }
    SCOPED_TRACE(from.ShortDebugString() + " to " + to.ShortDebugString());
    int64_t transfers = 0;
    EXPECT_EQ(MovedByLoops(from, to, &transfers), Moved(from, to));
    EXPECT_EQ(transfers, Transfers(from, to, 1));
    if (HasFailure()) return;
  }
  EXPECT_TRUE(
      TransferLoopsOf(DenseLayout({0}, 1), DenseLayout({0}, 1))->empty());
  EXPECT_FALSE(TransferLoopsOf(DenseLayout({1}, 1), DenseLayout({2}, 1)).ok());
}

}  // namespace
}  // namespace edgekiln::target
