#include "compiler/quantize/round_down.h"

#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "base/rng.h"
#include "compiler/ir/interpreter.h"
#include "compiler/ir/text.h"
#include "compiler/quantize/real_ports.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

v1::QuantizationNeeds Needs(const std::string& text) {
  v1::QuantizationNeeds needs;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &needs));
  return needs;
}

constexpr char kNeeds[] =
    "per_tensor: 'conv2d' per_tensor: 'fully_connected' "
    "symmetric_activations: true power_of_two_scales: true rounding: FLOOR "
    "equal_addends: true";

Graph Parse(const std::string& text) {
  const auto graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return *graph;
}

// Sums in steps of 1/16.
constexpr char kLayer[] = R"(
%x : int8[1,4] scale 0.25 zero 0 = input
%w : int8[2,4] scale 0.25 zero 0 = constant [3, -5, 7, 9, -100, 2, 0, 1]
%b : int32[2] scale 0.0625 zero 0 = constant [5, -7]
%y : int8[1,2] scale 1 zero 0 = fully_connected(%x, %w, %b) {rounding HALF_EVEN} id y
return %y
)";

TEST(RoundDownTest, BiasesHoldHalfAStep) {
  const auto kept = RoundedDown(Parse(kLayer), Needs(kNeeds));
  ASSERT_TRUE(kept.has_value());
  EXPECT_EQ(PrintGraph(*kept), PrintGraph(Parse(R"(
%x : float32[1,4] = input
%x.int : int8[1,4] scale 0.25 zero 0 = quantize(%x) id quantize_x
%w : int8[2,4] scale 0.25 zero 0 = constant [3, -5, 7, 9, -100, 2, 0, 1]
%b-2 : int32[2] scale 0.0625 zero 0 = constant [13, 1]
%y.int : int8[1,2] scale 1 zero 0 = fully_connected(%x.int, %w, %b-2) {rounding FLOOR} id y
%y : float32[1,2] = dequantize(%y.int) id dequantize_y
return %y
)")));
}

// Each row: what of the graph is replaced by what, and whether it is kept.
struct RoundedDownCase {
  const char* name;
  const char* before;
  const char* after;
  bool kept = false;
  const char* graph = kLayer;
  const char* needs = kNeeds;
};

void PrintTo(const RoundedDownCase& row, std::ostream* out) {
  *out << row.name;
}

class RoundedDownTest : public testing::TestWithParam<RoundedDownCase> {};

TEST_P(RoundedDownTest, IfOnlyTheRoundingIsAnother) {
  const std::string text = absl::StrReplaceAll(
      GetParam().graph, {{GetParam().before, GetParam().after}});
  EXPECT_EQ(RoundedDown(Parse(text), Needs(GetParam().needs)).has_value(),
            GetParam().kept)
      << text;
}

constexpr char kSum[] = R"(
%a : int8[1,4] scale 1 zero 0 = input
%b : int8[1,4] scale 1 zero 0 = input
%y : int8[1,4] scale 2 zero 0 = add(%a, %b) {} id y
return %y
)";

const RoundedDownCase kCases[] = {
    {"AsItIs", "=", "=", true},
    {"OtherScale", "scale 1 zero 0 =", "scale 0.7 zero 0 ="},
    // By -1 and by 32 bits.
    {"ShiftToTheLeft", "scale 1 zero 0 =", "scale 0.03125 zero 0 ="},
    {"NoShift", "scale 1 zero 0 =", "scale 0.0625 zero 0 =", true},
    {"FarShift", "scale 1 zero 0 =", "scale 268435456 zero 0 ="},
    {"ZeroPoint", "scale 1 zero 0 =", "scale 1 zero 3 ="},
    {"ZeroPointOfWeights", "%w : int8[2,4] scale 0.25 zero 0",
     "%w : int8[2,4] scale 0.25 zero 1"},
    {"ScalePerChannel", "%w : int8[2,4] scale 0.25 zero 0",
     "%w : int8[2,4] axis 0 scale [0.25, 0.5] zero [0, 0]"},
    {"ScalePerChannelIfTaken", "%w : int8[2,4] scale 0.25 zero 0",
     "%w : int8[2,4] axis 0 scale [0.25, 0.5] zero [0, 0]", true, kLayer,
     "power_of_two_scales: true rounding: FLOOR"},
    {"ZeroPointIfTaken", "scale 1 zero 0 =", "scale 1 zero 3 =", true, kLayer,
     "power_of_two_scales: true rounding: FLOOR"},
    {"FullBias", "[5, -7]", "[5, 1073741820]"},
    {"NoBias", "%w, %b)", "%w)", true},
    {"NeedsInt4", "=", "=", false, kLayer,
     "power_of_two_scales: true rounding: FLOOR "
     "ops { op: 'fully_connected' weight_values: WEIGHTS_INT4 }"},
    {"NeedsOtherRounding", "=", "=", false, kLayer,
     "power_of_two_scales: true"},
    {"NeedsAnyScales", "=", "=", false, kLayer, "rounding: FLOOR"},
    {"Sum", "=", "=", true, kSum},
    {"SumOfTwoScales", "%b : int8[1,4] scale 1", "%b : int8[1,4] scale 2",
     false, kSum},
    {"SumOfTwoScalesIfTaken", "%b : int8[1,4] scale 1",
     "%b : int8[1,4] scale 2", true, kSum,
     "power_of_two_scales: true rounding: FLOOR"},
    {"SumBelow", "scale 2 zero 0 = add", "scale 0.5 zero 0 = add", false, kSum},
    {"SumOfAConstant", "%b : int8[1,4] scale 1 zero 0 = input",
     "%b : int8[1,4] scale 0.3 zero 0 = constant [1, 2, 3, 4]", true, kSum},
    {"FloatSum", "=", "=", false, R"(
%a : float32[1,4] = input
%y : float32[1,4] = add(%a, %a) {} id y
return %y
)"},
};

INSTANTIATE_TEST_SUITE_P(All, RoundedDownTest, testing::ValuesIn(kCases),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

// First outputs of random inputs.
std::vector<std::vector<int8_t>> Results(const Graph& graph, int count) {
  Rng rng(7);
  const auto interpreter = Interpreter::Create(graph);
  EXPECT_TRUE(interpreter.ok()) << interpreter.status();
  std::vector<std::vector<int8_t>> results;
  for (int i = 0; i < count; ++i) {
    std::vector<std::string> inputs;
    for (const TensorId id : graph.inputs) {
      std::string& bytes = inputs.emplace_back();
      for (int64_t k = 0; k < graph.tensors[id].num_elements(); ++k) {
        bytes += static_cast<char>(rng.InRange(-128, 127));
      }
    }
    const std::vector<absl::string_view> views(inputs.begin(), inputs.end());
    EXPECT_TRUE((*interpreter)->Run(views).ok());
    const absl::string_view out = (*interpreter)->value(graph.outputs[0]);
    results.emplace_back(out.begin(), out.end());
  }
  return results;
}

// Without the conversions at its ports.
Graph Integers(Graph graph) {
  const auto inner = [&](TensorId port, bool input) {
    for (const Op& op : graph.ops) {
      if (input && op.attributes.has_quantize() && op.inputs[0] == port) {
        return op.outputs[0];
      }
      if (!input && op.attributes.has_dequantize() && op.outputs[0] == port) {
        return op.inputs[0];
      }
    }
    return port;
  };
  for (TensorId& id : graph.inputs) id = inner(id, true);
  for (TensorId& id : graph.outputs) id = inner(id, false);
  std::erase_if(graph.ops, [](const Op& op) {
    return op.attributes.has_quantize() || op.attributes.has_dequantize();
  });
  return graph;
}

// Rounded half up, results are the very same.
TEST(RoundDownTest, LayersRoundHalfUp) {
  const Graph half_up =
      Parse(absl::StrReplaceAll(kLayer, {{" {rounding HALF_EVEN}", ""}}));
  const auto kept = RoundedDown(half_up, Needs(kNeeds));
  ASSERT_TRUE(kept.has_value());
  EXPECT_EQ(Results(Integers(*kept), 200), Results(half_up, 200));
}

// A layer without a lower limit, which nothing else reads, makes up for what
// the addition leaves out, unless the value that it makes saturates.
TEST(RoundDownTest, ALayerHoldsWhatASumLacks) {
  const Graph half_up = Parse(R"(
%x : int8[1,2] scale 1 zero 0 = input
%a : int8[1,2] scale 4 zero 0 = input
%w : int8[2,2] scale 1 zero 0 = constant [1, 1, 1, -1]
%m : int8[1,2] scale 4 zero 0 = fully_connected(%x, %w) {} id m
%y : int8[1,2] scale 16 zero 0 = add(%m, %a) {} id y
return %y
)");
  const auto kept = RoundedDown(half_up, Needs(kNeeds));
  ASSERT_TRUE(kept.has_value());
  EXPECT_EQ(Results(Integers(*kept), 200), Results(half_up, 200));
}

TEST(RoundDownTest, TheReportHasScalesOnly) {
  const auto kept = RoundedDown(Parse(kLayer), Needs(kNeeds));
  ASSERT_TRUE(kept.has_value());
  const v1::QuantizationReport report = ReportOfKept(*kept);
  ASSERT_EQ(report.layers_size(), 1);
  const v1::QuantizedLayer& layer = report.layers(0);
  EXPECT_EQ(layer.id(), "y");
  EXPECT_EQ(layer.op(), "fully_connected");
  EXPECT_EQ(layer.weights(), v1::LayerScheme::INT8);
  EXPECT_TRUE(layer.per_tensor());
  EXPECT_EQ(layer.range_low(), -128);
  EXPECT_EQ(layer.range_high(), 127);
  EXPECT_FALSE(layer.has_output_sqnr_db());
}

// One tensor, three ports.
TEST(RealPortsTest, EachPortIsConverted) {
  const Graph real = WithRealPorts(Parse(R"(
%x : int8[1,2] scale 1 zero 0 = input
%y : float32[1,2] = dequantize(%x) id y
return %x, %y, %x
)"));
  EXPECT_TRUE(VerifyGraph(real).ok()) << VerifyGraph(real);
  EXPECT_EQ(real.tensors[real.inputs[0]].name, "x");
  EXPECT_EQ(real.tensors[real.outputs[1]].name, "y");
  for (const TensorId id : {real.inputs[0], real.outputs[0], real.outputs[2]}) {
    EXPECT_EQ(real.tensors[id].type, v1::FLOAT32);
  }
}

}  // namespace
}  // namespace edgekiln::compiler
