#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "compiler/codegen/compile.h"
#include "compiler/ir/text.h"
#include "compiler/partition/partition.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "target/resolve.h"

namespace edgekiln::compiler {
namespace {

using testing::HasSubstr;

// Two convolutions, one after the other.
Graph Chain() {
  const auto graph = ParseGraph(R"(
%t : int8[1,1,1,1] scale 1 zero 0 = input
%v : int8[1,1,1,1] scale 1 zero 0 = constant [1]
%a : int8[1,1,1,1] scale 2 zero 0 = conv2d(%t, %v) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1}} id first
%b : int8[1,1,1,1] scale 4 zero 0 = conv2d(%a, %v) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1}} id second
return %b
)");
  EXPECT_TRUE(graph.ok()) << graph.status();
  return *graph;
}

// One engine runs a stream, the host drives the other: nobody orders that yet.
TEST(TilePartitionTest, EnginesOfBothKindsAreRefusedByName) {
  const v1::ResolvedTarget streams = *target::ResolveTarget("extends: \"dla\"");
  const v1::ResolvedTarget driven =
      *target::ResolveTarget("extends: \"toy-array\"");
  auto partition = PartitionGraph(Chain(), streams.capabilities());
  ASSERT_TRUE(partition.ok()) << partition.status();
  v1::Machine machine = streams.machine();
  *machine.add_engines() = driven.machine().engines(0);
  ASSERT_TRUE(TilePartition(*partition, machine, {}).ok());
  partition->mutable_placements(1)->set_engine(1);
  partition->mutable_placements(1)->set_subgraph(1);
  const auto plans = TilePartition(*partition, machine, {});
  EXPECT_EQ(plans.status().code(), absl::StatusCode::kUnimplemented);
  const auto detail = GetErrorDetail(plans.status());
  ASSERT_TRUE(detail.has_value()) << plans.status();
  EXPECT_EQ(detail->reason, "ENGINES_MIXED");
  EXPECT_EQ(detail->where, "engine " + machine.engines(0).name());
}

// Plans come from outside, too.
TEST(EmitProgramTest, ChainsOfAnotherPartitionAreRefused) {
  const v1::ResolvedTarget target = *target::ResolveTarget("extends: \"dla\"");
  const auto partition = PartitionGraph(Chain(), target.capabilities());
  ASSERT_TRUE(partition.ok()) << partition.status();
  const auto plans = TilePartition(*partition, target.machine(), {});
  ASSERT_TRUE(plans.ok()) << plans.status();
  using Chains = std::vector<std::pair<int32_t, int32_t>>;
  const auto emit = [&](const Chains& chains) {
    v1::RegionPlans changed = *plans;
    changed.mutable_regions(0)->clear_chains();
    for (const auto& [first, last] : chains) {
      v1::RegionPlan::Chain& chain = *changed.mutable_regions(0)->add_chains();
      chain.set_first(first);
      chain.set_last(last);
    }
    return EmitProgram(*partition, changed, target.machine()).status();
  };
  EXPECT_TRUE(emit({}).ok()) << emit({});
  // Of this partition, but the engine's part of the plan has none.
  EXPECT_THAT(emit({{0, 1}}).message(), HasSubstr("than its decisions do"));
  for (const Chains& bad : {Chains{{-1, 1}}, Chains{{0, 2}}, Chains{{1, 0}},
                            Chains{{0, 2147483647}}, Chains{{0, 1}, {1, 1}},
                            Chains{{0, 0}, {0, 0}}}) {
    EXPECT_THAT(emit(bad).message(), HasSubstr("another partition"))
        << bad[0].first << " " << bad[0].second;
  }
}

}  // namespace
}  // namespace edgekiln::compiler
