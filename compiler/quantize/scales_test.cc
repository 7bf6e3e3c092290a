#include "compiler/quantize/scales.h"

#include <cmath>
#include <cstring>
#include <ostream>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

struct RangeCase {
  const char* name;
  RealRange range;
  float scale;
  int32_t zero_point;
};

class ActivationQuantizationTest : public testing::TestWithParam<RangeCase> {};

void PrintTo(const RangeCase& row, std::ostream* out) { *out << row.name; }

TEST_P(ActivationQuantizationTest, HasTheScale) {
  const Quantization q = ActivationQuantization(GetParam().range);
  EXPECT_EQ(q.scale, std::vector<float>{GetParam().scale});
  EXPECT_EQ(q.zero_point, std::vector<int32_t>{GetParam().zero_point});
}

const RangeCase kRanges[] = {
    {"Pixels", {0, 255}, 1, -128},
    {"BothSigns", {-128, 127}, 1, 0},
    {"NegativeOnly", {-255, 0}, 1, 127},
    {"WidenedDownToZero", {10, 51}, 0.2f, -128},
    {"WidenedUpToZero", {-51, -10}, 0.2f, 127},
    {"Empty", {0, 0}, 1, 0},
    {"TooNarrowForAFloat", {0, 1e-40}, 1, 0},
};

const RangeCase kSymmetric[] = {
    {"Pixels", {0, 254}, 2, 0},
    {"BothSigns", {-128, 127}, 1, 0},
    {"MostlyNegative", {-256, 200}, 2, 0},
    {"MostlyPositive", {-10, 254}, 2, 0},
    {"Empty", {0, 0}, 1, 0},
    {"TooNarrowForAFloat", {-1e-40, 0}, 1, 0},
};

const RangeCase kPowersOfTwo[] = {
    {"Exact", {0, 255}, 1, -128},
    {"RoundedUp", {0, 256}, 2, -128},
    {"ZeroPointFollows", {-100, 100}, 1, -28},
    {"Small", {-0.001, 0}, 0x1p-17f, 3},
    {"Large", {0, 1e29}, 0x1p89f, -128},
    {"Empty", {0, 0}, 1, 0},
    {"TooNarrowForAFloat", {0, 1e-40}, 1, 0},
};

const RangeCase kBoth[] = {
    {"Exact", {-128, 100}, 1, 0},
    {"RoundedUp", {-129, 100}, 2, 0},
};

TEST(ScalesTest, FollowsTheRules) {
  const auto expect = [](absl::Span<const RangeCase> rows, ScaleRules rules) {
    for (const RangeCase& row : rows) {
      SCOPED_TRACE(row.name);
      const Quantization q = ActivationQuantization(row.range, rules);
      EXPECT_EQ(q.scale, std::vector<float>{row.scale});
      EXPECT_EQ(q.zero_point, std::vector<int32_t>{row.zero_point});
    }
  };
  expect(kSymmetric, {.symmetric = true});
  expect(kPowersOfTwo, {.power_of_two = true});
  expect(kBoth, {.symmetric = true, .power_of_two = true});
}

INSTANTIATE_TEST_SUITE_P(All, ActivationQuantizationTest,
                         testing::ValuesIn(kRanges), [](const auto& info) {
                           return std::string(info.param.name);
                         });

TEST(ScalesTest, RoundsHalfAwayFromZero) {
  EXPECT_EQ(RoundHalfAway(0.5), 1);
  EXPECT_EQ(RoundHalfAway(-0.5), -1);
  EXPECT_EQ(RoundHalfAway(2.4999), 2);
  EXPECT_EQ(RoundHalfAway(-2.5), -3);
}

TEST(ScalesTest, QuantizedValuesSaturate) {
  const Quantization q = {.scale = {0.5f}, .zero_point = {10}, .axis = 0};
  const std::string data = QuantizedValues({0, 1, -1, 1e30f, -1e30f}, q);
  const std::vector<int8_t> want = {10, 12, 8, 127, -128};
  EXPECT_EQ(std::vector<int8_t>(data.begin(), data.end()), want);
}

std::vector<int32_t> Int32s(const std::string& bytes) {
  std::vector<int32_t> values(bytes.size() / sizeof(int32_t));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

TEST(ScalesTest, WeightsAreSymmetricPerChannel) {
  // Channels along the last dimension, as in a depthwise convolution.
  const QuantizedWeights q =
      QuantizeWeights({127, -1, -63.5, 0.5}, 2, 1, {10, -0.25f}, 0.5, 3);
  EXPECT_EQ(q.weights.axis, 3);
  EXPECT_EQ(q.weights.scale, (std::vector<float>{1, 1.0f / 127}));
  EXPECT_EQ(q.weights.zero_point, (std::vector<int32_t>{0, 0}));
  const std::vector<int8_t> want = {127, -127, -64, 64};
  EXPECT_EQ(std::vector<int8_t>(q.weight_data.begin(), q.weight_data.end()),
            want);
  EXPECT_EQ(q.bias.scale[0], 0.5f);
  EXPECT_EQ(Int32s(q.bias_data), (std::vector<int32_t>{20, -64}));
}

// The largest of the channels' scales, a bias's included, and of biases alike.
TEST(ScalesTest, WeightsAreSymmetricPerTensor) {
  QuantizedWeights q = QuantizeWeights(
      {127, -1, -63.5, 0.5}, 2, 1, {10, -0.25f}, 0.5, 3, /*per_tensor=*/true);
  EXPECT_EQ(q.weights.scale, std::vector<float>{1});
  EXPECT_EQ(q.weights.zero_point, std::vector<int32_t>{0});
  const std::vector<int8_t> want = {127, -1, -64, 1};
  EXPECT_EQ(std::vector<int8_t>(q.weight_data.begin(), q.weight_data.end()),
            want);
  EXPECT_EQ(q.bias.scale, std::vector<float>{0.5f});
  EXPECT_EQ(q.bias.zero_point, std::vector<int32_t>{0});
  EXPECT_EQ(Int32s(q.bias_data), (std::vector<int32_t>{20, -1}));

  q = QuantizeWeights({1e-9f, 1e-9f}, 2, 1, {1, -100}, 0.01, 0, true);
  ASSERT_EQ(q.weights.scale.size(), 1u);
  EXPECT_NEAR(Int32s(q.bias_data)[1] * q.bias.scale[0], -100, 1e-4);
  EXPECT_LE(std::abs(Int32s(q.bias_data)[1]), 0x1p30 + 64);
}

TEST(ScalesTest, WeightScalesArePowersOfTwo) {
  const QuantizedWeights q =
      QuantizeWeights({127, -1, -63.5, 0.5}, 2, 1, {10, -0.25f}, 0.5, 3, false,
                      {.power_of_two = true});
  EXPECT_EQ(q.weights.scale, (std::vector<float>{1, 0x1p-6f}));
  const std::vector<int8_t> want = {127, -64, -64, 32};
  EXPECT_EQ(std::vector<int8_t>(q.weight_data.begin(), q.weight_data.end()),
            want);
  EXPECT_EQ(q.bias.scale, (std::vector<float>{0.5f, 0x1p-7f}));
  EXPECT_EQ(Int32s(q.bias_data), (std::vector<int32_t>{20, -32}));
}

TEST(ScalesTest, LargeBiasesWidenTheScaleOfTheirWeights) {
  const QuantizedWeights q =
      QuantizeWeights({0, 1e-9f}, 2, 1, {100, -100}, 0.01, 0);
  for (int c = 0; c < 2; ++c) {
    const double bias = Int32s(q.bias_data)[c];
    EXPECT_LE(std::abs(bias), 0x1p30 + 64);
    EXPECT_NEAR(bias * q.bias.scale[c], c == 0 ? 100 : -100, 1e-4);
  }
}

TEST(ScalesTest, AllZeroWeightsHaveAScale) {
  const QuantizedWeights q = QuantizeWeights({0, 0}, 1, 1, {}, 0.01, 0);
  EXPECT_EQ(q.weights.scale, std::vector<float>{1});
  EXPECT_EQ(q.weight_data, std::string(2, '\0'));
  EXPECT_TRUE(q.bias_data.empty());
}

}  // namespace
}  // namespace edgekiln::compiler
