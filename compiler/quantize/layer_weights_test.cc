#include "compiler/quantize/layer_weights.h"

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

std::vector<int32_t> Int32s(const std::string& bytes) {
  std::vector<int32_t> values(bytes.size() / sizeof(int32_t));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

LayerWeights Quantized(const std::vector<float>& weights, int64_t channels,
                       const std::vector<float>& bias, double input_scale,
                       int32_t axis, bool per_tensor = false,
                       const WeightFitOptions& options = {}) {
  return QuantizeWeights({.weights = weights,
                          .channels = channels,
                          .inner = 1,
                          .bias = bias,
                          .axis = axis,
                          .input_scale = input_scale},
                         per_tensor, options);
}

TEST(LayerWeightsTest, WeightsAreSymmetricPerChannel) {
  // Channels along the last dimension, as in a depthwise convolution.
  const LayerWeights q =
      Quantized({127, -1, -63.5, 0.5}, 2, {10, -0.25f}, 0.5, 3);
  EXPECT_EQ(q.weights.axis, 3);
  EXPECT_EQ(q.weights.scale, (std::vector<float>{1, 1.0f / 127}));
  EXPECT_EQ(q.weights.zero_point, (std::vector<int32_t>{0, 0}));
  const std::vector<int8_t> want = {127, -127, -64, 64};
  EXPECT_EQ(std::vector<int8_t>(q.weight_data.begin(), q.weight_data.end()),
            want);
  EXPECT_EQ(q.bias.scale[0], 0.5f);
  EXPECT_EQ(Int32s(q.bias_data), (std::vector<int32_t>{20, -64}));
}

TEST(LayerWeightsTest, NeighboursMayShareAScale) {
  const LayerWeights q = Quantized({127, -1, 12.8f, 25.4f, 1}, 5, {}, 0.5, 0,
                                   false, {.channels_per_scale = 2});
  EXPECT_EQ(q.weights.scale,
            (std::vector<float>{1, 1, 0.2f, 0.2f, 1.0f / 127}));
  const std::vector<int8_t> want = {127, -1, 64, 127, 127};
  EXPECT_EQ(std::vector<int8_t>(q.weight_data.begin(), q.weight_data.end()),
            want);
}

// Sums in steps of 1: half of what a result has, unless a result has one.
TEST(LayerWeightsTest, BiasesHoldHalfAStepWhereSumsAreShifted) {
  const struct {
    float result;
    std::vector<int32_t> bias;
  } kRows[] = {{16, {18, 7}}, {2, {11, 0}}, {1, {10, -1}}, {0.5, {10, -1}}};
  for (const auto& row : kRows) {
    const std::vector<float> weights = {127, 1};
    const std::vector<float> bias = {10, -1};
    RealWeights real = {.weights = weights, .channels = 2, .bias = bias};
    SetResultScale({.scale = {row.result}, .zero_point = {0}},
                   {.power_of_two = true}, /*rounds_down=*/true, real);
    const LayerWeights q = QuantizeWeights(real, true, {.power_of_two = true});
    EXPECT_EQ(Int32s(q.bias_data), row.bias) << row.result;
  }
}

// The largest of the channels' scales, a bias's included, and of biases alike.
TEST(LayerWeightsTest, WeightsAreSymmetricPerTensor) {
  LayerWeights q = Quantized({127, -1, -63.5, 0.5}, 2, {10, -0.25f}, 0.5, 3,
                             /*per_tensor=*/true);
  EXPECT_EQ(q.weights.scale, std::vector<float>{1});
  EXPECT_EQ(q.weights.zero_point, std::vector<int32_t>{0});
  const std::vector<int8_t> want = {127, -1, -64, 1};
  EXPECT_EQ(std::vector<int8_t>(q.weight_data.begin(), q.weight_data.end()),
            want);
  EXPECT_EQ(q.bias.scale, std::vector<float>{0.5f});
  EXPECT_EQ(q.bias.zero_point, std::vector<int32_t>{0});
  EXPECT_EQ(Int32s(q.bias_data), (std::vector<int32_t>{20, -1}));

  q = Quantized({1e-9f, 1e-9f}, 2, {1, -100}, 0.01, 0, true);
  ASSERT_EQ(q.weights.scale.size(), 1u);
  EXPECT_NEAR(Int32s(q.bias_data)[1] * q.bias.scale[0], -100, 1e-4);
  EXPECT_LE(std::abs(Int32s(q.bias_data)[1]), 0x1p30 + 64);
}

TEST(LayerWeightsTest, WeightScalesArePowersOfTwo) {
  const LayerWeights q = Quantized({127, -1, -63.5, 0.5}, 2, {10, -0.25f}, 0.5,
                                   3, false, {.power_of_two = true});
  EXPECT_EQ(q.weights.scale, (std::vector<float>{1, 0x1p-6f}));
  const std::vector<int8_t> want = {127, -64, -64, 32};
  EXPECT_EQ(std::vector<int8_t>(q.weight_data.begin(), q.weight_data.end()),
            want);
  EXPECT_EQ(q.bias.scale, (std::vector<float>{0.5f, 0x1p-7f}));
  EXPECT_EQ(Int32s(q.bias_data), (std::vector<int32_t>{20, -32}));
}

TEST(LayerWeightsTest, LargeBiasesWidenTheScaleOfTheirWeights) {
  const LayerWeights q = Quantized({0, 1e-9f}, 2, {100, -100}, 0.01, 0);
  for (int c = 0; c < 2; ++c) {
    const double bias = Int32s(q.bias_data)[c];
    EXPECT_LE(std::abs(bias), 0x1p30 + 64);
    EXPECT_NEAR(bias * q.bias.scale[c], c == 0 ? 100 : -100, 1e-4);
  }
}

TEST(LayerWeightsTest, AllZeroWeightsHaveAScale) {
  const LayerWeights q = Quantized({0, 0}, 1, {}, 0.01, 0);
  EXPECT_EQ(q.weights.scale, std::vector<float>{1});
  EXPECT_EQ(q.weight_data, std::string(2, '\0'));
  EXPECT_TRUE(q.bias_data.empty());
}

// Products alone come near the limit: 127 * 255 * 65000 is 2.1e9.
TEST(LayerWeightsTest, SumsCannotOverflow) {
  const std::vector<float> weights(65'000, 1);
  for (const float bias : {0.0f, 30'000.0f, -1e6f}) {
    const LayerWeights q = QuantizeWeights({.weights = weights,
                                            .channels = 1,
                                            .inner = 65'000,
                                            .bias = {&bias, 1},
                                            .axis = 0,
                                            .input_scale = 0.01},
                                           false, {});
    double most = std::abs(static_cast<double>(Int32s(q.bias_data)[0]));
    for (const char w : q.weight_data) {
      most += 255.0 * std::abs(static_cast<int8_t>(w));
    }
    EXPECT_LE(most, 0x7fffffff);
    EXPECT_NEAR(Int32s(q.bias_data)[0] * q.bias.scale[0], bias,
                1e-3 + 1e-6 * std::abs(bias));
  }
}

}  // namespace
}  // namespace edgekiln::compiler
