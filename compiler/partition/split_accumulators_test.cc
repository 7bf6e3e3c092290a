#include "compiler/partition/split_accumulators.h"

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "compiler/ir/text.h"
#include "compiler/partition/op_forms.h"
#include "compiler/partition/partition.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

constexpr char kLayers[] = R"(
%x : int8[3,2] scale 0.5 zero 1 = input
%w : int8[2,2] scale 0.5 zero 0 = constant [1, 2, 3, 4]
%a : int8[3,2] scale 0.25 zero 0 = fully_connected(%x, %w) id a
%b : int8[3,2] scale 0.125 zero 0 = add(%a, %x) id b
%c : int8[3,2] scale 0.125 zero 0 = fully_connected(%b, %w) id c
%d : int16[3,2] scale 0.125 zero 0 = quantize(%c) id d
%e : int16[3,2] scale 0.125 zero 0 = fully_connected(%d, %w) id e
return %a, %e
)";

TEST(SplitAccumulatorsTest, SaysWhichOpEachWas) {
  const auto graph = ParseGraph(kLayers);
  ASSERT_TRUE(graph.ok()) << graph.status();
  Graph split = *graph;
  const auto origin = SplitAccumulators(split, {2, 0});
  ASSERT_TRUE(origin.ok()) << origin.status();
  EXPECT_EQ(*origin, (std::vector<int32_t>{0, 0, 1, 2, 2, 3, 4}));
  std::vector<std::string> ids;
  for (const Op& op : split.ops) ids.push_back(op.id);
  EXPECT_EQ(ids, (std::vector<std::string>{"a", "a.requantize", "b", "c",
                                           "c.requantize", "d", "e"}));
  EXPECT_TRUE(VerifyGraph(split).ok()) << VerifyGraph(split);
}

TEST(SplitAccumulatorsTest, SaysWhyThereAreNoSums) {
  const auto graph = ParseGraph(kLayers);
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(WhyNoAccumulator(*graph, graph->ops[0]), "");
  EXPECT_EQ(WhyNoAccumulator(*graph, graph->ops[1]), "no sum of products");
  const std::string why = WhyNoAccumulator(*graph, graph->ops[4]);
  EXPECT_TRUE(absl::StrContains(why, "without an INT32 bias")) << why;
  Graph split = *graph;
  EXPECT_FALSE(SplitAccumulators(split, {1}).ok());
}

// The sums and their Requantize are two ops with a place and a reason each.
TEST(SplitAccumulatorsTest, BothHalvesHavePlacementsOfTheirOwn) {
  const auto graph = ParseGraph(kLayers);
  ASSERT_TRUE(graph.ok()) << graph.status();
  Graph split = *graph;
  ASSERT_TRUE(SplitAccumulators(split, {0}).ok());
  const auto partition = PartitionGraph(split, v1::Capabilities());
  ASSERT_TRUE(partition.ok()) << partition.status();
  ASSERT_EQ(partition->placements_size(), 6);
  EXPECT_EQ(partition->placements(0).reason(),
            "no engine of this target has fully_connected");
  EXPECT_EQ(partition->placements(1).op(), 1);
  EXPECT_EQ(partition->placements(1).engine(), -1);
  EXPECT_EQ(partition->placements(1).reason(),
            "no engine of this target has requantize; scales the int32 sums "
            "of a layer (a)");
}

// Engines by name that take a fully connected layer of these activations, and
// give what is told of it; also one that requantizes up to so many channels.
v1::OpPattern* AddEngine(const std::string& name, const std::string& op,
                         v1::ElementType activations,
                         v1::Numerics::Requantization requantization,
                         v1::Capabilities& capabilities) {
  auto* engine = capabilities.add_engines();
  engine->set_name(name);
  v1::OpPattern* pattern = engine->add_patterns();
  pattern->add_ops(op);
  v1::Numerics& numerics = *pattern->mutable_numerics();
  numerics.add_activations(activations);
  numerics.set_activation_zero_points(true);
  numerics.set_requantization(requantization);
  if (requantization != v1::Numerics::NOT_REQUANTIZED) {
    numerics.add_roundings(v1::HALF_UP);
  }
  if (op == "requantize") return pattern;
  numerics.add_weights(v1::INT8);
  numerics.set_accumulator_bits(64);
  return pattern;
}

// "c0 c.requantize-1": the engine of each op.
std::string Placed(const v1::Partition& partition) {
  std::vector<std::string> placed;
  for (const auto& placement : partition.placements()) {
    placed.push_back(absl::StrCat(partition.graph().ops(placement.op()).id(),
                                  placement.engine()));
  }
  return absl::StrJoin(placed, " ");
}

// An engine that gives sums does not help where there are none: another one
// runs the op whole, or the host does and says why.
TEST(SumsOfEnginesTest, OpsWithoutSumsStayWhole) {
  const auto graph = ParseGraph(kLayers);
  ASSERT_TRUE(graph.ok()) << graph.status();
  v1::Capabilities capabilities;
  AddEngine("s", "fully_connected", v1::INT16, v1::Numerics::NOT_REQUANTIZED,
            capabilities);
  auto partition = PartitionGraph(*graph, capabilities);
  ASSERT_TRUE(partition.ok()) << partition.status();
  EXPECT_EQ(Placed(*partition), "a-1 b-1 c-1 d-1 e-1");
  const std::string& why = partition->placements(4).reason();
  EXPECT_TRUE(absl::StartsWith(why, "s needs ops that have int32 sums (here "))
      << why;
  AddEngine("w", "fully_connected", v1::INT16,
            v1::Numerics::MULTIPLIER_AND_SHIFT, capabilities);
  partition = PartitionGraph(*graph, capabilities);
  ASSERT_TRUE(partition.ok()) << partition.status();
  EXPECT_EQ(Placed(*partition), "a-1 b-1 c-1 d-1 e1");
}

// The engine that gave the sums comes first, then the ones behind it.
TEST(SumsOfEnginesTest, TheNextEngineThatCanRequantizes) {
  const auto graph = ParseGraph(kLayers);
  ASSERT_TRUE(graph.ok()) << graph.status();
  v1::Capabilities capabilities;
  AddEngine("r", "requantize", v1::INT8, v1::Numerics::MULTIPLIER_AND_SHIFT,
            capabilities);
  AddEngine("s", "fully_connected", v1::INT8, v1::Numerics::NOT_REQUANTIZED,
            capabilities);
  const auto placed = [&] {
    const auto partition = PartitionGraph(*graph, capabilities);
    EXPECT_TRUE(partition.ok()) << partition.status();
    return partition.ok() ? Placed(*partition) : "";
  };
  EXPECT_EQ(placed(), "a1 a.requantize0 b-1 c1 c.requantize0 d-1 e-1");
  v1::OpPattern* narrow =
      AddEngine("t", "requantize", v1::INT8, v1::Numerics::MULTIPLIER_AND_SHIFT,
                capabilities);
  EXPECT_EQ(placed(), "a1 a.requantize2 b-1 c1 c.requantize2 d-1 e-1");
  auto* condition = narrow->add_where();
  condition->set_expr("out_c < 2");
  condition->set_need("one channel");
  EXPECT_EQ(placed(), "a1 a.requantize0 b-1 c1 c.requantize0 d-1 e-1");
  const auto takers = EnginesThatTake(*graph, capabilities);
  ASSERT_TRUE(takers.ok()) << takers.status();
  EXPECT_EQ((*takers)[0], (std::vector<Taker>{{1, OpSplit::kSums}}));

  // What each op could become, from either form.
  const auto partition = PartitionGraph(*graph, capabilities);
  ASSERT_TRUE(partition.ok()) << partition.status();
  const auto forms = OpFormsOf(*partition, capabilities);
  ASSERT_TRUE(forms.ok()) << forms.status();
  EXPECT_EQ(PrintGraph(forms->whole), PrintGraph(*graph));
  EXPECT_EQ(forms->split.ops.size(), 7u);
  EXPECT_EQ(forms->in_split, (std::vector<int32_t>{0, 2, 3, 5, 6}));
  EXPECT_EQ(forms->placed[0], (OpForm{1, 0}));
  EXPECT_EQ(forms->choices[0], (std::vector<OpForm>{{1, 0}}));
  EXPECT_EQ(forms->placed[1], (OpForm{-1, kWhole}));
  EXPECT_TRUE(forms->choices[1].empty());
}

}  // namespace
}  // namespace edgekiln::compiler
