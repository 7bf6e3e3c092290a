#include "compiler/quantize/layer_weights.h"

#include <algorithm>
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

// Two channels of 64 weights each.
std::vector<float> ManyWeights() {
  std::vector<float> weights;
  for (int i = 0; i < 64; ++i) {
    weights.push_back(static_cast<float>(i % 2 == 0 ? i + 1 : -i));
  }
  // Small ones, most of which become 0 with a larger scale.
  for (int i = 0; i < 63; ++i) weights.push_back(0.01f);
  weights.push_back(1);
  return weights;
}

SumRange SumsOf(const LayerWeights& q, size_t channel, SumRange inputs) {
  const auto* integers = reinterpret_cast<const int8_t*>(q.weight_data.data());
  return SumOfProducts({integers + channel * 64, 64}, inputs);
}

TEST(LayerWeightsTest, ScalesGrowUntilSumsFitTheAccumulator) {
  const std::vector<float> weights = ManyWeights();
  RealWeights real = {
      .weights = weights, .channels = 2, .inner = 64, .inputs = {-128, 127}};
  const LayerWeights whole = QuantizeWeights(real, false, {});
  EXPECT_EQ(whole.scale_growth, 1);
  ASSERT_FALSE(Fits(SumsOf(whole, 0, real.inputs), 18));
  ASSERT_TRUE(Fits(SumsOf(whole, 0, real.inputs), 21));
  ASSERT_FALSE(Fits(SumsOf(whole, 1, real.inputs), 14));
  for (const bool per_tensor : {false, true}) {
    real.accumulator_bits = 0;
    const LayerWeights base = QuantizeWeights(real, per_tensor, {});
    for (int bits = 12; bits < 20; ++bits) {
      real.accumulator_bits = bits;
      const LayerWeights q = QuantizeWeights(real, per_tensor, {});
      double growth = 1;
      for (size_t c = 0; c < 2; ++c) {
        EXPECT_TRUE(Fits(SumsOf(q, c, real.inputs), bits)) << bits;
      }
      ASSERT_EQ(q.weights.scale.size(), per_tensor ? 1u : 2u);
      for (size_t i = 0; i < q.weights.scale.size(); ++i) {
        growth = std::max(growth,
                          double{q.weights.scale[i]} / base.weights.scale[i]);
      }
      EXPECT_NEAR(q.scale_growth, growth, 1e-6) << bits;
    }
  }
  // No more than it takes.
  real.accumulator_bits = 18;
  const LayerWeights q = QuantizeWeights(real, false, {});
  const SumRange sums = SumsOf(q, 0, real.inputs);
  EXPECT_GT(std::max(sums.high, -sums.low), 0.95 * (1 << 17));
  // Where all fits, nothing is changed.
  real.accumulator_bits = 21;
  EXPECT_EQ(QuantizeWeights(real, false, {}).weight_data, whole.weight_data);
}

// Of inputs that go along with the signs of the weights: adaptive rounding
// makes up for small weights that rounding to nearest makes 0.
TEST(LayerWeightsTest, AdaptedSumsFitTheAccumulator) {
  constexpr int kWeights = 256;
  const auto sign = [](int i) { return i % 2 == 0 ? 1 : -1; };
  std::vector<float> weights;
  InputMoments moments;
  InputMoments::Block& block = moments.blocks.emplace_back();
  block.size = kWeights;
  for (int i = 0; i < kWeights; ++i) {
    weights.push_back(static_cast<float>(sign(i)) * (i < 4 ? 1 : 0.011f));
    for (int j = 0; j < kWeights; ++j) {
      block.moments.push_back(9 * sign(i) * sign(j) + (i == j ? 1 : 0));
    }
  }
  const std::vector<const InputMoments*> by_channel = {&moments};
  for (const bool per_tensor : {false, true}) {
    RealWeights real = {.weights = weights,
                        .channels = 1,
                        .inner = kWeights,
                        .inputs = {-128, 127}};
    const WeightFitOptions adaptive = {.adaptive = true};
    const LayerWeights whole =
        QuantizeWeights(real, per_tensor, adaptive, by_channel);
    real.accumulator_bits = 16;
    const LayerWeights nearest = QuantizeWeights(real, per_tensor, {});
    const LayerWeights adapted =
        QuantizeWeights(real, per_tensor, adaptive, by_channel);
    const auto sums = [&](const LayerWeights& q) {
      const auto* integers =
          reinterpret_cast<const int8_t*>(q.weight_data.data());
      return SumOfProducts({integers, kWeights}, real.inputs);
    };
    EXPECT_TRUE(Fits(sums(nearest), 16));
    EXPECT_TRUE(Fits(sums(adapted), 16));
    // What is enough for the one is not for the other.
    EXPECT_GT(adapted.weights.scale[0], 1.1f * nearest.weights.scale[0]);
    EXPECT_GT(sums(adapted).high, sums(nearest).high);
    EXPECT_NEAR(adapted.scale_growth,
                double{adapted.weights.scale[0]} / whole.weights.scale[0],
                1e-6);
  }
}

// What only the sign of the inputs tells.
TEST(LayerWeightsTest, InputsOfOneSignLeaveMoreToWeights) {
  const std::vector<float> weights = ManyWeights();
  RealWeights real = {.weights = weights,
                      .channels = 2,
                      .inner = 64,
                      .accumulator_bits = 17,
                      .inputs = {-128, 127}};
  const LayerWeights both = QuantizeWeights(real, false, {});
  real.inputs.low = 0;
  const LayerWeights one = QuantizeWeights(real, false, {});
  EXPECT_TRUE(Fits(SumsOf(one, 0, real.inputs), 17));
  EXPECT_LT(one.weights.scale[0], 0.6f * both.weights.scale[0]);
}

TEST(LayerWeightsTest, ScalesForTheAccumulatorArePowersOfTwo) {
  const std::vector<float> weights = ManyWeights();
  const RealWeights real = {.weights = weights,
                            .channels = 2,
                            .inner = 64,
                            .accumulator_bits = 16,
                            .inputs = {-128, 127}};
  const LayerWeights q = QuantizeWeights(real, true, {.power_of_two = true});
  int exponent = 0;
  EXPECT_EQ(std::frexp(q.weights.scale[0], &exponent), 0.5f);
  EXPECT_TRUE(Fits(SumsOf(q, 0, real.inputs), 16));
  EXPECT_GE(q.scale_growth, 2);
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

std::vector<int64_t> Int64s(const std::string& bytes) {
  std::vector<int64_t> values(bytes.size() / sizeof(int64_t));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

// Of int16 activations: 127 * 32768 * 516 is what int32 holds.
TEST(LayerWeightsTest, SumsOfInt16CannotOverflow) {
  for (const int64_t depth : {500, 800, 1000}) {
    const std::vector<float> weights(static_cast<size_t>(depth), 1);
    const float bias = 0.5f;
    const LayerWeights q = QuantizeWeights({.weights = weights,
                                            .channels = 1,
                                            .inner = depth,
                                            .bias = {&bias, 1},
                                            .axis = 0,
                                            .input_scale = 0.001,
                                            .activations = v1::INT16,
                                            .may_be_wide = true},
                                           false, {});
    EXPECT_EQ(q.bias_type, v1::INT32);
    double most = std::abs(static_cast<double>(Int32s(q.bias_data)[0]));
    for (const char w : q.weight_data) {
      most += 32768.0 * std::abs(static_cast<int8_t>(w));
    }
    EXPECT_LE(most, 0x7fffffff) << depth;
    EXPECT_GT(most, 0x7fffffff * 0.9) << depth;
    EXPECT_NEAR(Int32s(q.bias_data)[0] * q.bias.scale[0], bias, 1e-4);
  }
}

// Where int32 would cost a bit, sums are of 64 bits, unless they must not be.
TEST(LayerWeightsTest, SumsOfManyInt16AreWide) {
  const std::vector<float> weights(2000, 1);
  const float bias = 0.5f;
  RealWeights real = {.weights = weights,
                      .channels = 1,
                      .inner = 2000,
                      .bias = {&bias, 1},
                      .axis = 0,
                      .input_scale = 0.001,
                      .activations = v1::INT16,
                      .may_be_wide = true};
  const LayerWeights wide = QuantizeWeights(real, false, {});
  EXPECT_EQ(wide.bias_type, v1::INT64);
  EXPECT_EQ(wide.weight_data, std::string(2000, 127));
  ASSERT_EQ(wide.bias_data.size(), sizeof(int64_t));
  EXPECT_EQ(Int64s(wide.bias_data)[0], std::llround(0.5 / 0.001 * 127));
  real.may_be_wide = false;
  const LayerWeights narrow = QuantizeWeights(real, false, {});
  EXPECT_EQ(narrow.bias_type, v1::INT32);
  EXPECT_LE(std::abs(static_cast<int8_t>(narrow.weight_data[0])), 32);
  real.may_be_wide = true;
  real.bias = {};
  EXPECT_EQ(QuantizeWeights(real, false, {}).bias_type, v1::INT64);
}

// Scales that biases make larger cost bits of the weights, too.
TEST(LayerWeightsTest, LargeBiasesOfInt16AreWide) {
  const std::vector<float> weights = {0.001f, -0.0005f, 0.00025f, 0.0007f};
  // Of 2^30 steps of the weights' own scale.
  const struct {
    float bias;
    float excess;
  } kRows[] = {{-1, 3.8f}, {0.6f, 2.3f}};
  for (const auto& row : kRows) {
    RealWeights real = {.weights = weights,
                        .channels = 1,
                        .inner = 4,
                        .bias = {&row.bias, 1},
                        .axis = 0,
                        .input_scale = 1.0 / 32767,
                        .activations = v1::INT16,
                        .may_be_wide = true};
    const LayerWeights wide = QuantizeWeights(real, false, {});
    EXPECT_EQ(wide.bias_type, v1::INT64);
    EXPECT_EQ(wide.weight_data, "\x7f\xc0\x20\x59");
    ASSERT_EQ(wide.bias_data.size(), sizeof(int64_t));
    EXPECT_NEAR(
        static_cast<double>(Int64s(wide.bias_data)[0]) * wide.bias.scale[0],
        row.bias, 1e-6);
    real.may_be_wide = false;
    const LayerWeights narrow = QuantizeWeights(real, false, {});
    EXPECT_EQ(narrow.bias_type, v1::INT32);
    EXPECT_GT(narrow.weights.scale[0], wide.weights.scale[0] * row.excess);
    EXPECT_NEAR(Int32s(narrow.bias_data)[0] * narrow.bias.scale[0], row.bias,
                1e-6);
  }
}

// Up to a bit int32 is worth it.
TEST(LayerWeightsTest, RatherLargeBiasesOfInt16WidenTheScale) {
  const std::vector<float> weights = {0.001f};
  const float bias = 0.4f;
  const LayerWeights q = QuantizeWeights({.weights = weights,
                                          .channels = 1,
                                          .bias = {&bias, 1},
                                          .axis = 0,
                                          .input_scale = 1.0 / 32767,
                                          .activations = v1::INT16,
                                          .may_be_wide = true},
                                         false, {});
  EXPECT_EQ(q.bias_type, v1::INT32);
  EXPECT_GT(q.weights.scale[0], 0.001f / 127 * 1.4f);
  EXPECT_LE(std::abs(Int32s(q.bias_data)[0]), 0x1p30 + 64);
  EXPECT_NEAR(Int32s(q.bias_data)[0] * q.bias.scale[0], bias, 1e-6);
}

// Of channels that are their bias, nothing is lost; next to others that share
// their scale, something is.
TEST(LayerWeightsTest, WeightsThatNeverShowNeedNoWideSums) {
  const std::vector<float> weights = {0, 1e-9f, 0.5f};
  const std::vector<float> bias = {1, -1, 1};
  const RealWeights real = {.weights = weights,
                            .channels = 3,
                            .bias = bias,
                            .axis = 0,
                            .input_scale = 1.0 / 32767,
                            .activations = v1::INT16,
                            .may_be_wide = true};
  const LayerWeights q = QuantizeWeights(real, false, {});
  EXPECT_EQ(q.bias_type, v1::INT32);
  for (int c = 0; c < 3; ++c) {
    EXPECT_LE(std::abs(Int32s(q.bias_data)[c]), 0x1p30 + 64);
    EXPECT_NEAR(Int32s(q.bias_data)[c] * q.bias.scale[c], bias[c], 1e-6);
  }
  const std::vector<float> shared = {0, 1e-3f, 0.5e-3f};
  RealWeights together = real;
  together.weights = shared;
  EXPECT_EQ(QuantizeWeights(together, /*per_tensor=*/true, {}).bias_type,
            v1::INT64);
}

}  // namespace
}  // namespace edgekiln::compiler
