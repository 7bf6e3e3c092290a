#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "ops/evaluate.h"
#include "ops/quantized_parameters.h"
#include "ops/requantize.h"
#include "ops/shape_inference.h"
#include "ops/testing/test_tensor.h"

// Convolution, depthwise convolution, fully connected and matmul: one line of
// naive code each, on random small shapes, against the kernels on every CPU
// path.
namespace edgekiln::ops {
namespace {

constexpr CpuPath kPaths[] = {CpuPath::kScalar, CpuPath::kAvx2,
                              CpuPath::kAvx512};

// Sums of products by definition: output element -> list of (x, w) indices.
using Terms = std::vector<std::vector<std::pair<int64_t, int64_t>>>;

struct Problem {
  v1::OpAttributes op;
  std::vector<int64_t> x, w, y;
  int32_t channel_axis = 0;  // Of the weights.
  Terms terms;
  int64_t channels() const { return y.back(); }
};

v1::Window2d RandomWindow(TestRandom& random) {
  v1::Window2d window;
  window.set_stride_h(static_cast<int32_t>(random.Int(1, 3)));
  window.set_stride_w(static_cast<int32_t>(random.Int(1, 3)));
  window.set_dilation_h(static_cast<int32_t>(random.Int(1, 2)));
  window.set_dilation_w(static_cast<int32_t>(random.Int(1, 2)));
  window.set_pad_top(static_cast<int32_t>(random.Int(0, 2)));
  window.set_pad_bottom(static_cast<int32_t>(random.Int(0, 2)));
  window.set_pad_left(static_cast<int32_t>(random.Int(0, 2)));
  window.set_pad_right(static_cast<int32_t>(random.Int(0, 2)));
  return window;
}

// A convolution, or a depthwise one with `multiplier` > 0.
Problem RandomConvolution(TestRandom& random, int64_t multiplier) {
  Problem p;
  const int64_t kh = random.Int(1, 3), kw = random.Int(1, 4);
  // Depthwise kernels take several vectors of channels at once.
  const bool many = multiplier == 1 && random.Int(0, 1) == 0;
  const int64_t channels = many ? random.Int(60, 140) : random.Int(1, 20);
  const int64_t out =
      multiplier > 0 ? channels * multiplier : random.Int(1, 37);
  p.x = {random.Int(1, 2), random.Int(5, 9), random.Int(7, 10), channels};
  const v1::Window2d window = RandomWindow(random);
  if (multiplier > 0) {
    *p.op.mutable_depthwise_conv2d()->mutable_window() = window;
    p.op.mutable_depthwise_conv2d()->set_depth_multiplier(
        static_cast<int32_t>(multiplier));
    p.w = {1, kh, kw, out};
    p.channel_axis = 3;
  } else {
    *p.op.mutable_conv2d()->mutable_window() = window;
    p.w = {out, kh, kw, channels};
  }
  const int64_t oh = (p.x[1] + window.pad_top() + window.pad_bottom() -
                      (kh - 1) * window.dilation_h() - 1) /
                         window.stride_h() +
                     1;
  const int64_t ow = (p.x[2] + window.pad_left() + window.pad_right() -
                      (kw - 1) * window.dilation_w() - 1) /
                         window.stride_w() +
                     1;
  p.y = {p.x[0], oh, ow, out};
  for (int64_t n = 0; n < p.y[0]; ++n) {
    for (int64_t y = 0; y < oh; ++y) {
      for (int64_t x = 0; x < ow; ++x) {
        for (int64_t o = 0; o < out; ++o) {
          auto& list = p.terms.emplace_back();
          for (int64_t i = 0; i < kh * kw * channels; ++i) {
            const int64_t c = i % channels, fx = i / channels % kw,
                          fy = i / channels / kw;
            const int64_t iy = y * window.stride_h() - window.pad_top() +
                               fy * window.dilation_h();
            const int64_t ix = x * window.stride_w() - window.pad_left() +
                               fx * window.dilation_w();
            if (iy < 0 || iy >= p.x[1] || ix < 0 || ix >= p.x[2]) continue;
            const int64_t at = ((n * p.x[1] + iy) * p.x[2] + ix) * channels + c;
            if (multiplier == 0) {
              list.push_back({at, ((o * kh + fy) * kw + fx) * channels + c});
            } else if (o / multiplier == c) {
              list.push_back({at, (fy * kw + fx) * out + o});
            }
          }
        }
      }
    }
  }
  return p;
}

Problem RandomFullyConnected(TestRandom& random) {
  Problem p;
  const int64_t rows = random.Int(1, 70), depth = random.Int(1, 40),
                columns = random.Int(1, 40);
  p.op.mutable_fully_connected();
  p.x = {rows, depth};
  p.w = {columns, depth};
  p.y = {rows, columns};
  for (int64_t i = 0; i < rows * columns; ++i) {
    auto& list = p.terms.emplace_back();
    for (int64_t k = 0; k < depth; ++k) {
      list.push_back({i / columns * depth + k, i % columns * depth + k});
    }
  }
  return p;
}

Problem RandomProblem(uint32_t seed) {
  TestRandom random(seed);
  switch (seed % 4) {
    case 0:
      return RandomConvolution(random, 0);
    case 1:
      return RandomConvolution(random, 1);
    case 2:
      return RandomConvolution(random, random.Int(2, 8));
    default:
      return RandomFullyConnected(random);
  }
}

void SetClamp(v1::OpAttributes& op, float min, float max) {
  v1::Clamp clamp;
  clamp.set_min(min);
  clamp.set_max(max);
  if (op.has_conv2d()) *op.mutable_conv2d()->mutable_clamp() = clamp;
  if (op.has_depthwise_conv2d()) {
    *op.mutable_depthwise_conv2d()->mutable_clamp() = clamp;
  }
  if (op.has_fully_connected()) {
    *op.mutable_fully_connected()->mutable_clamp() = clamp;
  }
}

class DotTest : public testing::TestWithParam<uint32_t> {};

TEST_P(DotTest, FloatIsCloseToExactSumsAndTheSameOnEveryPath) {
  Problem p = RandomProblem(GetParam());
  TestRandom random(GetParam() + 1000);
  const bool has_bias = GetParam() % 3 != 0;
  SetClamp(p.op, -3.5f, 4.25f);
  TestTensor<float> x{p.x}, w{p.w}, bias{{p.channels()}}, y{p.y};
  random.Fill(x);
  random.Fill(w);
  random.Fill(bias);
  const std::vector<TensorView> inputs = {
      x.view(), w.view(), has_bias ? bias.view() : TensorView{}};
  ASSERT_TRUE(Compute(p.op, inputs, y, CpuPath::kScalar).ok())
      << Compute(p.op, inputs, y, CpuPath::kScalar);
  for (size_t i = 0; i < p.terms.size(); ++i) {
    double sum = has_bias ? bias.values[i % p.channels()] : 0.0;
    for (const auto& [a, b] : p.terms[i]) {
      sum += double{x.values[a]} * double{w.values[b]};
    }
    ASSERT_NEAR(y.values[i], std::clamp(sum, -3.5, 4.25), 1e-3) << i;
  }
  for (const CpuPath path : kPaths) {
    TestTensor<float> again{p.y};
    ASSERT_TRUE(Compute(p.op, inputs, again, path).ok());
    ASSERT_EQ(again.values, y.values);
  }
}

template <typename T>
void ExpectExactIntegers(uint32_t seed) {
  Problem p = RandomProblem(seed);
  TestRandom random(seed + 2000);
  const bool per_channel = std::is_same_v<T, int8_t> && seed % 2 == 0;
  const v1::OpAttributes unclamped = p.op;
  SetClamp(p.op, -6, 6);
  constexpr int32_t kLow = std::is_signed_v<T> ? -128 : 0;
  const int32_t out_zero = static_cast<int32_t>(random.Int(kLow, kLow + 255));
  TestTensor<T> x{
      p.x, {}, {0.05f}, {static_cast<int32_t>(random.Int(kLow, kLow + 255))}};
  TestTensor<T> w{p.w, {}, {}, {}, p.channel_axis};
  const int64_t scales = per_channel ? p.channels() : 1;
  for (int64_t i = 0; i < scales; ++i) {
    w.scale.push_back(random.Float(0.001f, 0.03f));
    w.zero_point.push_back(std::is_same_v<T, int8_t> ? 0 : 131);
  }
  TestTensor<int32_t> bias{{p.channels()}};
  TestTensor<T> y{p.y, {}, {0.07f}, {out_zero}};
  TestTensor<int32_t> sums{
      p.y,
      {},
      AccumulatorScales(x.quantization(), w.quantization()),
      std::vector<int32_t>(static_cast<size_t>(scales), 0),
      static_cast<int32_t>(p.y.size()) - 1};
  random.Fill(x);
  random.Fill(w);
  random.Fill(bias);
  const std::vector<TensorView> inputs = {x.view(), w.view(), bias.view()};
  for (const CpuPath path : kPaths) {
    const absl::Status status = Compute(p.op, inputs, y, path);
    ASSERT_TRUE(status.ok()) << status;
    const absl::Status summed = Compute(unclamped, inputs, sums, path);
    ASSERT_TRUE(summed.ok()) << summed;
    for (size_t i = 0; i < p.terms.size(); ++i) {
      const int64_t channel = static_cast<int64_t>(i) % p.channels();
      int64_t sum = bias.values[channel];
      for (const auto& [a, b] : p.terms[i]) {
        sum += int64_t{x.values[a] - x.zero_point[0]} *
               (w.values[b] - w.zero_point[0]);
      }
      ASSERT_EQ(int64_t{sums.values[i]}, sum) << i;
      const double factor = double{x.scale[0]} *
                            double{w.scale[per_channel ? channel : 0]} /
                            double{y.scale[0]};
      const int64_t rescaled =
          Rescale(static_cast<int32_t>(sum), QuantizeMultiplier(factor)) +
          out_zero;
      // Clamp at -6 and 6: round(6 / 0.07) = 86 steps.
      const int64_t low = std::max<int64_t>(kLow, out_zero - 86);
      const int64_t high = std::min<int64_t>(kLow + 255, out_zero + 86);
      ASSERT_EQ(int64_t{y.values[i]}, std::clamp(rescaled, low, high)) << i;
    }
  }
}

TEST_P(DotTest, Int8IsExactOnEveryPath) {
  ExpectExactIntegers<int8_t>(GetParam());
}

TEST_P(DotTest, Uint8IsExactOnEveryPath) {
  ExpectExactIntegers<uint8_t>(GetParam());
}

// Prepared with constant weights or with weights that come later, run twice.
TEST_P(DotTest, PreparedIsTheSame) {
  const Problem p = RandomProblem(GetParam());
  TestRandom random(GetParam() + 3000);
  TestTensor<float> x{p.x}, w{p.w}, y{p.y};
  random.Fill(x);
  random.Fill(w);
  ASSERT_TRUE(Compute(p.op, {x.view(), w.view()}, y).ok());
  for (const bool constant : {false, true}) {
    std::vector<TensorView> types = {x.view(), w.view()};
    types[0].data = nullptr;
    if (!constant) types[1].data = nullptr;
    TestTensor<float> again{p.y};
    const auto op = Prepare(p.op, types, {again.mutable_view().type_only()});
    ASSERT_TRUE(op.ok()) << op.status();
    for (int run = 0; run < 2; ++run) {
      std::fill(again.values.begin(), again.values.end(), -77.0f);
      ASSERT_TRUE((*op)
                      ->Run({x.view(), w.view()}, {again.mutable_view()},
                            CpuPath::kAuto)
                      .ok());
      ASSERT_EQ(again.values, y.values);
    }
  }
}

TEST(PrepareTest, RefusesWhatEvaluateRefuses) {
  v1::OpAttributes op;
  op.mutable_mat_mul();
  TestTensor<float> a{{2, 3}}, b{{4, 5}}, y{{2, 5}};
  EXPECT_FALSE(
      Prepare(op, {a.view(), b.view()}, {y.mutable_view().type_only()}).ok());
}

INSTANTIATE_TEST_SUITE_P(Random, DotTest, testing::Range(0u, 60u));

TEST(MatMulTest, BroadcastsBatches) {
  v1::OpAttributes op;
  op.mutable_mat_mul();
  // Two matrices times one.
  TestTensor<float> a{{2, 1, 2}, {1, 2, 3, 4}};
  TestTensor<float> b{{2, 3}, {1, 0, 2, 0, 1, 3}};
  TestTensor<float> y{{2, 1, 3}};
  const absl::Status status = Compute(op, {a.view(), b.view()}, y);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(y.values, (std::vector<float>{1, 2, 8, 3, 4, 18}));
}

TEST(MatMulTest, QuantizedTakesBothZeroPointsOff) {
  v1::OpAttributes op;
  op.mutable_mat_mul();
  TestTensor<int8_t> a{{1, 2}, {3, 5}, {0.5f}, {1}};   // Real 1, 2.
  TestTensor<int8_t> b{{2, 1}, {6, -2}, {0.5f}, {2}};  // Real 2, -2.
  TestTensor<int8_t> y{{1, 1}, {}, {0.25f}, {-7}};     // Real -2 = -8 steps.
  const absl::Status status = Compute(op, {a.view(), b.view()}, y);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(y.values[0], -15);
}

}  // namespace
}  // namespace edgekiln::ops
