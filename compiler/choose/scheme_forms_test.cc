#include "compiler/choose/scheme_forms.h"

#include <string>
#include <vector>

#include "compiler/ir/text.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

constexpr char kNetwork[] = R"(
%x : float32[1,4] = input
%v : float32[2,4] = constant [1, 2, 3, 4, 5, 6, 7, 8]
%a : float32[1,2] = fully_connected(%x, %v) id first
%w : float32[2,2] = constant [1, 2, 3, 4]
%b : float32[1,2] = fully_connected(%a, %w) id second
%y : float32[1,2] = softmax(%b) {axis 1 beta 1} id softmax
return %y
)";

constexpr char kExactAndTernary[] =
    "ops { op: 'fully_connected' weight_values: WEIGHTS_ANY"
    "  narrower { weight_values: WEIGHTS_TERNARY } }";

template <typename Message>
Message Parse(const std::string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message));
  return message;
}

struct Case {
  const char* name;
  const char* config;
  const char* needs;
  const char* expected;
};

class FormsOfTest : public testing::TestWithParam<Case> {};

TEST_P(FormsOfTest, AreThoseThatEnginesTake) {
  const auto graph = ParseGraph(kNetwork);
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto layers =
      FormsOf(*graph, Parse<v1::QuantizationConfig>(GetParam().config),
              Parse<v1::QuantizationNeeds>(GetParam().needs));
  ASSERT_TRUE(layers.ok()) << layers.status();
  std::string found;
  for (const LayerForms& layer : *layers) {
    found += graph->ops[layer.op].id + ":";
    for (const auto weights : layer.weights) {
      found += " " + v1::LayerScheme::Weights_Name(weights);
    }
    found += "\n";
  }
  EXPECT_EQ(found, GetParam().expected);
}

const Case kCases[] = {
    {"NoNeeds", "", "", ""},
    {"ExactAndTernary", "", kExactAndTernary,
     "first: INT8 TERNARY\nsecond: INT8 TERNARY\n"},
    {"OneIsDecided", "layers { layer: 'first' scheme { weights: INT4 } }",
     kExactAndTernary, "second: INT8 TERNARY\n"},
    {"OneIsFloat", "layers { layer: 'f*' scheme { keep_float: ON } }",
     kExactAndTernary, "second: INT8 TERNARY\n"},
    // The host has int8.
    {"TernaryAlone", "",
     "ops { op: 'fully_connected' weight_values: "
     "WEIGHTS_TERNARY }",
     "first: INT8 TERNARY\nsecond: INT8 TERNARY\n"},
    {"Int4Alone", "",
     "ops { op: 'fully_connected' weight_values: WEIGHTS_INT4 }", ""},
    {"OtherOps", "", "ops { op: 'conv2d' weight_values: WEIGHTS_TERNARY }", ""},
};

INSTANTIATE_TEST_SUITE_P(All, FormsOfTest, testing::ValuesIn(kCases),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

TEST(ConfigForTest, NamesLayersThatAreNotInTheirFirstForm) {
  const auto graph = ParseGraph(kNetwork);
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto layers =
      FormsOf(*graph, {}, Parse<v1::QuantizationNeeds>(kExactAndTernary));
  ASSERT_TRUE(layers.ok()) << layers.status();
  EXPECT_EQ(ConfigFor(*graph, {}, *layers, {0, 0}).ByteSizeLong(), 0u);
  const v1::QuantizationConfig config = ConfigFor(*graph, {}, *layers, {0, 1});
  ASSERT_EQ(config.layers_size(), 1);
  EXPECT_EQ(config.layers(0).layer(), "second");
  EXPECT_EQ(config.layers(0).scheme().weights(), v1::LayerScheme::TERNARY);
}

}  // namespace
}  // namespace edgekiln::compiler
