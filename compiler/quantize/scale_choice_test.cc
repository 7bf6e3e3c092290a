#include "compiler/quantize/scale_choice.h"

#include <limits>
#include <map>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

using Ways = std::vector<std::pair<float, double>>;  // Scale and error.

struct ChoiceCase {
  const char* name;
  std::map<TensorId, Ways> groups;
  std::vector<RisingScales> rising;
  std::map<TensorId, size_t> chosen;
  std::map<TensorId, float> fixed = {};
};

void PrintTo(const ChoiceCase& row, std::ostream* out) { *out << row.name; }

class ScaleChoiceTest : public testing::TestWithParam<ChoiceCase> {};

TEST_P(ScaleChoiceTest, ErrorsTogetherAreLeast) {
  std::map<TensorId, ScaleChoice> choices;
  for (const auto& [group, ways] : GetParam().groups) {
    for (const auto& [scale, error] : ways) {
      choices[group].ways.push_back(
          {.scale = {scale}, .zero_point = {0}, .axis = 0});
      choices[group].errors.push_back(error);
    }
  }
  EXPECT_EQ(ChooseScales(choices, GetParam().fixed, GetParam().rising),
            GetParam().chosen);
}

const ChoiceCase kCases[] = {
    {"EachAlone",
     {{0, {{4, 3}, {2, 1}, {1, 2}}}, {1, {{1, 7}, {0.5, 8}}}},
     {},
     {{0, 1}, {1, 0}}},
    {"WhatFitsStays",
     {{0, {{4, 3}, {2, 1}}}, {1, {{4, 1}, {2, 8}}}},
     {{0, 1}},
     {{0, 1}, {1, 0}}},
    // Less for the sum is worth more than what the operands lose.
    {"LowersWhatIsBelow",
     {{0, {{4, 1}, {2, 2}}}, {1, {{4, 9}, {2, 1}}}},
     {{0, 1}},
     {{0, 1}, {1, 1}}},
    {"OrDoesNot",
     {{0, {{4, 1}, {2, 9}}}, {1, {{4, 5}, {2, 1}}}},
     {{0, 1}},
     {{0, 0}, {1, 1}}},
    // Raised from 1 to 4, its error is 16 times as large.
    {"BeyondAllWays",
     {{0, {{4, 1}, {1, 20}}}, {1, {{1, 2}}}},
     {{0, 1}},
     {{0, 1}, {1, 0}}},
    {"FollowsChains",
     {{0, {{4, 1}, {2, 2}}}, {1, {{4, 1}, {2, 1}}}, {2, {{4, 9}, {2, 1}}}},
     {{0, 1}, {1, 2}},
     {{0, 1}, {1, 1}, {2, 1}}},
    {"WhatWasNotTriedIsNot",
     {{0, {{4, 1}, {2, kNever}}}, {1, {{4, 9}, {2, 1}}}},
     {{0, 1}},
     {{0, 0}, {1, 1}}},
    {"UnderWhatIsFixed", {{0, {{4, 1}, {2, 2}}}}, {{0, 7}}, {{0, 0}}, {{7, 2}}},
};

INSTANTIATE_TEST_SUITE_P(All, ScaleChoiceTest, testing::ValuesIn(kCases),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

// Nobody needs so many: they are chosen as without.
TEST(ScaleChoiceTest, IsBounded) {
  std::map<TensorId, ScaleChoice> choices;
  choices[0].ways = {{.scale = {4}, .zero_point = {0}},
                     {.scale = {2}, .zero_point = {0}}};
  choices[0].errors = {1, 2};
  choices[1].ways = choices[0].ways;
  choices[1].errors = {9, 1};
  std::vector<RisingScales> rising(100'000, RisingScales{0, 1});
  EXPECT_EQ(ChooseScales(choices, {}, rising).at(0), 0u);
  rising.resize(1);
  EXPECT_EQ(ChooseScales(choices, {}, rising).at(0), 1u);
}

}  // namespace
}  // namespace edgekiln::compiler
