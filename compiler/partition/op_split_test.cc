#include "compiler/partition/op_split.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "compiler/ir/text.h"
#include "compiler/partition/op_forms.h"
#include "compiler/partition/partition.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

// Layers that end at 6, of which the last one is also the caller's.
constexpr char kLayers[] = R"(
%x : int8[3,2] scale 0.0625 zero 0 = input
%w : int8[2,2] scale 0.5 zero 0 = constant [1, 2, 3, 4]
%a : int8[3,2] scale 0.0625 zero 0 = fully_connected(%x, %w) {clamp {min 0 max 6}} id a
%b : int8[3,2] scale 0.0625 zero 0 = add(%a, %x) id b
%c : int8[3,2] scale 0.0625 zero 0 = fully_connected(%b, %w) {clamp {max 6}} id c
return %a, %c
)";

Graph Layers() {
  const auto graph = ParseGraph(kLayers);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return graph.ok() ? *graph : Graph();
}

constexpr char kDense[] =
    "patterns { ops: 'fully_connected' numerics { activations: INT8 weights: "
    "INT8 roundings: HALF_UP requantization: MULTIPLIER_AND_SHIFT "
    "accumulator_bits: 32 plain_clamps: true } }";
constexpr char kSums[] =
    "patterns { ops: 'fully_connected' numerics { activations: INT8 weights: "
    "INT8 requantization: NOT_REQUANTIZED accumulator_bits: 32 } }";
constexpr char kClip[] =
    "patterns { ops: 'clip' numerics { activations: INT8 roundings: HALF_UP } "
    "}";

// Engines by name, with their patterns.
v1::Capabilities Engines(
    const std::vector<std::pair<std::string, std::string>>& engines) {
  v1::Capabilities capabilities;
  for (const auto& [name, patterns] : engines) {
    EXPECT_TRUE(google::protobuf::TextFormat::MergeFromString(
        absl::StrCat("engines { name: '", name, "' ", patterns, " }"),
        &capabilities));
  }
  return capabilities;
}

v1::Partition Partitioned(const v1::Capabilities& capabilities) {
  const auto partition = PartitionGraph(Layers(), capabilities);
  EXPECT_TRUE(partition.ok()) << partition.status();
  return partition.value_or(v1::Partition());
}

// "c0 c.clip-1": the engine of each op.
std::string Placed(const v1::Partition& partition) {
  std::vector<std::string> placed;
  for (const auto& placement : partition.placements()) {
    placed.push_back(absl::StrCat(partition.graph().ops(placement.op()).id(),
                                  placement.engine()));
  }
  return absl::StrJoin(placed, " ");
}

TEST(OpSplitTest, SplitsInTwoWaysAndJoins) {
  Graph graph = Layers();
  const std::string whole = PrintGraph(graph);
  const std::vector<OpSplit> splits = {OpSplit::kClamp, OpSplit::kNone,
                                       OpSplit::kSums};
  const auto origin = SplitOps(graph, splits);
  ASSERT_TRUE(origin.ok()) << origin.status();
  EXPECT_EQ(*origin, (std::vector<int32_t>{0, 0, 1, 2, 2}));
  std::vector<std::string> ids;
  for (const Op& op : graph.ops) ids.push_back(op.id);
  EXPECT_EQ(
      ids, (std::vector<std::string>{"a", "a.clip", "b", "c", "c.requantize"}));
  EXPECT_TRUE(VerifyGraph(graph).ok()) << VerifyGraph(graph);
  EXPECT_EQ(JoinOps(graph), splits);
  EXPECT_EQ(PrintGraph(graph), whole);
  EXPECT_FALSE(SplitOps(graph, {OpSplit::kNone}).ok());
  EXPECT_FALSE(
      SplitOps(graph, {OpSplit::kNone, OpSplit::kClamp, OpSplit::kNone}).ok());
}

TEST(OpSplitTest, LimitsThatTheEngineLacksAreTheHosts) {
  const v1::Partition partition = Partitioned(Engines({{"e", kDense}}));
  EXPECT_EQ(Placed(partition), "a0 a.clip-1 b-1 c0 c.clip-1");
  EXPECT_EQ(partition.placements(0).reason(),
            "e runs fully_connected up to its limits: e needs results up to "
            "127 (here 96)");
  EXPECT_EQ(partition.placements(1).reason(),
            "no engine of this target has clip; limits the results of a layer "
            "(a)");
  const auto engines = EnginesOf(Layers(), Engines({{"e", kDense}}));
  ASSERT_TRUE(engines.ok()) << engines.status();
  EXPECT_EQ(*engines, (std::vector<int32_t>{0, -1, 0}));
  // Whole for whoever has all of it, and where no engine is used.
  EXPECT_EQ(Placed(Partitioned(v1::Capabilities())), "a-1 b-1 c-1");
  const auto host = PartitionOnHost(Layers());
  ASSERT_TRUE(host.ok()) << host.status();
  EXPECT_EQ(Placed(*host), "a-1 b-1 c-1");
  // An engine that has clips, of all limits, takes them.
  EXPECT_EQ(Placed(Partitioned(Engines({{"e", kDense}, {"f", kClip}}))),
            "a0 a.clip1 b-1 c0 c.clip1");
  EXPECT_EQ(Placed(Partitioned(
                Engines({{"e", absl::StrCat(kDense, kClip)}, {"f", kClip}}))),
            "a0 a.clip0 b-1 c0 c.clip0");
}

TEST(OpSplitTest, FormsAreWholeOrSplitInOneWay) {
  v1::Capabilities capabilities =
      Engines({{"e", kDense}, {"f", kClip}, {"s", kSums}});
  const v1::Partition partition = Partitioned(capabilities);
  const auto forms = OpFormsOf(partition, capabilities);
  ASSERT_TRUE(forms.ok()) << forms.status();
  EXPECT_EQ(PrintGraph(forms->whole), PrintGraph(Layers()));
  EXPECT_EQ(
      forms->splits,
      (std::vector<OpSplit>{OpSplit::kClamp, OpSplit::kNone, OpSplit::kClamp}));
  EXPECT_EQ(forms->in_split, (std::vector<int32_t>{0, 2, 3}));
  EXPECT_EQ(forms->placed[0], (OpForm{0, 1}));
  EXPECT_EQ(forms->choices[0], (std::vector<OpForm>{{0, 1}}));
  const auto takers = EnginesThatTake(Layers(), capabilities);
  ASSERT_TRUE(takers.ok()) << takers.status();
  EXPECT_EQ((*takers)[0],
            (std::vector<Taker>{{0, OpSplit::kClamp}, {2, OpSplit::kSums}}));
}

}  // namespace
}  // namespace edgekiln::compiler
