#include "tests/pipeline/byte_damage.h"

#include <cstdint>

namespace edgekiln::tests {
namespace {

// Where a model is structure rather than weights: TensorFlow Lite keeps it at
// both ends, ONNX between the weights of its layers.
int64_t Position(Rng& rng, int64_t size) {
  switch (rng.InRange(0, 2)) {
    case 0:
      return rng.InRange(0, size - 1);
    case 1:
      return rng.InRange(0, size / 16);
    default:
      return rng.InRange(size - 1 - size / 8, size - 1);
  }
}

}  // namespace

void DamageBytes(Rng& rng, std::string& bytes) {
  for (int64_t i = rng.InRange(1, 4); i > 0; --i) {
    char& byte = bytes[Position(rng, static_cast<int64_t>(bytes.size()))];
    // Small numbers, the sign and single bits do more than random bytes.
    switch (rng.InRange(0, 3)) {
      case 0:
        byte = static_cast<char>(rng.InRange(-128, 127));
        break;
      case 1:
        byte = static_cast<char>(rng.InRange(-1, 4));
        break;
      case 2:
        byte = static_cast<char>(byte ^ 1 << rng.InRange(0, 7));
        break;
      default:
        byte = static_cast<char>(byte + rng.InRange(-2, 2));
        break;
    }
  }
}

}  // namespace edgekiln::tests
