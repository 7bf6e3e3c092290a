#include "tests/quantize/augmented_photos.h"

#include <algorithm>
#include <string>

#include "base/rng.h"

namespace edgekiln::tests {
namespace {

// In [0, 1).
double Uniform(Rng& rng) {
  return static_cast<double>(rng.Next() >> 11) * 0x1p-53;
}

// Nearly Gaussian: a sum of twelve has variance 1.
double Normal(Rng& rng) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += Uniform(rng);
  return sum;
}

void Augment(const uint8_t* photo, int64_t height, int64_t width,
             int64_t channels, Rng& rng, std::string& out) {
  const double kept = 0.85 + 0.15 * Uniform(rng);
  const double top = Uniform(rng) * (1 - kept) * static_cast<double>(height);
  const double left = Uniform(rng) * (1 - kept) * static_cast<double>(width);
  const bool mirrored = Uniform(rng) < 0.5;
  const double brightness = 0.8 + 0.4 * Uniform(rng);
  for (int64_t y = 0; y < height; ++y) {
    const double at_y = top + static_cast<double>(y) * kept;
    const auto y0 = static_cast<int64_t>(at_y);
    const int64_t y1 = std::min(y0 + 1, height - 1);
    const double fy = at_y - static_cast<double>(y0);
    for (int64_t x = 0; x < width; ++x) {
      const int64_t from = mirrored ? width - 1 - x : x;
      const double at_x = left + static_cast<double>(from) * kept;
      const auto x0 = static_cast<int64_t>(at_x);
      const int64_t x1 = std::min(x0 + 1, width - 1);
      const double fx = at_x - static_cast<double>(x0);
      for (int64_t c = 0; c < channels; ++c) {
        const auto pixel = [&](int64_t row, int64_t column) {
          return static_cast<double>(
              photo[(row * width + column) * channels + c]);
        };
        const double value =
            (1 - fy) * ((1 - fx) * pixel(y0, x0) + fx * pixel(y0, x1)) +
            fy * ((1 - fx) * pixel(y1, x0) + fx * pixel(y1, x1));
        const double noisy = value * brightness + 8 * Normal(rng);
        out.push_back(static_cast<char>(
            static_cast<uint8_t>(std::clamp(noisy + 0.5, 0.0, 255.0))));
      }
    }
  }
}

}  // namespace

NpyArray AugmentedPhotos(const NpyArray& photos, int64_t copies,
                         uint64_t seed) {
  const int64_t height = photos.shape[1];
  const int64_t width = photos.shape[2];
  const int64_t channels = photos.shape[3];
  NpyArray result;
  result.dtype = "|u1";
  result.shape = {photos.shape[0] * copies, height, width, channels};
  Rng rng(seed);
  for (int64_t photo = 0; photo < photos.shape[0]; ++photo) {
    const auto* pixels = reinterpret_cast<const uint8_t*>(photos.data.data()) +
                         photo * height * width * channels;
    for (int64_t i = 0; i < copies; ++i) {
      Augment(pixels, height, width, channels, rng, result.data);
    }
  }
  return result;
}

}  // namespace edgekiln::tests
