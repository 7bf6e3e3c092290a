#include "compiler/quantize/scales.h"

#include <cstring>
#include <ostream>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

struct RangeCase {
  const char* name;
  RealRange range;
  float scale;
  int32_t zero_point;
};

class ActivationQuantizationTest : public testing::TestWithParam<RangeCase> {};

void PrintTo(const RangeCase& row, std::ostream* out) { *out << row.name; }

TEST_P(ActivationQuantizationTest, HasTheScale) {
  const Quantization q = ActivationQuantization(GetParam().range);
  EXPECT_EQ(q.scale, std::vector<float>{GetParam().scale});
  EXPECT_EQ(q.zero_point, std::vector<int32_t>{GetParam().zero_point});
}

const RangeCase kRanges[] = {
    {"Pixels", {0, 255}, 1, -128},
    {"BothSigns", {-128, 127}, 1, 0},
    {"NegativeOnly", {-255, 0}, 1, 127},
    {"WidenedDownToZero", {10, 51}, 0.2f, -128},
    {"WidenedUpToZero", {-51, -10}, 0.2f, 127},
    {"Empty", {0, 0}, 1, 0},
    {"TooNarrowForAFloat", {0, 1e-40}, 1, 0},
};

const RangeCase kSymmetric[] = {
    {"Pixels", {0, 254}, 2, 0},
    {"BothSigns", {-128, 127}, 1, 0},
    {"MostlyNegative", {-256, 200}, 2, 0},
    {"MostlyPositive", {-10, 254}, 2, 0},
    {"Empty", {0, 0}, 1, 0},
    {"TooNarrowForAFloat", {-1e-40, 0}, 1, 0},
};

const RangeCase kPowersOfTwo[] = {
    {"Exact", {0, 255}, 1, -128},
    {"RoundedUp", {0, 256}, 2, -128},
    {"ZeroPointFollows", {-100, 100}, 1, -28},
    {"Small", {-0.001, 0}, 0x1p-17f, 3},
    {"Large", {0, 1e29}, 0x1p89f, -128},
    {"Empty", {0, 0}, 1, 0},
    {"TooNarrowForAFloat", {0, 1e-40}, 1, 0},
};

const RangeCase kBoth[] = {
    {"Exact", {-128, 100}, 1, 0},
    {"RoundedUp", {-129, 100}, 2, 0},
};

const RangeCase kUint8[] = {
    {"Exact", {-100, 155}, 1, 100},
    {"Positive", {0, 255}, 1, 0},
    {"Empty", {0, 0}, 1, 128},
};

const RangeCase kInt16[] = {
    {"Exact", {-32768, 100}, 1, 0},
    {"Positive", {0, 65534}, 2, 0},
    {"Empty", {0, 0}, 1, 0},
};

TEST(ScalesTest, FollowsTheRules) {
  const auto expect = [](absl::Span<const RangeCase> rows, ScaleRules rules) {
    for (const RangeCase& row : rows) {
      SCOPED_TRACE(row.name);
      const Quantization q = ActivationQuantization(row.range, rules);
      EXPECT_EQ(q.scale, std::vector<float>{row.scale});
      EXPECT_EQ(q.zero_point, std::vector<int32_t>{row.zero_point});
    }
  };
  expect(kSymmetric, {.symmetric = true});
  expect(kUint8, {.activations = v1::UINT8});
  expect(kInt16, {.activations = v1::INT16});
  expect(kPowersOfTwo, {.power_of_two = true});
  expect(kBoth, {.symmetric = true, .power_of_two = true});
}

INSTANTIATE_TEST_SUITE_P(All, ActivationQuantizationTest,
                         testing::ValuesIn(kRanges), [](const auto& info) {
                           return std::string(info.param.name);
                         });

TEST(ScalesTest, RoundsHalfAwayFromZero) {
  EXPECT_EQ(RoundHalfAway(0.5), 1);
  EXPECT_EQ(RoundHalfAway(-0.5), -1);
  EXPECT_EQ(RoundHalfAway(2.4999), 2);
  EXPECT_EQ(RoundHalfAway(-2.5), -3);
}

TEST(ScalesTest, QuantizedValuesSaturate) {
  const Quantization q = {.scale = {0.5f}, .zero_point = {10}, .axis = 0};
  const std::string data = QuantizedValues({0, 1, -1, 1e30f, -1e30f}, q);
  const std::vector<int8_t> want = {10, 12, 8, 127, -128};
  EXPECT_EQ(std::vector<int8_t>(data.begin(), data.end()), want);
}

TEST(ScalesTest, QuantizedValuesHaveTheirType) {
  const Quantization eight = {.scale = {0.5f}, .zero_point = {138}, .axis = 0};
  const std::string bytes =
      QuantizedValues({0, -1, 1e30f, -1e30f}, eight, v1::UINT8);
  EXPECT_EQ(std::vector<uint8_t>(bytes.begin(), bytes.end()),
            (std::vector<uint8_t>{138, 136, 255, 0}));
  const Quantization wide = {.scale = {0.5f}, .zero_point = {0}, .axis = 0};
  const std::string words =
      QuantizedValues({0.5f, -500, 1e30f, -1e30f}, wide, v1::INT16);
  std::vector<int16_t> values(4);
  ASSERT_EQ(words.size(), 8u);
  std::memcpy(values.data(), words.data(), words.size());
  EXPECT_EQ(values, (std::vector<int16_t>{1, -1000, 32767, -32768}));
}

}  // namespace
}  // namespace edgekiln::compiler
