#include <cstdint>
#include <cstdlib>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "ops/evaluate.h"
#include "ops/quantized_parameters.h"
#include "ops/testing/test_tensor.h"

namespace edgekiln::ops {
namespace {

template <typename Pool>
void SetWindow(Pool& pool, int32_t kernel, int32_t stride, int32_t pad_top,
               int32_t pad_right) {
  pool.set_kernel_h(kernel);
  pool.set_kernel_w(kernel);
  v1::Window2d& window = *pool.mutable_window();
  window.set_stride_h(stride);
  window.set_stride_w(stride);
  window.set_dilation_h(1);
  window.set_dilation_w(1);
  window.set_pad_top(pad_top);
  window.set_pad_right(pad_right);
}

TEST(AveragePoolTest, QuantizedRoundsHalfAwayFromZero) {
  v1::OpAttributes op;
  SetWindow(*op.mutable_average_pool2d(), 2, 2, 0, 0);
  TestTensor<int8_t> x{
      {1, 2, 2, 3}, {1, -1, 0, 2, -2, 0, 1, -1, 0, 2, -2, 1}, {0.5f}, {7}};
  TestTensor<int8_t> y{{1, 1, 1, 3}, {}, {0.5f}, {7}};
  const absl::Status status = Compute(op, {x.view()}, y);
  ASSERT_TRUE(status.ok()) << status;
  // Sums 6, -6, 1 of 4: 1.5, -1.5, 0.25.
  EXPECT_EQ(y.values, (std::vector<int8_t>{2, -2, 0}));
}

TEST(AveragePoolTest, PaddingCountsOnlyIfAsked) {
  v1::OpAttributes op;
  SetWindow(*op.mutable_average_pool2d(), 2, 1, 1, 1);
  TestTensor<float> x{{1, 2, 2, 1}, {1, 2, 3, 6}};
  TestTensor<float> y{{1, 2, 2, 1}};
  ASSERT_TRUE(Compute(op, {x.view()}, y).ok());
  EXPECT_EQ(y.values, (std::vector<float>{1.5f, 2, 3, 4}));
  op.mutable_average_pool2d()->set_count_include_pad(true);
  ASSERT_TRUE(Compute(op, {x.view()}, y).ok());
  EXPECT_EQ(y.values, (std::vector<float>{0.75f, 0.5f, 3, 2}));
  // Counted padding is the real value 0: the zero point.
  TestTensor<int8_t> q{{1, 2, 2, 1}, {1, 2, 3, 6}, {1.0f}, {-4}};
  TestTensor<int8_t> out{{1, 2, 2, 1}, {}, {1.0f}, {-4}};
  ASSERT_TRUE(Compute(op, {q.view()}, out).ok());
  // (1+2-8)/4 = -1.25, (2-12)/4 = -2.5, 12/4, (2+6-8)/4.
  EXPECT_EQ(out.values, (std::vector<int8_t>{-1, -3, 3, 0}));
}

TEST(MaxPoolTest, PaddingNeverWins) {
  v1::OpAttributes op;
  SetWindow(*op.mutable_max_pool2d(), 2, 1, 1, 0);
  TestTensor<int8_t> x{{1, 1, 2, 2}, {-128, -5, -7, -100}, {1.0f}, {0}};
  TestTensor<int8_t> y{{1, 1, 1, 2}, {}, {1.0f}, {0}};
  const absl::Status status = Compute(op, {x.view()}, y);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(y.values, (std::vector<int8_t>{-7, -5}));
}

// Not larger than anything; of nothing but NaN there is no largest.
TEST(MaxPoolTest, NanNeverWins) {
  v1::OpAttributes op;
  SetWindow(*op.mutable_max_pool2d(), 2, 2, 0, 0);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  TestTensor<float> x{{1, 2, 6, 1},
                      {nan, -3, -5, nan, nan, nan,  //
                       -4, -2, nan, -7, nan, nan}};
  TestTensor<float> y{{1, 1, 3, 1}};
  const absl::Status status = Compute(op, {x.view()}, y);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(y.values, (std::vector<float>{-2, -5, -infinity}));
}

// To a clamp, in steps of the scale, after the largest is known.
TEST(MaxPoolTest, ResultsAreClamped) {
  v1::OpAttributes op;
  SetWindow(*op.mutable_max_pool2d(), 1, 1, 0, 0);
  op.mutable_max_pool2d()->mutable_clamp()->set_min(0);
  op.mutable_max_pool2d()->mutable_clamp()->set_max(6);
  TestTensor<int16_t> x{{1, 1, 3, 1}, {-5, 7, 20}, {0.5f}, {0}};
  TestTensor<int16_t> y{{1, 1, 3, 1}, {}, {0.5f}, {0}};
  const absl::Status status = Compute(op, {x.view()}, y);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(y.values, (std::vector<int16_t>{0, 7, 12}));
}

TEST(PoolTest, ChangingTheScaleIsRefused) {
  v1::OpAttributes op;
  SetWindow(*op.mutable_max_pool2d(), 1, 1, 0, 0);
  TestTensor<int8_t> x{{1, 1, 1, 1}, {1}, {1.0f}, {0}};
  TestTensor<int8_t> y{{1, 1, 1, 1}, {}, {0.5f}, {0}};
  EXPECT_EQ(Compute(op, {x.view()}, y).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(AveragePoolTest, WindowMayBeWiderThanTheImage) {
  v1::OpAttributes op;
  SetWindow(*op.mutable_average_pool2d(), 3, 1, 2, 1);
  TestTensor<float> x{{1, 1, 2, 2}, {1, 10, 4, 40}};
  TestTensor<float> y{{1, 1, 1, 2}};
  const absl::Status status = Compute(op, {x.view()}, y);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(y.values, (std::vector<float>{2.5f, 25}));
}

TEST(PoolTest, NormOfTheWindow) {
  v1::OpAttributes op;
  v1::Pool& pool = *op.mutable_pool();
  pool.set_function(v1::Pool::LP_NORM);
  pool.add_kernel(2);
  pool.mutable_window()->add_stride(1);
  pool.mutable_window()->add_dilation(1);
  pool.mutable_window()->add_pad_before(1);
  pool.mutable_window()->add_pad_after(0);
  TestTensor<float> x{{1, 3, 1}, {3, -4, 12}}, y{{1, 3, 1}};
  const struct {
    int32_t p;
    std::vector<float> want;
  } cases[] = {{1, {3, 7, 16}},
               {2, {3, 5, 12.649110640673518f}},
               {3, {3, 4.497941445275415f, 12.146355887502649f}}};
  for (const auto& c : cases) {
    pool.set_p(c.p);
    const absl::Status status = Compute(op, {x.view()}, y);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(y.values, c.want) << c.p;
  }
  pool.set_p(0);
  EXPECT_FALSE(Compute(op, {x.view()}, y).ok());
  pool.set_p(2);
  TestTensor<int8_t> q{{1, 3, 1}, {3, -4, 12}, {1}, {0}}, out = q;
  EXPECT_FALSE(Compute(op, {q.view()}, out).ok());
}

TEST(PoolTest, WindowOfPaddingOnlyIsRefused) {
  v1::OpAttributes op;
  SetWindow(*op.mutable_average_pool2d(), 1, 1, 1, 0);
  TestTensor<float> x{{1, 1, 1, 1}, {1}};
  TestTensor<float> y{{1, 2, 1, 1}};
  EXPECT_FALSE(Compute(op, {x.view()}, y).ok());
}

TEST(RoundedAverageTest, IsSymmetric) {
  EXPECT_EQ(RoundedAverage(3, 2), 2);
  EXPECT_EQ(RoundedAverage(-3, 2), -2);
  EXPECT_EQ(RoundedAverage(4, 3), 1);
  EXPECT_EQ(RoundedAverage(-4, 3), -1);
  EXPECT_EQ(RoundedAverage(5, 3), 2);
}

TEST(AverageHalfEvenTest, EqualsTheDefinition) {
  for (int64_t count = 1; count < 9; ++count) {
    for (int64_t sum = -50; sum <= 50; ++sum) {
      // The even one of the two nearest, if there are two.
      int64_t best = -60;
      for (int64_t y = -60; y <= 60; ++y) {
        const int64_t error = std::abs(y * count - sum);
        const int64_t least = std::abs(best * count - sum);
        if (error < least || (error == least && y % 2 == 0)) best = y;
      }
      EXPECT_EQ(AverageHalfEven(sum, count), best) << sum << " / " << count;
    }
  }
}

}  // namespace
}  // namespace edgekiln::ops
