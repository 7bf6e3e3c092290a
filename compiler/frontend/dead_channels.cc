#include "compiler/frontend/dead_channels.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

namespace edgekiln::compiler {

void ReviveDeadChannels(Tensor& constant) {
  if (!constant.is_constant() || !constant.quantization) return;
  const Quantization& given = *constant.quantization;
  const auto channels = std::ssize(given.scale);
  const bool fits = channels > 1 && std::ssize(given.zero_point) == channels &&
                    given.axis >= 0 &&
                    given.axis < std::ssize(constant.shape) &&
                    constant.shape[static_cast<size_t>(given.axis)] == channels;
  if (!fits || std::find(given.scale.begin(), given.scale.end(), 0.0f) ==
                   given.scale.end()) {
    return;
  }
  const float largest =
      *std::max_element(given.scale.begin(), given.scale.end());
  int64_t inner = 1;
  for (auto i = given.axis + 1; i < std::ssize(constant.shape); ++i) {
    inner *= constant.shape[static_cast<size_t>(i)];
  }
  const int64_t bytes = ElementBytes(constant.type);
  std::string data(*constant.data);
  const int64_t row = inner * bytes;
  if (!(largest > 0) || !std::isfinite(largest) || row == 0 ||
      bytes > static_cast<int64_t>(sizeof(int64_t))) {
    return;
  }
  Quantization revived = given;
  const int64_t rows = std::ssize(data) / row;
  for (int64_t i = 0; i < rows; ++i) {
    const auto channel = static_cast<size_t>(i % channels);
    if (given.scale[channel] != 0) continue;
    revived.scale[channel] = largest;
    const int64_t zero = given.zero_point[channel];
    // Little-endian: its first bytes are those of the narrower type.
    for (int64_t at = i * row; at < (i + 1) * row; at += bytes) {
      std::memcpy(data.data() + at, &zero, static_cast<size_t>(bytes));
    }
  }
  constant.quantization = std::move(revived);
  constant.data = ConstantData(std::move(data));
}

}  // namespace edgekiln::compiler
