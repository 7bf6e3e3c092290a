#include "compiler/engines/dla/bound.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/rng.h"
#include "compiler/engines/dla/border_bound.h"
#include "compiler/engines/dla/plan_timing.h"
#include "compiler/engines/dla/planner.h"
#include "compiler/engines/dla/tiling_costs.h"
#include "gtest/gtest.h"
#include "target/resolve.h"

namespace edgekiln::compiler::dla {
namespace {

Chip TestChip(bool output_parallel, int64_t sram_bytes,
              const std::string& more = "") {
  const auto target = target::ResolveTarget(
      absl::StrCat("extends: \"dla\" set { name: \"pes\" value: 8 } "
                   "set { name: \"output_parallel\" value: ",
                   output_parallel ? 1 : 0, " }", more));
  return Chip::Create(target->machine(), 0, sram_bytes).value();
}

std::string RandomCosts(Rng& rng) {
  std::string settings;
  const auto set = [&](const char* name, int64_t value) {
    if (rng.InRange(0, 1) == 0) return;
    absl::StrAppend(&settings, " set { name: \"", name, "\" value: ", value,
                    " }");
  };
  set("decode_cycles", 100);
  set("dma_setup_cycles", 0);
  set("fill_cycles", 0);
  set("dma_bytes_per_cycle", 2);
  return settings;
}

// Each layer reads one of the last three tensors, or, if `tall`, the last one,
// which has more rows than others: with windows that cover all
// of it, leave a border out, or leave gaps; by channel, or summed up.
SubgraphInput RandomNet(Rng& rng, int layers, bool tall, const Graph& graph) {
  SubgraphInput input;
  input.graph = &graph;
  std::vector<ImageExtent> extents = {{rng.InRange(3, 14) * (tall ? 5 : 1),
                                       rng.InRange(3, 14), rng.InRange(1, 40)}};
  for (int l = 0; l < layers; ++l) {
    Layer layer;
    const int64_t from =
        std::max<int64_t>(l - (tall ? 0 : rng.InRange(0, 2)), 0);
    const int64_t kind = rng.InRange(0, 4);
    layer.op = kind < 3    ? LayerOp::kConv
               : kind == 3 ? LayerOp::kDepthwise
                           : LayerOp::kMaxPool;
    layer.by_channel = kind == 3 && rng.InRange(0, 1) == 0;
    layer.op_index = l;
    layer.input = static_cast<TensorId>(from);
    layer.output = l + 1;
    layer.in = layer.out = extents[from];
    if (layer.op == LayerOp::kConv) layer.out.c = rng.InRange(1, 40);
    const int64_t stride =
        layer.in.h < 3 || layer.in.w < 3
            ? 1
            : std::vector<int64_t>{1, 1, 2, 3}[rng.InRange(0, 3)];
    // Same, or valid: a window of three elements, or of one.
    const int64_t kernel = rng.InRange(0, 1) == 0 ? 1 : 3;
    const int64_t pad = stride == 1 ? kernel / 2 : 0;
    const int64_t window = stride > 1 && kernel == 3 ? 3 : kernel;
    layer.vertical = layer.horizontal = {window, stride, 1, pad};
    layer.out.h = (layer.in.h + 2 * pad - window) / stride + 1;
    layer.out.w = (layer.in.w + 2 * pad - window) / stride + 1;
    extents.push_back(layer.out);
    input.layers.push_back(layer);
  }
  for (int t = 0; t <= layers; ++t) input.storage.push_back(t);
  input.external = {0, layers};
  return input;
}

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

// All tilings of a layer, with the most buffers and with one of each operand.
std::vector<Tiling> AllTilings(const Chip& chip, const Layer& layer) {
  const TilingCosts costs(chip, layer, {});
  std::vector<Tiling> tilings;
  Candidate c;
  for (c.rows = 0; c.rows < costs.rows().size(); ++c.rows) {
    for (c.columns = 0; c.columns < costs.columns().size(); ++c.columns) {
      for (c.channels = 0; c.channels < costs.channels().size(); ++c.channels) {
        for (c.inputs = 0; c.inputs < costs.inputs().size(); ++c.inputs) {
          if (!costs.SumsFit(c)) continue;
          for (const int how : {0, 1, 2, 3}) {
            c.order = (how & 1) != 0 ? TileOrder::kPixelsOuter
                                     : TileOrder::kChannelsOuter;
            c.whole_input = (how & 2) != 0;
            Tiling tiling = costs.TilingOf(c);
            tilings.push_back(tiling);
            tiling.double_input = true;
            tiling.double_block = true;
            tiling.double_output = true;
            tilings.push_back(tiling);
          }
        }
      }
    }
  }
  return tilings;
}

// The fewest cycles of a plan, by trying to run loads ahead and not to.
std::optional<int64_t> CyclesOf(const Chip& chip, const SubgraphInput& input,
                                const SubgraphPlan& plan) {
  Schedule scratch;
  int64_t commands = 0;
  const auto timed =
      RunAhead(chip, input.storage, plan, chip.sram_bytes(), scratch, commands);
  if (!timed.ok() || !*timed) return std::nullopt;
  return (*timed)->cycles;
}

SubgraphPlan EmptyPlan(const SubgraphInput& input) {
  SubgraphPlan plan;
  plan.layers = input.layers;
  plan.external = input.external;
  plan.tilings.resize(input.layers.size());
  return plan;
}

TEST(BoundTest, NoTilingOfASmallLayerIsFaster) {
  Rng rng(33);
  Graph graph;
  graph.tensors.resize(8);
  graph.ops.resize(8);
  int64_t best_cycles = 0;
  int64_t plan_cycles = 0;
  int layers = 0;
  for (int round = 0; layers < 16; ++round) {
    const Chip chip = TestChip(round % 2 == 0, rng.InRange(300, 6000),
                               round % 4 < 2 ? "" : RandomCosts(rng));
    const SubgraphInput input = RandomNet(rng, 1, /*tall=*/false, graph);
    const auto plan = PlanSubgraph(chip, input, {});
    if (!plan.ok()) continue;  // Too little SRAM.
    const std::vector<Tiling> tilings = AllTilings(chip, input.layers[0]);
    if (tilings.size() > 600) continue;
    ++layers;
    SubgraphPlan tried = EmptyPlan(input);
    std::optional<int64_t> best;
    for (const Tiling& tiling : tilings) {
      tried.tilings[0] = tiling;
      const std::optional<int64_t> cycles = CyclesOf(chip, input, tried);
      if (cycles && (!best || *cycles < *best)) best = cycles;
    }
    // Where nothing of these fits, the plan is one that overlaps nothing.
    if (!best) continue;
    EXPECT_LE(plan->bound_cycles, *best) << "round " << round;
    best_cycles += *best;
    plan_cycles += plan->cycles;
  }
  // Plans are chosen by estimates.
  EXPECT_LE(plan_cycles, best_cycles + best_cycles / 10);
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
