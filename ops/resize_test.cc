#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "ops/shape_inference.h"
#include "ops/testing/test_tensor.h"

// Resampling of rows and small images. Expected values are worked out by hand
// from the definition of each mode.
namespace edgekiln::ops {
namespace {

using R = v1::Resize;

struct RowCase {
  std::string name;
  R::Mode mode;
  R::Coordinates coordinates;
  R::NearestRounding rounding;
  std::vector<float> x;
  float scale;  // 0: none.
  std::vector<float> y;
};

class ResizeRowTest : public testing::TestWithParam<RowCase> {};

TEST_P(ResizeRowTest, ReadsWhatItShould) {
  const RowCase& c = GetParam();
  v1::OpAttributes op;
  R& resize = *op.mutable_resize();
  resize.set_mode(c.mode);
  resize.set_coordinates(c.coordinates);
  resize.set_nearest_rounding(c.rounding);
  resize.set_cubic_coeff_a(-0.75f);
  resize.add_shape(std::ssize(c.y));
  if (c.scale > 0) resize.add_scale(c.scale);
  TestTensor<float> x{{std::ssize(c.x)}, c.x};
  TestTensor<float> y{{std::ssize(c.y)}};
  const absl::Status status = Compute(op, {x.view()}, y);
  ASSERT_TRUE(status.ok()) << status;
  for (size_t i = 0; i < c.y.size(); ++i) {
    EXPECT_NEAR(y.values[i], c.y[i], 1e-5) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, ResizeRowTest,
    testing::Values(
        RowCase{"nearest_half_pixel",
                R::NEAREST,
                R::HALF_PIXEL,
                R::ROUND_PREFER_FLOOR,
                {1, 2},
                0,
                {1, 1, 2, 2}},
        // (x + 0.5) * 4 / 2 - 0.5 = 0.5, 2.5: both are ties.
        RowCase{"nearest_prefers_floor",
                R::NEAREST,
                R::HALF_PIXEL,
                R::ROUND_PREFER_FLOOR,
                {1, 2, 3, 4},
                0,
                {1, 3}},
        RowCase{"nearest_prefers_ceil",
                R::NEAREST,
                R::HALF_PIXEL,
                R::ROUND_PREFER_CEIL,
                {1, 2, 3, 4},
                0,
                {2, 4}},
        RowCase{"nearest_floor",
                R::NEAREST,
                R::ASYMMETRIC,
                R::FLOOR,
                {1, 2, 3},
                0,
                {1, 1, 2, 2, 3, 3}},
        RowCase{"nearest_ceil",
                R::NEAREST,
                R::ASYMMETRIC,
                R::CEIL,
                {1, 2, 3},
                0,
                {1, 2, 2, 3, 3, 3}},
        // 0, 0.667, 1.333, 2
        RowCase{"nearest_corners",
                R::NEAREST,
                R::ALIGN_CORNERS,
                R::ROUND_PREFER_FLOOR,
                {1, 2, 3},
                0,
                {1, 2, 2, 3}},
        // (x + 0.5) * 3 / 2 = 0.75, 2.25
        RowCase{"nearest_tf_half_pixel",
                R::NEAREST,
                R::TF_HALF_PIXEL_FOR_NN,
                R::FLOOR,
                {1, 2, 3},
                0,
                {1, 3}},
        // 3 / 0.6f is 5 in float, 4.9999998 in double.
        RowCase{"nearest_scale_in_float",
                R::NEAREST,
                R::ASYMMETRIC,
                R::FLOOR,
                {0, 1, 2, 3, 4, 5, 6, 7, 8},
                0.6f,
                {0, 1, 3, 5, 6}},
        // The ratio of the extents, rounded: the last pixel is the last pixel.
        RowCase{"nearest_corners_ratio",
                R::NEAREST,
                R::ALIGN_CORNERS,
                R::FLOOR,
                {0, 1, 2},
                7.0f / 3.0f,
                {0, 0, 0, 1, 1, 1, 2}},
        RowCase{"linear_half_pixel",
                R::LINEAR,
                R::HALF_PIXEL,
                R::FLOOR,
                {1, 2},
                0,
                {1, 1.25f, 1.75f, 2}},
        RowCase{"linear_asymmetric",
                R::LINEAR,
                R::ASYMMETRIC,
                R::FLOOR,
                {1, 2},
                0,
                {1, 1.5f, 2, 2}},
        RowCase{"linear_corners",
                R::LINEAR,
                R::ALIGN_CORNERS,
                R::FLOOR,
                {1, 4},
                0,
                {1, 2, 3, 4}},
        // The length before rounding counts: 2.4, so steps of 3 / 1.4.
        RowCase{"linear_corners_scale",
                R::LINEAR,
                R::ALIGN_CORNERS,
                R::FLOOR,
                {1, 2, 3, 4},
                0.6f,
                {1, 3.142857f}},
        RowCase{"linear_pytorch_to_one",
                R::LINEAR,
                R::PYTORCH_HALF_PIXEL,
                R::FLOOR,
                {1, 2, 3, 4},
                0,
                {1}},
        // Length 2.4 of 2: offset 2 * (1 - 2 / 2.4) = 0.3333 of the centre.
        RowCase{"linear_symmetric",
                R::LINEAR,
                R::HALF_PIXEL_SYMMETRIC,
                R::FLOOR,
                {1, 2, 3, 4},
                0.6f,
                {1.666667f, 3.333333f}},
        RowCase{"cubic_half_pixel",
                R::CUBIC,
                R::HALF_PIXEL,
                R::FLOOR,
                {1, 2, 3, 4},
                0.8f,
                {1.0942383f, 2.4042969f, 3.7055664f}}),
    [](const auto& info) { return info.param.name; });

TEST(ResizeTest, ExcludedNeighboursLeaveTheirWeightToTheOthers) {
  v1::OpAttributes op;
  R& resize = *op.mutable_resize();
  resize.set_mode(R::CUBIC);
  resize.set_cubic_coeff_a(-0.5f);
  resize.set_exclude_outside(true);
  resize.add_shape(4);
  TestTensor<float> x{{2}, {1, 3}}, y{{4}};
  ASSERT_TRUE(Compute(op, {x.view()}, y).ok());
  // Coordinates -0.25, 0.25, ...: weights by distance, of the two inside only.
  const auto w = [](double d) {
    return d <= 1 ? ((1.5 * d - 2.5) * d) * d + 1
                  : ((-0.5 * d + 2.5) * d - 4) * d + 2;
  };
  const double first = (w(0.25) * 1 + w(1.25) * 3) / (w(0.25) + w(1.25));
  const double second = (w(0.25) * 1 + w(0.75) * 3) / (w(0.25) + w(0.75));
  EXPECT_NEAR(y.values[0], first, 1e-6);
  EXPECT_NEAR(y.values[1], second, 1e-6);
}

TEST(ResizeTest, AntialiasAveragesWhatItShrinks) {
  v1::OpAttributes op;
  R& resize = *op.mutable_resize();
  resize.set_mode(R::LINEAR);
  resize.set_antialias(true);
  resize.add_shape(2);
  TestTensor<float> x{{4}, {0, 1, 2, 7}}, y{{2}};
  ASSERT_TRUE(Compute(op, {x.view()}, y).ok());
  // Around 0.5 and 2.5 a triangle of half width 2: 3/8 of both near ones, 1/8
  // of both far ones, of which one repeats the border.
  EXPECT_NEAR(y.values[0], 0 * 0.5 + 1 * 0.375 + 2 * 0.125, 1e-6);
  EXPECT_NEAR(y.values[1], 1 * 0.125 + 2 * 0.375 + 7 * 0.5, 1e-6);
}

TEST(ResizeTest, CropsAndExtrapolates) {
  v1::OpAttributes op;
  R& resize = *op.mutable_resize();
  resize.set_mode(R::LINEAR);
  resize.set_coordinates(R::TF_CROP_AND_RESIZE);
  resize.set_extrapolation_value(-9);
  for (const int64_t extent : {1, 3, 1}) resize.add_shape(extent);
  for (const float place : {0.0f, 0.5f, 0.0f, 1.0f, 1.5f, 1.0f}) {
    resize.add_roi(place);
  }
  TestTensor<float> x{{1, 3, 1}, {1, 2, 4}}, y{{1, 3, 1}};
  const absl::Status status = Compute(op, {x.view()}, y);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(y.values, (std::vector<float>{2, 4, -9}));
}

// 0.6f * 5 is 3 in float, 3.0000001 in double. The scale has no say.
TEST(ResizeTest, CropsInFloat) {
  v1::OpAttributes op;
  R& resize = *op.mutable_resize();
  resize.set_coordinates(R::TF_CROP_AND_RESIZE);
  resize.set_nearest_rounding(R::CEIL);
  resize.add_shape(2);
  resize.add_scale(0.34f);
  resize.add_roi(0);
  resize.add_roi(0.6f);
  TestTensor<float> x{{6}, {0, 1, 2, 3, 4, 5}}, y{{2}};
  const absl::Status status = Compute(op, {x.view()}, y);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(y.values, (std::vector<float>{0, 3}));
}

struct FarCase {
  R::Coordinates coordinates;
  std::vector<float> scale, roi;
  std::vector<float> y;
};

// What floats make of coordinates beyond all measure: infinities, and of two
// infinities no number at all, which lies before the image.
TEST(ResizeTest, CoordinatesBeyondAllMeasureStayInTheImage) {
  constexpr float kTiny = 0x1p-149f, kHuge = 3e38f;
  const FarCase cases[] = {
      {R::HALF_PIXEL, {kTiny}, {}, {3, 3}},
      {R::ASYMMETRIC, {kTiny}, {}, {1, 3}},
      {R::TF_HALF_PIXEL_FOR_NN, {kTiny}, {}, {3, 3}},
      {R::HALF_PIXEL_SYMMETRIC, {kTiny}, {}, {1, 1}},
      {R::HALF_PIXEL_SYMMETRIC, {kHuge}, {}, {2, 2}},
      {R::TF_CROP_AND_RESIZE, {}, {kHuge, -kHuge}, {-9, -9}},
      {R::TF_CROP_AND_RESIZE, {}, {-kHuge, kHuge}, {-9, -9}},
  };
  for (const FarCase& c : cases) {
    for (const R::Mode mode : {R::NEAREST, R::LINEAR, R::CUBIC}) {
      v1::OpAttributes op;
      R& resize = *op.mutable_resize();
      resize.set_mode(mode);
      resize.set_coordinates(c.coordinates);
      resize.set_cubic_coeff_a(-0.75f);
      resize.set_extrapolation_value(-9);
      resize.add_shape(2);
      *resize.mutable_scale() = {c.scale.begin(), c.scale.end()};
      *resize.mutable_roi() = {c.roi.begin(), c.roi.end()};
      TestTensor<float> x{{3}, {1, 2, 3}}, y{{2}};
      const absl::Status status = Compute(op, {x.view()}, y);
      ASSERT_TRUE(status.ok()) << status;
      EXPECT_EQ(y.values, c.y)
          << R::Coordinates_Name(c.coordinates) << " " << R::Mode_Name(mode);
    }
  }
}

// A quarter of each: what is added to 1 is half of its last bit, three times.
TEST(ResizeTest, FloatsAreSummedInFloat) {
  v1::OpAttributes op;
  R& resize = *op.mutable_resize();
  resize.set_mode(R::LINEAR);
  for (const int64_t extent : {1, 1, 1, 1}) resize.add_shape(extent);
  TestTensor<float> x{{1, 2, 2, 1}, {4, 0x1p-22f, 0x1p-22f, 0x1p-22f}};
  TestTensor<float> y{{1, 1, 1, 1}};
  ASSERT_TRUE(Compute(op, {x.view()}, y).ok());
  EXPECT_EQ(y.values, std::vector<float>{1});
}

TEST(ResizeTest, ImagesOfAnyType) {
  v1::OpAttributes op;
  R& resize = *op.mutable_resize();
  for (const int64_t extent : {1, 4, 4, 2}) resize.add_shape(extent);
  TestTensor<int64_t> x{{1, 2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7}};
  TestTensor<int64_t> y{{1, 4, 4, 2}};
  ASSERT_TRUE(Compute(op, {x.view()}, y).ok());
  for (int64_t i = 0; i < 32; ++i) {
    const int64_t row = i / 8 / 2, column = i / 2 % 4 / 2;
    EXPECT_EQ(y.values[i], (row * 2 + column) * 2 + i % 2);
  }
}

// TensorFlow Lite's 10 fractional bits, rounded half up.
TEST(ResizeTest, QuantizedBilinear) {
  v1::OpAttributes op;
  R& resize = *op.mutable_resize();
  resize.set_mode(R::LINEAR);
  resize.set_coordinates(R::ASYMMETRIC);
  for (const int64_t extent : {1, 1, 3, 1}) resize.add_shape(extent);
  TestTensor<int8_t> x{{1, 1, 2, 1}, {-100, 101}, {0.5f}, {0}};
  TestTensor<int8_t> y{{1, 1, 3, 1}, {}, {0.5f}, {0}};
  ASSERT_TRUE(Compute(op, {x.view()}, y).ok());
  // Steps of round(2048 / 3) = 683: 683 / 1024, then 1366: past the end.
  const int between =
      (-100 * (1024 - 683) * 1024 + 101 * 683 * 1024 + (1 << 19)) >> 20;
  EXPECT_EQ(y.values,
            (std::vector<int8_t>{-100, static_cast<int8_t>(between), 101}));
}

// Steps of 512 from -256 on: quarters and three quarters, to the bit.
TEST(ResizeTest, QuantizedBilinearOfHalfPixels) {
  v1::OpAttributes op;
  R& resize = *op.mutable_resize();
  resize.set_mode(R::LINEAR);
  for (const int64_t extent : {1, 1, 4, 1}) resize.add_shape(extent);
  TestTensor<int8_t> x{{1, 1, 2, 1}, {102, -100}, {0.5f}, {0}};
  TestTensor<int8_t> y{{1, 1, 4, 1}, {}, {0.5f}, {0}};
  ASSERT_TRUE(Compute(op, {x.view()}, y).ok());
  // 51.5 and -49.5, half up.
  EXPECT_EQ(y.values, (std::vector<int8_t>{102, 52, -49, -100}));
}

// Steps of round(2048 / 4096), twice as long as they should be: from the middle
// on all lies past the end.
TEST(ResizeTest, QuantizedBilinearStaysInTheImage) {
  v1::OpAttributes op;
  R& resize = *op.mutable_resize();
  resize.set_mode(R::LINEAR);
  resize.set_coordinates(R::ALIGN_CORNERS);
  for (const int64_t extent : {1, 1, 4097, 1}) resize.add_shape(extent);
  TestTensor<int8_t> x{{1, 1, 3, 1}, {-100, 0, 100}, {0.5f}, {0}};
  TestTensor<int8_t> y{{1, 1, 4097, 1}, {}, {0.5f}, {0}};
  ASSERT_TRUE(Compute(op, {x.view()}, y).ok());
  EXPECT_EQ(y.values[512], -50);
  EXPECT_EQ(y.values[1024], 0);
  for (int i = 2048; i < 4097; ++i) ASSERT_EQ(y.values[i], 100) << i;
}

TEST(ResizeTest, RefusesTablesThatWouldFillTheMemory) {
  v1::OpAttributes op;
  R& resize = *op.mutable_resize();
  resize.set_mode(R::LINEAR);
  resize.set_antialias(true);
  resize.add_shape(1 << 20);
  const std::vector<int64_t> in = {1 << 28}, out = {1 << 20};
  const TensorView x{v1::INT8, in};
  const TensorView y{v1::INT8, out};
  EXPECT_FALSE(CheckOp(op, {x}, {y}).ok());
}

}  // namespace
}  // namespace edgekiln::ops
