#include "compiler/quantize/scales.h"

#include <cmath>
#include <cstring>
#include <ostream>
#include <string>
#include <vector>

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
