#include "compiler/quantize/converter_fit.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "ops/converter.h"

namespace edgekiln::compiler {
namespace {

v1::Numerics::Converter Engine() {
  v1::Numerics::Converter engine;
  engine.set_min(-32);
  engine.set_max(31);
  engine.set_max_gain(4096);
  engine.set_max_shift(15);
  return engine;
}

ConvertedLayer Layer(std::vector<double> steps, std::vector<double> bias) {
  return {.engine = Engine(),
          .range = {-128, 127},
          .output_scale = 0.05,
          .steps = std::move(steps),
          .bias = std::move(bias)};
}

// No code makes the step in between wrap.
void ExpectWithin16Bits(const v1::Converter& converter) {
  for (int c = 0; c < converter.scale_size(); ++c) {
    for (const int code : {converter.min(), converter.max()}) {
      const int value = code * converter.scale(c) + converter.offset(c);
      EXPECT_LE(std::abs(value), 32767) << "channel " << c;
    }
  }
}

struct Samples {
  std::vector<int32_t> sums;
  std::vector<float> real;
};

// Sums of about `spread` in size, with what they stand for.
Samples RandomSamples(const ConvertedLayer& layer, int rows, double spread) {
  std::mt19937 random(1);
  std::uniform_int_distribution<int32_t> sum(static_cast<int32_t>(-spread),
                                             static_cast<int32_t>(spread));
  Samples samples;
  for (int row = 0; row < rows; ++row) {
    for (size_t c = 0; c < layer.steps.size(); ++c) {
      samples.sums.push_back(sum(random));
      samples.real.push_back(static_cast<float>(
          samples.sums.back() * layer.steps[c] + layer.bias[c]));
    }
  }
  return samples;
}

double RootMeanSquare(const ConvertedLayer& layer,
                      const v1::Converter& converter, const Samples& samples) {
  double squares = 0;
  for (size_t i = 0; i < samples.sums.size(); ++i) {
    const auto c = static_cast<int64_t>(i % layer.steps.size());
    const double ours =
        ops::Convert(converter, c, samples.sums[i], layer.range);
    const double real = std::clamp<double>(samples.real[i] / layer.output_scale,
                                           layer.range.min, layer.range.max);
    squares += (ours - real) * (ours - real);
  }
  return std::sqrt(squares / static_cast<double>(samples.sums.size()));
}

v1::Converter Fit(const ConvertedLayer& layer, const Samples& samples) {
  const auto rows =
      static_cast<int64_t>(samples.sums.size() / layer.steps.size());
  ConverterFit fit(layer, rows);
  // In two parts, as samples come.
  const int64_t half = rows / 2;
  const auto at = [&](int64_t row) {
    return row * static_cast<int64_t>(layer.steps.size());
  };
  fit.AddReal(0, half, samples.real.data());
  fit.AddReal(half, rows - half, samples.real.data() + at(half));
  fit.AddSums(0, half, samples.sums.data());
  fit.AddSums(half, rows - half, samples.sums.data() + at(half));
  return fit.Best();
}

// 64 codes over the whole range of sums: a step of range / 64, whose uniform
// error is 0.29 steps.
TEST(ConverterFitTest, ErrorIsThatOfSixBits) {
  const ConvertedLayer layer = Layer({0.01, 0.012}, {0.5, -1});
  const Samples samples = RandomSamples(layer, 2000, 500);
  const v1::Converter converter = Fit(layer, samples);
  ExpectWithin16Bits(converter);
  EXPECT_GE(converter.gain(), 12);
  EXPECT_LE(converter.gain(), 20);
  const double step = converter.gain() * 0.012 / layer.output_scale;
  EXPECT_LT(RootMeanSquare(layer, converter, samples), 0.32 * step);
}

// Values behind the clamp do not count: codes are spent on the others.
TEST(ConverterFitTest, WhatTheClampShutsNeedsNoCodes) {
  ConvertedLayer layer = Layer({0.01}, {0});
  layer.range = {0, 40};
  const Samples samples = RandomSamples(layer, 4000, 2000);
  const v1::Converter converter = Fit(layer, samples);
  ExpectWithin16Bits(converter);
  // 40 steps are sums up to 200.
  EXPECT_LE(converter.gain(), 10);
  EXPECT_LT(RootMeanSquare(layer, converter, samples), 1);
}

// What quantized inputs and weights do to a channel's results is taken up.
TEST(ConverterFitTest, ScalesAndOffsetsFollowTheResults) {
  const ConvertedLayer layer = Layer({0.01, 0.01}, {0, 0});
  Samples samples = RandomSamples(layer, 2000, 500);
  const double before = RootMeanSquare(layer, Fit(layer, samples), samples);
  for (size_t i = 0; i < samples.real.size(); i += 2) {
    samples.real[i] = samples.real[i] * 0.8f + 0.4f;
  }
  const v1::Converter converter = Fit(layer, samples);
  EXPECT_LT(converter.scale(0), converter.scale(1));
  EXPECT_LT(RootMeanSquare(layer, converter, samples), 1.1 * before);
}

// Data sorted by class, the first quarter of which has small sums: all of it
// decides about the gain.
TEST(ConverterFitTest, TheFirstResultsDoNotDecideAlone) {
  const ConvertedLayer layer = Layer({0.01}, {0});
  constexpr int kRows = 4000;
  Samples samples = RandomSamples(layer, kRows, 600);
  for (int row = 0; row < kRows / 4; ++row) {
    samples.sums[row] /= 12;
    samples.real[row] = static_cast<float>(samples.sums[row] * layer.steps[0]);
  }
  const v1::Converter converter = Fit(layer, samples);
  // The best of all gains.
  EXPECT_GE(converter.gain(), 15);
  EXPECT_LE(converter.gain(), 21);
}

TEST(ConverterFitTest, AGainOfOneIsEnoughForSmallSums) {
  const ConvertedLayer layer = Layer({0.2}, {0});
  const Samples samples = RandomSamples(layer, 500, 25);
  const v1::Converter converter = Fit(layer, samples);
  EXPECT_EQ(converter.gain(), 1);
  EXPECT_LT(RootMeanSquare(layer, converter, samples), 0.3);
}

TEST(ConverterFitTest, ChannelsWithoutResultsKeepWhatWeightsSay) {
  const ConvertedLayer layer = Layer({0.01}, {-100});
  ConvertedLayer shut = layer;
  shut.range = {0, 127};
  const Samples samples = RandomSamples(layer, 100, 50);
  const v1::Converter converter = Fit(shut, samples);
  ExpectWithin16Bits(converter);
  EXPECT_EQ(RootMeanSquare(shut, converter, samples), 0);
}

TEST(ConverterWithoutSamplesTest, ClipsNothing) {
  const ConvertedLayer layer = Layer({0.01, 0.02}, {1, 0});
  const v1::Converter converter = ConverterWithoutSamples(layer, 5);
  ExpectWithin16Bits(converter);
  // (5 + 1) / 0.01 sums in 31 codes.
  EXPECT_EQ(converter.gain(), 20);
  const Samples samples = RandomSamples(layer, 100, 250);
  EXPECT_LT(RootMeanSquare(layer, converter, samples), 4);
}

TEST(ConverterWithoutSamplesTest, KeepsTheEnginesLimits) {
  ConvertedLayer layer = Layer({1e-9}, {1000});
  layer.engine.set_max_gain(7);
  layer.engine.set_max_shift(3);
  const v1::Converter converter = ConverterWithoutSamples(layer, 1e6);
  EXPECT_EQ(converter.gain(), 7);
  EXPECT_LE(converter.shift(), 3);
  ExpectWithin16Bits(converter);
}

}  // namespace
}  // namespace edgekiln::compiler
