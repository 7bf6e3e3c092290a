#include "compiler/choose/choose.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/rng.h"
#include "compiler/ir/graph_outline.h"
#include "compiler/ir/text.h"
#include "compiler/quantize/calibrate.h"
#include "compiler/quantize/testing/random_samples.h"
#include "compiler/quantize/testing/splat.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "target/quantization_needs.h"
#include "target/resolve.h"

namespace edgekiln::compiler {
namespace {

constexpr char kNetwork[] = R"(
%x : float32[1,8,8,4] = input
%w : float32[16,3,3,4] = constant splat 0.25
%c : float32[16] = constant splat 0
%h : float32[1,8,8,16] = conv2d(%x, %w, %c) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1 pad_top 1 pad_bottom 1 pad_left 1 pad_right 1} clamp {min 0}} id conv
%p : float32[1,2,2,16] = max_pool2d(%h) {kernel_h 4 kernel_w 4 window {stride_h 4 stride_w 4 dilation_h 1 dilation_w 1}} id pool
%f : float32[1,64] = reshape(%p) id flat
%v : float32[5,64] = constant splat 0.1
%y : float32[1,5] = fully_connected(%f, %v) id dense
return %y
)";

// Weights of the conv are -0.25, 0 or 0.25 if `ternary`; others are uniform.
Graph Network(bool ternary) {
  Graph graph = ParseWithSplats(kNetwork);
  Rng rng(1);
  for (const Op& op : graph.ops) {
    if (op.inputs.size() < 2) continue;
    Tensor& weights = graph.tensors[op.inputs[1]];
    std::vector<float> values;
    for (int64_t i = 0; i < weights.num_elements(); ++i) {
      const float value = Uniform(rng);
      values.push_back(ternary && op.id == "conv"
                           ? 0.25f * std::round(1.4f * value)
                           : value);
    }
    weights.data =
        ConstantData(std::string(reinterpret_cast<const char*>(values.data()),
                                 values.size() * sizeof(float)));
  }
  return graph;
}

std::vector<v1::Chunk> Samples(const Graph& graph, int count) {
  Rng rng(2);
  std::vector<v1::Chunk> chunks(1);
  chunks[0].set_samples(count);
  std::string& data = *chunks[0].add_arrays()->mutable_data();
  const int64_t elements = graph.tensors[graph.inputs[0]].num_elements();
  for (int64_t i = 0; i < count * elements; ++i) {
    const float value = Uniform(rng) * Uniform(rng) * 4;
    data.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  return chunks;
}

class ChooseTest : public testing::Test {
 protected:
  absl::StatusOr<ChosenSchemes> Choose(const Graph& graph,
                                       const std::string& target,
                                       const std::string& config_text,
                                       int samples = 60,
                                       const std::string& set = "") {
    const v1::ResolvedTarget resolved =
        *target::ResolveTarget("extends: \"" + target + "\" " + set);
    v1::QuantizationConfig config;
    EXPECT_TRUE(
        google::protobuf::TextFormat::ParseFromString(config_text, &config));
    const std::vector<v1::Chunk> chunks = Samples(graph, samples);
    const auto statistics = Calibrate(graph, chunks);
    EXPECT_TRUE(statistics.ok()) << statistics.status();
    return ChooseSchemes(
        graph, target::QuantizationNeedsOf(resolved.capabilities()), config,
        {.capabilities = resolved.capabilities(),
         .machine = resolved.machine(),
         .recipe = recipe_},
        {.statistics = *statistics, .samples = chunks});
  }

  static std::string Chosen(const v1::SchemeChoice& choice) {
    std::string text;
    for (const v1::SchemeChoice::Layer& layer : choice.layers()) {
      const auto& option = layer.options(layer.chosen());
      text += layer.id() + " " +
              v1::LayerScheme::Weights_Name(option.weights()) + " " +
              option.engine() + "\n";
    }
    return text;
  }

  v1::PartitionRecipe recipe_;
};

// What costs nothing goes to the fast engine, what ruins the answers does not.
TEST_F(ChooseTest, TakesTheFastEngineWhereAnswersStay) {
  const auto chosen =
      Choose(Network(true), "toy-mixed", "accuracy_budget_ppm: 60000");
  ASSERT_TRUE(chosen.ok()) << chosen.status();
  const v1::SchemeChoice& choice = chosen->choice;
  EXPECT_EQ(Chosen(choice), "conv TERNARY fast\ndense INT8 exact\n");
  EXPECT_LE(choice.disagreement(), 0.06);
  EXPECT_LT(choice.predicted_cycles(), choice.most_exact_cycles());
  EXPECT_TRUE(choice.every_assignment());
  EXPECT_EQ(choice.samples(), 30);
  ASSERT_EQ(chosen->config.layers_size(), 1);
  EXPECT_EQ(chosen->config.layers(0).layer(), "conv");
}

// Without samples to judge by, cycles decide about weights that are ternary
// already, and about no others.
TEST_F(ChooseTest, TernaryWeightsNeedNoSamples) {
  const auto rules = [&](bool ternary, const std::string& set) {
    const auto chosen =
        Choose(Network(ternary), "toy-mixed", "", /*samples=*/1, set);
    EXPECT_TRUE(chosen.ok()) << chosen.status();
    std::string text;
    for (const auto& rule : chosen->config.layers()) {
      text += rule.layer() + " " +
              v1::LayerScheme::Weights_Name(rule.scheme().weights());
    }
    return text;
  };
  const std::string slow = "set { name: \"macs_b\" value: 1 }";
  EXPECT_EQ(rules(true, ""), "conv TERNARY");
  EXPECT_EQ(rules(true, slow), "");
  EXPECT_EQ(rules(false, ""), "");
  recipe_.set_narrowest_weights(true);
  EXPECT_EQ(rules(true, slow), "conv TERNARY");
  EXPECT_EQ(rules(false, ""), "");
}

TEST_F(ChooseTest, AnyLossMayBeAskedFor) {
  const auto chosen =
      Choose(Network(false), "toy-mixed", "accuracy_budget_ppm: 1000000");
  ASSERT_TRUE(chosen.ok()) << chosen.status();
  EXPECT_EQ(Chosen(chosen->choice), "conv TERNARY fast\ndense TERNARY fast\n");
}

// The host's int8 is more exact than the only engine.
TEST_F(ChooseTest, RefusesTheOnlyEngineIfItRuinsTheNetwork) {
  const auto chosen =
      Choose(Network(false), "toy-ternary", "accuracy_budget_ppm: 50000");
  ASSERT_TRUE(chosen.ok()) << chosen.status();
  EXPECT_EQ(Chosen(chosen->choice), "conv INT8 \ndense INT8 \n");
  EXPECT_EQ(chosen->config.layers_size(), 0);
  EXPECT_EQ(chosen->choice.layers(0).reason(),
            "others alone exceed the budget");
  EXPECT_GT(chosen->choice.layers(0).options(1).disagreement(), 0.05);
}

TEST_F(ChooseTest, WhatTheUserDecidedStays) {
  const auto chosen =
      Choose(Network(true), "toy-mixed",
             "accuracy_budget_ppm: 60000 "
             "layers { layer: 'conv' scheme { weights: INT8 } }");
  ASSERT_TRUE(chosen.ok()) << chosen.status();
  EXPECT_EQ(Chosen(chosen->choice), "dense INT8 exact\n");
}

TEST_F(ChooseTest, ABudgetThatCannotBeKeptNamesTheLayer) {
  const auto chosen =
      Choose(Network(false), "toy-int4", "accuracy_budget_ppm: 1");
  ASSERT_FALSE(chosen.ok());
  const auto detail = GetErrorDetail(chosen.status());
  ASSERT_TRUE(detail.has_value());
  EXPECT_EQ(detail->reason, "ACCURACY_BUDGET");
  EXPECT_EQ(detail->fault, Fault::kUser);
  EXPECT_EQ(detail->limit, "0.0001 % of samples");
  EXPECT_NE(detail->where.find("layer conv"), std::string::npos)
      << detail->where;
  EXPECT_NE(detail->fix.find("keep_float: ON"), std::string::npos);
}

TEST_F(ChooseTest, ChipsWithOneFormNeedNoChoice) {
  const auto chosen = Choose(Network(false), "dla", "samples: 7");
  ASSERT_TRUE(chosen.ok()) << chosen.status();
  EXPECT_EQ(chosen->choice.ByteSizeLong(), 0u);
  EXPECT_EQ(chosen->config.samples(), 7);
}

TEST_F(ChooseTest, OneSampleDecidesNothing) {
  const auto chosen = Choose(Network(true), "toy-mixed", "", 1);
  ASSERT_TRUE(chosen.ok()) << chosen.status();
  EXPECT_EQ(chosen->choice.ByteSizeLong(), 0u);
}

TEST_F(ChooseTest, NothingButTheSamplesCounts) {
  const Graph graph = Network(true);
  const v1::ResolvedTarget target =
      *target::ResolveTarget("extends: \"toy-mixed\"");
  v1::QuantizationConfig config;
  config.set_accuracy_budget_ppm(60000);
  const std::vector<v1::Chunk> whole = Samples(graph, 60);
  // From the last to the first, one by one.
  std::vector<v1::Chunk> single;
  const std::string& data = whole[0].arrays(0).data();
  const size_t one = data.size() / 60;
  for (size_t i = 60; i-- > 0;) {
    v1::Chunk& chunk = single.emplace_back();
    chunk.set_samples(1);
    chunk.add_arrays()->set_data(data.substr(i * one, one));
  }
  const v1::CalibrationStatistics statistics = *Calibrate(graph, whole);
  std::string first;
  for (const std::vector<v1::Chunk>* chunks :
       {&whole, static_cast<const std::vector<v1::Chunk>*>(&single)}) {
    for (const ops::CpuPath path :
         {ops::CpuPath::kScalar, ops::CpuPath::kAvx2, ops::CpuPath::kAvx512}) {
      const auto chosen = ChooseSchemes(
          graph, target::QuantizationNeedsOf(target.capabilities()), config,
          {.capabilities = target.capabilities(), .machine = target.machine()},
          {.statistics = statistics, .samples = *chunks, .cpu_path = path});
      ASSERT_TRUE(chosen.ok()) << chosen.status();
      const std::string bytes = chosen->config.SerializeAsString() +
                                chosen->choice.SerializeAsString();
      if (first.empty()) first = bytes;
      EXPECT_EQ(bytes, first);
    }
  }
}

// Also where forms of layers differ in nothing but a limit, or a size.
TEST(PredictNetworkTest, WhatIsRememberedChangesNothing) {
  const Graph graph = *GraphFromOutline(OutlineOf(Network(false)));
  Graph limited = graph;
  limited.ops[0].attributes.mutable_conv2d()->mutable_clamp()->set_max(6);
  for (const char* name : {"toy-mixed", "toy-ternary"}) {
    const v1::ResolvedTarget target =
        *target::ResolveTarget(std::string("extends: \"") + name + "\"");
    const v1::QuantizationNeeds needs =
        target::QuantizationNeedsOf(target.capabilities());
    const ChosenChip chip = {.capabilities = target.capabilities(),
                             .machine = target.machine()};
    EstimateMemo memo;
    int64_t cycles = 0;
    // The second time, all is known.
    for (int round = 0; round < 2; ++round) {
      for (const char* forms : {"conv", "dense", "nothing", "*"}) {
        for (const Graph* const of : {static_cast<const Graph*>(&graph),
                                      static_cast<const Graph*>(&limited)}) {
          v1::QuantizationConfig config;
          if (std::string(forms) != "nothing") {
            v1::QuantizationConfig::LayerRule& rule = *config.add_layers();
            rule.set_layer(forms);
            rule.mutable_scheme()->set_weights(v1::LayerScheme::TERNARY);
          }
          const auto alone = PredictNetwork(*of, needs, config, chip);
          const auto with = PredictNetwork(*of, needs, config, chip, &memo);
          ASSERT_TRUE(alone.ok()) << alone.status();
          ASSERT_TRUE(with.ok()) << with.status();
          EXPECT_EQ(with->cycles, alone->cycles) << name << " " << forms;
          EXPECT_EQ(with->engines, alone->engines) << name << " " << forms;
          cycles = std::max(cycles, alone->cycles);
        }
      }
    }
    EXPECT_GT(cycles, 0);
  }
}

}  // namespace
}  // namespace edgekiln::compiler
