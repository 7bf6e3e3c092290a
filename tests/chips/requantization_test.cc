// Engines that give int32 sums: who requantizes them, and that both are right.

#include <cstdint>
#include <iterator>
#include <map>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/rng.h"
#include "compiler/codegen/placement.h"
#include "compiler/ir/graph.h"
#include "compiler/ir/text.h"
#include "compiler/partition/partition.h"
#include "gtest/gtest.h"
#include "target/resolve.h"
#include "tests/chips/chip_cases.h"
#include "tests/chips/expect_bit_exact.h"
#include "tests/chips/random_graphs.h"
#include "tests/chips/smallest_scratchpad.h"
#include "tests/pipeline/chip_run.h"
#include "tests/pipeline/compiler_run.h"
#include "tests/support/shared_data.h"

namespace edgekiln::tests {
namespace {

using compiler::Graph;

constexpr int kHost = -1;

struct Variant {
  const char* name;
  const char* descriptor;
  int requantizer;     // Of the sums that engine 0 gives.
  const char* reason;  // For its place, as partition has it.
};

void PrintTo(const Variant& variant, std::ostream* out) {
  *out << variant.name;
}

const Variant kVariants[] = {
    {"OnItself",
     "extends: \"toy-array\" set { name: \"requantizes\" value: 2 }", 0,
     "array runs requantize"},
    {"OnAnother", "extends: \"toy-two-array-int32\"", 1, "b runs requantize"},
    {"OnTheHost", "extends: \"toy-array-int32\"", kHost,
     "no engine of this target has requantize; scales the int32 sums of a "
     "layer (c)"}};

v1::ResolvedTarget TargetOf(const Variant& variant) {
  const auto target = target::ResolveTarget(variant.descriptor);
  EXPECT_TRUE(target.ok()) << target.status();
  return target.ok() ? *target : v1::ResolvedTarget();
}

class RequantizationTest : public testing::TestWithParam<Variant> {
 protected:
  void SetUp() override { target_ = TargetOf(GetParam()); }

  v1::ResolvedTarget target_;
};

// A convolution, and a reshape of its result.
constexpr char kNet[] = R"(
%x : int8[1,1,2,2] scale 0.5 zero 3 = input
%w : int8[2,1,1,2] axis 0 scale [0.25, 0.125] zero [0, 0] = constant [7, -9, 100, 3]
%y : int8[1,1,2,2] scale 0.75 zero -4 = conv2d(%x, %w) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1} clamp {min 0} rounding HALF_EVEN} id c
%z : int8[2,2] scale 0.75 zero -4 = reshape(%y) id r
return %z
)";

TEST_P(RequantizationTest, SumsAndRequantizeHaveAPlaceEach) {
  const auto graph = compiler::ParseGraph(kNet);
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto partition =
      compiler::PartitionGraph(*graph, target_.capabilities());
  ASSERT_TRUE(partition.ok()) << partition.status();
  ASSERT_EQ(partition->placements_size(), 3);
  const std::string& engine = target_.capabilities().engines(0).name();
  EXPECT_EQ(partition->graph().ops(0).id(), "c");
  EXPECT_EQ(partition->placements(0).engine(), 0);
  EXPECT_EQ(partition->placements(0).reason(),
            absl::StrCat(engine, " runs conv2d up to its int32 sums"));
  EXPECT_EQ(partition->graph().ops(1).id(), "c.requantize");
  EXPECT_EQ(partition->placements(1).engine(), GetParam().requantizer);
  EXPECT_EQ(partition->placements(1).reason(), GetParam().reason);
  // Follows what makes the result.
  EXPECT_EQ(partition->placements(2).engine(), GetParam().requantizer);

  const auto engines = compiler::EnginesOf(*graph, target_.capabilities());
  ASSERT_TRUE(engines.ok()) << engines.status();
  EXPECT_EQ(*engines, (std::vector<int32_t>{0, GetParam().requantizer}));

  // Of the same network, everything: nothing is split for the host.
  const auto host = compiler::PartitionOnHost(*graph);
  ASSERT_TRUE(host.ok()) << host.status();
  EXPECT_EQ(host->placements_size(), 2);
}

TEST_P(RequantizationTest, RandomNetworksAreBitExact) {
  Graph (*const kinds[])(QuantizedGraphBuilder&) = {
      RandomConv, RandomDepthwise, RandomFullyConnected, RandomResidualNet};
  int64_t accumulators = 0;
  for (size_t k = 0; k < std::size(kinds); ++k) {
    for (uint64_t seed = 0; seed < 2; ++seed) {
      SCOPED_TRACE(testing::Message() << "kind " << k << " seed " << seed);
      QuantizedGraphBuilder builder(9000 + 100 * k + seed);
      if (seed == 1) builder.RoundHalfEven();
      const Graph graph = kinds[k](builder);
      ExpectBitExact(graph, target_, {builder.Sample(), builder.Sample()});
      const auto partition =
          compiler::PartitionGraph(graph, target_.capabilities());
      ASSERT_TRUE(partition.ok()) << partition.status();
      for (const auto& op : partition->graph().ops()) {
        accumulators += op.attributes().has_requantize();
      }
    }
  }
  EXPECT_GT(accumulators, 8);
}

// Sums take more room than results, and their Requantize has room of its own.
TEST_P(RequantizationTest, TheSmallestMemoryIsExact) {
  ChipCase chip;
  chip.target = [](int64_t bytes) {
    return TargetWithScratchpad(GetParam().descriptor, bytes);
  };
  Graph (*const kinds[])(QuantizedGraphBuilder&) = {RandomConv,
                                                    RandomDepthwise};
  for (const auto make : kinds) {
    QuantizedGraphBuilder builder(9300);
    const Graph graph = make(builder);
    const int64_t smallest = SmallestScratchpad(chip, graph);
    ExpectBitExact(graph, chip.target(smallest), {builder.Sample()});
    const auto below = CompileQuantized(graph, chip.target(smallest - 1));
    ASSERT_FALSE(below.ok());
    EXPECT_EQ(SmallestSramOf(below.status()), smallest) << below.status();
  }
}

// Whether host ops are free or take forever: what the host gets, it gets whole.
TEST_P(RequantizationTest, TheHostGetsOpsWhole) {
  QuantizedGraphBuilder builder(77);
  const Graph graph = RandomResidualNet(builder);
  const auto partition =
      compiler::PartitionGraph(graph, target_.capabilities());
  ASSERT_TRUE(partition.ok()) << partition.status();
  EXPECT_GT(partition->graph().ops_size(), std::ssize(graph.ops));
  for (const int cost : {1, 1'000'000'000}) {
    v1::Machine machine = target_.machine();
    for (auto& host : *machine.mutable_host_costs()) {
      host.set_cycles_expr(absl::StrCat(cost));
    }
    const auto placed = compiler::PlaceByCycles(
        *partition, target_.capabilities(), machine, v1::PAYING);
    ASSERT_TRUE(placed.ok()) << placed.status();
    for (int i = 0; i + 1 < placed->graph().ops_size(); ++i) {
      const bool split =
          placed->graph().ops(i + 1).attributes().has_requantize();
      EXPECT_FALSE(split && placed->placements(i).engine() == kHost)
          << placed->ShortDebugString();
    }
    if (cost > 1) continue;
    EXPECT_EQ(compiler::GraphToProto(graph).SerializeAsString(),
              placed->graph().SerializeAsString());
    for (const auto& placement : placed->placements()) {
      EXPECT_EQ(placement.engine(), kHost) << placement.ShortDebugString();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Places, RequantizationTest,
                         testing::ValuesIn(kVariants),
                         [](const auto& info) { return info.param.name; });

class RequantizedNetworkTest
    : public testing::TestWithParam<std::tuple<Variant, const char*>> {};

// Multiply-accumulates by engine, and what splits: all of the layers, once.
TEST_P(RequantizedNetworkTest, IsBitExactWithItsMacsOnEngines) {
  const auto& [variant, file] = GetParam();
  const std::string path = absl::StrCat("models/", file);
  EK_REQUIRE_SHARED(path);
  const auto graph = SimplifiedGraph(ReadWholeFile(SharedPath(path)));
  ASSERT_TRUE(graph.ok()) << graph.status();
  const v1::ResolvedTarget target = TargetOf(variant);
  Rng rng(7);
  std::string sample;
  const compiler::Tensor& input = graph->tensors[graph->inputs[0]];
  for (int64_t i = 0; i < input.num_elements(); ++i) {
    sample += static_cast<char>(rng.InRange(-128, 127));
  }
  const auto compiled = CompileQuantized(*graph, target);
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  const auto result =
      CompareWithInterpreter(*graph, target, *compiled, {sample});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->mismatches, 0) << result->first_mismatch;
  EXPECT_EQ(result->uncovered, 0);
  EXPECT_EQ(result->report.cycles(), compiled->program.predicted_cycles());
  int64_t macs = 0;
  int64_t on_engines = 0;
  std::map<int32_t, int> requantizers;
  for (const v1::Program::Layer& layer : compiled->program.layers()) {
    macs += layer.macs();
    if (layer.engine() != kHost) on_engines += layer.macs();
    if (layer.op() == "requantize") {
      ++requantizers[layer.engine()];
      EXPECT_EQ(layer.macs(), 0);
    }
  }
  int64_t expected = 0;
  for (const compiler::Op& op : graph->ops) {
    expected += compiler::MacsOf(*graph, op);
  }
  EXPECT_EQ(macs, expected);
  RecordProperty("mac_percent", absl::StrCat(100 * on_engines / macs));
  EXPECT_GE(on_engines * 100, macs * 95) << on_engines << " of " << macs;
  // All of them; those of two engines are where it pays.
  EXPECT_EQ(compiled->program.accumulators_size(),
            requantizers[variant.requantizer]);
  EXPECT_GT(requantizers[variant.requantizer], 0);
}

INSTANTIATE_TEST_SUITE_P(
    Networks, RequantizedNetworkTest,
    testing::Combine(testing::ValuesIn(kVariants),
                     testing::Values("resnet8_int8.tflite", "dscnn_int8.tflite",
                                     "ad_int8.tflite",
                                     "person_detect_int8.tflite")),
    [](const auto& info) {
      const std::string file = std::get<1>(info.param);
      return absl::StrCat(std::get<0>(info.param).name, "_",
                          file.substr(0, file.find('.')));
    });

}  // namespace
}  // namespace edgekiln::tests
