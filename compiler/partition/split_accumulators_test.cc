#include "compiler/partition/split_accumulators.h"

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "compiler/ir/text.h"
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

TEST(SplitAccumulatorsTest, SaysWhatBecameOfEachOp) {
  const auto graph = ParseGraph(kLayers);
  ASSERT_TRUE(graph.ok()) << graph.status();
  Graph split = *graph;
  const auto ops = SplitAccumulators(split, {4, 2, 1});
  ASSERT_TRUE(ops.ok()) << ops.status();
  EXPECT_EQ(ops->origin, (std::vector<int32_t>{0, 1, 2, 2, 3, 4}));
  ASSERT_EQ(ops->refused.size(), 2u);
  EXPECT_EQ(ops->refused.at(1), "no sum of products");
  EXPECT_TRUE(absl::StrContains(ops->refused.at(4), "without an INT32 bias"))
      << ops->refused.at(4);
  std::vector<std::string> ids;
  for (const Op& op : split.ops) ids.push_back(op.id);
  EXPECT_EQ(
      ids, (std::vector<std::string>{"a", "b", "c", "c.requantize", "d", "e"}));
  EXPECT_TRUE(VerifyGraph(split).ok()) << VerifyGraph(split);
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

}  // namespace
}  // namespace edgekiln::compiler
