#include "compiler/engines/dla/bound.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/rng.h"
#include "compiler/engines/dla/border_bound.h"
#include "compiler/engines/dla/planner.h"
#include "compiler/engines/dla/testing/small_networks.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler::dla {
namespace {

TEST(BoundTest, NoPlanIsFaster) {
  Rng rng(21);
  Graph graph;
  graph.tensors.resize(8);
  graph.ops.resize(8);
  double sum_of_gaps = 0;
  int planned = 0;
  int chained = 0;
  for (int round = 0; round < 300; ++round) {
    const Chip chip = TestChip(round % 2 == 0, rng.InRange(200, 20000),
                               round % 4 < 2 ? "" : RandomCosts(rng));
    const SubgraphInput input = RandomNet(
        rng, static_cast<int>(rng.InRange(1, 6)), round % 3 == 0, graph);
    for (const bool serial : {false, true}) {
      v1::dla::TileRecipe recipe;
      recipe.set_serial(serial);
      const auto plan = PlanSubgraph(chip, input, recipe);
      if (!plan.ok()) continue;  // Too little SRAM.
      EXPECT_LE(plan->bound_cycles, plan->cycles) << "round " << round;
      ASSERT_EQ(plan->plan.bounds.size(), input.layers.size());
      int64_t computing = 0;
      for (const int64_t cycles : plan->plan.bounds) computing += cycles;
      EXPECT_LE(computing, plan->bound_cycles);
      if (!chip.blocking_dma()) {
        EXPECT_LE(
            BoundByBorders(chip, input, {}, plan->plan.bounds, !serial).value(),
            plan->cycles)
            << "round " << round;
      }
      if (serial) continue;
      ++planned;
      if (!plan->plan.chains.empty()) ++chained;
      sum_of_gaps += static_cast<double>(plan->cycles) /
                         static_cast<double>(plan->bound_cycles) -
                     1;
    }
  }
  // The bound is of use: on average plans are near to it, though these
  // networks are so small that setting up the DMA is much of their time.
  ASSERT_GT(planned, 150);
  EXPECT_GT(chained, 5);
  EXPECT_LT(sum_of_gaps / planned, 0.5);
}

TEST(BoundTest, NoScheduleOfThreeLayersIsFaster) {
  Rng rng(34);
  Graph graph;
  graph.tensors.resize(8);
  graph.ops.resize(8);
  int schedules = 0;
  int chained = 0;
  for (int round = 0; round < 30; ++round) {
    const Chip chip = TestChip(round % 2 == 0, rng.InRange(800, 8000),
                               round % 4 < 2 ? "" : RandomCosts(rng));
    const SubgraphInput input = RandomNet(rng, 3, round % 3 > 0, graph);
    const auto plan = PlanSubgraph(chip, input, {});
    if (!plan.ok()) continue;  // Too little SRAM.
    std::vector<std::vector<Tiling>> tilings;
    for (const Layer& layer : input.layers) {
      tilings.push_back(AllTilings(chip, layer));
    }
    for (int i = 0; i < 50; ++i) {
      SubgraphPlan tried = i % 2 == 0 ? EmptyPlan(input) : plan->plan;
      for (size_t l = 0; l < input.layers.size(); ++l) {
        if (i % 2 != 0 && rng.InRange(0, 2) > 0) continue;
        tried.tilings[l] =
            tilings[l][rng.InRange(0, std::ssize(tilings[l]) - 1)];
        if (i % 2 == 0 && l < 2 && rng.InRange(0, 1) == 0) {
          tried.resident.insert(input.storage[input.layers[l].output]);
        }
      }
      const std::optional<int64_t> cycles = CyclesOf(chip, input, tried);
      if (!cycles) continue;
      ++schedules;
      if (!tried.chains.empty()) ++chained;
      EXPECT_LE(plan->bound_cycles, *cycles) << "round " << round;
    }
  }
  EXPECT_GT(schedules, 300);
  EXPECT_GT(chained, 10);
}

TEST(BoundTest, BlocksThatDoNotFitHaveToBeRead) {
  Graph graph;
  graph.tensors.resize(4);
  graph.ops.resize(4);
  SubgraphInput input;
  input.graph = &graph;
  input.storage = {0, 1, 2};
  input.external = {0, 2};
  for (int l = 0; l < 2; ++l) {
    Layer layer;
    layer.op = LayerOp::kMatMul;
    layer.op_index = l;
    layer.input = l;
    layer.output = l + 1;
    layer.in = layer.out = {1, 1, 1000};
    input.layers.push_back(layer);
  }
  // A million bytes of weights each, with tables, at 16 bytes a cycle.
  const int64_t reading = 2 * 1000 * (1000 + 12) / 16;
  const Chip chip = TestChip(true, 50000);
  std::vector<TilingSearch> searches;
  for (const Layer& layer : input.layers) searches.emplace_back(chip, layer);
  const auto bound = BoundOf(chip, input, searches);
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_GE(bound->cycles, reading);
  EXPECT_GT(bound->layers[0], 1000 * 1000 / 8);
}

TEST(BoundTest, ATensorForTwoReadersIsWrittenOnce) {
  Graph graph;
  SubgraphInput input;
  input.graph = &graph;
  input.storage = {0, 1, 2, 3};
  input.external = {0, 2, 3};
  // One pixel each of a large tensor, which the first layer makes.
  for (int l = 0; l < 3; ++l) {
    Layer layer;
    layer.op = LayerOp::kMaxPool;
    layer.input = l == 0 ? 0 : 1;
    layer.output = l + 1;
    layer.in = layer.out = {64, 64, 64};
    if (l > 0) {
      layer.out = {1, 1, 64};
      layer.vertical = layer.horizontal = {64, 1, 1, 0};
    }
    input.layers.push_back(layer);
  }
  const Chip chip =
      TestChip(true, 20000, " set { name: \"dma_bytes_per_cycle\" value: 1 }");
  std::vector<TilingSearch> searches;
  for (const Layer& layer : input.layers) searches.emplace_back(chip, layer);
  const auto bound = BoundOf(chip, input, searches);
  ASSERT_TRUE(bound.ok()) << bound.status();
  // The input once, what is made of it written once and read twice.
  constexpr int64_t kTensor = 64 * 64 * 64;
  EXPECT_GE(bound->cycles, 4 * kTensor);
  EXPECT_LT(bound->cycles, 4 * kTensor + 1000);
}

// Layers, each of which reads what the one before makes.
SubgraphInput InOrder(const std::vector<Layer>& layers, const Graph& graph) {
  SubgraphInput input;
  input.graph = &graph;
  input.storage = {0};
  for (const Layer& layer : layers) {
    const auto l = static_cast<int32_t>(input.layers.size());
    input.layers.push_back(layer);
    input.layers.back().op_index = l;
    input.layers.back().input = l;
    input.layers.back().output = l + 1;
    input.storage.push_back(l + 1);
  }
  input.external = {0, static_cast<TensorId>(layers.size())};
  return input;
}

TEST(BoundTest, CountsWhatNothingHidesAtTheEnds) {
  Graph graph;
  graph.tensors.resize(2);
  graph.ops.resize(1);
  Layer layer;
  layer.op = LayerOp::kMatMul;
  layer.in = {1, 1, 30};
  layer.out = {1, 1, 8};
  const SubgraphInput input = InOrder({layer}, graph);
  const auto plan = PlanSubgraph(TestChip(true, 1 << 20), input, {});
  ASSERT_TRUE(plan.ok()) << plan.status();
  // The weights with their table and the input, 16 bytes a cycle, come before
  // the only command, and the output is stored after it. Several commands, each
  // of which fills the array, take longer.
  constexpr int64_t kLoads = 20 + (30 * 8 + 12 * 8) / 16 + 20 + 2;
  EXPECT_GE(plan->bound_cycles, kLoads + 8 + 30 + 20 + 1);
  EXPECT_LE(plan->bound_cycles, plan->cycles);
}

TEST(BoundTest, LayersThatMoveMoreThanTheyComputeTakeAsLong) {
  Graph graph;
  Layer heavy;
  heavy.op = LayerOp::kConv;
  heavy.in = heavy.out = {64, 64, 32};
  heavy.vertical = heavy.horizontal = {1, 1, 1, 0};
  Layer light = heavy;
  light.op = LayerOp::kMaxPool;
  const SubgraphInput input = InOrder({heavy, light, heavy}, graph);
  const Chip chip =
      TestChip(true, 4096, " set { name: \"dma_bytes_per_cycle\" value: 1 }");
  std::vector<TilingSearch> searches;
  for (const Layer& layer : input.layers) searches.emplace_back(chip, layer);
  auto bound = BoundOf(chip, input, searches, /*chains=*/false);
  ASSERT_TRUE(bound.ok()) << bound.status();
  ASSERT_TRUE(
      TightenBound(chip, input, searches, /*chains=*/false, *bound).ok());
  // The pool reads and writes what takes a cycle per byte, all but what SRAM
  // holds before and after it.
  constexpr int64_t kTensor = 64 * 64 * 32;
  EXPECT_EQ(bound->layers[1], kTensor / 8);
  EXPECT_GE(bound->cycles, bound->layers[0] + bound->layers[2] + 2 * kTensor -
                               2 * chip.sram_bytes());
}

TEST(BoundTest, WhatAChainPassesOnNeedNotMove) {
  Graph graph;
  graph.tensors.resize(3);
  graph.ops.resize(2);
  SubgraphInput input;
  input.graph = &graph;
  input.storage = {0, 1, 2};
  input.external = {0, 2};
  for (int l = 0; l < 2; ++l) {
    Layer layer;
    layer.op = LayerOp::kMaxPool;
    layer.op_index = l;
    layer.input = l;
    layer.output = l + 1;
    layer.in = layer.out = {64, 16, 32};
    layer.vertical = layer.horizontal = {1, 1, 1, 0};
    input.layers.push_back(layer);
  }
  const Chip chip =
      TestChip(true, 8192, " set { name: \"dma_bytes_per_cycle\" value: 1 }");
  constexpr int64_t kTensor = 64 * 16 * 32;
  const auto plan = PlanSubgraph(chip, input, {});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->plan.chains.size(), 1);
  EXPECT_EQ(plan->dma_bytes, 2 * kTensor);
  EXPECT_LE(plan->bound_cycles, plan->cycles);
  EXPECT_GE(plan->bound_cycles, 2 * kTensor);
  EXPECT_LT(plan->cycles, 2 * kTensor + kTensor / 4);
  // Without chains all of it has to.
  v1::dla::TileRecipe serial;
  serial.set_serial(true);
  const auto apart = PlanSubgraph(chip, input, serial);
  ASSERT_TRUE(apart.ok()) << apart.status();
  EXPECT_GE(apart->bound_cycles, 4 * kTensor);
}

}  // namespace
}  // namespace edgekiln::compiler::dla
