#include "compiler/engines/dla/layer_search.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/rng.h"
#include "compiler/engines/dla/planner.h"
#include "compiler/engines/dla/small_networks.h"
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

// Tries each tiling with each way to run loads ahead, and as a strict plan.
std::optional<int64_t> BruteForce(const Chip& chip, const SubgraphInput& input,
                                  const std::vector<Tiling>& tilings) {
  std::optional<int64_t> best;
  Schedule scratch;
  for (const Tiling& tiling : tilings) {
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

// Rows x columns x output x input channels x order of the tiles x whole input x
// buffers of each operand x how far loads run ahead. Of the larger layers some
// reach the limits; without them plans are within a percent.
TEST(LayerSearchTest, NoPlanOfASmallLayerIsFaster) {
  const int most_layers = TryMore() ? 500 : 50;
  const size_t most_tilings = TryMore() ? 10'000 : 2'000;
  Rng rng(TryMore() ? 36 : 35);
  Graph graph;
  graph.tensors.resize(3);
  graph.ops.resize(1);
  int layers = 0;
  int limited = 0;
  for (int round = 0; layers < most_layers; ++round) {
    const SubgraphInput input = RandomLayer(rng, graph);
    const Chip chip = RandomChip(rng, round, input.layers[0]);
    const std::vector<Tiling> tilings = AllTilings(chip, input.layers[0]);
    if (tilings.size() > most_tilings) continue;
    ++layers;
    const auto plan = PlanSubgraph(chip, input, {});
    ASSERT_TRUE(plan.ok()) << plan.status();
    const std::optional<int64_t> best = BruteForce(chip, input, tilings);
    ASSERT_TRUE(best.has_value());
    int64_t cycles = plan->cycles;
    if (TryMore() && cycles > *best) {
      ++limited;
      Schedule scratch;
      TimedPlan found;
      found.plan = EmptyPlan(input);
      found.cycles = cycles;
      const auto searched = SearchLayer(
          chip, input, {}, std::move(found), scratch,
          {.commands = int64_t{1} << 40, .looked_at = int64_t{1} << 40});
      ASSERT_TRUE(searched.ok()) << searched.status();
      cycles = searched->cycles;
    }
    // One of 500 larger layers is known to keep a plan of 561 cycles, not 558.
    EXPECT_LE(cycles - *best, TryMore() ? *best / 100 : 0)
        << "round " << round << ", " << NameOf(input.layers[0]) << ", "
        << chip.sram_bytes() << " bytes, " << tilings.size() << " tilings";
    EXPECT_LE(plan->bound_cycles, *best)
        << "round " << round << ", " << NameOf(input.layers[0]);
  }
  EXPECT_LE(limited, most_layers / 50);
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
