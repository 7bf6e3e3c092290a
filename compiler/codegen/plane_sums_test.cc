#include "compiler/codegen/plane_sums.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "target/layout.h"

namespace edgekiln::compiler {
namespace {

v1::Layout Planes(int64_t h, int64_t w, int64_t c, int32_t reversed_bytes) {
  v1::Layout layout =
      target::StridedLayout({1, h, w, c}, {h * w * c, w, 1, h * w}, 1);
  layout.set_reversed_bytes(reversed_bytes);
  layout.set_size_bytes(h * w * c);
  return layout;
}

void Move(const std::string& from, const v1::Layout& from_layout,
          std::string& to, const v1::Layout& to_layout, int64_t from_offset,
          int64_t to_offset) {
  const auto read = target::Layout::Create(from_layout);
  const auto written = target::Layout::Create(to_layout);
  ASSERT_TRUE(read.ok() && written.ok()) << read.status() << written.status();
  std::string dense(static_cast<size_t>(read->dense_bytes()), '\0');
  ASSERT_LE(from_offset + read->size_bytes(), std::ssize(from));
  ASSERT_LE(to_offset + written->size_bytes(), std::ssize(to));
  read->Gather(from.data() + from_offset, dense.data());
  written->Scatter(dense.data(), to.data() + to_offset);
}

TEST(LiesInPlanesTest, WholeGroupsInAll) {
  EXPECT_TRUE(LiesInPlanes(Planes(2, 4, 3, 4)));
  EXPECT_TRUE(LiesInPlanes(Planes(25, 5, 64, 4)));
  EXPECT_TRUE(LiesInPlanes(Planes(5, 5, 3, 0)));
  EXPECT_FALSE(LiesInPlanes(Planes(5, 5, 3, 4)));
  EXPECT_FALSE(LiesInPlanes(target::DenseLayout({1, 2, 4, 3}, 1)));
}

// Every plane ends up with its own bytes, in some order.
TEST(SharedGroupsTest, PlanesGetTheirOwnBytes) {
  for (const int32_t group : {2, 4, 8}) {
    for (int64_t plane = 1; plane <= 17; ++plane) {
      for (const int64_t channels : {8, 16, 24}) {
        for (const int64_t room_bytes : {8, 24, 1000}) {
          SCOPED_TRACE(testing::Message()
                       << channels << " planes of " << plane << " in groups of "
                       << group << ", room " << room_bytes);
          const v1::Layout layout = Planes(plane, 1, channels, group);
          ASSERT_TRUE(LiesInPlanes(layout));
          // The value of each element is its plane.
          std::string place(static_cast<size_t>(plane * channels), '\xff');
          for (int64_t at = 0; at < std::ssize(place); ++at) {
            place[at / group * group + group - 1 - at % group] =
                static_cast<char>(at / plane);
          }
          for (const SharedGroups& row : SharedGroupsOf(layout, room_bytes)) {
            ASSERT_LE(row.room.size_bytes(), room_bytes);
            std::string room(static_cast<size_t>(room_bytes), '\0');
            Move(place, row.reversed, room, row.room, row.offset, 0);
            Move(room, row.room, place, row.ordered, 0, row.offset);
          }
          for (int64_t at = 0; at < std::ssize(place); ++at) {
            ASSERT_EQ(place[at], at / plane) << at;
          }
        }
      }
    }
  }
}

// Of 64 planes of 125 bytes, three words in 500 bytes hold bytes of two.
TEST(SharedGroupsTest, OnlyWordsBetweenPlanes) {
  const auto groups = SharedGroupsOf(Planes(25, 5, 64, 4), 64);
  ASSERT_EQ(groups.size(), 3);
  for (size_t i = 0; i < groups.size(); ++i) {
    EXPECT_EQ(groups[i].offset, 124 * (static_cast<int64_t>(i) + 1));
    EXPECT_EQ(groups[i].room.size_bytes(), 64);
    EXPECT_EQ(groups[i].ordered.terms(0).stride_bytes(), 500);
  }
  EXPECT_TRUE(SharedGroupsOf(Planes(8, 8, 64, 4), 64).empty());
  EXPECT_TRUE(SharedGroupsOf(Planes(5, 5, 3, 0), 64).empty());
}

}  // namespace
}  // namespace edgekiln::compiler
