#include "ops/squash_table.h"

#include <cmath>

#include "gtest/gtest.h"

namespace edgekiln::ops {
namespace {

// Entries of the table as TensorFlow Lite publishes it: tanh at a whole entry
// is that entry less 1/2.
TEST(SquashTableTest, EntriesAsPublished) {
  const struct {
    int entry, value;
  } rows[] = {{0, 32768},  {1, 33451},   {11, 40149},  {22, 46817}, {33, 52311},
              {44, 56503}, {55, 59519},  {66, 61599},  {77, 62990}, {88, 63903},
              {99, 64494}, {110, 64873}, {121, 65115}, {132, 65269}};
  const SquashTable table;
  for (const auto& row : rows) {
    EXPECT_EQ(table.Tanh(row.entry << 8), row.value - 32768) << row.entry;
    EXPECT_EQ(table.Sigmoid(row.entry << 9), (row.value + 1) >> 1) << row.entry;
  }
}

TEST(SquashTableTest, IsNearTheFunctionsAndEndsAtOne) {
  const SquashTable table;
  for (int64_t place = -(1 << 18); place <= 1 << 18; place += 77) {
    const double x = static_cast<double>(place) / 12288;
    ASSERT_NEAR(table.Sigmoid(place) * 0x1p-15, 1 / (1 + std::exp(-x)),
                1.5 * 0x1p-15)
        << place;
    ASSERT_NEAR(table.Tanh(place) * 0x1p-15, std::tanh(x), 2.5 * 0x1p-15)
        << place;
  }
  for (const int64_t far : {int64_t{1} << 17, int64_t{1} << 55}) {
    EXPECT_EQ(table.Sigmoid(far), 32767);
    EXPECT_EQ(table.Sigmoid(-far), 1);
    EXPECT_EQ(table.Tanh(far), 32767);
    EXPECT_EQ(table.Tanh(-far), -32767);
  }
}

}  // namespace
}  // namespace edgekiln::ops
