#include "compiler/quantize/value_kernels.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

constexpr ops::CpuPath kPaths[] = {ops::CpuPath::kScalar, ops::CpuPath::kAvx2,
                                   ops::CpuPath::kAvx512};

constexpr float kHigh = 20;

// Below 0, above it, 0, and some that lie on the upper end of a clamp.
std::vector<float> Values(size_t count, int seed) {
  std::mt19937 random(seed);
  std::vector<float> values;
  for (size_t i = 0; i < count; ++i) {
    const auto some = static_cast<float>(static_cast<int32_t>(random()));
    const float often[] = {0, kHigh, some * 0x1p-26f, some * 0x1p-26f};
    values.push_back(often[random() % 4]);
  }
  return values;
}

TEST(ValueKernelsTest, ExtremesAndBinsAreThoseOfEachValue) {
  for (const ops::CpuPath path : kPaths) {
    const ValueKernels& kernels = ValueKernelsFor(path);
    for (size_t count = 1; count < 200; ++count) {
      const std::vector<float> values = Values(count, static_cast<int>(count));
      const Extremes extremes = kernels.extremes(values.data(), count);
      EXPECT_EQ(extremes.low, *std::min_element(values.begin(), values.end()));
      EXPECT_EQ(extremes.high, *std::max_element(values.begin(), values.end()));
      EXPECT_TRUE(extremes.numbers);
      std::vector<int32_t> bins(count);
      kernels.bins(values.data(), count, 16, 1000, bins.data());
      for (size_t i = 0; i < count; ++i) {
        EXPECT_EQ(bins[i], static_cast<int32_t>(std::abs(values[i]) * 16) +
                               (values[i] < 0 ? 1000 : 0));
      }
    }
  }
}

// In whole vectors, and behind them.
TEST(ValueKernelsTest, NotANumberIsSeenAtEachPosition) {
  for (const ops::CpuPath path : kPaths) {
    std::vector<float> values = Values(130, 1);
    for (float& value : values) {
      const float before = value;
      value = std::numeric_limits<float>::quiet_NaN();
      EXPECT_FALSE(
          ValueKernelsFor(path).extremes(values.data(), values.size()).numbers)
          << &value - values.data();
      value = before;
    }
  }
}

TEST(ValueKernelsTest, ABoundOfZeroHasNoSign) {
  for (const ops::CpuPath path : kPaths) {
    for (const size_t count : {1, 9, 70, 130}) {
      for (const float other : {1.0f, -1.0f, -0.0f}) {
        std::vector<float> values(count, -0.0f);
        values[0] = other;
        const Extremes extremes =
            ValueKernelsFor(path).extremes(values.data(), count);
        EXPECT_TRUE(extremes.low != 0 || !std::signbit(extremes.low));
        EXPECT_TRUE(extremes.high != 0 || !std::signbit(extremes.high));
      }
    }
  }
}

// Sums of each channel, one row after the other.
TEST(ValueKernelsTest, ClampedTotalsAreTheSameBits) {
  constexpr size_t kRows = 50;
  for (const size_t channels : {1, 2, 3, 7, 8, 13, 64}) {
    const std::vector<float> real = Values(kRows * channels, 1);
    const std::vector<float> ours = Values(kRows * channels, 2);
    std::vector<double> low, shift;
    for (size_t i = 0; i < kRows; ++i) low.push_back(i % 5 - 2.0);
    for (size_t c = 0; c < channels; ++c) shift.push_back(0.1 * c - 0.3);
    std::vector<double> want[4];
    for (auto& of : want) of.assign(channels, 0.25);
    for (size_t i = 0; i < kRows * channels; ++i) {
      const size_t c = i % channels;
      const double bottom = low[i / channels];
      const double a = real[i];
      const double b = ours[i] + shift[c];
      const double error = std::min<double>(std::max(a, bottom), kHigh) -
                           std::min<double>(std::max(b, bottom), kHigh);
      want[0][c] += error * error;
      if ((a <= bottom && b <= bottom) || (a >= kHigh && b >= kHigh)) continue;
      want[1][c] += a - b;
      want[2][c] += (a - b) * (a - b);
      want[3][c] += 1;
    }
    for (const ops::CpuPath path : kPaths) {
      for (const bool squares : {false, true}) {
        std::vector<double> got[4];
        for (auto& of : got) of.assign(channels, 0.25);
        ValueKernelsFor(path).add_clamped(
            {real.data(), ours.data(), low.data(), kHigh, kRows, channels},
            squares,
            {shift.data(), got[0].data(), got[1].data(), got[2].data(),
             got[3].data()});
        EXPECT_EQ(got[0], want[0]);
        EXPECT_EQ(got[1], want[1]);
        EXPECT_EQ(got[2],
                  squares ? want[2] : std::vector<double>(channels, 0.25));
        EXPECT_EQ(got[3], want[3]);
      }
    }
  }
}

TEST(ValueKernelsTest, CodeTotalsAreTheSameBits) {
  constexpr size_t kRows = 50;
  constexpr double kLow = -10;
  for (const size_t channels : {1, 3, 8, 13, 64}) {
    const std::vector<float> real = Values(kRows * channels, 3);
    std::vector<int32_t> codes;
    for (const float value : Values(kRows * channels, 4)) {
      codes.push_back(static_cast<int32_t>(value));
    }
    std::vector<double> scales, offsets;
    for (size_t c = 0; c < channels; ++c) {
      scales.push_back(0.7 + 0.1 * c);
      offsets.push_back(0.3 - 0.1 * c);
    }
    std::vector<double> want[5];
    for (auto& of : want) of.assign(channels, 0.25);
    for (size_t i = 0; i < kRows * channels; ++i) {
      const size_t c = i % channels;
      const double a = std::min(std::max(double{real[i]}, 2 * kLow - kHigh - 1),
                                2 * kHigh - kLow + 1);
      const double code = codes[i];
      const double b = scales[c] * code + offsets[c];
      if ((a <= kLow && b <= kLow) || (a >= kHigh && b >= kHigh)) continue;
      want[0][c] += 1;
      want[1][c] += code;
      want[2][c] += a;
      want[3][c] += code * code;
      want[4][c] += code * a;
    }
    for (const ops::CpuPath path : kPaths) {
      std::vector<double> got[5];
      for (auto& of : got) of.assign(channels, 0.25);
      ValueKernelsFor(path).add_codes(
          {real.data(), codes.data(), kLow, kHigh, kRows, channels},
          {scales.data(), offsets.data(), got[0].data(), got[1].data(),
           got[2].data(), got[3].data(), got[4].data()});
      for (int i = 0; i < 5; ++i) EXPECT_EQ(got[i], want[i]) << i;
    }
  }
}

TEST(ValueKernelsTest, ScaledValuesAreAdded) {
  for (const size_t count : {1, 7, 8, 31, 100}) {
    const std::vector<float> some = Values(count, 6);
    const std::vector<double> from(some.begin(), some.end());
    for (const ops::CpuPath path : kPaths) {
      std::vector<double> to(count, 0.1);
      ValueKernelsFor(path).add_scaled(from.data(), 0.7, count, to.data());
      for (size_t i = 0; i < count; ++i) {
        EXPECT_EQ(to[i], 0.1 + 0.7 * from[i]) << count << " " << i;
      }
    }
  }
}

TEST(ValueKernelsTest, NoiseIsTheSameBits) {
  for (const size_t count : {1, 7, 8, 31, 1003}) {
    const std::vector<float> real = Values(count, 5);
    std::vector<int8_t> bytes;
    for (size_t i = 0; i < count; ++i) {
      bytes.push_back(static_cast<int8_t>(std::clamp(real[i], -100.f, 90.f)));
    }
    double signals[8] = {};
    double noises[8] = {};
    for (size_t i = 0; i < count; ++i) {
      const double off = real[i] - 0.9 * (bytes[i] - 3.0);
      signals[i % 8] += double{real[i]} * real[i];
      noises[i % 8] += off * off;
    }
    double signal = 1;
    double noise = 2;
    for (int lane = 0; lane < 8; ++lane) {
      signal += signals[lane];
      noise += noises[lane];
    }
    for (const ops::CpuPath path : kPaths) {
      double got_signal = 1;
      double got_noise = 2;
      ValueKernelsFor(path).add_noise(
          {real.data(), bytes.data(), count, 0.9, 3}, &got_signal, &got_noise);
      EXPECT_EQ(got_signal, signal) << count;
      EXPECT_EQ(got_noise, noise) << count;
    }
  }
}

TEST(ValueKernelsTest, CodesAreQuotientsRoundedDown) {
  std::mt19937 random(3);
  for (const size_t count : {1, 2, 7, 8, 65}) {
    std::vector<int32_t> sums;
    for (size_t i = 0; i < count; ++i) {
      const auto any = static_cast<int32_t>(random());
      const int32_t often[] = {0, -1, 30 * (any % 9), any % 1000, any};
      sums.push_back(often[random() % 5]);
    }
    for (const int32_t gain : {1, 3, 30, 65536}) {
      for (const ops::CpuPath path : kPaths) {
        std::vector<int32_t> codes(count);
        ValueKernelsFor(path).codes(sums.data(), count, gain, -32, 31,
                                    codes.data());
        for (size_t i = 0; i < count; ++i) {
          const int32_t below = sums[i] / gain - (sums[i] % gain < 0 ? 1 : 0);
          EXPECT_EQ(codes[i], std::clamp(below, -32, 31))
              << sums[i] << " / " << gain;
        }
      }
    }
  }
}

TEST(ValueKernelsTest, CodeErrorsAreTheSameBits) {
  constexpr size_t kRows = 50;
  constexpr int32_t kShift = 3;
  for (const size_t channels : {1, 2, 3, 7, 8, 13, 64}) {
    const std::vector<float> real = Values(kRows * channels, 4);
    std::vector<int32_t> codes, scales, offsets;
    for (size_t i = 0; i < kRows * channels; ++i) {
      codes.push_back(static_cast<int32_t>(i * 7 % 64) - 32);
    }
    for (size_t c = 0; c < channels; ++c) {
      scales.push_back(static_cast<int32_t>(c % 9) - 3);
      offsets.push_back(4 - static_cast<int32_t>(c));
    }
    std::vector<double> want(channels, 0.25);
    for (size_t i = 0; i < kRows * channels; ++i) {
      const size_t c = i % channels;
      const int32_t ours =
          std::clamp((codes[i] * scales[c] + offsets[c]) >> kShift, -4, 12);
      const double wanted = std::clamp<double>(real[i], -4, 12);
      want[c] += (wanted - ours) * (wanted - ours);
    }
    for (const ops::CpuPath path : kPaths) {
      std::vector<double> got(channels, 0.25);
      ValueKernelsFor(path).add_code_errors(
          {real.data(), codes.data(), -4, 12, kRows, channels},
          {scales.data(), offsets.data(), kShift}, got.data());
      EXPECT_EQ(got, want) << channels;
    }
  }
}

}  // namespace
}  // namespace edgekiln::compiler
