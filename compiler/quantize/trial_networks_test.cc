#include "compiler/quantize/trial_networks.h"

#include <algorithm>
#include <string>
#include <vector>

#include "compiler/passes/product_sums.h"
#include "compiler/quantize/calibrate.h"
#include "compiler/quantize/integer_graph.h"
#include "compiler/quantize/layer_schemes.h"
#include "compiler/quantize/testing/random_samples.h"
#include "compiler/quantize/testing/splat.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

// Two branches that are added, so that a layer's operands come from layers of
// different forms.
constexpr char kBranches[] = R"(
%x : float32[1,6,6,2] = input
%w : float32[4,3,3,2] = constant splat 0.25
%h : float32[1,6,6,4] = conv2d(%x, %w) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1 pad_top 1 pad_bottom 1 pad_left 1 pad_right 1} clamp {min 0}} id left
%u : float32[4,1,1,2] = constant splat 0.25
%g : float32[1,6,6,4] = conv2d(%x, %u) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1} clamp {min 0}} id right
%a : float32[1,6,6,4] = add(%h, %g) {} id sum
%p : float32[1,1,1,4] = average_pool2d(%a) {kernel_h 6 kernel_w 6 window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1}} id pool
%f : float32[1,4] = reshape(%p) id flat
%v : float32[3,4] = constant splat 0.1
%y : float32[1,3] = fully_connected(%f, %v) id dense
return %y
)";

constexpr char kQuickly[] =
    "ranges { method: PERCENTILE } scheme { rounding: NEAREST } ";
constexpr char kNotEqualized[] = "equalization: OFF ";
constexpr char kConverting[] =
    "ops { op: 'conv2d' narrower { weight_values: WEIGHTS_TERNARY"
    "  converter { min: -32 max: 31 max_gain: 4096 max_shift: 15 } } }";

std::string TernaryRule(const std::string& layer) {
  return "layers { layer: '" + layer + "' scheme { weights: TERNARY } } ";
}

class TrialNetworksTest : public testing::TestWithParam<const char*> {
 protected:
  TrialNetworksTest()
      : graph_(WithRandomWeights(ParseWithSplats(kBranches))),
        chunks_(RandomSamples(graph_, InOrder(24), 24)),
        statistics_(*Calibrate(graph_, chunks_)) {}

  v1::QuantizeOptions Options(const std::string& layers) const {
    v1::QuantizeOptions options;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
        kQuickly + layers, options.mutable_config()));
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
        GetParam(), options.mutable_needs()));
    return options;
  }

  std::unique_ptr<TrialNetworks> Create(int64_t memo_bytes,
                                        const std::string& first = "") const {
    CalibrationSamples fitted = *CalibrationSamples::Create(graph_, chunks_);
    CalibrationSamples judged = fitted;
    fitted.Limit(16);
    judged.Keep(16, 1);
    auto trials = TrialNetworks::Create(
        graph_, Options(first), {.statistics = statistics_, .samples = chunks_},
        fitted, judged, memo_bytes);
    EXPECT_TRUE(trials.ok()) << trials.status();
    return *std::move(trials);
  }

  static std::string Bytes(const TrialNetworks::Trial& trial) {
    std::string bytes = GraphToProto(trial.graph).SerializeAsString();
    bytes.append(reinterpret_cast<const char*>(trial.values.data()),
                 trial.values.size() * sizeof(float));
    return bytes;
  }

  const Graph graph_;
  const std::vector<v1::Chunk> chunks_;
  const v1::CalibrationStatistics statistics_;
};

// But for equalizing, which looks at all samples or at those that are fitted
// to.
TEST_P(TrialNetworksTest, TheFirstIsWhatQuantizeMakes) {
  for (const std::string& layers : {std::string(), TernaryRule("left")}) {
    v1::QuantizeOptions options = Options(kNotEqualized + layers);
    const auto trial =
        Create(kTrialMemoBytes, kNotEqualized)->Try(options.config(), "y.int8");
    ASSERT_TRUE(trial.ok()) << trial.status();
    EXPECT_EQ(trial->values.size(), 8u * 3);
    options.mutable_config()->set_samples(16);
    const auto network = Quantize(
        graph_, options, {.statistics = statistics_, .samples = chunks_});
    ASSERT_TRUE(network.ok()) << network.status();
    EXPECT_EQ(GraphToProto(trial->graph).SerializeAsString(),
              GraphToProto(network->graph).SerializeAsString());
  }
}

TEST_P(TrialNetworksTest, RoundedLayersThatAreRememberedAreTheSame) {
  RoundedLayers memo(/*most_bytes=*/1 << 20);
  for (const std::string& layers : {std::string(), TernaryRule("left"),
                                    TernaryRule("dense"), std::string()}) {
    const v1::QuantizeOptions options = Options(layers);
    const auto schemes =
        LayerSchemes(graph_, options.config(), options.needs(), true);
    ASSERT_TRUE(schemes.ok()) << schemes.status();
    const auto remembered =
        IntegerGraph(graph_, &statistics_, options, *schemes, &memo).Make();
    const auto anew =
        IntegerGraph(graph_, &statistics_, options, *schemes).Make();
    ASSERT_TRUE(remembered.ok() && anew.ok());
    EXPECT_EQ(GraphToProto(*remembered).SerializeAsString(),
              GraphToProto(*anew).SerializeAsString());
  }
  EXPECT_EQ(memo.size(), 5u);  // Of three layers, two of which have two forms.
}

// Each layer is ternary first where all others are not, so that its weights are
// the same with and without the networks between.
TEST_P(TrialNetworksTest, WhatIsSharedChangesNothing) {
  const std::vector<std::string> alone = {
      "", TernaryRule("left"), TernaryRule("right"), TernaryRule("dense")};
  const std::vector<std::string> together = {
      TernaryRule("left") + TernaryRule("right"),
      TernaryRule("left") + TernaryRule("dense"),
      TernaryRule("right") + TernaryRule("dense"),
      TernaryRule("left") + TernaryRule("right") + TernaryRule("dense"), ""};
  std::vector<std::string> all = alone;
  all.insert(all.end(), together.begin(), together.end());
  const auto shared = Create(kTrialMemoBytes);
  const auto forgetful = Create(1);
  for (const std::string& layers : all) {
    const v1::QuantizationConfig config = Options(layers).config();
    const auto apart = Create(1);
    for (const std::string& first : alone) {
      ASSERT_TRUE(apart->Try(Options(first).config(), "y.int8").ok());
    }
    const auto expected = apart->Try(config, "y.int8");
    ASSERT_TRUE(expected.ok()) << expected.status();
    for (TrialNetworks* trials : {shared.get(), forgetful.get()}) {
      const auto trial = trials->Try(config, "y.int8");
      ASSERT_TRUE(trial.ok()) << trial.status();
      EXPECT_EQ(Bytes(*trial), Bytes(*expected)) << layers;
    }
  }
}

// As if each had been tried alone before.
TEST_P(TrialNetworksTest, TakeOverWhatWasFittedAlone) {
  const v1::QuantizationConfig exact = Options("").config();
  const v1::QuantizationConfig left = Options(TernaryRule("left")).config();
  const v1::QuantizationConfig dense = Options(TernaryRule("dense")).config();
  const v1::QuantizationConfig both =
      Options(TernaryRule("left") + TernaryRule("dense")).config();
  const auto tried = Create(kTrialMemoBytes);
  for (const auto* config : {&exact, &left, &dense}) {
    ASSERT_TRUE(tried->Try(*config, "y.int8").ok());
  }
  const auto want = tried->Try(both, "y.int8");
  ASSERT_TRUE(want.ok()) << want.status();
  const auto fitted = Create(kTrialMemoBytes);
  ASSERT_TRUE(fitted->Try(exact, "y.int8").ok());
  ASSERT_TRUE(fitted->Fit(left, "left").ok());
  ASSERT_TRUE(fitted->Fit(dense, "dense").ok());
  const auto got = fitted->Try(both, "y.int8");
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(Bytes(*got), Bytes(*want));
  const auto fresh = Create(kTrialMemoBytes);
  ASSERT_TRUE(fresh->Try(exact, "y.int8").ok());
  const auto other = fresh->Try(both, "y.int8");
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_NE(Bytes(*other), Bytes(*want));
}

// Biases and weights of the whole are taken over, the rest is made of fewer.
TEST_P(TrialNetworksTest, FewerSamplesTakeOverWhatWasTried) {
  const v1::QuantizationConfig exact = Options("").config();
  const v1::QuantizationConfig left = Options(TernaryRule("left")).config();
  const auto all = Create(kTrialMemoBytes);
  const auto want = all->Try(exact, "y.int8");
  ASSERT_TRUE(want.ok()) << want.status();
  const auto few = all->WithFewer(5);
  const auto same = few->Try(exact, "y.int8");
  ASSERT_TRUE(same.ok()) << same.status();
  EXPECT_EQ(GraphToProto(same->graph).SerializeAsString(),
            GraphToProto(want->graph).SerializeAsString());
  ASSERT_EQ(same->values.size(), 5u * 3);
  EXPECT_TRUE(std::equal(same->values.begin(), same->values.end(),
                         want->values.begin()));
  const auto screened = few->Try(left, "y.int8");
  const auto tried = all->Try(left, "y.int8");
  ASSERT_TRUE(screened.ok()) << screened.status();
  ASSERT_TRUE(tried.ok()) << tried.status();
  EXPECT_NE(Bytes(*screened), Bytes(*tried));
}

// Converters are fitted to the few: values behind them are not those of the
// whole, whatever is kept of these.
TEST_P(TrialNetworksTest, FewerSamplesDoNotDependOnWhatIsKept) {
  const v1::QuantizationConfig left = Options(TernaryRule("left")).config();
  const v1::QuantizationConfig both =
      Options(TernaryRule("left") + TernaryRule("dense")).config();
  const auto kept = Create(kTrialMemoBytes);
  const auto dropped = Create(1);
  for (TrialNetworks* all : {kept.get(), dropped.get()}) {
    ASSERT_TRUE(all->Try(left, "y.int8").ok());
    ASSERT_TRUE(all->Try(both, "y.int8").ok());
  }
  for (const auto* config : {&left, &both}) {
    const auto got = kept->WithFewer(5)->Try(*config, "y.int8");
    const auto want = dropped->WithFewer(5)->Try(*config, "y.int8");
    ASSERT_TRUE(got.ok()) << got.status();
    ASSERT_TRUE(want.ok()) << want.status();
    EXPECT_EQ(Bytes(*got), Bytes(*want));
  }
}

// The border of a pad that a maximum reads is clipped to the data.
TEST(TrialNetworksFillsTest, AreClippedAsQuantizeDoes) {
  const Graph graph = WithRandomWeights(ParseWithSplats(R"(
%x : float32[1,4,4,2] = input
%p : float32[1,6,6,2] = pad(%x) {before [0, 1, 1, 0] after [0, 1, 1, 0] value -100} id pad
%m : float32[1,3,3,2] = max_pool2d(%p) {kernel_h 2 kernel_w 2 window {stride_h 2 stride_w 2 dilation_h 1 dilation_w 1}} id pool
%f : float32[1,18] = reshape(%m) id flat
%w : float32[3,18] = constant splat 0.25
%y : float32[1,3] = fully_connected(%f, %w) id dense
return %y
)"));
  const std::vector<v1::Chunk> chunks = RandomSamples(graph, InOrder(24), 24);
  const v1::CalibrationStatistics statistics = *Calibrate(graph, chunks);
  v1::QuantizeOptions options;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      std::string(kQuickly) + kNotEqualized, options.mutable_config()));
  CalibrationSamples fitted = *CalibrationSamples::Create(graph, chunks);
  CalibrationSamples judged = fitted;
  fitted.Limit(16);
  judged.Keep(16, 1);
  const QuantizeInputs inputs = {.statistics = statistics, .samples = chunks};
  const auto trials = TrialNetworks::Create(graph, options, inputs, fitted,
                                            judged, kTrialMemoBytes);
  ASSERT_TRUE(trials.ok()) << trials.status();
  const auto trial = (*trials)->Try(options.config(), "y.int8");
  ASSERT_TRUE(trial.ok()) << trial.status();
  options.mutable_config()->set_samples(16);
  const auto network = Quantize(graph, options, inputs);
  ASSERT_TRUE(network.ok()) << network.status();
  EXPECT_EQ(GraphToProto(trial->graph).SerializeAsString(),
            GraphToProto(network->graph).SerializeAsString());
}

// Behind a ReLU that stays float, inputs have no limits.
TEST(TrialNetworksSumsTest, WeightsFitWhatTheirInputsCanBe) {
  const Graph graph = WithRandomWeights(ParseWithSplats(R"(
%x : float32[1,4] = input
%w : float32[8,4] = constant splat 0.25
%h : float32[1,8] = fully_connected(%x, %w) {clamp {min 0}} id first
%v : float32[3,8] = constant splat 0.25
%y : float32[1,3] = fully_connected(%h, %v) id second
return %y
)"));
  const std::vector<v1::Chunk> chunks = RandomSamples(graph, InOrder(24), 24);
  const v1::CalibrationStatistics statistics = *Calibrate(graph, chunks);
  v1::QuantizeOptions options;
  const std::string scheme =
      "ranges { method: PERCENTILE } equalization: OFF symmetric_activations: "
      "ON scheme { rounding: NEAREST accumulator_bits: 14 } ";
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      scheme, options.mutable_config()));
  const CalibrationSamples samples = *CalibrationSamples::Create(graph, chunks);
  const auto trials = TrialNetworks::Create(
      graph, options, {.statistics = statistics, .samples = chunks}, samples,
      samples);
  ASSERT_TRUE(trials.ok()) << trials.status();
  for (const char* more :
       {"", "layers { layer: 'first' scheme { keep_float: ON } }", ""}) {
    v1::QuantizationConfig config;
    ASSERT_TRUE(
        google::protobuf::TextFormat::ParseFromString(scheme + more, &config));
    const auto trial = (*trials)->Try(config, "y.int8");
    ASSERT_TRUE(trial.ok()) << trial.status();
    ValueRanges ranges(trial->graph);
    ranges.Update();
    const Op* second = nullptr;
    for (const Op& op : trial->graph.ops) {
      if (op.id == "second") second = &op;
    }
    ASSERT_NE(second, nullptr);
    EXPECT_EQ(ranges.LessZero(second->inputs[0]).low, *more == 0 ? 0 : -128);
    const auto sums = SumsOfProducts(trial->graph, *second, ranges);
    ASSERT_TRUE(sums.has_value());
    EXPECT_TRUE(Fits(*sums, 14)) << sums->low << " to " << sums->high;
  }
}

INSTANTIATE_TEST_SUITE_P(All, TrialNetworksTest,
                         testing::Values("", kConverting),
                         [](const auto& info) {
                           return info.index == 0 ? std::string("Factors")
                                                  : std::string("Converters");
                         });

}  // namespace
}  // namespace edgekiln::compiler
