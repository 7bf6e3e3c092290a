// Networks in which requantization is an op of its own, on every chip: the
// int32 sums are compared with the reference as well as what is made of them.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "compiler/ir/text.h"
#include "compiler/partition/split_accumulators.h"
#include "compiler/partition/ungroup.h"
#include "compiler/passes/split_requantization.h"
#include "gtest/gtest.h"
#include "tests/chips/chip_cases.h"
#include "tests/pipeline/chip_run.h"

namespace edgekiln::tests {
namespace {

using compiler::Graph;

constexpr int64_t kScratchpadBytes = 512 << 10;

// `graph` with a Requantize behind every other op that has one, or all.
Graph Split(const Graph& graph, int step) {
  std::vector<int32_t> ops;
  int seen = 0;
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    if (!compiler::CheckSplitsRequantization(graph, graph.ops[i]).ok()) {
      continue;
    }
    if (seen++ % step == 0) ops.push_back(static_cast<int32_t>(i));
  }
  Graph split = graph;
  const auto result = compiler::SplitAccumulators(split, ops);
  EXPECT_TRUE(result.ok()) << result.status();
  return split;
}

class AccumulatorsTest : public testing::TestWithParam<const ChipCase*> {};

TEST_P(AccumulatorsTest, AreComparedWithTheReference) {
  int accumulators = 0;
  for (const GraphKind& kind : GetParam()->graphs) {
    for (int seed = 0; seed < 6; ++seed) {
      SCOPED_TRACE(testing::Message() << kind.name << " " << seed);
      QuantizedGraphBuilder builder = BuilderFor(
          *GetParam(), kind.first_seed + static_cast<uint64_t>(seed));
      if (seed % 3 == 2) builder.RoundHalfEven();
      const Graph graph = kind.make(builder);
      const v1::ResolvedTarget target = GetParam()->target(kScratchpadBytes);
      const auto compiled =
          CompileQuantized(Split(graph, 1 + seed % 2), target);
      ASSERT_TRUE(compiled.ok()) << compiled.status();
      accumulators += compiled->program.accumulators_size();
      // With the network as it was before.
      const auto result = CompareWithInterpreter(
          graph, target, *compiled, {builder.Sample(), builder.Sample()});
      ASSERT_TRUE(result.ok()) << result.status();
      EXPECT_EQ(result->mismatches, 0) << result->first_mismatch;
      EXPECT_EQ(result->uncovered, 0);
    }
  }
  EXPECT_GT(accumulators, 10);
}

// The weights of groups are rewritten for engines, before the split or after
// it: then accumulators are not the first tensors behind the quantized graph's.
TEST_P(AccumulatorsTest, AreThoseOfGroups) {
  const auto graph = compiler::ParseGraph(R"(
%x : int8[1,1,1,4] scale 0.5 zero 3 = input
%w : int8[4,1,1,2] axis 0 scale [0.1, 0.03, 0.07, 0.2] zero [0, 0, 0, 0] = constant [5, -77, 127, 3, -128, 9, 40, 41]
%v : int8[4,1,1,1] scale 0.02 zero 0 = constant [90, -3, 44, 127]
%a : int8[1,1,1,4] scale 0.9 zero -7 = conv2d(%x, %w) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1} groups 2} id a
%b : int8[1,1,1,4] scale 0.3 zero 5 = conv2d(%a, %v) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1} groups 4} id b
%c : int8[1,1,1,4] scale 0.1 zero 5 = conv2d(%b, %v) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1} groups 4} id c
return %c
)");
  ASSERT_TRUE(graph.ok()) << graph.status();
  const v1::ResolvedTarget target = GetParam()->target(kScratchpadBytes);
  Graph ungrouped = *graph;
  compiler::UngroupConvolutions(ungrouped);
  ASSERT_GT(ungrouped.tensors.size(), graph->tensors.size());
  for (const Graph& split : {Split(*graph, 1), Split(ungrouped, 1)}) {
    const auto compiled = CompileQuantized(split, target);
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    EXPECT_EQ(compiled->program.accumulators_size(), 3);
    const auto result = CompareWithInterpreter(
        *graph, target, *compiled, {std::string("\x05\x80\x7f\x11", 4)});
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->mismatches, 0) << result->first_mismatch;
    EXPECT_EQ(result->uncovered, 0);
  }
}

// Sums of a few thousand become results of a few steps.
constexpr char kLayer[] = R"(
%x : int8[1,4] scale 0.5 zero 3 = input
%w : int8[2,4] scale 0.001 zero 0 = constant [1, 100, -100, 0, 90, 0, 3, -92]
%y : int8[1,2] scale 10 zero -7 = fully_connected(%x, %w) id f
return %y
)";

class OneLayerTest : public AccumulatorsTest {
 protected:
  void SetUp() override {
    auto graph = compiler::ParseGraph(kLayer);
    ASSERT_TRUE(graph.ok()) << graph.status();
    graph_ = *std::move(graph);
    target_ = GetParam()->target(kScratchpadBytes);
    auto compiled = CompileQuantized(Split(graph_, 1), target_);
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    compiled_ = *std::move(compiled);
    ASSERT_EQ(compiled_.program.accumulators_size(), 1);
  }

  absl::StatusOr<Comparison> Compare() {
    return CompareWithInterpreter(graph_, target_, compiled_,
                                  {std::string("\x05\x80\x7f\x11", 4)});
  }

  Graph graph_;
  v1::ResolvedTarget target_;
  compiler::EmitResult compiled_;
};

// The reference of another zero point has other sums and the same results.
TEST_P(OneLayerTest, AWrongSumIsFound) {
  auto result = Compare();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->mismatches, 0) << result->first_mismatch;
  graph_.tensors[graph_.inputs[0]].quantization->zero_point[0] += 1;
  result = Compare();
  ASSERT_TRUE(result.ok()) << result.status();
  // One byte of each sum.
  EXPECT_EQ(result->mismatches, 2);
  EXPECT_TRUE(absl::StrContains(result->first_mismatch, "y.accumulator"))
      << result->first_mismatch;
}

TEST_P(OneLayerTest, ASumThatNoTapShowsIsMissed) {
  const int32_t tensor = compiled_.program.accumulators(0).tensor();
  auto* taps = compiled_.program.mutable_taps();
  for (int i = taps->size() - 1; i >= 0; --i) {
    if (taps->Get(i).tensor() == tensor) taps->DeleteSubrange(i, 1);
  }
  const auto result = Compare();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->uncovered, 8);
}

INSTANTIATE_TEST_SUITE_P(Chips, AccumulatorsTest, testing::ValuesIn(AllChips()),
                         [](const auto& info) { return info.param->name; });
INSTANTIATE_TEST_SUITE_P(Chips, OneLayerTest, testing::ValuesIn(AllChips()),
                         [](const auto& info) { return info.param->name; });

}  // namespace
}  // namespace edgekiln::tests
