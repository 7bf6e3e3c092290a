// The published networks whose inner layers have ternary weights
// (shared models/make_htvm_variants.py), on engines that take nothing else. As
// they come, those layers requantize by factors: no engine with a converter
// takes them. With converters it does.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/rng.h"
#include "compiler/partition/partition.h"
#include "gtest/gtest.h"
#include "simfarm/session/session.h"
#include "target/resolve.h"
#include "tests/chips/expect_bit_exact.h"
#include "tests/pipeline/chip_run.h"
#include "tests/pipeline/compiler_run.h"
#include "tests/support/shared_data.h"

namespace edgekiln::tests {
namespace {

using compiler::Graph;
using compiler::Op;
using compiler::Tensor;

// Convolutions and matrix products of weights -1, 0 and 1.
std::vector<int32_t> TernaryOps(const Graph& graph) {
  std::vector<int32_t> ops;
  for (int32_t i = 0; i < std::ssize(graph.ops); ++i) {
    const Op& op = graph.ops[i];
    if (!op.attributes.has_conv2d() && !op.attributes.has_fully_connected()) {
      continue;
    }
    const Tensor& weights = graph.tensors[op.inputs[1]];
    const bool ternary =
        weights.type == v1::INT8 &&
        std::all_of(weights.data->begin(), weights.data->end(), [](char byte) {
          return std::abs(static_cast<int8_t>(byte)) <= 1;
        });
    if (ternary) ops.push_back(i);
  }
  return ops;
}

// Gives the op a converter for sums of about the size that they have.
void Convert(Graph& graph, Op& op) {
  const Tensor& weights = graph.tensors[op.inputs[1]];
  const double terms = static_cast<double>(weights.num_elements()) /
                       static_cast<double>(weights.shape[0]);
  op.attributes.set_rounding(v1::FLOOR);
  v1::Converter& converter = *op.attributes.mutable_converter();
  converter.set_gain(static_cast<int32_t>(2 * std::sqrt(terms)) + 1);
  converter.set_min(-32);
  converter.set_max(31);
  for (int64_t c = 0; c < weights.shape[0]; ++c) {
    converter.add_scale(static_cast<int32_t>(20 + c % 7));
    converter.add_offset(static_cast<int32_t>(c % 5 - 2));
  }
  converter.set_shift(3);
  // As all zero points of these networks are.
  ASSERT_EQ(graph.tensors[op.outputs[0]].quantization->zero_point[0], 0);
}

v1::ResolvedTarget TargetNamed(const std::string& name) {
  return *target::ResolveTarget(absl::StrCat(
      "extends: \"", name, "\" set { name: \"",
      name == "toy-mixed" ? "shared" : "tile_mem", "_bytes\" value: 262144 }"));
}

int32_t EngineNamed(const v1::ResolvedTarget& target, const std::string& name) {
  for (int32_t e = 0; e < target.machine().engines_size(); ++e) {
    if (target.machine().engines(e).name() == name) return e;
  }
  ADD_FAILURE() << name;
  return -1;
}

int64_t CyclesOf(const Graph& graph, const v1::ResolvedTarget& target) {
  const auto compiled = CompileQuantized(graph, target);
  EXPECT_TRUE(compiled.ok()) << compiled.status();
  if (!compiled.ok()) return 0;
  const auto report = simfarm::CountCycles(compiled->program, target.machine(),
                                           OptionsOf(graph));
  EXPECT_TRUE(report.ok()) << report.status();
  return report.ok() ? report->cycles() : 0;
}

struct MixedCase {
  const char* model;
  const char* target;
  const char* engine;
};

void PrintTo(const MixedCase& row, std::ostream* out) {
  *out << row.model << " " << row.target;
}

class MixedSchemesTest : public testing::TestWithParam<MixedCase> {};

TEST_P(MixedSchemesTest, TernaryLayersWithConvertersAreTheEngines) {
  const std::string path = absl::StrCat("models/", GetParam().model);
  EK_REQUIRE_SHARED(path);
  auto graph = SimplifiedGraph(ReadWholeFile(SharedPath(path)));
  ASSERT_TRUE(graph.ok()) << graph.status();
  const std::vector<int32_t> ternary = TernaryOps(*graph);
  EXPECT_GE(ternary.size(), 4u);
  const v1::ResolvedTarget target = TargetNamed(GetParam().target);
  const int32_t engine = EngineNamed(target, GetParam().engine);
  const int64_t before = CyclesOf(*graph, target);

  auto placed = compiler::PartitionGraph(*graph, target.capabilities());
  ASSERT_TRUE(placed.ok()) << placed.status();
  for (const int32_t op : ternary) {
    const auto& placement = placed->placements(op);
    EXPECT_NE(placement.engine(), engine);
    if (placement.engine() >= 0) continue;
    EXPECT_TRUE(absl::StrContains(
        placement.reason(),
        absl::StrCat(GetParam().engine,
                     " needs rounding down (here half to even)")))
        << placement.reason();
  }

  for (const int32_t op : ternary) Convert(*graph, graph->ops[op]);
  placed = compiler::PartitionGraph(*graph, target.capabilities());
  ASSERT_TRUE(placed.ok()) << placed.status();
  for (const int32_t op : ternary) {
    EXPECT_EQ(placed->placements(op).engine(), engine)
        << placed->placements(op).reason();
  }
  const int64_t after = CyclesOf(*graph, target);
  RecordProperty("before", absl::StrCat(before));
  RecordProperty("after", absl::StrCat(after));
  EXPECT_LT(after, before);
  Rng rng(1);
  std::string sample;
  const Tensor& input = graph->tensors[graph->inputs[0]];
  for (int64_t i = 0;
       i < input.num_elements() * compiler::ElementBytes(input.type) / 4; ++i) {
    const float value = static_cast<float>(rng.InRange(-500, 500)) / 256;
    sample.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  ExpectBitExact(*graph, target, {sample});
}

INSTANTIATE_TEST_SUITE_P(
    All, MixedSchemesTest,
    testing::ValuesIn(std::vector<MixedCase>{
        {"htvm_resnet8_mixed.onnx", "toy-mixed", "fast"},
        {"htvm_dscnn_mixed.onnx", "toy-mixed", "fast"},
        {"htvm_ad_mixed.onnx", "toy-mixed", "fast"},
        {"htvm_resnet8_mixed.onnx", "toy-ternary", "ternary"},
        {"htvm_ad_mixed.onnx", "toy-ternary", "ternary"}}),
    [](const auto& info) {
      std::string name = absl::StrCat(info.param.model, "_", info.param.target);
      for (char& c : name) {
        if (!absl::ascii_isalnum(c)) c = '_';
      }
      return name;
    });

}  // namespace
}  // namespace edgekiln::tests
