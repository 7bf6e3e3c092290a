#include "compiler/choose/combinations.h"

#include <vector>

#include "compiler/quantize/calibrate.h"
#include "compiler/quantize/testing/random_samples.h"
#include "compiler/quantize/testing/splat.h"
#include "gtest/gtest.h"
#include "target/quantization_needs.h"
#include "target/resolve.h"

namespace edgekiln::compiler {
namespace {

constexpr char kTwoLayers[] = R"(
%x : float32[1,16] = input
%w : float32[8,16] = constant splat 0.25
%h : float32[1,8] = fully_connected(%x, %w) {clamp {min 0}} id first
%v : float32[4,8] = constant splat 0.1
%y : float32[1,4] = fully_connected(%h, %v) id second
return %y
)";

class CombinationsTest : public testing::Test {
 protected:
  CombinationsTest()
      : graph_(WithRandomWeights(ParseWithSplats(kTwoLayers))),
        target_(*target::ResolveTarget("extends: \"toy-mixed\"")),
        needs_(target::QuantizationNeedsOf(target_.capabilities())),
        layers_(*FormsOf(graph_, config_, needs_)) {}

  // Differences of the network with ternary weights in both layers.
  struct Both {
    Difference measured;
    Difference confirmed;
    int64_t samples = 0;
  };
  Both Measure(int samples, int64_t expected) const {
    const std::vector<v1::Chunk> chunks =
        RandomSamples(graph_, InOrder(samples), samples);
    const v1::CalibrationStatistics statistics = *Calibrate(graph_, chunks);
    const QuantizeInputs inputs = {.statistics = statistics, .samples = chunks};
    const ChosenChip chip = {.capabilities = target_.capabilities(),
                             .machine = target_.machine()};
    Combinations combinations(graph_, needs_, config_, chip, inputs, layers_);
    const absl::Status ready = combinations.Init(
        *CalibrationSamples::Create(graph_, chunks), expected);
    EXPECT_TRUE(ready.ok()) << ready;
    const Assignment ternary(layers_.size(), 1);
    const auto measured = combinations.Measure(ternary);
    EXPECT_TRUE(measured.ok()) << measured.status();
    EXPECT_TRUE(combinations.IsMeasured(ternary));
    EXPECT_EQ(combinations.measured(), 1);
    const auto confirmed = combinations.Confirm(ternary);
    EXPECT_TRUE(confirmed.ok()) << confirmed.status();
    return {*measured, *confirmed, combinations.answers().samples()};
  }

  const Graph graph_;
  const v1::ResolvedTarget target_;
  const v1::QuantizationNeeds needs_;
  const v1::QuantizationConfig config_;
  const std::vector<LayerForms> layers_;
};

TEST_F(CombinationsTest, AreConfirmedByAllThatJudges) {
  ASSERT_EQ(layers_.size(), 2u);
  const Both few = Measure(/*samples=*/600, /*expected=*/1000);
  EXPECT_EQ(few.samples, 300);
  EXPECT_GT(few.measured.noise_power, 0);
  EXPECT_NE(few.measured.noise_power, few.confirmed.noise_power);
  EXPECT_NEAR(few.measured.noise_power, few.confirmed.noise_power,
              0.5 * few.confirmed.noise_power);
}

TEST_F(CombinationsTest, FewSamplesAreAllTaken) {
  for (const int samples : {2, 3, 40}) {
    const Both all = Measure(samples, /*expected=*/1000);
    EXPECT_EQ(all.samples, samples / 2);
    EXPECT_EQ(all.measured.noise_power, all.confirmed.noise_power);
  }
}

}  // namespace
}  // namespace edgekiln::compiler
