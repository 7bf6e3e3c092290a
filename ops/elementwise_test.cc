#include <cstdint>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "ops/evaluate.h"
#include "ops/testing/test_tensor.h"

// Element-wise ops, changes of scale, softmax, normalisation and mean, against
// values computed by hand.
namespace edgekiln::ops {
namespace {

using Floats = std::vector<float>;
using Int8s = std::vector<int8_t>;

TEST(AddTest, FloatBroadcastsAndClamps) {
  v1::OpAttributes op;
  op.mutable_add()->mutable_clamp()->set_min(0);
  TestTensor<float> a{{2, 1, 2}, {1, -5, 3, 4}};
  TestTensor<float> b{{3, 1}, {0, 1, 2}};
  TestTensor<float> y{{2, 3, 2}};
  const absl::Status status = Compute(op, {a.view(), b.view()}, y);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(y.values, (Floats{1, 0, 2, 0, 3, 0, 3, 4, 4, 5, 5, 6}));
}

TEST(AddTest, QuantizedAddsRealValues) {
  v1::OpAttributes op;
  op.mutable_add()->mutable_clamp()->set_max(6);
  TestTensor<int8_t> a{{4}, {10, 20, -128, 127}, {0.1f}, {0}};
  TestTensor<int8_t> b{{4}, {10, -30, -128, 127}, {0.2f}, {10}};
  TestTensor<int8_t> y{{4}, {}, {0.25f}, {-3}};
  const absl::Status status = Compute(op, {a.view(), b.view()}, y);
  ASSERT_TRUE(status.ok()) << status;
  // Real: 1+0, 2-8, -12.8-27.6, 12.7+23.4 (limited to 6 = 24 steps).
  EXPECT_EQ(y.values, (Int8s{1, -27, -128, 21}));
}

TEST(MulTest, QuantizedMultipliesRealValues) {
  v1::OpAttributes op;
  op.mutable_mul();
  TestTensor<int8_t> a{{3}, {12, -8, 100}, {0.5f}, {2}};  // Real 5, -5, 49.
  TestTensor<int8_t> b{{1}, {7}, {0.5f}, {1}};            // Real 3.
  TestTensor<int8_t> y{{3}, {}, {1.0f}, {4}};
  const absl::Status status = Compute(op, {a.view(), b.view()}, y);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(y.values, (Int8s{19, -11, 127}));
}

TEST(ClipTest, QuantizedMayChangeScale) {
  v1::OpAttributes op;
  op.mutable_clip()->mutable_clamp()->set_min(0);
  TestTensor<int8_t> x{{3}, {-10, 11, 127}, {0.5f}, {1}};  // -5.5, 5, 63
  TestTensor<int8_t> y{{3}, {}, {0.25f}, {-128}};
  const absl::Status status = Compute(op, {x.view()}, y);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(y.values, (Int8s{-128, -108, 124}));
}

TEST(QuantizeTest, RoundsHalfAwayFromZeroAndSaturates) {
  v1::OpAttributes op;
  op.mutable_quantize();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  TestTensor<float> x{{6}, {0.25f, -0.25f, 0.24f, 1e30f, -1e30f, nan}};
  TestTensor<int8_t> y{{6}, {}, {0.5f}, {3}};
  const absl::Status status = Compute(op, {x.view()}, y);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(y.values, (Int8s{4, 2, 3, 127, -128, -128}));
}

TEST(QuantizeTest, PerChannelAndBack) {
  v1::OpAttributes quantize;
  quantize.mutable_quantize();
  TestTensor<float> x{{2, 2}, {1, 2, 3, 4}};
  TestTensor<int8_t> q{{2, 2}, {}, {0.5f, 0.25f}, {0, 0}, 1};
  ASSERT_TRUE(Compute(quantize, {x.view()}, q).ok());
  EXPECT_EQ(q.values, (Int8s{2, 8, 6, 16}));
  v1::OpAttributes dequantize;
  dequantize.mutable_dequantize();
  TestTensor<float> y{{2, 2}};
  ASSERT_TRUE(Compute(dequantize, {q.view()}, y).ok());
  EXPECT_EQ(y.values, x.values);
}

TEST(QuantizeTest, ChangesUint8ToInt8) {
  v1::OpAttributes op;
  op.mutable_quantize();
  TestTensor<uint8_t> x{{3}, {0, 128, 255}, {0.5f}, {128}};
  TestTensor<int8_t> y{{3}, {}, {0.5f}, {0}};
  ASSERT_TRUE(Compute(op, {x.view()}, y).ok());
  EXPECT_EQ(y.values, (Int8s{-128, 0, 127}));
}

TEST(SoftmaxTest, Float) {
  v1::OpAttributes op;
  op.mutable_softmax()->set_beta(1);
  op.mutable_softmax()->set_axis(0);
  TestTensor<float> x{{2, 2}, {0, 1000, 0, 0}};
  TestTensor<float> y{{2, 2}};
  ASSERT_TRUE(Compute(op, {x.view()}, y).ok());
  EXPECT_EQ(y.values, (Floats{0.5f, 1, 0.5f, 0}));
}

TEST(SoftmaxTest, Int8) {
  v1::OpAttributes op;
  op.mutable_softmax()->set_beta(1);
  op.mutable_softmax()->set_axis(1);
  // Real inputs ln 2 apart: shares 2/3, 1/3; 4/7, 2/7, 1/7 would need a third.
  TestTensor<int8_t> x{{1, 2}, {1, 0}, {0.6931472f}, {5}};
  TestTensor<int8_t> y{{1, 2}, {}, {1.0f / 256}, {-128}};
  ASSERT_TRUE(Compute(op, {x.view()}, y).ok());
  EXPECT_EQ(y.values, (Int8s{43, -43}));  // 170.67 and 85.33, less 128.
  TestTensor<int8_t> sure{{1, 2}, {127, -128}, {0.5f}, {0}};
  ASSERT_TRUE(Compute(op, {sure.view()}, y).ok());
  EXPECT_EQ(y.values, (Int8s{127, -128}));  // 256 saturates.
}

TEST(BatchNormalizationTest, NormalisesAlongTheAxis) {
  v1::OpAttributes op;
  op.mutable_batch_normalization()->set_epsilon(1);
  op.mutable_batch_normalization()->set_axis(1);
  TestTensor<float> x{{1, 2, 2}, {1, 2, 3, 4}};
  TestTensor<float> scale{{2}, {2, 4}}, bias{{2}, {0, 10}}, mean{{2}, {1, 2}},
      variance{{2}, {3, 0}};
  TestTensor<float> y{{1, 2, 2}};
  ASSERT_TRUE(Compute(op,
                      {x.view(), scale.view(), bias.view(), mean.view(),
                       variance.view()},
                      y)
                  .ok());
  EXPECT_EQ(y.values, (Floats{0, 1, 14, 18}));
}

TEST(ReduceMeanTest, FloatOverInnerAndOuterAxes) {
  v1::OpAttributes op;
  op.mutable_reduce_mean()->add_axes(0);
  op.mutable_reduce_mean()->add_axes(2);
  TestTensor<float> x{{2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}};
  TestTensor<float> y{{2}};
  ASSERT_TRUE(Compute(op, {x.view()}, y).ok());
  EXPECT_EQ(y.values, (Floats{3.5f, 5.5f}));
  op.mutable_reduce_mean()->set_keep_dims(true);
  TestTensor<float> kept{{1, 2, 1}};
  ASSERT_TRUE(Compute(op, {x.view()}, kept).ok());
  EXPECT_EQ(kept.values, y.values);
}

TEST(ReduceMeanTest, QuantizedRescalesTheSumThenDivides) {
  v1::OpAttributes op;
  op.mutable_reduce_mean()->add_axes(0);
  TestTensor<int8_t> x{{3}, {10, 20, 31}, {0.5f}, {1}};  // Real sum 29.
  TestTensor<int8_t> y{{}, {}, {0.25f}, {-5}};
  ASSERT_TRUE(Compute(op, {x.view()}, y).ok());
  EXPECT_EQ(y.values, (Int8s{34}));  // 116 / 3 = 38.67 -> 39, less 5.
}

}  // namespace
}  // namespace edgekiln::ops
