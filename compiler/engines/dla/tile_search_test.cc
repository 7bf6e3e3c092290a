#include "compiler/engines/dla/tile_search.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/rng.h"
#include "gtest/gtest.h"
#include "target/resolve.h"

namespace edgekiln::compiler::dla {
namespace {

// Output-parallel and input-parallel, narrow enough that small layers are cut;
// one moves a number of bytes per cycle that is no power of two.
std::vector<Chip> TestChips() {
  std::vector<Chip> chips;
  for (const int output_parallel : {0, 1}) {
    const auto target = target::ResolveTarget(absl::StrCat(
        "extends: \"dla\" set { name: \"pes\" value: 4 } "
        "set { name: \"dma_bytes_per_cycle\" value: ",
        output_parallel == 1 ? 3 : 8,
        " } set { name: \"output_parallel\" value: ", output_parallel, " }"));
    chips.push_back(Chip::Create(target->machine(), 0, 1 << 19).value());
  }
  return chips;
}

Layer RandomLayer(Rng& rng) {
  Layer layer;
  const int64_t kind = rng.InRange(0, 4);
  layer.op = kind < 3    ? LayerOp::kConv
             : kind == 3 ? LayerOp::kDepthwise
                         : LayerOp::kMatMul;
  layer.in = {rng.InRange(1, 9), rng.InRange(1, 9), rng.InRange(1, 12)};
  if (layer.op == LayerOp::kMatMul) layer.in.w = 1;
  layer.out = layer.in;
  if (layer.op != LayerOp::kDepthwise) layer.out.c = rng.InRange(1, 12);
  if (layer.op == LayerOp::kMatMul) return layer;
  const int64_t kernel = rng.InRange(1, 3);
  const int64_t stride = rng.InRange(1, 2);
  layer.vertical = layer.horizontal = {kernel, stride, 1, kernel / 2};
  layer.out.h = (layer.in.h - 1) / stride + 1;
  layer.out.w = (layer.in.w - 1) / stride + 1;
  if (rng.InRange(0, 3) == 0) layer.out_bytes = 4;
  return layer;
}

Residency RandomResidency(Rng& rng) {
  Residency residency;
  residency.input = rng.InRange(0, 1) == 0;
  residency.output = rng.InRange(0, 1) == 0;
  return residency;
}

// Calls `visit` with every candidate.
template <typename Visit>
void ForEachCandidate(const TilingCosts& costs, Visit visit) {
  Candidate candidate;
  for (candidate.rows = 0; candidate.rows < costs.rows().size();
       ++candidate.rows) {
    for (candidate.columns = 0; candidate.columns < costs.columns().size();
         ++candidate.columns) {
      for (candidate.channels = 0; candidate.channels < costs.channels().size();
           ++candidate.channels) {
        for (candidate.inputs = 0; candidate.inputs < costs.inputs().size();
             ++candidate.inputs) {
          for (const TileOrder order :
               {TileOrder::kChannelsOuter, TileOrder::kPixelsOuter}) {
            for (const bool whole : {false, true}) {
              candidate.order = order;
              candidate.whole_input = whole;
              if (costs.SumsFit(candidate)) visit(candidate);
            }
          }
        }
      }
    }
  }
}

TEST(TilingSearchTest, WithoutOverlapToo) {
  const std::vector<Chip> chips = TestChips();
  Rng rng(19);
  int found_some = 0;
  for (int round = 0; round < 200; ++round) {
    const Chip& chip = chips[round % 2];
    const Layer layer = RandomLayer(rng);
    TilingQuery query;
    query.serial = true;
    query.budget_bytes = rng.InRange(20, 1200);
    TilingCosts costs(chip, layer, {});
    std::optional<TilingCost> best;
    ForEachCandidate(costs, [&](const Candidate& candidate) {
      const auto cost = CostOf(chip, layer, costs.TilingOf(candidate),
                               costs.WorkOf(candidate, query.residency),
                               costs.ComputeCycles(candidate).value(), query);
      if (cost && (!best || *cost < *best)) best = cost;
    });
    TilingSearch search(chip, layer);
    const auto found = search.BestSerial(query.budget_bytes).value();
    ASSERT_EQ(found.has_value(), best.has_value()) << "round " << round;
    if (!best) continue;
    ++found_some;
    EXPECT_EQ(found->cycles, best->cycles) << "round " << round;
    EXPECT_EQ(found->dma_bytes, best->dma_bytes) << "round " << round;
  }
  EXPECT_GT(found_some, 50);
}

TEST(TilingSearchTest, FindsWhatTryingEverythingFinds) {
  const std::vector<Chip> chips = TestChips();
  Rng rng(18);
  int impossible = 0;
  int split = 0;
  int whole = 0;
  for (int round = 0; round < 400; ++round) {
    const Chip& chip = chips[round % 2];
    const Layer layer = RandomLayer(rng);
    TilingQuery query;
    query.residency = RandomResidency(rng);
    query.budget_bytes = rng.InRange(20, 1200);
    query.estimate = {round % 3 == 0, round % 4 < 2};
    TilingCosts costs(chip, layer, {});
    std::optional<TilingCost> best;
    int64_t fewest = 0;
    ForEachCandidate(costs, [&](const Candidate& candidate) {
      const Work work = costs.WorkOf(candidate, query.residency);
      const auto cost = CostOf(chip, layer, costs.TilingOf(candidate), work,
                               costs.ComputeCycles(candidate).value(), query);
      EXPECT_EQ(costs.LeastBytes(candidate, query.residency),
                work.least_bytes());
      const int64_t exposed =
          costs.LeastExposedCycles(candidate, query.residency);
      EXPECT_LE(exposed,
                work.exposed_cycles() - work.operands[1].exposed_cycles);
      for (size_t Candidate::*axis : {&Candidate::rows, &Candidate::columns}) {
        if (candidate.*axis == 0) continue;
        Candidate larger = candidate;
        --(larger.*axis);
        EXPECT_LE(exposed, costs.LeastExposedCycles(larger, query.residency));
      }
      if (cost && (!best || *cost < *best)) best = cost;
      if (TileBytes(layer, costs.TilingOf(candidate), query.residency) <=
          query.budget_bytes) {
        const int64_t cycles = costs.ComputeCycles(candidate).value();
        if (fewest == 0 || cycles < fewest) fewest = cycles;
      }
    });
    TilingSearch search(chip, layer);
    const auto found =
        search.Best(query.residency, query.budget_bytes, query.estimate)
            .value();
    ASSERT_EQ(found.has_value(), best.has_value()) << "round " << round;
    // The bound holds for all residents, which take SRAM as well.
    const int64_t sram_bytes =
        query.budget_bytes +
        (query.residency.input ? layer.all_in_bytes() : 0) +
        (query.residency.output ? layer.all_out_bytes() : 0);
    if (fewest > 0) {
      EXPECT_LE(search.FewestComputeCycles(sram_bytes).value(), fewest)
          << "round " << round;
    }
    if (!best) {
      ++impossible;
      continue;
    }
    EXPECT_EQ(found->cycles, best->cycles) << "round " << round;
    EXPECT_EQ(found->dma_bytes, best->dma_bytes) << "round " << round;
    EXPECT_LE(found->sram_bytes, query.budget_bytes);
    if (InputsPerStep(layer, found->tiling) < layer.in.c) ++split;
    if (found->tiling.whole_input) ++whole;
  }
  EXPECT_GT(impossible, 0);
  EXPECT_LT(impossible, 200);
  EXPECT_GT(split, 0);
  EXPECT_GT(whole, 0);
}

// What the search may leave out rests on that.
TEST(CostOfTest, MoreWorkIsNeverCheaper) {
  const std::vector<Chip> chips = TestChips();
  Rng rng(20);
  int with_small_tiles = 0;
  for (int round = 0; round < 60; ++round) {
    const Chip& chip = chips[round % 2];
    const Layer layer = RandomLayer(rng);
    const TilingCosts costs(chip, layer, {});
    TilingQuery query;
    query.budget_bytes = rng.InRange(200, 4000);
    query.estimate = {round % 3 == 0, round % 4 > 0};
    ForEachCandidate(costs, [&](const Candidate& candidate) {
      const Tiling tiling = costs.TilingOf(candidate);
      const auto cycles_of = [&](const Residency& residency,
                                 int64_t computing) {
        query.residency = residency;
        const auto cost =
            CostOf(chip, layer, tiling, costs.WorkOf(candidate, residency),
                   computing, query);
        return cost ? cost->cycles : int64_t{1} << 60;
      };
      int64_t computing = rng.InRange(1, 2000);
      int64_t before = 0;
      for (int i = 0; i < 8; ++i, ++computing) {
        const int64_t cycles = cycles_of({}, computing);
        EXPECT_GE(cycles, before);
        before = cycles;
        EXPECT_LE(cycles_of({.input = true}, computing), cycles);
        EXPECT_LE(cycles_of({.output = true}, computing), cycles);
        EXPECT_LE(cycles_of({.blocks = true}, computing), cycles);
      }
      if (!query.estimate.small_tiles) return;
      query.estimate.small_tiles = false;
      if (cycles_of({}, computing) < before) ++with_small_tiles;
      query.estimate.small_tiles = true;
    });
  }
  EXPECT_GT(with_small_tiles, 300);
}

TEST(TilingSearchTest, MoreMemoryIsNeverDearerAndIsNotExceeded) {
  const std::vector<Chip> chips = TestChips();
  Rng rng(17);
  for (int round = 0; round < 200; ++round) {
    const Chip& chip = chips[round % 2];
    const Layer layer = RandomLayer(rng);
    const Residency residency = RandomResidency(rng);
    std::vector<int64_t> budgets;
    for (int i = 0; i < 12; ++i) budgets.push_back(rng.InRange(1, 4000));
    // What a search remembers must not change what it answers.
    TilingSearch remembers(chip, layer);
    for (const int64_t budget : budgets) {
      TilingSearch fresh(chip, layer);
      const auto cost = remembers.Best(residency, budget).value();
      const auto again = fresh.Best(residency, budget).value();
      ASSERT_EQ(cost.has_value(), again.has_value());
      if (!cost) continue;
      EXPECT_EQ(cost->cycles, again->cycles);
      EXPECT_EQ(cost->dma_bytes, again->dma_bytes);
      EXPECT_LE(cost->sram_bytes, budget);
      EXPECT_GE(budget, TileBytes(layer, cost->tiling, residency));
      const auto more = fresh.Best(residency, budget + 1000).value();
      ASSERT_TRUE(more.has_value());
      EXPECT_LE(more->cycles, cost->cycles);
    }
  }
}

TEST(TilingCostsTest, MovesTakeTheSetupAndWholeCycles) {
  for (const Chip& chip : TestChips()) {
    Layer layer;
    layer.op = LayerOp::kMaxPool;
    layer.in = layer.out = {1, 1, 1};
    layer.vertical = layer.horizontal = {1, 1, 1, 0};
    const TilingCosts costs(chip, layer, {});
    for (int64_t bytes = 0; bytes < 20; ++bytes) {
      int64_t cycles = 2 * chip.dma_setup_cycles();
      for (int64_t left = bytes; left > 0; left -= chip.dma_bytes_per_cycle()) {
        ++cycles;
      }
      EXPECT_EQ(costs.DmaCycles(2, bytes), cycles) << bytes;
    }
  }
}

// Of one tile, with nothing resident: exact.
TEST(TilingSearchTest, TheBoundIsReachedWhereEverythingFits) {
  const std::vector<Chip> chips = TestChips();
  Rng rng(19);
  for (int round = 0; round < 50; ++round) {
    const Chip& chip = chips[round % 2];
    const Layer layer = RandomLayer(rng);
    TilingCosts costs(chip, layer, {});
    TilingSearch search(chip, layer);
    EXPECT_EQ(search.FewestComputeCycles(1 << 20).value(),
              costs.ComputeCycles({}).value());
  }
}

// 7 rows as 2, 2, 2 and 1: blocks that are read again for the last one take
// longer than its computation.
TEST(TilingSearchTest, SmallLastTilesCount) {
  const auto target = target::ResolveTarget(
      "extends: \"dla\" set { name: \"pes\" value: 128 } "
      "set { name: \"output_parallel\" value: 1 }");
  const Chip chip = Chip::Create(target->machine(), 0, 1 << 19).value();
  Layer layer;
  layer.op = LayerOp::kConv;
  layer.in = layer.out = {7, 7, 1024};
  layer.vertical = layer.horizontal = {1, 1, 1, 0};
  TilingSearch search(chip, layer);
  const auto even = search.Best({}, 1 << 16, {.small_tiles = true}).value();
  const auto any = search.Best({}, 1 << 16).value();
  ASSERT_TRUE(even && any);
  EXPECT_EQ(any->tiling.rows, 2);
  EXPECT_EQ(even->tiling.rows, 4);
  EXPECT_LT(any->cycles, even->cycles);
  // By the same estimate it is the cheaper one.
  TilingCosts costs(chip, layer, {});
  int compared = 0;
  ForEachCandidate(costs, [&](const Candidate& candidate) {
    const Tiling tiling = costs.TilingOf(candidate);
    if (tiling.rows != any->tiling.rows || tiling.order != any->tiling.order ||
        tiling.columns != any->tiling.columns ||
        tiling.channels != any->tiling.channels ||
        tiling.inputs != any->tiling.inputs ||
        tiling.whole_input != any->tiling.whole_input) {
      return;
    }
    ++compared;
    const auto cost = CostOf(chip, layer, tiling, costs.WorkOf(candidate, {}),
                             costs.ComputeCycles(candidate).value(),
                             {.residency = {},
                              .budget_bytes = 1 << 16,
                              .serial = false,
                              .estimate = {.small_tiles = true}});
    ASSERT_TRUE(cost);
    EXPECT_GT(cost->cycles, even->cycles);
  });
  EXPECT_EQ(compared, 1);
}

}  // namespace
}  // namespace edgekiln::compiler::dla
