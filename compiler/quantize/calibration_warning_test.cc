#include "compiler/quantize/calibration_warning.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

// Samples of two values each.
v1::Chunk ChunkOf(const std::vector<float>& values) {
  v1::Chunk chunk;
  chunk.set_samples(static_cast<int64_t>(values.size() / 2));
  chunk.add_arrays()->set_data(
      std::string(reinterpret_cast<const char*>(values.data()),
                  values.size() * sizeof(float)));
  return chunk;
}

TEST(CalibrationWarningTest, IsOfFewSamplesAndOfEqualOnes) {
  const std::vector<float> zeros(20 * 2, 0);
  std::vector<float> one_differs = zeros;
  one_differs.back() = 1;
  const std::vector<float> nine(one_differs.end() - 9 * 2, one_differs.end());
  const struct {
    std::vector<v1::Chunk> chunks;
    std::string begins;
  } kCases[] = {
      {{ChunkOf({1, 2})}, "there is only 1 calibration sample: "},
      {{ChunkOf({1, 2}), ChunkOf({3, 4})},
       "there are only 2 calibration samples: "},
      {{ChunkOf(nine)}, "there are only 9 calibration samples: "},
      {{ChunkOf({1, 2, 1, 2})}, "all 2 calibration samples are the same: "},
      {{ChunkOf(zeros), ChunkOf(zeros)},
       "all 40 calibration samples are the same: "},
      {{ChunkOf(zeros), ChunkOf(one_differs)}, ""},
      {{}, ""},
  };
  for (const auto& row : kCases) {
    const std::string warning = CalibrationWarning(row.chunks);
    EXPECT_EQ(warning.substr(0, row.begins.size()), row.begins);
    EXPECT_EQ(warning.empty(), row.begins.empty()) << warning;
  }
}

TEST(CalibrationWarningTest, NetworksWithoutInputsNeedNone) {
  v1::Chunk chunk;
  chunk.set_samples(1);
  EXPECT_EQ(CalibrationWarning({chunk}), "");
}

}  // namespace
}  // namespace edgekiln::compiler
