#include "compiler/choose/combinations.h"

#include <map>
#include <vector>

#include "compiler/quantize/calibrate.h"
#include "compiler/quantize/testing/random_samples.h"
#include "compiler/quantize/testing/splat.h"
#include "gtest/gtest.h"
#include "target/quantization_needs.h"
#include "target/resolve.h"

namespace edgekiln::compiler {
namespace {

constexpr char kThreeLayers[] = R"(
%x : float32[1,16] = input
%w : float32[32,16] = constant splat 0.25
%h : float32[1,32] = fully_connected(%x, %w) {clamp {min 0}} id first
%u : float32[32,32] = constant splat 0.25
%g : float32[1,32] = fully_connected(%h, %u) {clamp {min 0}} id second
%v : float32[4,32] = constant splat 0.1
%y : float32[1,4] = fully_connected(%g, %v) id third
return %y
)";

class CombinationsTest : public testing::Test {
 protected:
  CombinationsTest()
      : graph_(WithRandomWeights(ParseWithSplats(kThreeLayers))),
        target_(*target::ResolveTarget("extends: \"toy-mixed\"")),
        needs_(target::QuantizationNeedsOf(target_.capabilities())),
        layers_(*FormsOf(graph_, config_, needs_)) {}

  // Combinations with what they refer to.
  class Subject {
   public:
    Subject(const CombinationsTest& test, int samples, int64_t expected)
        : chunks_(RandomSamples(test.graph_, InOrder(samples), samples)),
          statistics_(*Calibrate(test.graph_, chunks_)),
          inputs_{.statistics = statistics_, .samples = chunks_},
          chip_{.capabilities = test.target_.capabilities(),
                .machine = test.target_.machine()},
          combinations_(test.graph_, test.needs_, test.config_, chip_, inputs_,
                        test.layers_) {
      const absl::Status ready = combinations_.Init(
          *CalibrationSamples::Create(test.graph_, chunks_), expected);
      EXPECT_TRUE(ready.ok()) << ready;
    }
    Combinations* operator->() { return &combinations_; }
    Difference Measure(const Assignment& assignment) {
      const auto difference = combinations_.Measure(assignment);
      EXPECT_TRUE(difference.ok()) << difference.status();
      return difference.ok() ? *difference : Difference();
    }
    Difference Screen(const Assignment& assignment) {
      const auto difference = combinations_.Screen(assignment);
      EXPECT_TRUE(difference.ok()) << difference.status();
      return difference.ok() ? *difference : Difference();
    }

   private:
    const std::vector<v1::Chunk> chunks_;
    const v1::CalibrationStatistics statistics_;
    const QuantizeInputs inputs_;
    const ChosenChip chip_;
    Combinations combinations_;
  };

  // Differences of the network with ternary weights in all layers.
  struct Ternary {
    Difference measured;
    Difference confirmed;
    int64_t samples = 0;
  };
  Ternary Measure(int samples, int64_t expected) const {
    Subject combinations(*this, samples, expected);
    const Difference measured = combinations.Measure({1, 1, 1});
    EXPECT_TRUE(combinations->IsMeasured({1, 1, 1}));
    EXPECT_EQ(combinations->measured(), 1);
    const auto confirmed = combinations->Confirm({1, 1, 1});
    EXPECT_TRUE(confirmed.ok()) << confirmed.status();
    return {measured, *confirmed, combinations->answers().samples()};
  }

  const Graph graph_;
  const v1::ResolvedTarget target_;
  const v1::QuantizationNeeds needs_;
  const v1::QuantizationConfig config_;
  const std::vector<LayerForms> layers_;
};

TEST_F(CombinationsTest, AreConfirmedByAllThatJudges) {
  ASSERT_EQ(layers_.size(), 3u);
  const Ternary few = Measure(/*samples=*/600, /*expected=*/1000);
  EXPECT_EQ(few.samples, 300);
  EXPECT_GT(few.measured.noise_power, 0);
  EXPECT_NE(few.measured.noise_power, few.confirmed.noise_power);
  EXPECT_NEAR(few.measured.noise_power, few.confirmed.noise_power,
              0.5 * few.confirmed.noise_power);
}

// By fewer samples, and nearly as much.
TEST_F(CombinationsTest, AreScreenedByFew) {
  Subject plain(*this, /*samples=*/400, /*expected=*/4);
  const double want = plain.Measure({1, 1, 1}).noise_power;
  Subject screening(*this, /*samples=*/400, /*expected=*/4);
  const Difference screened = screening.Screen({1, 1, 1});
  EXPECT_FALSE(screening->IsMeasured({1, 1, 1}));
  EXPECT_NE(screened.noise_power, want);
  EXPECT_LT(screened.noise_power, 4 * want);
  EXPECT_GT(4 * screened.noise_power, want);
  EXPECT_EQ(screened.disagreement,
            screening->answers().ExpectedDisagreement(screened.noise_power));
  screening->DoneScreening();
  EXPECT_EQ(screening.Screen({1, 1, 1}).noise_power, screened.noise_power);
  // And leaves no trace in what is measured later.
  EXPECT_EQ(screening.Measure({1, 1, 1}).noise_power, want);
}

TEST_F(CombinationsTest, AreMeasuredAtOnceWhereThereAreFewSamples) {
  Subject combinations(*this, /*samples=*/48, /*expected=*/4);
  const Difference screened = combinations.Screen({1, 1, 1});
  EXPECT_TRUE(combinations->IsMeasured({1, 1, 1}));
  EXPECT_EQ(combinations.Measure({1, 1, 1}).disagreement,
            screened.disagreement);
}

// Weights of the third layer are fitted behind exact ones, whichever
// combination brings them.
TEST_F(CombinationsTest, MeasureAlikeInAnyOrder) {
  const Assignment exact = {0, 0, 0};
  const Assignment first = {1, 0, 0};
  const Assignment third = {0, 0, 1};
  const Assignment two = {1, 0, 1};
  const std::vector<std::vector<Assignment>> orders = {
      {exact, third, first, two},
      {exact, two, third, first},
      {exact, first, two, third}};
  std::map<Assignment, double> noise;
  for (const std::vector<Assignment>& order : orders) {
    Subject combinations(*this, /*samples=*/100, /*expected=*/4);
    for (const Assignment& assignment : order) {
      const double measured = combinations.Measure(assignment).noise_power;
      EXPECT_EQ(noise.emplace(assignment, measured).first->second, measured);
    }
  }
  EXPECT_EQ(noise.size(), 4u);
}

TEST_F(CombinationsTest, FewSamplesAreAllTaken) {
  for (const int samples : {2, 3, 40}) {
    const Ternary all = Measure(samples, /*expected=*/1000);
    EXPECT_EQ(all.samples, samples / 2);
    EXPECT_EQ(all.measured.noise_power, all.confirmed.noise_power);
  }
}

}  // namespace
}  // namespace edgekiln::compiler
