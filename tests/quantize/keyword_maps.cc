#include "tests/quantize/keyword_maps.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <numbers>
#include <numeric>
#include <vector>

#include "base/rng.h"

namespace edgekiln::tests {
namespace {

constexpr int64_t kFrames = 49;
constexpr int64_t kCoefficients = 10;
constexpr int64_t kChannels = 40;
constexpr double kLoudest = 25;

using Basis = std::array<std::array<double, kChannels>, kCoefficients>;

Basis CosineBasis() {
  Basis basis;
  for (int64_t k = 0; k < kCoefficients; ++k) {
    const double norm = std::sqrt((k == 0 ? 1.0 : 2.0) / kChannels);
    for (int64_t c = 0; c < kChannels; ++c) {
      basis[k][c] = norm * std::cos(std::numbers::pi * static_cast<double>(k) *
                                    (static_cast<double>(c) + 0.5) / kChannels);
    }
  }
  return basis;
}

// From 0 to kLoudest.
void Gate(std::vector<double>& map) {
  const double mean = std::accumulate(map.begin(), map.end(), 0.0) /
                      static_cast<double>(map.size());
  const double span =
      std::max(*std::max_element(map.begin(), map.end()) - mean, 1e-9);
  for (double& value : map) {
    value = std::max(0.0, (value - mean) / span * kLoudest);
  }
}

}  // namespace

NpyArray AugmentedMaps(const std::vector<NpyArray>& recorded, int64_t copies,
                       uint64_t seed) {
  Rng rng(seed);
  const auto uniform = [&] {
    return static_cast<double>(rng.Next() >> 11) * 0x1p-53;
  };
  NpyArray maps = {
      .dtype = "<f4",
      .shape = {std::ssize(recorded) * copies, kFrames * kChannels},
      .data = {}};
  for (const NpyArray& map : recorded) {
    for (int64_t copy = 0; copy < copies; ++copy) {
      const auto shift = static_cast<int64_t>(uniform() * 9) - 4;
      const double gain = 0.9 + 0.2 * uniform();
      for (int64_t frame = 0; frame < kFrames; ++frame) {
        const int64_t from = std::clamp<int64_t>(frame + shift, 0, kFrames - 1);
        for (int64_t c = 0; c < kChannels; ++c) {
          // Nearly Gaussian: a sum of twelve has variance 1.
          double normal = -6;
          for (int i = 0; i < 12; ++i) normal += uniform();
          const double value = map.At<double>(from * kChannels + c);
          const auto changed = static_cast<float>(
              value > 0 ? std::max(0.0, value * gain + 0.2 * normal) : 0);
          maps.data.append(reinterpret_cast<const char*>(&changed),
                           sizeof(changed));
        }
      }
    }
  }
  return maps;
}

NpyArray KeywordMaps(const std::map<std::string, NpyArray>& kws) {
  const NpyArray& x = kws.at("x");
  const auto scale = kws.at("x_scale").At<double>(0);
  const auto offset = kws.at("x_offset").At<double>(0);
  const Basis basis = CosineBasis();
  NpyArray maps = {
      .dtype = "<f4", .shape = {x.shape[0], kFrames * kChannels}, .data = {}};
  for (int64_t sample = 0; sample < x.shape[0]; ++sample) {
    std::vector<double> map(kFrames * kChannels, 0);
    for (int64_t frame = 0; frame < kFrames; ++frame) {
      for (int64_t k = 0; k < kCoefficients; ++k) {
        const double coefficient =
            x.At<double>((sample * kFrames + frame) * kCoefficients + k) *
                scale +
            offset;
        for (int64_t c = 0; c < kChannels; ++c) {
          map[frame * kChannels + c] += coefficient * basis[k][c];
        }
      }
    }
    Gate(map);
    const std::vector<float> floats(map.begin(), map.end());
    maps.data.append(reinterpret_cast<const char*>(floats.data()),
                     floats.size() * sizeof(float));
  }
  return maps;
}

}  // namespace edgekiln::tests
