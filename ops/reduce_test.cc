#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "ops/evaluate.h"
#include "ops/requantize.h"
#include "ops/testing/test_tensor.h"

// Reductions, searches, sorting and running sums.
namespace edgekiln::ops {
namespace {

using R = v1::Reduce;

v1::OpAttributes ReduceOp(R::Function function, std::vector<int32_t> axes,
                          bool keep = false) {
  v1::OpAttributes op;
  op.mutable_reduce()->set_function(function);
  op.mutable_reduce()->set_keep_dims(keep);
  for (const int32_t axis : axes) op.mutable_reduce()->add_axes(axis);
  return op;
}

TEST(ReduceTest, EveryFunctionOverEveryAxis) {
  TestTensor<float> x{{2, 2, 2}, {1, -2, 3, -4, 5, 6, -7, 0.5f}};
  const struct {
    R::Function function;
    std::vector<int32_t> axes;
    std::vector<float> want;
  } cases[] = {
      {R::SUM, {0}, {6, 4, -4, -3.5f}},
      {R::SUM, {1}, {4, -6, -2, 6.5f}},
      {R::SUM, {2}, {-1, -1, 11, -6.5f}},
      {R::SUM, {0, 2}, {10, -7.5f}},
      {R::SUM, {}, {1, -2, 3, -4, 5, 6, -7, 0.5f}},
      {R::PRODUCT, {0, 1, 2}, {24 * -105}},
      {R::MAX, {1, 2}, {3, 6}},
      {R::MIN, {0, 1}, {-7, -4}},
      {R::L1, {0}, {6, 8, 10, 4.5f}},
      {R::L2, {2}, {std::sqrt(5.0f), 5, std::sqrt(61.0f), std::sqrt(49.25f)}},
  };
  for (const auto& c : cases) {
    TestTensor<float> y;
    for (int d = 0; d < 3; ++d) {
      if (std::count(c.axes.begin(), c.axes.end(), d) == 0) {
        y.shape.push_back(2);
      }
    }
    const absl::Status status =
        Compute(ReduceOp(c.function, c.axes), {x.view()}, y);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(y.values, c.want) << R::Function_Name(c.function);
  }
}

TEST(ReduceTest, NothingHasAValue) {
  TestTensor<float> x{{0, 2}}, y{{2}};
  const float inf = std::numeric_limits<float>::infinity();
  const struct {
    R::Function function;
    float want;
  } cases[] = {
      {R::SUM, 0}, {R::PRODUCT, 1}, {R::MAX, -inf}, {R::MIN, inf}, {R::L2, 0}};
  for (const auto& c : cases) {
    ASSERT_TRUE(Compute(ReduceOp(c.function, {0}), {x.view()}, y).ok());
    EXPECT_EQ(y.values, (std::vector<float>{c.want, c.want}));
  }
}

TEST(ReduceTest, IntegersWrapAndBoolsCombine) {
  TestTensor<uint8_t> x{{2}, {200, 100}}, y{{}};
  ASSERT_TRUE(Compute(ReduceOp(R::SUM, {0}), {x.view()}, y).ok());
  EXPECT_EQ(y.values[0], 44);
  TestTensor<int64_t> big{{2}, {INT64_MAX, 1}}, sum{{}};
  ASSERT_TRUE(Compute(ReduceOp(R::SUM, {0}), {big.view()}, sum).ok());
  EXPECT_EQ(sum.values[0], INT64_MIN);
  TestTensor<char> b{{2, 2}, {0, 4, 0, 0}}, any{{2}};
  ASSERT_TRUE(Compute(ReduceOp(R::ANY, {1}), {b.view()}, any).ok());
  EXPECT_EQ(any.values, (std::vector<char>{1, 0}));
  ASSERT_TRUE(Compute(ReduceOp(R::ALL, {1}), {b.view()}, any).ok());
  EXPECT_EQ(any.values, (std::vector<char>{0, 0}));
  EXPECT_FALSE(Compute(ReduceOp(R::ANY, {0}), {x.view()}, y).ok());
}

TEST(ReduceTest, IntegerLengthsAreLimitedToTheType) {
  TestTensor<uint8_t> x{{2}, {200, 200}}, y{{}};
  ASSERT_TRUE(Compute(ReduceOp(R::L2, {0}), {x.view()}, y).ok());
  EXPECT_EQ(y.values, std::vector<uint8_t>{255});
  x.values = {6, 9};  // 10.8.
  ASSERT_TRUE(Compute(ReduceOp(R::L2, {0}), {x.view()}, y).ok());
  EXPECT_EQ(y.values, std::vector<uint8_t>{10});
}

TEST(ReduceTest, QuantizedSumIsRescaled) {
  TestTensor<int8_t> x{{4}, {127, 127, 100, -128}, {0.5f}, {-8}};
  TestTensor<int8_t> y{{}, {}, {2.0f}, {5}};
  ASSERT_TRUE(Compute(ReduceOp(R::SUM, {0}), {x.view()}, y).ok());
  // 226 + 32 steps of 0.5 are 64.5 steps of 2, half up.
  EXPECT_EQ(y.values[0], 70);
  TestTensor<int16_t> wide{{3}, {32767, 32767, -1}, {0.5f}, {0}};
  TestTensor<int16_t> sum{{}, {}, {1.0f}, {0}};
  ASSERT_TRUE(Compute(ReduceOp(R::SUM, {0}), {wide.view()}, sum).ok());
  EXPECT_EQ(sum.values[0], 32767);
  ASSERT_TRUE(
      Compute(ReduceOp(R::MAX, {0}), {x.view()}, y = {{}, {}, {0.5f}, {-8}})
          .ok());
  EXPECT_EQ(y.values[0], 127);
  // Largest values keep their scale.
  y.scale = {1};
  EXPECT_FALSE(Compute(ReduceOp(R::MAX, {0}), {x.view()}, y).ok());
}

// The number of terms is part of the factor: one rounding, half up.
TEST(ReduceMeanTest, RoundsOnce) {
  v1::OpAttributes op;
  op.mutable_reduce_mean()->add_axes(1);
  TestTensor<int8_t> x{{4, 2}, {6, 7, 2, 5, 5, 6, -9, 127}, {0.5f}, {5}};
  TestTensor<int8_t> y{{4}, {}, {0.5f}, {-3}};
  ASSERT_TRUE(Compute(op, {x.view()}, y).ok());
  // Sums 3, -3, 1, 108 of values less 5, halved.
  EXPECT_EQ(y.values, (std::vector<int8_t>{-1, -4, -2, 51}));
  // A quarter; half of a step, rounded, would be half of a step again.
  TestTensor<int8_t> fine{{1, 2}, {1, 0}, {0.25f}, {0}};
  TestTensor<int8_t> coarse{{1}, {}, {0.5f}, {0}};
  ASSERT_TRUE(Compute(op, {fine.view()}, coarse).ok());
  EXPECT_EQ(coarse.values[0], 0);
}

TEST(ReduceMeanTest, DividesTheMultiplier) {
  TestRandom random(11);
  for (const int64_t count : {1, 2, 3, 7, 48, 1000}) {
    TestTensor<int8_t> x{{200, count}, {}, {0.31f}, {-9}};
    TestTensor<int8_t> y{{200}, {}, {0.017f}, {4}};
    random.Fill(x);
    v1::OpAttributes op;
    op.mutable_reduce_mean()->add_axes(1);
    ASSERT_TRUE(Compute(op, {x.view()}, y).ok());
    const FixedPointMultiplier all =
        QuantizeMultiplier(double{0.31f} / double{0.017f});
    const int n = static_cast<int>(std::log2(static_cast<double>(count)));
    const FixedPointMultiplier factor = {
        static_cast<int32_t>((int64_t{all.multiplier} << n) / count),
        all.shift - n};
    for (int64_t i = 0; i < 200; ++i) {
      int32_t sum = 0;
      for (int64_t k = 0; k < count; ++k) sum += x.values[i * count + k] + 9;
      ASSERT_EQ(y.values[i], std::clamp(Rescale(sum, factor) + 4, -128, 127));
    }
  }
}

TEST(ReduceMeanTest, OtherTypes) {
  v1::OpAttributes op;
  op.mutable_reduce_mean()->add_axes(0);
  TestTensor<int32_t> x{{2, 2}, {-3, 1 << 30, -4, 1 << 30}}, y{{2}};
  ASSERT_TRUE(Compute(op, {x.view()}, y).ok());
  EXPECT_EQ(y.values, (std::vector<int32_t>{-3, 1 << 30}));
  TestTensor<double> d{{3}, {1, 2, 4}}, dy{{}};
  ASSERT_TRUE(Compute(op, {d.view()}, dy).ok());
  EXPECT_EQ(dy.values[0], 7.0 / 3);
  TestTensor<int16_t> q{{3}, {1000, 2000, 3001}, {0.5f}, {0}};
  TestTensor<int16_t> qy{{}, {}, {0.25f}, {0}};
  ASSERT_TRUE(Compute(op, {q.view()}, qy).ok());
  EXPECT_EQ(qy.values[0], 4001);  // 12002 / 3 = 4000.67
}

TEST(ArgReduceTest, FirstOrLastOfEqualValues) {
  TestTensor<int8_t> x{{2, 4}, {1, 5, 5, 2, 7, -3, 7, -3}};
  const struct {
    v1::ArgReduce::Function function;
    bool last;
    std::vector<int64_t> want;
  } cases[] = {
      {v1::ArgReduce::MAX, false, {1, 0}},
      {v1::ArgReduce::MAX, true, {2, 2}},
      {v1::ArgReduce::MIN, false, {0, 1}},
      {v1::ArgReduce::MIN, true, {0, 3}},
  };
  for (const auto& c : cases) {
    v1::OpAttributes op;
    op.mutable_arg_reduce()->set_function(c.function);
    op.mutable_arg_reduce()->set_axis(1);
    op.mutable_arg_reduce()->set_select_last(c.last);
    TestTensor<int64_t> y{{2}};
    ASSERT_TRUE(Compute(op, {x.view()}, y).ok());
    EXPECT_EQ(y.values, c.want);
  }
  v1::OpAttributes outer;
  outer.mutable_arg_reduce()->set_function(v1::ArgReduce::MAX);
  outer.mutable_arg_reduce()->set_keep_dims(true);
  TestTensor<int32_t> y{{1, 4}};
  ASSERT_TRUE(Compute(outer, {x.view()}, y).ok());
  EXPECT_EQ(y.values, (std::vector<int32_t>{1, 0, 1, 0}));
}

TEST(TopKTest, ValuesAndIndicesAlongAnyAxis) {
  v1::OpAttributes op;
  op.mutable_top_k()->set_k(2);
  op.mutable_top_k()->set_axis(0);
  TestTensor<float> x{{3, 2}, {1, 9, 3, 9, 3, 8}}, values{{2, 2}};
  TestTensor<int64_t> indices{{2, 2}};
  ASSERT_TRUE(
      Evaluate(op, {x.view()}, {values.mutable_view(), indices.mutable_view()})
          .ok());
  EXPECT_EQ(values.values, (std::vector<float>{3, 9, 3, 9}));
  EXPECT_EQ(indices.values, (std::vector<int64_t>{1, 0, 2, 1}));
  op.mutable_top_k()->set_smallest(true);
  ASSERT_TRUE(
      Evaluate(op, {x.view()}, {values.mutable_view(), indices.mutable_view()})
          .ok());
  EXPECT_EQ(values.values, (std::vector<float>{1, 8, 3, 9}));
  EXPECT_EQ(indices.values, (std::vector<int64_t>{0, 2, 1, 0}));
  op.mutable_top_k()->set_k(4);
  EXPECT_FALSE(Compute(op, {x.view()}, values).ok());
}

TEST(TopKTest, NanIsTheLargest) {
  v1::OpAttributes op;
  op.mutable_top_k()->set_k(3);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  TestTensor<float> x{{3}, {nan, 1, nan}}, y{{3}};
  TestTensor<int32_t> indices{{3}};
  ASSERT_TRUE(
      Evaluate(op, {x.view()}, {y.mutable_view(), indices.mutable_view()})
          .ok());
  EXPECT_EQ(indices.values, (std::vector<int32_t>{0, 2, 1}));
}

TEST(CumSumTest, ForwardsBackwardsWithoutItself) {
  const struct {
    bool exclusive;
    bool reverse;
    std::vector<int32_t> want;
  } cases[] = {
      {false, false, {1, 3, 6}},
      {true, false, {0, 1, 3}},
      {false, true, {6, 5, 3}},
      {true, true, {5, 3, 0}},
  };
  for (const auto& c : cases) {
    v1::OpAttributes op;
    op.mutable_cum_sum()->set_exclusive(c.exclusive);
    op.mutable_cum_sum()->set_reverse(c.reverse);
    TestTensor<int32_t> x{{3}, {1, 2, 3}}, y{{3}};
    ASSERT_TRUE(Compute(op, {x.view()}, y).ok());
    EXPECT_EQ(y.values, c.want);
  }
  v1::OpAttributes op;
  op.mutable_cum_sum()->set_axis(1);
  TestTensor<_Float16> x{{1, 3}, {1, 2048, 1}}, y{{1, 3}};
  ASSERT_TRUE(Compute(op, {x.view()}, y).ok());
  // The sum itself is not rounded on the way: 2049, 2050.
  EXPECT_EQ(y.values,
            (std::vector<_Float16>{1, _Float16(2048), _Float16(2050)}));
}

}  // namespace
}  // namespace edgekiln::ops
