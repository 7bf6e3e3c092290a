// What the DLA's recipes decide. That they compute the same is tests/chips' to
// show.

#include <cstdint>
#include <string>

#include "base/status_macros.h"
#include "compiler/partition/partition.h"
#include "edgekiln/v1/engines/dla.pb.h"
#include "edgekiln/v1/tiling.pb.h"
#include "gtest/gtest.h"
#include "tests/pipeline/chip_run.h"
#include "tests/pipeline/graph_builder.h"

namespace edgekiln::tests {
namespace {

using compiler::Graph;
using compiler::TensorId;

v1::ResolvedTarget Chip(int64_t sram_bytes) {
  return TargetWithScratchpad("extends: \"dla\"", sram_bytes);
}

Graph Net(QuantizedGraphBuilder& builder) {
  TensorId x = builder.Input({1, 12, 12, 6});
  x = builder.Conv(x, 24, {.kernel = {3, 3}, .pad = {1, 1, 1, 1}}, true);
  const TensorId y = builder.Conv(x, 24, {}, false);
  x = builder.Depthwise(x, 1, {.kernel = {3, 3}, .pad = {1, 1, 1, 1}}, true);
  return builder.Finish({builder.Add(x, y)});
}

const v1::TileRecipe& Recipe(const v1::ResolvedTarget& target,
                             const std::string& name) {
  for (const v1::ResolvedRecipe& recipe : target.recipes()) {
    if (recipe.name() == name) return recipe.tile();
  }
  ADD_FAILURE() << "no recipe " << name;
  return v1::TileRecipe::default_instance();
}

v1::dla::RegionDecisions DecisionsOf(const v1::RegionPlan& region) {
  v1::dla::RegionDecisions decisions;
  EXPECT_TRUE(region.decisions().UnpackTo(&decisions));
  return decisions;
}

struct Compiled {
  v1::RegionPlans plan;
  compiler::EmitResult program;
};

absl::StatusOr<Compiled> Compile(const Graph& graph,
                                 const v1::ResolvedTarget& target,
                                 const v1::TileRecipe& recipe) {
  EK_ASSIGN_OR_RETURN(const v1::Partition partition,
                      compiler::PartitionGraph(graph, target.capabilities()));
  Compiled compiled;
  EK_ASSIGN_OR_RETURN(compiled.plan, compiler::TilePartition(
                                         partition, target.machine(), recipe));
  EK_ASSIGN_OR_RETURN(
      compiled.program,
      compiler::EmitProgram(partition, compiled.plan, target.machine()));
  return compiled;
}

TEST(DlaRecipeTest, SerialOverlapsNothingAndKeepsNothing) {
  QuantizedGraphBuilder builder(7);
  const Graph graph = Net(builder);
  const v1::ResolvedTarget target = Chip(1 << 19);
  const auto fast = Compile(graph, target, Recipe(target, "default"));
  const auto serial = Compile(graph, target, Recipe(target, "serial"));
  ASSERT_TRUE(fast.ok()) << fast.status();
  ASSERT_TRUE(serial.ok()) << serial.status();
  for (const v1::RegionPlan& region : fast->plan.regions()) {
    EXPECT_FALSE(DecisionsOf(region).strict());
    EXPECT_GT(region.resident_size(), 0);
  }
  for (const v1::RegionPlan& region : serial->plan.regions()) {
    EXPECT_TRUE(DecisionsOf(region).strict());
    EXPECT_EQ(region.resident_size(), 0);
    EXPECT_EQ(DecisionsOf(region).lookahead(), 0);
  }
  EXPECT_GT(serial->program.program.predicted_cycles(),
            fast->program.program.predicted_cycles());
}

TEST(DlaRecipeTest, SerialNeedsNoMoreSram) {
  QuantizedGraphBuilder builder(8);
  const Graph graph = Net(builder);
  const v1::ResolvedTarget tiny = Chip(16);
  const int64_t smallest =
      SmallestSramOf(CompileQuantized(graph, tiny).status());
  ASSERT_GT(smallest, 0);
  EXPECT_EQ(SmallestSramOf(
                CompileQuantized(graph, tiny, Recipe(tiny, "serial")).status()),
            smallest);
}

}  // namespace
}  // namespace edgekiln::tests
