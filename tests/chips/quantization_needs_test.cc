// Float networks on chips whose arithmetic cannot hold what is quantized for
// others: per channel, with zero points, with any scales.

#include "target/quantization_needs.h"

#include <cstdint>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "compiler/passes/integer_io.h"
#include "gtest/gtest.h"
#include "target/builtin.h"
#include "target/resolve.h"
#include "tests/chips/expect_bit_exact.h"
#include "tests/pipeline/chip_run.h"
#include "tests/pipeline/compiler_run.h"
#include "tests/pipeline/synthetic.h"
#include "tests/support/golden.h"
#include "tests/support/shared_data.h"

namespace edgekiln::tests {
namespace {

using compiler::Graph;

std::string TextOf(const std::string& builtin) {
  for (const target::BuiltinTarget& target : target::BuiltinTargets()) {
    if (target.name == builtin) return target.text;
  }
  ADD_FAILURE() << builtin;
  return "";
}

// toy-array without what the chip of the row cannot do.
struct Chip {
  const char* name;
  const char* preset;
  std::vector<std::pair<std::string, std::string>> changes;
  std::string needs;
  bool takes_usual = false;  // Some of what is quantized for other chips.
};

// With so many bits for sums of products.
Chip Narrow(const char* name, const char* preset, int bits,
            const std::string& other_needs = "") {
  std::string needs = other_needs;
  for (const char* op : {"conv2d", "depthwise_conv2d", "fully_connected"}) {
    absl::StrAppend(&needs, needs.empty() ? "" : " ", "ops { op: \"", op,
                    "\" accumulator_bits: ", bits, " }");
  }
  return {.name = name,
          .preset = preset,
          .changes = {{"accumulator_bits: 32",
                       absl::StrCat("accumulator_bits: ", bits)}},
          .needs = std::move(needs),
          .takes_usual = other_needs.empty()};
}

const std::pair<std::string, std::string> kNoZeroPoints = {
    "activation_zero_points: true", "activation_zero_points: false"};
const std::pair<std::string, std::string> kShifts = {
    "requantization: MULTIPLIER_AND_SHIFT", "requantization: SHIFT"};

const Chip kChips[] = {
    {"PerTensor",
     "toy-array-tensor",
     {},
     R"(per_tensor: "conv2d" per_tensor: "depthwise_conv2d" )"
     R"(per_tensor: "fully_connected")"},
    {"Symmetric", "toy-array", {kNoZeroPoints}, "symmetric_activations: true"},
    {"Shifts", "toy-array", {kShifts}, "power_of_two_scales: true"},
    {"AllThree",
     "toy-array-tensor",
     {kNoZeroPoints, kShifts},
     R"(per_tensor: "conv2d" per_tensor: "depthwise_conv2d" )"
     R"(per_tensor: "fully_connected" symmetric_activations: true )"
     "power_of_two_scales: true"},
    {"ToyShift",
     "toy-shift",
     {},
     R"(per_tensor: "conv2d" per_tensor: "depthwise_conv2d" )"
     R"(per_tensor: "fully_connected" symmetric_activations: true )"
     "power_of_two_scales: true"},
    // Results are clamp(sum >> n), of an addition (a + b) >> n.
    {"OneScaleOfAddends",
     "toy-shift",
     {{"down\"\n  unit: \"\"\n  default_value: 1",
       "down\"\n  unit: \"\"\n  default_value: 0"},
      {"requantization: SHIFT\n      roundings: FLOOR\n    }",
       "requantization: SHIFT\n      roundings: FLOOR\n"
       "      one_input_scale: true\n      largest_shift: 31\n    }"}},
     R"(per_tensor: "conv2d" per_tensor: "depthwise_conv2d" )"
     R"(per_tensor: "fully_connected" symmetric_activations: true )"
     "power_of_two_scales: true rounding: FLOOR equal_addends: true"},
    Narrow("Sums16", "toy-array", 16),
    Narrow("Sums20", "toy-array", 20),
    Narrow("Sums24", "toy-array", 24),
    Narrow("ShiftedSums16", "toy-shift", 16,
           R"(per_tensor: "conv2d" per_tensor: "depthwise_conv2d" )"
           R"(per_tensor: "fully_connected" symmetric_activations: true )"
           "power_of_two_scales: true"),
};

absl::StatusOr<v1::ResolvedTarget> TargetOf(const Chip& chip) {
  return target::ResolveTarget(
      absl::StrReplaceAll(TextOf(chip.preset), chip.changes));
}

struct Share {
  int64_t engine = 0;
  int64_t all = 0;
};

// Of multiply-accumulates.
absl::StatusOr<Share> ShareOfEngines(const Graph& graph,
                                     const v1::ResolvedTarget& target) {
  const auto compiled = CompileQuantized(graph, target);
  if (!compiled.ok()) return compiled.status();
  Share share;
  for (const v1::Program::Layer& layer : compiled->program.layers()) {
    share.all += layer.macs();
    if (layer.engine() >= 0) share.engine += layer.macs();
  }
  return share;
}

struct NeedsCase {
  const Chip* chip;
  std::string model;  // Under shared models/, or of the repository.
};

void PrintTo(const NeedsCase& row, std::ostream* out) {
  *out << row.chip->name << " " << row.model;
}

class QuantizationNeedsTest : public testing::TestWithParam<NeedsCase> {
 protected:
  static bool IsOurs() { return absl::StartsWith(GetParam().model, "docs/"); }
  static absl::StatusOr<Graph> Float() {
    const std::string& model = GetParam().model;
    return SimplifiedGraph(
        ReadWholeFile(IsOurs() ? SourcePath(model)
                               : SharedPath(absl::StrCat("models/", model))));
  }
};

TEST_P(QuantizationNeedsTest, EngineTakesEveryProduct) {
  if (!IsOurs()) EK_REQUIRE_SHARED(absl::StrCat("models/", GetParam().model));
  const auto target = TargetOf(*GetParam().chip);
  ASSERT_TRUE(target.ok()) << target.status();
  const v1::QuantizationNeeds needs =
      target::QuantizationNeedsOf(target->capabilities());
  EXPECT_EQ(needs.ShortDebugString(), GetParam().chip->needs);
  const auto source = Float();
  ASSERT_TRUE(source.ok()) << source.status();

  auto graph = QuantizedBySample(*source, needs);
  ASSERT_TRUE(graph.ok()) << graph.status();
  compiler::UseIntegerPorts(*graph);
  const auto share = ShareOfEngines(*graph, *target);
  ASSERT_TRUE(share.ok()) << share.status();
  EXPECT_GT(share->all, 0);
  EXPECT_EQ(share->engine, share->all);
  const auto inputs = SyntheticInputs(*graph);
  ASSERT_TRUE(inputs.ok()) << inputs.status();
  ExpectBitExact(*graph, *target, *inputs);

  if (GetParam().chip->takes_usual) return;
  // As it is quantized for chips that hold everything, the engine gets nothing.
  auto usual = QuantizedBySample(*source);
  ASSERT_TRUE(usual.ok()) << usual.status();
  compiler::UseIntegerPorts(*usual);
  const auto none = ShareOfEngines(*usual, *target);
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_EQ(none->engine, 0);
}

// What the quantizer is told of chips that the tests above do not quantize for.
TEST(NeedsTest, AreThoseOfTheChips) {
  constexpr char kShift[] =
      R"(per_tensor: "conv2d" per_tensor: "depthwise_conv2d" )"
      R"(per_tensor: "fully_connected" symmetric_activations: true )"
      "power_of_two_scales: true";
  constexpr char kCodes[] =
      "weight_values: WEIGHTS_TERNARY converter { min: -32 max: 31 max_gain: "
      "4096 max_shift: 15 }";
  const std::pair<const char*, std::string> kRows[] = {
      {"toy-array", ""},
      {"toy-shift-floor", absl::StrCat(kShift, " rounding: FLOOR")},
      {"toy-ternary",
       absl::StrCat("symmetric_activations: true power_of_two_scales: true ",
                    R"(ops { op: "conv2d" )", kCodes,
                    R"( } ops { op: "fully_connected" )", kCodes,
                    " } rounding: FLOOR")},
      {"toy-ternary-sums",
       "symmetric_activations: true power_of_two_scales: true "
       R"(ops { op: "conv2d" weight_values: WEIGHTS_TERNARY } )"
       R"(ops { op: "fully_connected" weight_values: WEIGHTS_TERNARY } )"
       "rounding: FLOOR"},
      {"toy-mixed",
       absl::StrCat(R"(ops { op: "conv2d" narrower { )", kCodes,
                    R"( } } ops { op: "fully_connected" narrower { )", kCodes,
                    " } }")},
      {"toy-int4",
       R"(ops { op: "conv2d" weight_values: WEIGHTS_INT4 } )"
       R"(ops { op: "depthwise_conv2d" weight_values: WEIGHTS_INT4 } )"
       R"(ops { op: "fully_connected" weight_values: WEIGHTS_INT4 })"},
  };
  for (const auto& [name, needs] : kRows) {
    const auto target = target::ResolveTarget(TextOf(name));
    ASSERT_TRUE(target.ok()) << target.status();
    EXPECT_EQ(
        target::QuantizationNeedsOf(target->capabilities()).ShortDebugString(),
        needs)
        << name;
  }
}

std::vector<NeedsCase> AllCases() {
  std::vector<NeedsCase> cases;
  for (const Chip& chip : kChips) cases.push_back({&chip, "dscnn_fp32.onnx"});
  // With additions.
  cases.push_back({&kChips[0], "resnet8_fp32.onnx"});
  cases.push_back({&kChips[3], "resnet8_fp32.onnx"});
  cases.push_back({&kChips[3], "docs/example/digits.onnx"});
  cases.push_back({&kChips[4], "resnet8_fp32.onnx"});
  cases.push_back({&kChips[5], "resnet8_fp32.onnx"});
  for (const Chip& chip : kChips) {
    if (!absl::StrContains(chip.name, "Sums")) continue;
    cases.push_back({&chip, "resnet8_fp32.onnx"});
    cases.push_back({&chip, "mnist_cnn_fp32.onnx"});
  }
  for (const char* model : {"mnist_cnn_fp32.onnx", "lenet_fp32.onnx",
                            "mnist_mlp_fp32.onnx", "microkws_fp32.onnx"}) {
    cases.push_back({&kChips[0], model});
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, QuantizationNeedsTest,
                         testing::ValuesIn(AllCases()),
                         [](const testing::TestParamInfo<NeedsCase>& info) {
                           std::string model = info.param.model;
                           model = model.substr(model.rfind('/') + 1);
                           return absl::StrCat(
                               info.param.chip->name, "_",
                               model.substr(0, model.find('.')));
                         });

}  // namespace
}  // namespace edgekiln::tests
