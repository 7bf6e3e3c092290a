#include "target/layout_parts.h"

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "base/rng.h"
#include "gtest/gtest.h"
#include "target/layout.h"

namespace edgekiln::target {
namespace {

// {h, w, c} with channels in blocks: NC[H][W]c.
v1::Layout Blocked(int64_t h, int64_t w, int64_t c, int64_t block) {
  v1::Layout layout;
  for (const int64_t extent : {h, w, c}) layout.add_extents(extent);
  layout.set_element_bits(8);
  layout.set_size_bytes((c + block - 1) / block * h * w * block);
  const auto add = [&](int axis, int64_t divide, int64_t modulo,
                       int64_t stride) {
    v1::Layout::Term& term = *layout.add_terms();
    term.set_axis(axis);
    term.set_divide(divide);
    term.set_modulo(modulo);
    term.set_stride_bytes(stride);
  };
  add(2, block, 0, h * w * block);
  add(0, 1, 0, w * block);
  add(1, 1, 0, block);
  add(2, 1, block, 1);
  return layout;
}

TEST(CanonicalTest, WhatLiesDenselyBecomesTheDenseLayout) {
  EXPECT_EQ(Canonical(Blocked(3, 5, 16, 16)).SerializeAsString(),
            DenseLayout({3, 5, 16}, 1).SerializeAsString());
  EXPECT_EQ(Canonical(Blocked(1, 1, 64, 16)).SerializeAsString(),
            DenseLayout({1, 1, 64}, 1).SerializeAsString());
  // Gaps behind channels that fill no block stay.
  EXPECT_EQ(Canonical(Blocked(3, 5, 4, 16)).terms(1).stride_bytes(), 16);
  EXPECT_EQ(Canonical(Blocked(3, 5, 64, 16)).terms_size(), 4);
}

TEST(SamePlacesTest, HoweverItIsWritten) {
  // The last block of the second axis is not full.
  v1::Layout blocks;
  blocks.add_extents(4);
  blocks.add_extents(35);
  blocks.set_element_bits(8);
  v1::Layout dense = blocks;
  const auto add = [](v1::Layout& layout, int axis, int64_t divide,
                      int64_t modulo, int64_t stride) {
    v1::Layout::Term& term = *layout.add_terms();
    term.set_axis(axis);
    term.set_divide(divide);
    term.set_modulo(modulo);
    term.set_stride_bytes(stride);
  };
  add(blocks, 1, 16, 0, 256);
  add(blocks, 1, 1, 16, 16);
  add(blocks, 0, 1, 0, 1);
  blocks.set_size_bytes(768);
  add(dense, 0, 1, 0, 1);
  add(dense, 1, 1, 0, 16);
  dense.set_size_bytes(548);
  EXPECT_TRUE(SamePlaces(blocks, dense));
  blocks.mutable_terms(0)->set_stride_bytes(272);
  EXPECT_FALSE(SamePlaces(blocks, dense));
  blocks.mutable_terms(0)->set_stride_bytes(256);
  blocks.set_first_byte(1);
  EXPECT_FALSE(SamePlaces(blocks, dense));
}

TEST(WithoutGapsTest, KeepsTheOrder) {
  v1::Layout blocks = Blocked(3, 5, 4, 16);
  blocks.set_reversed_bytes(4);
  v1::Layout dense = DenseLayout({3, 5, 4}, 1);
  dense.set_reversed_bytes(4);
  const auto closer = WithoutGaps(blocks);
  ASSERT_TRUE(closer.has_value());
  EXPECT_EQ(closer->SerializeAsString(), dense.SerializeAsString());
  // Full blocks have no gaps.
  const v1::Layout full = Canonical(Blocked(3, 5, 64, 16));
  ASSERT_TRUE(WithoutGaps(full).has_value());
  EXPECT_EQ(WithoutGaps(full)->SerializeAsString(), full.SerializeAsString());
  const auto rows = WithoutGaps(StridedLayout({2, 3, 4}, {400, 8, 100}, 2));
  ASSERT_TRUE(rows.has_value());
  EXPECT_EQ(
      rows->SerializeAsString(),
      Canonical(StridedLayout({2, 3, 4}, {24, 2, 6}, 2)).SerializeAsString());
}

TEST(WithoutGapsTest, NotOfBlocksOrGroupsThatAreNotFull) {
  EXPECT_FALSE(WithoutGaps(Blocked(3, 5, 20, 16)).has_value());
  v1::Layout odd = Blocked(3, 5, 3, 16);
  EXPECT_TRUE(WithoutGaps(odd).has_value());
  odd.set_reversed_bytes(4);
  EXPECT_FALSE(WithoutGaps(odd).has_value());
}

TEST(PartOfTest, FindsBlocksAndPartsOfOneBlock) {
  const v1::Layout whole = Canonical(Blocked(4, 5, 64, 16));
  const auto blocks = PartOf(whole, {0, 0, 32}, {4, 5, 16});
  ASSERT_TRUE(blocks.has_value());
  EXPECT_EQ(blocks->offset, 2 * 4 * 5 * 16);
  EXPECT_EQ(blocks->layout.terms_size(), 3);
  const auto inside = PartOf(whole, {1, 2, 20}, {2, 1, 8});
  ASSERT_TRUE(inside.has_value());
  EXPECT_EQ(inside->offset, 4 * 5 * 16 + 5 * 16 + 2 * 16 + 4);
  // Reaches into the next block from within one.
  EXPECT_FALSE(PartOf(whole, {0, 0, 20}, {4, 5, 16}).has_value());
}

// Element by element, against the layout class.
TEST(PartOfTest, LiesWhereTheWholeHasIt) {
  const v1::Layout whole = Blocked(4, 5, 40, 16);
  const v1::Box box = [] {
    v1::Box part;
    for (const int64_t begin : {1, 2, 16}) part.add_begin(begin);
    for (const int64_t end : {4, 4, 40}) part.add_end(end);
    return part;
  }();
  const auto layout = Layout::Create(whole);
  ASSERT_TRUE(layout.ok()) << layout.status();
  std::string dense(4 * 5 * 40, '\0');
  for (size_t i = 0; i < dense.size(); ++i)
    dense[i] = static_cast<char>(i % 251);
  std::string memory(static_cast<size_t>(layout->size_bytes()), '\0');
  layout->Scatter(dense.data(), memory.data());
  const auto cut = Layout::OfBox(box, {4, 5, 40}, 1);
  ASSERT_TRUE(cut.ok());
  std::string expected(3 * 2 * 24, '\0');
  cut->Gather(dense.data(), expected.data());

  const auto part = PartOf(Canonical(whole), {1, 2, 16}, {3, 2, 24});
  ASSERT_TRUE(part.has_value());
  const auto there = Layout::Create(part->layout);
  ASSERT_TRUE(there.ok()) << there.status();
  std::string found(expected.size(), '\0');
  there->Gather(memory.data() + part->offset, found.data());
  EXPECT_EQ(found, expected);
}

// A part that begins within a group has bytes of others in it.
TEST(PartOfTest, GroupsOfReversedBytesStayWhole) {
  v1::Layout whole = StridedLayout({3, 4, 12}, {48, 12, 1}, 1);
  whole.set_reversed_bytes(4);
  const auto part = PartOf(Canonical(whole), {1, 2, 4}, {2, 1, 6});
  ASSERT_TRUE(part.has_value());
  EXPECT_EQ(part->offset, 48 + 24 + 4);
  EXPECT_EQ(part->layout.reversed_bytes(), 4);
  EXPECT_EQ(part->layout.size_bytes(), 56);  // 54 end within a group.

  const auto layout = Layout::Create(whole);
  ASSERT_TRUE(layout.ok()) << layout.status();
  std::string dense(3 * 4 * 12, '\0');
  for (size_t i = 0; i < dense.size(); ++i) dense[i] = static_cast<char>(i);
  std::string memory(static_cast<size_t>(layout->size_bytes()), '\0');
  layout->Scatter(dense.data(), memory.data());
  const auto there = Layout::Create(part->layout);
  ASSERT_TRUE(there.ok()) << there.status();
  std::string found(12, '\0');
  there->Gather(memory.data() + part->offset, found.data());
  EXPECT_EQ(found.substr(0, 6), dense.substr(48 + 24 + 4, 6));
  EXPECT_EQ(found.substr(6), dense.substr(96 + 24 + 4, 6));
}

// A part, and a part of that, begin and end wherever they do.
TEST(PartOfTest, OfReversedBytesBeginsWithinAGroup) {
  Rng rng(3);
  for (int i = 0; i < 300; ++i) {
    const int64_t group = int64_t{2} << rng.Below(3);
    v1::Layout whole = StridedLayout({3, 4, 7}, {31, 7, 1}, 1);
    const int64_t first = rng.InRange(0, group - 1);
    whole.set_reversed_bytes(static_cast<int32_t>(group));
    whole.set_first_byte(static_cast<int32_t>(first));
    whole.set_size_bytes((whole.size_bytes() + first + group - 1) / group *
                         group);
    SCOPED_TRACE(whole.ShortDebugString());
    const auto layout = Layout::Create(whole);
    ASSERT_TRUE(layout.ok()) << layout.status();
    std::string dense(3 * 4 * 7, '\0');
    std::iota(dense.begin(), dense.end(), 0);
    std::string memory(static_cast<size_t>(layout->size_bytes()), '\0');
    layout->Scatter(dense.data(), memory.data());

    std::vector<int64_t> begin(3, 0);
    std::vector<int64_t> extents = {3, 4, 7};
    v1::Layout part = Canonical(whole);
    int64_t offset = 0;
    for (int cut = 0; cut < 2; ++cut) {
      std::vector<int64_t> from(3);
      for (int axis = 0; axis < 3; ++axis) {
        from[axis] = rng.InRange(0, extents[axis] - 1);
        extents[axis] = rng.InRange(1, extents[axis] - from[axis]);
        begin[axis] += from[axis];
      }
      const auto next = PartOf(part, from, extents);
      ASSERT_TRUE(next.has_value());
      part = next->layout;
      offset += next->offset;
      EXPECT_EQ(offset % group, 0);
      const auto there = Layout::Create(part);
      ASSERT_TRUE(there.ok()) << there.status();
      EXPECT_LE(offset + there->size_bytes(), layout->size_bytes());
      v1::Box box;
      for (int axis = 0; axis < 3; ++axis) {
        box.add_begin(begin[axis]);
        box.add_end(begin[axis] + extents[axis]);
      }
      const auto wanted = Layout::OfBox(box, {3, 4, 7}, 1);
      ASSERT_TRUE(wanted.ok()) << wanted.status();
      std::string want(static_cast<size_t>(wanted->dense_bytes()), '\0');
      wanted->Gather(dense.data(), want.data());
      std::string found(want.size(), '\0');
      there->Gather(memory.data() + offset, found.data());
      EXPECT_EQ(found, want);
    }
  }
}

// As PartOf() and SamePlaces() for each part.
TEST(PartComparisonTest, AgreesWithThePartsThemselves) {
  int same = 0;
  int other = 0;
  for (const int reversed : {0, 4}) {
    for (const int64_t block : {1, 4, 16}) {
      for (const int64_t channels : {5, 16, 24, 40}) {
        v1::Layout whole = Blocked(2, 3, channels, block);
        whole.set_reversed_bytes(reversed);
        for (const int64_t size : {1, 3, 4, 8, 16, 20}) {
          for (const int unlike : {0, 1, 2}) {
            // Like the whole; with other rows and columns; with other channels.
            v1::Layout part = Blocked(2, 3, size, unlike == 1 ? 8 : block);
            part.set_reversed_bytes(reversed);
            if (unlike == 2) {
              v1::Layout::Term& blocks = *part.mutable_terms(0);
              blocks.set_stride_bytes(2 * blocks.stride_bytes());
              part.set_size_bytes(2 * part.size_bytes());
            }
            const PartComparison comparison(whole, 2, part);
            for (int64_t begin = 0; begin + size <= channels; ++begin) {
              const auto there = PartOf(whole, {0, 0, begin}, {2, 3, size});
              v1::Layout moved = part;
              if (there) moved.set_first_byte(there->layout.first_byte());
              const bool expected =
                  there.has_value() && SamePlaces(moved, there->layout);
              EXPECT_EQ(comparison.SameSteps(begin), expected)
                  << channels << " in " << block << ": " << begin << ", "
                  << size;
              ++(expected ? same : other);
            }
          }
        }
      }
    }
  }
  EXPECT_GT(same, 100);
  EXPECT_GT(other, 100);
}

TEST(PartComparisonTest, OfOtherArraysIsFalse) {
  const v1::Layout whole = DenseLayout({2, 3, 8}, 1);
  EXPECT_TRUE(PartComparison(whole, 2, whole).SameSteps(0));
  EXPECT_FALSE(
      PartComparison(whole, 2, DenseLayout({2, 4, 8}, 1)).SameSteps(0));
  EXPECT_FALSE(
      PartComparison(whole, 2, DenseLayout({2, 3, 8}, 2)).SameSteps(0));
  EXPECT_FALSE(PartComparison(whole, 2, DenseLayout({6, 8}, 1)).SameSteps(0));
  v1::Layout reversed = whole;
  reversed.set_reversed_bytes(4);
  EXPECT_FALSE(PartComparison(whole, 2, reversed).SameSteps(0));
}

TEST(CanonicalTest, ReversedBytesAreOtherPlaces) {
  const v1::Layout plain = DenseLayout({3, 4}, 1);
  v1::Layout reversed = plain;
  reversed.set_reversed_bytes(4);
  EXPECT_EQ(Canonical(reversed).reversed_bytes(), 4);
  EXPECT_FALSE(SamePlaces(plain, reversed));
  EXPECT_TRUE(SamePlaces(reversed, reversed));
  const auto shaped = InShape(reversed, {12});
  ASSERT_TRUE(shaped.has_value());
  EXPECT_EQ(shaped->reversed_bytes(), 4);
  EXPECT_EQ(Permuted(reversed, {1, 0}).reversed_bytes(), 4);
}

TEST(InShapeTest, GivesTheSameBytesOtherAxes) {
  const auto image = InShape(Blocked(4, 5, 64, 16), {1, 4, 5, 64});
  ASSERT_TRUE(image.has_value());
  EXPECT_EQ(image->extents_size(), 4);
  EXPECT_EQ(image->terms(0).axis(), 1);
  EXPECT_EQ(image->terms(0).stride_bytes(), 5 * 16);
  // h in two axes.
  const auto rows = InShape(Blocked(6, 5, 64, 16), {2, 3, 5, 64});
  ASSERT_TRUE(rows.has_value());
  EXPECT_EQ(rows->terms(0).stride_bytes(), 3 * 5 * 16);
  // One pixel is dense, whatever the tensor's shape.
  const auto vector = InShape(Blocked(1, 1, 64, 16), {1, 2, 2, 16});
  ASSERT_TRUE(vector.has_value());
  EXPECT_EQ(vector->SerializeAsString(),
            DenseLayout({1, 2, 2, 16}, 1).SerializeAsString());
}

// Every element of `layout` and of the other one, which has the same elements
// in dense order, lies at one place.
void ExpectSamePlaces(const v1::Layout& layout, const v1::Layout& other) {
  const auto a = Layout::Create(layout);
  const auto b = Layout::Create(other);
  ASSERT_TRUE(a.ok() && b.ok()) << a.status() << b.status();
  ASSERT_EQ(a->dense_bytes(), b->dense_bytes());
  std::string memory(static_cast<size_t>(a->size_bytes()), '\0');
  for (size_t i = 0; i < memory.size(); ++i) {
    memory[i] = static_cast<char>(i * 31 % 251);
  }
  std::string from(static_cast<size_t>(a->dense_bytes()), '\0');
  std::string to = from;
  a->Gather(memory.data(), from.data());
  b->Gather(memory.data(), to.data());
  EXPECT_TRUE(from == to);
}

// Blocks of channels under one axis, and back.
TEST(InShapeTest, FlattensBlocksWhereTheyAreDigitsOfTheIndex) {
  const v1::Layout blocked = Canonical(Blocked(2, 3, 32, 16));
  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{1, 192},
                                            {6, 32},
                                            {2, 96},
                                            {2, 3, 2, 16},
                                            {12, 16},
                                            {24, 8},
                                            {2, 3, 4, 8},
                                            {3, 64},
                                            {192}}) {
    const auto flat = InShape(blocked, shape);
    ASSERT_TRUE(flat.has_value()) << shape[0];
    ExpectSamePlaces(blocked, *flat);
    const auto back = InShape(*flat, {2, 3, 32});
    ASSERT_TRUE(back.has_value());
    EXPECT_EQ(back->SerializeAsString(), blocked.SerializeAsString());
  }
  // Dense arrays are dense under any axes.
  const auto dense = InShape(DenseLayout({4, 4, 20}, 1), {2, 5, 32});
  ASSERT_TRUE(dense.has_value());
  EXPECT_EQ(dense->SerializeAsString(),
            DenseLayout({2, 5, 32}, 1).SerializeAsString());
  // Rows of 48 and of 32: neither divides the other.
  EXPECT_FALSE(InShape(blocked, {4, 48}).has_value());
  // 20 channels in blocks of 16: not digits of an index of more than channels.
  const v1::Layout partial = Canonical(Blocked(2, 3, 20, 16));
  EXPECT_FALSE(InShape(partial, {1, 120}).has_value());
  EXPECT_FALSE(InShape(partial, {2, 3, 4, 5}).has_value());
  const auto rows = InShape(partial, {6, 1, 20});
  ASSERT_TRUE(rows.has_value());
  ExpectSamePlaces(partial, *rows);
}

TEST(PermutedTest, LiesWhereTheOtherAxesSay) {
  const v1::Layout dense = DenseLayout({3, 4, 5}, 1);  // c, h, w.
  const v1::Layout permuted = Permuted(dense, {1, 2, 0});
  EXPECT_EQ(permuted.extents(0), 4);
  EXPECT_EQ(permuted.extents(2), 3);
  EXPECT_EQ(permuted.terms(0).stride_bytes(), 5);
  EXPECT_EQ(permuted.terms(1).stride_bytes(), 1);
  EXPECT_EQ(permuted.terms(2).stride_bytes(), 20);
  EXPECT_EQ(Permuted(permuted, {2, 0, 1}).SerializeAsString(),
            dense.SerializeAsString());
}

}  // namespace
}  // namespace edgekiln::target
