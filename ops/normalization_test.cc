#include <algorithm>
#include <cmath>
#include <vector>

#include "gtest/gtest.h"
#include "ops/testing/test_tensor.h"

// Normalizations against their formulas, with the standard library's functions.
namespace edgekiln::ops {
namespace {

constexpr int kAxis = 1;

// Elements of one line along axis 1 of a [2,7,3] tensor.
const std::vector<int64_t> kShape = {2, 7, 3};
template <typename Fn>
void ForEachTestLine(const Fn& fn) {
  for (int64_t o = 0; o < 2; ++o) {
    for (int64_t i = 0; i < 3; ++i) fn(o * 21 + i);
  }
}

TestTensor<float> Values(uint32_t seed) {
  TestTensor<float> x{kShape};
  TestRandom(seed).Fill(x);
  return x;
}

TEST(NormalizationTest, LocalResponse) {
  for (const int size : {1, 2, 3, 5, 8}) {
    v1::OpAttributes op;
    auto& lrn = *op.mutable_local_response_normalization();
    lrn.set_size(size);
    lrn.set_alpha(0.7f);
    lrn.set_beta(0.6f);
    lrn.set_bias(1.5f);
    lrn.set_axis(kAxis);
    const TestTensor<float> x = Values(size);
    TestTensor<float> y{kShape};
    ASSERT_TRUE(Compute(op, {x.view()}, y).ok());
    ForEachTestLine([&](int64_t at) {
      for (int c = 0; c < 7; ++c) {
        const int first = std::max(0, c - (size - 1) / 2);
        const int last = std::min(6, c + size / 2);
        double sum = 0;
        for (int k = first; k <= last; ++k) {
          sum += std::pow(x.values[at + 3 * k], 2);
        }
        const double want =
            x.values[at + 3 * c] /
            std::pow(1.5 + double{0.7f} / size * sum, double{0.6f});
        EXPECT_NEAR(y.values[at + 3 * c], want, 1e-6) << size;
      }
    });
  }
}

TEST(NormalizationTest, LayerOverTrailingDimensions) {
  v1::OpAttributes op;
  op.mutable_layer_normalization()->set_axis(kAxis);
  op.mutable_layer_normalization()->set_epsilon(0.01f);
  const TestTensor<float> x = Values(3);
  TestTensor<float> scale{{7, 3}}, bias{{7, 3}}, y{kShape};
  TestRandom random(4);
  random.Fill(scale);
  random.Fill(bias);
  ASSERT_TRUE(Compute(op, {x.view(), scale.view(), bias.view()}, y).ok());
  for (int row = 0; row < 2; ++row) {
    double mean = 0, variance = 0;
    for (int i = 0; i < 21; ++i) mean += double{x.values[row * 21 + i]} / 21;
    for (int i = 0; i < 21; ++i) {
      variance += std::pow(x.values[row * 21 + i] - mean, 2) / 21;
    }
    for (int i = 0; i < 21; ++i) {
      const double want = (x.values[row * 21 + i] - mean) /
                              std::sqrt(variance + 0.01) * scale.values[i] +
                          bias.values[i];
      EXPECT_NEAR(y.values[row * 21 + i], want, 1e-6);
    }
  }
}

TEST(NormalizationTest, L2AndItsEpsilon) {
  v1::OpAttributes op;
  op.mutable_l2_normalization()->set_axis(kAxis);
  op.mutable_l2_normalization()->set_epsilon(0.5f);
  TestTensor<float> x = Values(5), y{kShape};
  for (int i = 0; i < 7; ++i) x.values[3 * i] = 0.01f;  // Below epsilon.
  ASSERT_TRUE(Compute(op, {x.view()}, y).ok());
  ForEachTestLine([&](int64_t at) {
    double sum = 0;
    for (int i = 0; i < 7; ++i) sum += std::pow(x.values[at + 3 * i], 2);
    for (int i = 0; i < 7; ++i) {
      EXPECT_NEAR(y.values[at + 3 * i],
                  x.values[at + 3 * i] / std::max(std::sqrt(sum), 0.5), 1e-6);
    }
  });
}

TEST(NormalizationTest, LogSoftmaxIsTheLogOfSoftmax) {
  v1::OpAttributes log_op, op;
  log_op.mutable_log_softmax()->set_axis(kAxis);
  op.mutable_softmax()->set_axis(kAxis);
  op.mutable_softmax()->set_beta(1);
  const TestTensor<float> x = Values(6);
  TestTensor<float> log{kShape}, y{kShape};
  ASSERT_TRUE(Compute(log_op, {x.view()}, log).ok());
  ASSERT_TRUE(Compute(op, {x.view()}, y).ok());
  for (size_t i = 0; i < y.values.size(); ++i) {
    EXPECT_NEAR(std::exp(log.values[i]), y.values[i], 1e-6);
  }
}

// Scales at the ends of the floats make infinities, and of those what is no
// number: that is the lower bound.
TEST(NormalizationTest, QuantizedResultsOfExtremeScales) {
  struct Case {
    float in_scale, beta, out_scale;
    std::vector<int8_t> softmax, log_softmax;
  };
  const Case cases[] = {
      {1, 1, 0x1p-149f, {127, -128}, {-128, -128}},
      {3e38f, 1, 0x1p-149f, {127, -128}, {-128, -128}},
      {3e38f, 2, 1.0f / 256, {-128, -128}, {-128, -128}},
      {3e38f, 1, 3e38f, {-128, -128}, {-128, -128}},
  };
  for (const Case& c : cases) {
    TestTensor<int8_t> x{{2}, {127, -128}, {c.in_scale}, {0}};
    TestTensor<int8_t> y{{2}, {}, {c.out_scale}, {-128}};
    v1::OpAttributes op;
    op.mutable_softmax()->set_beta(c.beta);
    ASSERT_TRUE(Compute(op, {x.view()}, y).ok());
    EXPECT_EQ(y.values, c.softmax) << c.in_scale << " " << c.out_scale;
    op.mutable_log_softmax();
    ASSERT_TRUE(Compute(op, {x.view()}, y).ok());
    EXPECT_EQ(y.values, c.log_softmax) << c.in_scale << " " << c.out_scale;
  }
}

template <typename T>
void ExpectQuantizedRules(float in_scale, float out_scale, int32_t out_zero,
                          int tolerance) {
  TestTensor<T> x{kShape, {}, {in_scale}, {3}};
  TestTensor<T> y{kShape, {}, {out_scale}, {out_zero}};
  TestRandom(7).Fill(x);
  v1::OpAttributes op;
  op.mutable_log_softmax()->set_axis(kAxis);
  ASSERT_TRUE(Compute(op, {x.view()}, y).ok());
  ForEachTestLine([&](int64_t at) {
    double sum = 0;
    for (int i = 0; i < 7; ++i) {
      sum += std::exp(double{in_scale} * (x.values[at + 3 * i] - x.values[at]));
    }
    for (int i = 0; i < 7; ++i) {
      const double real =
          double{in_scale} * (x.values[at + 3 * i] - x.values[at]) -
          std::log(sum);
      const double steps = std::round(real / double{out_scale}) + out_zero;
      const double want = std::clamp<double>(
          steps, std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
      EXPECT_NEAR(y.values[at + 3 * i], want, tolerance);
    }
  });
}

TEST(NormalizationTest, QuantizedLogSoftmax) {
  // 8 bits are computed in float.
  ExpectQuantizedRules<int8_t>(0.02f, 16.0f / 256, 127, 1);
  ExpectQuantizedRules<uint8_t>(0.02f, 16.0f / 256, 255, 1);
  ExpectQuantizedRules<int16_t>(0.0005f, 16.0f / 65536, 32767, 0);
}

TEST(NormalizationTest, Int16Softmax) {
  v1::OpAttributes op;
  op.mutable_softmax()->set_axis(0);
  op.mutable_softmax()->set_beta(0.5f);
  TestTensor<int16_t> x{{3}, {-200, 0, 1000}, {0.002f}, {0}};
  TestTensor<int16_t> y{{3}, {}, {1.0f / 32768}, {0}};
  ASSERT_TRUE(Compute(op, {x.view()}, y).ok());
  const double a = std::exp(-0.2), b = 1, c = std::exp(1.0);
  const auto expect = [&](double unit, int tolerance) {
    for (int i = 0; i < 3; ++i) {
      const double p = (i == 0 ? a : i == 1 ? b : c) / (a + b + c);
      EXPECT_NEAR(y.values[i], std::round(p / unit), tolerance) << i;
    }
  };
  expect(0x1p-15, 3);  // By tables.
  EXPECT_EQ(y.values, (std::vector<int16_t>{5914, 7222, 19631}));
  y.scale = {0.0001f};
  ASSERT_TRUE(Compute(op, {x.view()}, y).ok());
  expect(double{0.0001f}, 0);
  // So far apart that their places in the table exceed int32.
  x = {{3}, {-32768, 32767, -32768}, {1000}, {0}};
  y.scale = {1.0f / 32768};
  ASSERT_TRUE(Compute(op, {x.view()}, y).ok());
  EXPECT_LE(y.values[0], 2);
  EXPECT_GE(y.values[1], 32760);
}

// Steps of 1/128 are TensorFlow Lite's fixed point, others the nearest.
TEST(NormalizationTest, QuantizedL2) {
  v1::OpAttributes op;
  op.mutable_l2_normalization()->set_axis(0);
  TestTensor<int8_t> x{{4}, {10, -20, 3, 127}, {0.1f}, {3}};
  const double size = std::sqrt(7 * 7 + 23 * 23 + 124 * 124);
  for (const float scale : {1.0f / 128, 0.01f}) {
    TestTensor<int8_t> y{{4}, {}, {scale}, {0}};
    ASSERT_TRUE(Compute(op, {x.view()}, y).ok());
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(y.values[i], std::round((x.values[i] - 3) / size / scale));
    }
  }
  TestTensor<uint8_t> none{{2}, {9, 9}, {0.1f}, {9}};
  TestTensor<uint8_t> y{{2}, {}, {1.0f / 128}, {128}};
  ASSERT_TRUE(Compute(op, {none.view()}, y).ok());
  EXPECT_EQ(y.values, (std::vector<uint8_t>{128, 128}));
}

}  // namespace
}  // namespace edgekiln::ops
