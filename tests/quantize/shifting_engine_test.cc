// An engine that adds and shifts: results are clamp(sum >> n) with n from 0 to
// 31, rounding down, one scale per layer, zero points 0, and an addition has
// operands of one scale. Float networks, and such that came quantized, are run
// by it whole. That chips compute the same is shown by tests/chips.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/status_macros.h"
#include "compiler/dataset/convert.h"
#include "compiler/dataset/synthesize.h"
#include "compiler/frontend/import.h"
#include "compiler/ir/interpreter.h"
#include "compiler/partition/partition.h"
#include "compiler/passes/integer_io.h"
#include "compiler/passes/pipeline.h"
#include "compiler/quantize/calibrate.h"
#include "compiler/quantize/output_change.h"
#include "compiler/quantize/quantize.h"
#include "compiler/quantize/requantize_gain.h"
#include "compiler/quantize/round_down.h"
#include "compiler/quantize/unquantize.h"
#include "gtest/gtest.h"
#include "target/builtin.h"
#include "target/quantization_needs.h"
#include "target/resolve.h"
#include "tests/support/shared_data.h"

namespace edgekiln::tests {
namespace {

using compiler::Graph;

constexpr int64_t kCalibrates = 200;

absl::StatusOr<Graph> Simplified(const std::string& path) {
  EK_ASSIGN_OR_RETURN(Graph graph,
                      compiler::ImportModel(ReadWholeFile(SharedPath(path))));
  EK_RETURN_IF_ERROR(compiler::Simplify(graph));
  return graph;
}

// toy-shift, rounding down, with less room for scales.
v1::ResolvedTarget Target() {
  std::string text;
  for (const target::BuiltinTarget& target : target::BuiltinTargets()) {
    if (target.name == "toy-shift") text = target.text;
  }
  const auto resolved = target::ResolveTarget(absl::StrReplaceAll(
      text,
      {{"down\"\n  unit: \"\"\n  default_value: 1",
        "down\"\n  unit: \"\"\n  default_value: 0"},
       {"requantization: SHIFT\n      roundings: FLOOR\n    }",
        "requantization: SHIFT\n      roundings: FLOOR\n"
        "      one_input_scale: true\n      largest_shift: 31\n    }"},
       {"requantization: SHIFT\n      roundings: FLOOR\n      accumulator",
        "requantization: SHIFT\n      roundings: FLOOR\n"
        "      largest_shift: 31\n      accumulator"}}));
  EXPECT_TRUE(resolved.ok()) << resolved.status();
  return resolved.value_or(v1::ResolvedTarget());
}

v1::QuantizationNeeds Needs() {
  return target::QuantizationNeedsOf(Target().capabilities());
}

TEST(ShiftingEngineTest, NeedsAllThatItLacks) {
  EXPECT_EQ(Needs().ShortDebugString(),
            R"(per_tensor: "conv2d" per_tensor: "depthwise_conv2d" )"
            R"(per_tensor: "fully_connected" symmetric_activations: true )"
            "power_of_two_scales: true rounding: FLOOR equal_addends: true");
}

// Each layer with weights and each addition is the engine's.
void ExpectOnEngine(Graph graph) {
  compiler::UseIntegerPorts(graph);
  const v1::ResolvedTarget target = Target();
  const auto partition = compiler::PartitionGraph(graph, target.capabilities());
  ASSERT_TRUE(partition.ok()) << partition.status();
  int layers = 0;
  for (const v1::Partition::Placement& placement : partition->placements()) {
    const v1::Op& op = partition->graph().ops(placement.op());
    const v1::OpAttributes& attributes = op.attributes();
    if (!attributes.has_conv2d() && !attributes.has_depthwise_conv2d() &&
        !attributes.has_fully_connected() && !attributes.has_add()) {
      continue;
    }
    EXPECT_GE(placement.engine(), 0) << op.id() << ": " << placement.reason();
    ++layers;
  }
  EXPECT_GT(layers, 2);
}

struct FloatCase {
  const char* name;
  const char* file;
  const char* calibration;
  const char* data;
  int most_lost;  // Answers fewer than the float network's.
};

void PrintTo(const FloatCase& row, std::ostream* out) { *out << row.name; }

absl::StatusOr<compiler::ConvertedData> Load(const Graph& graph,
                                             const char* file, int64_t limit) {
  v1::ConvertDataOptions options;
  options.set_limit(limit);
  options.set_chunk_samples(100);
  const std::string bytes =
      ReadWholeFile(SharedPath(absl::StrCat("data/", file)));
  return compiler::ConvertDataSet(options, {bytes},
                                  compiler::InputsOf(GraphToProto(graph)));
}

// Right answers to the samples from `first` on, and how many there are.
std::pair<int, int> Correct(const Graph& graph,
                            const compiler::ConvertedData& data,
                            int64_t first) {
  const auto interpreter = compiler::Interpreter::Create(graph);
  EXPECT_TRUE(interpreter.ok()) << interpreter.status();
  std::pair<int, int> counts;
  for (const v1::Chunk& chunk : data.chunks) {
    const std::string& bytes = chunk.arrays(0).data();
    const size_t one = bytes.size() / static_cast<size_t>(chunk.samples());
    for (int64_t i = 0; i < chunk.samples(); ++i) {
      const int64_t sample = chunk.first_sample() + i;
      if (sample < first) continue;
      EXPECT_TRUE((*interpreter)
                      ->Run({absl::string_view(bytes).substr(
                          static_cast<size_t>(i) * one, one)})
                      .ok());
      const absl::string_view out = (*interpreter)->value(graph.outputs[0]);
      std::vector<float> scores(out.size() / sizeof(float));
      std::memcpy(scores.data(), out.data(), out.size());
      const auto best =
          std::max_element(scores.begin(), scores.end()) - scores.begin();
      counts.first +=
          best == data.labels->label(static_cast<int>(sample)) ? 1 : 0;
      ++counts.second;
    }
  }
  return counts;
}

class FloatNetworkTest : public testing::TestWithParam<FloatCase> {};

TEST_P(FloatNetworkTest, RunsOnTheEngineAndKeepsItsAnswers) {
  const FloatCase& row = GetParam();
  const std::string path = absl::StrCat("models/", row.file);
  EK_REQUIRE_SHARED(path);
  EK_REQUIRE_SHARED(absl::StrCat("data/", row.calibration));
  EK_REQUIRE_SHARED(absl::StrCat("data/", row.data));
  const auto graph = Simplified(path);
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto calibration = Load(*graph, row.calibration, kCalibrates);
  ASSERT_TRUE(calibration.ok()) << calibration.status();
  const auto statistics = compiler::Calibrate(*graph, calibration->chunks);
  ASSERT_TRUE(statistics.ok()) << statistics.status();
  v1::QuantizeOptions options;
  *options.mutable_needs() = Needs();
  const auto fitted = compiler::Quantize(
      *graph, options,
      {.statistics = *statistics, .samples = calibration->chunks});
  ASSERT_TRUE(fitted.ok()) << fitted.status();
  ExpectOnEngine(fitted->graph);
  // Without samples, too.
  const auto blind =
      compiler::Quantize(*graph, options, {.statistics = *statistics});
  ASSERT_TRUE(blind.ok()) << blind.status();
  ExpectOnEngine(blind->graph);

  const auto data = Load(*graph, row.data, 0);
  ASSERT_TRUE(data.ok()) << data.status();
  ASSERT_TRUE(data->labels.has_value());
  const int64_t first =
      std::string(row.calibration) == row.data ? kCalibrates : 0;
  const auto [real, count] = Correct(*graph, *data, first);
  const auto [ours, again] = Correct(fitted->graph, *data, first);
  EXPECT_GE(ours, real - row.most_lost);
  std::cout << "  " << ours << " of " << count << " correct, in floats " << real
            << "; without samples " << Correct(blind->graph, *data, first).first
            << "\n";
}

// A point, or two samples of fewer than 400.
const FloatCase kFloat[] = {
    {"resnet8", "resnet8_fp32.onnx", "cifar10_calib_487.npz",
     "cifar10_ic_100.npz", 2},
    {"dscnn", "dscnn_fp32.onnx", "kws_500.npz", "kws_500.npz", 2},
    {"mnist_cnn", "mnist_cnn_fp32.onnx", "mnist_2k.npz", "mnist_2k.npz", 18},
};

INSTANTIATE_TEST_SUITE_P(All, FloatNetworkTest, testing::ValuesIn(kFloat),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

// Over all that the integers of the first input can hold.
std::vector<v1::Chunk> RandomInputs(const Graph& graph) {
  double scale = 1;
  for (const compiler::Op& op : graph.ops) {
    if (!op.attributes.has_quantize()) continue;
    scale = graph.tensors[op.outputs[0]].quantization->scale[0];
    break;
  }
  v1::SynthesizeDataOptions options;
  options.set_chunk_samples(16);
  auto chunks = compiler::SynthesizeData(
      options, compiler::InputsOf(GraphToProto(graph)).types);
  EXPECT_TRUE(chunks.ok()) << chunks.status();
  for (v1::Chunk& chunk : *chunks) {
    std::string& bytes = *chunk.mutable_arrays(0)->mutable_data();
    std::vector<float> values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    for (float& value : values) value *= static_cast<float>(128 * scale);
    std::memcpy(bytes.data(), values.data(), bytes.size());
  }
  return *std::move(chunks);
}

// Of random weights; all scales are powers of two already, and half to even is
// what engines do not have.
struct CameCase {
  const char* name;
  bool kept;  // Its integers; others are quantized anew.
};

void PrintTo(const CameCase& row, std::ostream* out) { *out << row.name; }

class CameQuantizedTest : public testing::TestWithParam<CameCase> {};

TEST_P(CameQuantizedTest, RunsOnTheEngine) {
  const std::string path = absl::StrCat("models/", GetParam().name, ".onnx");
  EK_REQUIRE_SHARED(path);
  const auto graph = Simplified(path);
  ASSERT_TRUE(graph.ok()) << graph.status();
  const v1::ResolvedTarget target = Target();
  const auto before = compiler::MacsOnEngines(*graph, target.capabilities());
  ASSERT_TRUE(before.ok()) << before.status();
  EXPECT_EQ(before->on_engines, 0);
  const auto form = compiler::Unquantize(*graph);
  ASSERT_TRUE(form.ok()) << form.status();
  const auto why =
      compiler::WhyRequantize(*graph, form->graph, target.capabilities());
  ASSERT_TRUE(why.ok()) << why.status();
  EXPECT_EQ(*why, "shifter needs rounding down");

  v1::QuantizeOptions options;
  *options.mutable_needs() = Needs();
  ASSERT_TRUE(form->ranges.has_value());
  const auto anew =
      compiler::Quantize(form->graph, options, {.statistics = *form->ranges});
  ASSERT_TRUE(anew.ok()) << anew.status();
  ExpectOnEngine(anew->graph);
  const std::vector<v1::Chunk> chunks = RandomInputs(anew->graph);
  const auto other = compiler::CompareOutputs(*graph, anew->graph, chunks);
  ASSERT_TRUE(other.ok() && other->has_value());
  std::cout << "  anew: " << compiler::ToText(**other, "random inputs") << "\n";
  EXPECT_GT((*other)->sqnr_db.value_or(1000), 20);

  const auto kept = compiler::RoundedDown(*graph, Needs());
  ASSERT_EQ(kept.has_value(), GetParam().kept);
  if (!kept) return;
  ExpectOnEngine(*kept);
  const auto change = compiler::CompareOutputs(*graph, *kept, chunks);
  ASSERT_TRUE(change.ok() && change->has_value());
  std::cout << "  kept: " << compiler::ToText(**change, "random inputs")
            << "\n";
  EXPECT_GT((*change)->sqnr_db.value_or(1000), 20);
}

const CameCase kCame[] = {
    {"htvm_resnet8_digital", true},
    {"htvm_dscnn_digital", false},
    {"htvm_mobilenet_v1_0.25_96_digital", true},
    {"htvm_ad_digital", true},
    {"htvm_resnet8_mixed", true},
    {"htvm_dscnn_mixed", false},
    {"htvm_mobilenet_v1_0.25_96_mixed", true},
    {"htvm_ad_mixed", true},
};

INSTANTIATE_TEST_SUITE_P(
    All, CameQuantizedTest, testing::ValuesIn(kCame), [](const auto& info) {
      return absl::StrReplaceAll(info.param.name, {{".", "_"}});
    });

}  // namespace
}  // namespace edgekiln::tests
