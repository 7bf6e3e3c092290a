#include "compiler/choose/combination_search.h"

#include <algorithm>
#include <map>
#include <vector>

#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

// Four layers of three forms each. Every layer in another form saves 10 cycles,
// and one more in the last form.
constexpr int kLayers = 4;
constexpr int kForms = 3;
constexpr int64_t kExactCycles = 1000;

int64_t CyclesOf(const Assignment& assignment) {
  int64_t cycles = kExactCycles;
  for (const int32_t form : assignment) cycles -= form == 0 ? 0 : 9 + form;
  return cycles;
}

std::vector<Candidate> AllWith(double disagreement) {
  std::vector<Candidate> candidates;
  for (int number = 0; number < kForms * kForms * kForms * kForms; ++number) {
    Assignment assignment;
    for (int layer = 0, rest = number; layer < kLayers; ++layer) {
      assignment.push_back(rest % kForms);
      rest /= kForms;
    }
    candidates.push_back({assignment, disagreement});
  }
  return candidates;
}

class CombinationSearchTest : public testing::Test {
 protected:
  // Measures 1 where nothing else is given.
  FoundCombination Find(const std::vector<Candidate>& candidates,
                        const std::map<Assignment, double>& disagreements) {
    const auto found = FindFastest(
        candidates, {.budget = 0.5,
                     .exact_cycles = kExactCycles,
                     .expected = [](double noise) { return noise; },
                     .cycles = CyclesOf,
                     .measure =
                         [&](const Assignment& assignment) {
                           measured_.push_back(assignment);
                           const auto given = disagreements.find(assignment);
                           return given == disagreements.end() ? 1
                                                               : given->second;
                         }});
    EXPECT_TRUE(found.ok()) << found.status();
    return *found;
  }

  std::vector<Assignment> measured_;
};

TEST_F(CombinationSearchTest, TakesTheFastestWithinTheBudget) {
  const FoundCombination found =
      Find(AllWith(0.5), {{{2, 2, 2, 0}, 0.4}, {{1, 1, 1, 0}, 0.1}});
  EXPECT_EQ(found.assignment, Assignment({2, 2, 2, 0}));
  EXPECT_EQ(found.disagreement, 0.4);
  EXPECT_TRUE(found.every);
  EXPECT_TRUE(std::is_sorted(measured_.begin(), measured_.end(),
                             [](const Assignment& a, const Assignment& b) {
                               return CyclesOf(a) < CyclesOf(b);
                             }));
}

// However many combinations were measured before.
TEST_F(CombinationSearchTest, ReachesEachFormAlone) {
  const FoundCombination found = Find(AllWith(0.5), {{{0, 0, 1, 0}, 0.4}});
  EXPECT_EQ(found.assignment, Assignment({0, 0, 1, 0}));
  EXPECT_EQ(found.disagreement, 0.4);
  EXPECT_FALSE(found.every);
  // The faster ones alone, too.
  EXPECT_GE(std::ssize(measured_), kMostMeasured + kLayers);
  EXPECT_LE(std::ssize(measured_), kMostMeasured + 2 * kLayers);
}

TEST_F(CombinationSearchTest, ExpectationsRuleOut) {
  EXPECT_FALSE(Find(AllWith(1.6), {{{1, 1, 1, 1}, 0.1}}).assignment);
  EXPECT_TRUE(measured_.empty());
}

// Up to 1.5 times the largest excess: 2 to begin with, then 1.45 / 0.6.
TEST_F(CombinationSearchTest, ExpectationsThatExceedMeasurementsAllowMore) {
  const std::vector<Candidate> candidates = {
      {{2, 2, 0, 0}, 1.45}, {{1, 1, 0, 0}, 1.8}, {{1, 0, 0, 0}, 1.9}};
  const std::map<Assignment, double> good = {{{1, 1, 0, 0}, 0.3},
                                             {{1, 0, 0, 0}, 0.2}};
  EXPECT_FALSE(Find(candidates, good).assignment);
  std::map<Assignment, double> excess = good;
  excess[{2, 2, 0, 0}] = 0.6;
  EXPECT_EQ(Find(candidates, excess).assignment, Assignment({1, 1, 0, 0}));
}

// From the least noise on, until one is too large.
TEST_F(CombinationSearchTest, NoiseThatRulesOutMoreOfItIsAskedForOnce) {
  std::vector<double> asked;
  const auto found =
      FindFastest({{{2, 0, 0, 0}, 9}, {{1, 0, 0, 0}, 0.7}, {{0, 1, 0, 0}, 8}},
                  {.budget = 0.5,
                   .exact_cycles = kExactCycles,
                   .expected =
                       [&](double noise) {
                         asked.push_back(noise);
                         return noise;
                       },
                   .cycles = CyclesOf,
                   .measure = [](const Assignment&) { return 0.6; }});
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_FALSE(found->assignment);
  EXPECT_EQ(asked, (std::vector<double>{0.7, 8}));
}

TEST_F(CombinationSearchTest, WhatIsNotFasterIsNotMeasured) {
  EXPECT_FALSE(Find({{{0, 0, 0, 0}, 0}}, {}).assignment);
  EXPECT_TRUE(measured_.empty());
}

}  // namespace
}  // namespace edgekiln::compiler
