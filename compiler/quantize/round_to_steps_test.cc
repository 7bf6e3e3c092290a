#include "compiler/quantize/round_to_steps.h"

#include <limits>
#include <vector>

#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

TEST(RoundToStepsTest, ToTheNearestThatInt8Holds) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const Quantization quantization = {
      .scale = {0.5f}, .zero_point = {-100}, .axis = 0};
  std::vector<float> values = {0,   0.24f, 0.25f, -0.25f,     -0.3f, -14,
                               -20, 113.5, 1e30f, -kInfinity, 1e-9f, kInfinity};
  RoundToSteps(quantization, values.data(), std::ssize(values));
  EXPECT_EQ(values, (std::vector<float>{0, 0, 0.5f, 0, -0.5f, -14, -14, 113.5,
                                        113.5, -14, 0, 113.5}));
}

}  // namespace
}  // namespace edgekiln::compiler
