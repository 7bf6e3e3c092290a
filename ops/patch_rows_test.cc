#include "ops/patch_rows.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "ops/testing/test_tensor.h"

namespace edgekiln::ops {
namespace {

// Two images, whose columns and lines both have windows.
WindowGeometry Geometry(WindowGeometry::Extents in,
                        WindowGeometry::Extents kernel, int64_t channels) {
  WindowGeometry g;
  g.in = in;
  g.kernel = kernel;
  g.batch = 2;
  g.in_c = channels;
  return g;
}

// As many windows as fit with `after` columns, lines and planes of padding
// behind.
void SetOutput(WindowGeometry& g, WindowGeometry::Extents after) {
  for (int d = 0; d < 3; ++d) {
    g.out[d] = (g.in[d] + g.pad[d] + after[d] -
                (g.kernel[d] - 1) * g.dilation[d] - 1) /
                   g.stride[d] +
               1;
  }
}

// Row `row` by definition, of the channels from `first` on.
template <typename To>
std::vector<To> Window(const WindowGeometry& g, const std::vector<int8_t>& x,
                       int64_t row, int64_t first, int64_t channels, To zero) {
  const WindowGeometry::Extents at = g.PositionOf(row);
  std::vector<To> window;
  for (int64_t k = 0; k < g.positions(); ++k) {
    const WindowGeometry::Extents step = {k / (g.kernel[1] * g.kernel[2]),
                                          k / g.kernel[2] % g.kernel[1],
                                          k % g.kernel[2]};
    int64_t from = row / g.image_pixels();
    bool inside = true;
    for (int d = 0; d < 3; ++d) {
      const int64_t place =
          at[d] * g.stride[d] - g.pad[d] + step[d] * g.dilation[d];
      inside = inside && place >= 0 && place < g.in[d];
      from = from * g.in[d] + place;
    }
    for (int64_t c = 0; c < channels; ++c) {
      window.push_back(
          inside ? static_cast<To>(x[from * g.in_c + first + c] - zero)
                 : To{0});
    }
  }
  return window;
}

// Writes all rows, a few at a time, in ascending order.
template <typename To>
void ExpectWindows(const WindowGeometry& g, int64_t groups = 1) {
  TestRandom random(7);
  TestTensor<int8_t> x{{g.batch * g.input_pixels() * g.in_c}};
  random.Fill(x);
  const To zero = -3;
  const int64_t channels = g.in_c / groups;
  for (int64_t group = 0; group < groups; ++group) {
    const int64_t first_channel = group * channels;
    const PatchRows<To> patches(g, x.values.data() + first_channel, channels,
                                zero);
    const int64_t depth = g.positions() * channels;
    constexpr int64_t kRows = 5;
    std::vector<To> rows(kRows * depth + kRowSlack);
    for (int64_t first = 0; first < g.pixels(); first += kRows) {
      const int64_t count = std::min(kRows, g.pixels() - first);
      patches.Write(first, count, depth, rows.data());
      for (int64_t r = 0; r < count; ++r) {
        const auto begin = rows.begin() + r * depth;
        ASSERT_EQ(
            std::vector<To>(begin, begin + depth),
            Window<To>(g, x.values, first + r, first_channel, channels, zero))
            << "row " << first + r << " of group " << group;
      }
    }
  }
}

void ExpectWindowsOfAllTypes(const WindowGeometry& g, int64_t groups = 1) {
  ExpectWindows<int16_t>(g, groups);
  ExpectWindows<float>(g, groups);
  ExpectWindows<int64_t>(g, groups);
}

// Runs of 1 to 8 vectors are copied as vectors, longer ones at once.
TEST(PatchRowsTest, RunsOfAllLengths) {
  for (const int64_t channels : {1, 2, 3, 5, 8, 11, 16, 21, 22, 43, 64}) {
    WindowGeometry g = Geometry({1, 4, 5}, {1, 2, 3}, channels);
    g.pad = {0, 1, 1};
    SetOutput(g, {0, 0, 1});
    ExpectWindowsOfAllTypes(g);
  }
}

TEST(PatchRowsTest, Groups) {
  WindowGeometry g = Geometry({1, 4, 5}, {1, 3, 2}, 12);
  g.pad = {0, 1, 1};
  SetOutput(g, {0, 1, 0});
  ExpectWindowsOfAllTypes(g, 3);
}

TEST(PatchRowsTest, StridesAndDilationsInThreeDimensions) {
  WindowGeometry g = Geometry({4, 5, 7}, {2, 2, 3}, 3);
  g.pad = {1, 0, 2};
  g.stride = {1, 2, 3};
  g.dilation = {2, 1, 2};
  SetOutput(g, {1, 1, 2});
  ExpectWindowsOfAllTypes(g);
}

// First and last windows lie in the padding alone.
TEST(PatchRowsTest, PadsLargerThanTheWindow) {
  WindowGeometry g = Geometry({2, 3, 4}, {2, 2, 2}, 5);
  g.pad = {3, 4, 5};
  SetOutput(g, {3, 4, 5});
  ExpectWindowsOfAllTypes(g);
}

// With one window per dimension, none of which reaches the input.
TEST(PatchRowsTest, PadsThatTheWindowsDoNotLeave) {
  for (int d = 0; d < 3; ++d) {
    WindowGeometry g = Geometry({2, 3, 4}, {2, 2, 2}, 5);
    SetOutput(g, {0, 0, 0});
    g.pad[d] = 9;
    g.out[d] = 1;
    ExpectWindowsOfAllTypes(g);
  }
}

// Windows do not reach all of the input.
TEST(PatchRowsTest, InputThatNoWindowSees) {
  WindowGeometry g = Geometry({1, 6, 6}, {1, 2, 2}, 3);
  g.stride = {1, 3, 3};
  SetOutput(g, {0, 0, 0});
  g.out[1] = 1;
  ExpectWindowsOfAllTypes(g);
}

TEST(PatchRowsTest, PaysWhereWindowsOverlap) {
  WindowGeometry g = Geometry({1, 8, 8}, {1, 3, 3}, 4);
  SetOutput(g, {0, 0, 0});
  EXPECT_TRUE(PatchRows<int16_t>::Pays(g, 4));
  // Each input pixel is seen once.
  g.kernel = {1, 1, 1};
  SetOutput(g, {0, 0, 0});
  EXPECT_FALSE(PatchRows<int16_t>::Pays(g, 4));
  // Most are not seen at all.
  g.kernel = {1, 2, 2};
  g.stride = {1, 5, 5};
  g.in = {1, 52, 52};
  SetOutput(g, {0, 0, 0});
  EXPECT_FALSE(PatchRows<int16_t>::Pays(g, 4));
  // Nor with few windows of far apart steps.
  g = Geometry({1, 64, 64}, {1, 2, 2}, 4);
  g.dilation = {1, 60, 60};
  SetOutput(g, {0, 0, 0});
  EXPECT_FALSE(PatchRows<int16_t>::Pays(g, 4));
}

TEST(PatchRowsTest, PaysUpToALimitOfElements) {
  WindowGeometry g = Geometry({1, 512, 512}, {1, 3, 3}, 8);
  SetOutput(g, {0, 0, 0});
  EXPECT_TRUE(PatchRows<int16_t>::Pays(g, 8));
  g.batch = 3;
  EXPECT_FALSE(PatchRows<int16_t>::Pays(g, 8));
  g.batch = int64_t{1} << 40;
  EXPECT_FALSE(PatchRows<int16_t>::Pays(g, int64_t{1} << 40));
  g.batch = 0;
  EXPECT_FALSE(PatchRows<int16_t>::Pays(g, 8));
}

}  // namespace
}  // namespace edgekiln::ops
