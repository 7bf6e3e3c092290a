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

TEST(RoundToStepsTest, OfEachType) {
  std::vector<float> values = {0.3f, -2, 1e6f, -1e6f};
  RoundToSteps({.scale = {0.5f}, .zero_point = {0}}, values.data(), 4,
               v1::UINT8);
  EXPECT_EQ(values, (std::vector<float>{0.5f, 0, 127.5f, 0}));
  values = {0.3f, -2.2f, 1e6f, -1e6f};
  RoundToSteps({.scale = {0.5f}, .zero_point = {0}}, values.data(), 4,
               v1::INT16);
  EXPECT_EQ(values, (std::vector<float>{0.5f, -2, 16383.5f, -16384}));
  values = {100.497f,    100.5f,       -100.5f,     -100.503f,
            20000.498f,  -20000.502f,  32766.498f,  32766.5f,
            -32767.502f, -0.49999997f, 0.49999997f, -0.5f};
  RoundToSteps({.scale = {1}, .zero_point = {0}}, values.data(),
               std::ssize(values), v1::INT16);
  EXPECT_EQ(values, (std::vector<float>{100, 101, -100, -101, 20000, -20001,
                                        32766, 32767, -32768, 0, 0, 0}));
}

}  // namespace
}  // namespace edgekiln::compiler
