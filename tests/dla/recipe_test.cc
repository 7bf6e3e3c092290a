// What the DLA's recipes decide. That they compute the same is tests/chips' to
// show.

#include <cstdint>
#include <map>
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

const v1::ResolvedRecipe& Recipe(const v1::ResolvedTarget& target,
                                 const std::string& name) {
  for (const v1::ResolvedRecipe& recipe : target.recipes()) {
    if (recipe.name() == name) return recipe;
  }
  ADD_FAILURE() << "no recipe " << name;
  return v1::ResolvedRecipe::default_instance();
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
                                 const v1::ResolvedRecipe& recipe) {
  EK_ASSIGN_OR_RETURN(
      const v1::Capabilities capabilities,
      compiler::InOrderOf(recipe.partition(), target.capabilities()));
  EK_ASSIGN_OR_RETURN(const v1::Partition partition,
                      compiler::PartitionGraph(graph, capabilities));
  Compiled compiled;
  EK_ASSIGN_OR_RETURN(
      compiled.plan,
      compiler::TilePartition(partition, target.machine(), recipe.tile()));
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

// Opcodes of a stream, by docs/targets/dla.md section 2.
std::map<int, int> OpcodesOf(const v1::Program& program) {
  std::map<int, int> opcodes;
  for (const v1::Program::Stream& stream : program.streams()) {
    for (size_t at = 0; at < stream.code().size(); at += 8) {
      ++opcodes[static_cast<unsigned char>(stream.code()[at])];
    }
  }
  return opcodes;
}

constexpr int kConv = 0x10;
constexpr int kConvRelu = 0x11;
constexpr int kRequant = 0x36;

TEST(DlaRecipeTest, PaperRequantizesApartAndCutsChannelsAlone) {
  QuantizedGraphBuilder builder(7);
  const Graph graph = Net(builder);
  for (const int64_t sram_bytes : {6 << 10, 1 << 19}) {
    const v1::ResolvedTarget target = Chip(sram_bytes);
    const auto fast = Compile(graph, target, Recipe(target, "default"));
    const auto paper = Compile(graph, target, Recipe(target, "paper"));
    ASSERT_TRUE(fast.ok()) << fast.status();
    ASSERT_TRUE(paper.ok()) << paper.status();
    std::map<int, int> opcodes = OpcodesOf(paper->program.program);
    EXPECT_GT(opcodes[kConv], 0);
    EXPECT_EQ(opcodes[kConvRelu], 0);  // F10.
    EXPECT_GT(opcodes[kRequant], 0);
    opcodes = OpcodesOf(fast->program.program);
    EXPECT_GT(opcodes[kConvRelu], 0);
    EXPECT_EQ(opcodes[kRequant], 0);
    for (const v1::RegionPlan& region : paper->plan.regions()) {
      const v1::dla::RegionDecisions decisions = DecisionsOf(region);
      EXPECT_TRUE(decisions.strict());
      EXPECT_EQ(region.resident_size(), 0);
      for (const auto& layer : decisions.layers()) {
        EXPECT_EQ(layer.rows(), 12) << layer.op();
      }
    }
    EXPECT_EQ(paper->program.program.accumulators_size(), 3);
    const auto same = CompareWithInterpreter(graph, target, paper->program,
                                             {builder.Sample()});
    ASSERT_TRUE(same.ok()) << same.status();
    EXPECT_EQ(same->mismatches, 0) << same->first_mismatch;
    EXPECT_EQ(same->uncovered, 0);
  }
}

TEST(DlaRecipeTest, PaperSaysWhichSizeItNeeds) {
  QuantizedGraphBuilder builder(7);
  const Graph graph = Net(builder);
  const v1::ResolvedTarget tiny = Chip(1 << 10);
  const absl::Status status =
      Compile(graph, tiny, Recipe(tiny, "paper")).status();
  const int64_t smallest = SmallestSramOf(status);
  // An input of 12 x 12 x 24 whole is the most that a layer needs.
  EXPECT_GT(smallest, 12 * 12 * 24) << status;
  const v1::ResolvedTarget enough = Chip(smallest);
  EXPECT_TRUE(Compile(graph, enough, Recipe(enough, "paper")).ok());
  const v1::ResolvedTarget less = Chip(smallest - 1);
  EXPECT_EQ(
      SmallestSramOf(Compile(graph, less, Recipe(less, "paper")).status()),
      smallest);
}

// OUT_H has 16 bits.
TEST(DlaRecipeTest, PaperCutsRowsThatNoCommandCanHave) {
  QuantizedGraphBuilder builder(9);
  const TensorId x = builder.Input({70'000, 1, 1, 2});
  const Graph graph = builder.Finish({builder.Add(x, x)});
  const v1::ResolvedTarget target = Chip(1 << 20);
  const auto paper = Compile(graph, target, Recipe(target, "paper"));
  ASSERT_TRUE(paper.ok()) << paper.status();
  ASSERT_EQ(paper->plan.regions_size(), 1);
  EXPECT_EQ(DecisionsOf(paper->plan.regions(0)).layers(0).rows(), 65'535);
  const auto same =
      CompareWithInterpreter(graph, target, paper->program, {builder.Sample()});
  ASSERT_TRUE(same.ok()) << same.status();
  EXPECT_EQ(same->mismatches, 0) << same->first_mismatch;
}

TEST(DlaRecipeTest, SerialNeedsNoMoreSram) {
  QuantizedGraphBuilder builder(8);
  const Graph graph = Net(builder);
  const v1::ResolvedTarget tiny = Chip(16);
  const int64_t smallest =
      SmallestSramOf(CompileQuantized(graph, tiny).status());
  ASSERT_GT(smallest, 0);
  EXPECT_EQ(SmallestSramOf(
                CompileQuantized(graph, tiny, Recipe(tiny, "serial").tile())
                    .status()),
            smallest);
}

}  // namespace
}  // namespace edgekiln::tests
