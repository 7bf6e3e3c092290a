#include "compiler/engines/dla/layer_search.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/rng.h"
#include "compiler/engines/dla/planner.h"
#include "compiler/engines/dla/testing/small_networks.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler::dla {
namespace {

// More layers, and larger ones.
bool TryMore() { return getenv("EK_MORE_NETWORKS") != nullptr; }

std::string NameOf(const Layer& layer) {
  return absl::StrCat(
      "op ", static_cast<int>(layer.op), " ", layer.in.h, "x", layer.in.w, "x",
      layer.in.c, " to ", layer.out.h, "x", layer.out.w, "x", layer.out.c,
      ", windows ", layer.vertical.kernel, "x", layer.horizontal.kernel,
      ", strides ", layer.vertical.stride, "x", layer.horizontal.stride,
      ", bytes ", layer.in_bytes, " to ", layer.out_bytes);
}

std::string NameOf(const Tiling& tiling) {
  return absl::StrCat(
      "tiles ", tiling.rows, "x", tiling.columns, "x", tiling.channels, " of ",
      tiling.inputs, " inputs",
      tiling.order == TileOrder::kPixelsOuter ? ", pixels outside" : "",
      tiling.whole_input ? ", whole input" : "", ", more buffers ",
      tiling.double_input ? "i" : "", tiling.double_block ? "b" : "",
      tiling.double_output ? "o" : "");
}

// Of the smallest SRAM or up to eight times as much.
Chip RandomChip(Rng& rng, int round, const Layer& layer) {
  const bool output_parallel = round % 2 == 0;
  const std::string costs = round % 4 < 2 ? "" : RandomCosts(rng);
  const Chip any = TestChip(output_parallel, 1 << 19, costs);
  const int64_t smallest = SmallestSram(any, layer);
  const int64_t more =
      round % 5 == 0 ? 0 : rng.InRange(1, smallest * rng.InRange(1, 7));
  return TestChip(output_parallel, smallest + more, costs);
}

// Tries each tiling with each way to run loads ahead, and as a strict plan, but
// for those whose commands take the front end too long.
std::optional<int64_t> BruteForce(const Chip& chip, const SubgraphInput& input,
                                  const std::vector<Tiling>& tilings) {
  int64_t issue_cycles = chip.IssueCycles(DlaCommand::kDmaRead);
  for (size_t i = 0; i < target::kNumDlaCommands; ++i) {
    const auto command = static_cast<DlaCommand>(i);
    if (chip.position(command) < 0) continue;
    issue_cycles = std::min(issue_cycles, chip.IssueCycles(command));
  }
  std::optional<int64_t> best;
  Schedule scratch;
  for (const Tiling& tiling : tilings) {
    if (best &&
        ComputeCommands(input.layers[0], tiling) * issue_cycles >= *best) {
      continue;
    }
    SubgraphPlan plan = EmptyPlan(input);
    plan.tilings[0] = tiling;
    std::optional<int64_t> cycles = CyclesOf(chip, input, plan);
    if (cycles && (!best || *cycles < *best)) best = cycles;
    plan.strict = true;
    const auto strict =
        TimeIfFits(chip, input.storage, plan, chip.sram_bytes(), scratch);
    if (strict.ok() && *strict && (!best || (*strict)->cycles < *best)) {
      best = (*strict)->cycles;
    }
  }
  return best;
}

// Compares with brute force plans of that many layers, of more than `fewest`
// and up to `most` tilings: rows x columns x output x input channels x order of
// the tiles x whole input x buffers of each operand, with as many ways to run
// loads ahead. Of larger layers some reach the limits of the search, and are
// equal without them. Returns how many.
int CompareLayers(uint64_t seed, int layers, size_t fewest, size_t most) {
  Rng rng(seed);
  Graph graph;
  graph.tensors.resize(3);
  graph.ops.resize(1);
  int compared = 0;
  int limited = 0;
  for (int round = 0; compared < layers; ++round) {
    const SubgraphInput input = RandomLayer(rng, graph);
    const Chip chip = RandomChip(rng, round, input.layers[0]);
    const std::vector<Tiling> tilings = AllTilings(chip, input.layers[0]);
    if (tilings.size() <= fewest || tilings.size() > most) continue;
    ++compared;
    const std::string name =
        absl::StrCat("round ", round, ", ", NameOf(input.layers[0]), ", ",
                     chip.sram_bytes(), " bytes, ", tilings.size(), " tilings");
    const auto plan = PlanSubgraph(chip, input, {});
    if (!plan.ok()) {
      ADD_FAILURE() << name << ": " << plan.status();
      continue;
    }
    const std::optional<int64_t> best = BruteForce(chip, input, tilings);
    if (!best) {
      ADD_FAILURE() << name << ": nothing fits";
      continue;
    }
    EXPECT_LE(plan->bound_cycles, *best) << name;
    if (plan->cycles <= *best) continue;
    ++limited;
    Schedule scratch;
    TimedPlan found;
    found.plan = EmptyPlan(input);
    found.cycles = plan->cycles;
    const auto searched = SearchLayer(
        chip, input, {}, std::move(found), scratch,
        {.commands = int64_t{1} << 40, .looked_at = int64_t{1} << 40});
    if (!searched.ok()) {
      ADD_FAILURE() << name << ": " << searched.status();
      continue;
    }
    EXPECT_LE(searched->cycles, *best) << name;
  }
  return limited;
}

TEST(LayerSearchTest, NoPlanOfASmallLayerIsFaster) {
  if (!TryMore()) {
    EXPECT_EQ(CompareLayers(35, 50, 0, 2'000), 0);
    return;
  }
  EXPECT_LE(CompareLayers(36, 500, 0, 10'000), 10);
  // Up to a million plans, as each tiling is tried in up to five ways.
  EXPECT_LE(CompareLayers(38, 30, 10'000, 200'000), 15);
}

// Windows leave out columns: its rows as a whole take more bytes, and fewer
// registers.
TEST(LayerSearchTest, ALayerThatIsNotCutMayReadWholeRows) {
  Layer layer;
  layer.op = LayerOp::kConv;
  layer.input = 0;
  layer.output = 1;
  layer.in = {3, 8, 21};
  layer.out = {1, 4, 3};
  layer.vertical = {3, 1, 2, 2};
  layer.horizontal = {2, 2, 1, 1};
  Graph graph;
  graph.tensors.resize(2);
  graph.ops.resize(1);
  SubgraphInput input;
  input.graph = &graph;
  input.storage = {0, 1};
  input.external = {0, 1};
  input.layers = {layer};
  const Chip chip = TestChip(/*output_parallel=*/false, 1148,
                             "set { name: \"decode_cycles\" value: 100 } "
                             "set { name: \"dma_setup_cycles\" value: 0 }");
  const auto plan = PlanSubgraph(chip, input, {});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->cycles,
            BruteForce(chip, input, AllTilings(chip, input.layers[0])));
  EXPECT_EQ(plan->plan.tilings[0].rows, 1);
  EXPECT_TRUE(plan->plan.tilings[0].whole_input);
}

TEST(LayerSearchTest, NoStreamTakesLessThanItsTilingsBound) {
  Rng rng(37);
  Graph graph;
  graph.tensors.resize(3);
  graph.ops.resize(1);
  Schedule scratch;
  int timed = 0;
  for (int round = 0; round < (TryMore() ? 2000 : 60); ++round) {
    const SubgraphInput input = RandomLayer(rng, graph);
    const Chip chip = RandomChip(rng, round, input.layers[0]);
    const auto found = TilingsOfLayer(chip, input.layers[0], {},
                                      int64_t{1} << 60, int64_t{1} << 20);
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_TRUE(found->all_looked_at);
    for (int i = 0; i < 20; ++i) {
      const BoundedTiling& any =
          found->tilings[rng.InRange(0, std::ssize(found->tilings) - 1)];
      SubgraphPlan plan = EmptyPlan(input);
      plan.tilings[0] = any.tiling;
      plan.strict = any.strict;
      std::optional<int64_t> cycles;
      if (any.strict) {
        const auto strict =
            TimeIfFits(chip, input.storage, plan, chip.sram_bytes(), scratch);
        if (strict.ok() && *strict) cycles = (*strict)->cycles;
      } else {
        cycles = CyclesOf(chip, input, plan);
      }
      if (!cycles) continue;
      ++timed;
      EXPECT_LE(any.least_cycles, *cycles)
          << "round " << round << ", " << NameOf(input.layers[0]) << ", "
          << NameOf(any.tiling) << (any.strict ? ", strict" : "");
    }
  }
  EXPECT_GT(timed, 500);
}

}  // namespace
}  // namespace edgekiln::compiler::dla
