#include "compiler/engines/dla/chain.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "base/rng.h"
#include "base/rounding.h"
#include "compiler/engines/dla/chain_search.h"
#include "compiler/engines/dla/plan_timing.h"
#include "compiler/engines/dla/planner.h"
#include "compiler/engines/dla/schedule.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "target/resolve.h"

namespace edgekiln::compiler::dla {
namespace {

using ::testing::ElementsAre;

// Each layer reads the one before.
std::vector<Layer> ChainOf(const std::vector<WindowAxis>& windows,
                           int64_t rows) {
  std::vector<Layer> layers;
  for (const WindowAxis& window : windows) {
    Layer layer;
    layer.op = LayerOp::kMaxPool;
    layer.input = static_cast<TensorId>(layers.size());
    layer.output = layer.input + 1;
    layer.in = {rows, 4, 8};
    rows = (rows + 2 * window.pad_before - window.Span(1)) / window.stride + 1;
    layer.out = {rows, 4, 8};
    layer.vertical = window;
    layer.horizontal = {1, 1, 1, 0};
    layers.push_back(layer);
  }
  return layers;
}

std::vector<TensorId> OwnStorage(size_t tensors) {
  std::vector<TensorId> storage;
  for (size_t t = 0; t < tensors; ++t) {
    storage.push_back(static_cast<TensorId>(t));
  }
  return storage;
}

// As rows of every piece.
std::vector<std::vector<Rows>> HeldBy(const std::vector<PieceRows>& pieces) {
  std::vector<std::vector<Rows>> held;
  for (const PieceRows& piece : pieces) held.push_back(piece.held);
  return held;
}
std::vector<std::vector<Rows>> MadeBy(const std::vector<PieceRows>& pieces) {
  std::vector<std::vector<Rows>> made;
  for (const PieceRows& piece : pieces) made.push_back(piece.made);
  return made;
}

TEST(PiecesOfChainTest, HaveWhatTheNextLayerReads) {
  // A window of three rows, and one of a single row over its outputs.
  const std::vector<Layer> layers =
      ChainOf({{1, 1, 1, 0}, {3, 1, 1, 1}, {1, 1, 1, 0}}, 10);
  const Chain chain = {.first = 0, .last = 2, .rows = 4};
  ASSERT_EQ(PiecesOf(layers, chain), 3);
  const std::vector<std::vector<Rows>> rows = {
      {{0, 5}, {0, 5}, {0, 4}, {0, 4}},
      {{3, 9}, {3, 9}, {4, 8}, {4, 8}},
      {{7, 10}, {7, 10}, {8, 10}, {8, 10}}};
  EXPECT_EQ(HeldBy(PiecesOfChain(layers, chain)), rows);
  EXPECT_EQ(MadeBy(PiecesOfChain(layers, chain)), rows);
  const RowCounts counts = CountRows(layers, chain);
  EXPECT_THAT(counts.held, ElementsAre(6, 6, 4, 4));
  EXPECT_THAT(counts.most, ElementsAre(6, 6, 4, 4));
  EXPECT_THAT(counts.all, ElementsAre(14, 14, 10, 10));
  EXPECT_EQ(counts.copies, 0);
}

TEST(PiecesOfChainTest, CopyWhatThePieceBeforeMade) {
  const std::vector<Layer> layers =
      ChainOf({{1, 1, 1, 0}, {3, 1, 1, 1}, {1, 1, 1, 0}}, 10);
  const Chain chain = {.first = 0, .last = 2, .rows = 4, .copies_rows = true};
  const std::vector<PieceRows> pieces = PiecesOfChain(layers, chain);
  EXPECT_EQ(HeldBy(pieces), (std::vector<std::vector<Rows>>{
                                {{0, 5}, {0, 5}, {0, 4}, {0, 4}},
                                {{5, 9}, {3, 9}, {4, 8}, {4, 8}},
                                {{9, 10}, {7, 10}, {8, 10}, {8, 10}}}));
  EXPECT_EQ(MadeBy(pieces), (std::vector<std::vector<Rows>>{
                                {{0, 5}, {0, 5}, {0, 4}, {0, 4}},
                                {{5, 9}, {5, 9}, {4, 8}, {4, 8}},
                                {{9, 10}, {9, 10}, {8, 10}, {8, 10}}}));
  const RowCounts counts = CountRows(layers, chain);
  EXPECT_THAT(counts.held, ElementsAre(5, 6, 4, 4));
  EXPECT_THAT(counts.most, ElementsAre(5, 5, 4, 4));
  EXPECT_THAT(counts.all, ElementsAre(10, 10, 10, 10));
  // Two rows, for each piece but the first.
  EXPECT_EQ(counts.copies, 2);
  ASSERT_EQ(counts.copied.size(), 1u);
  EXPECT_EQ(counts.copied[0].layer, 0);
  EXPECT_EQ(counts.copied[0].rows, 2);
  EXPECT_EQ(counts.copied[0].commands, 2);
}

TEST(PiecesOfChainTest, WhatACopyReadsAndWritesDoesNotOverlap) {
  // Three rows that start at row 2 of five.
  const std::vector<Layer> layers = ChainOf({{1, 1, 1, 0}, {4, 1, 1, 0}}, 9);
  const Chain chain = {.first = 0, .last = 1, .rows = 2, .copies_rows = true};
  const RowCounts counts = CountRows(layers, chain);
  EXPECT_THAT(counts.held, ElementsAre(5, 5, 2));
  EXPECT_EQ(counts.copies, 4);
  ASSERT_EQ(counts.copied.size(), 2u);
  EXPECT_EQ(counts.copied[0].rows, 2);
  EXPECT_EQ(counts.copied[0].commands, 2);
  EXPECT_EQ(counts.copied[1].rows, 1);
  EXPECT_EQ(counts.copied[1].commands, 2);
}

TEST(PiecesOfChainTest, LeaveOutNoRow) {
  Rng rng(5);
  int chains = 0;
  int copied = 0;
  int nothing_made = 0;
  int let_go = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::vector<WindowAxis> windows;
    const int64_t count = rng.InRange(2, 4);
    for (int64_t k = 0; k < count; ++k) {
      const int64_t kernel = rng.InRange(1, 4);
      const int64_t dilation = rng.InRange(1, 2);
      windows.push_back(
          {kernel, static_cast<int64_t>(rng.InRange(1, 3)), dilation,
           static_cast<int64_t>(rng.InRange(0, (kernel - 1) * dilation))});
    }
    const std::vector<Layer> layers =
        ChainOf(windows, static_cast<int64_t>(rng.InRange(4, 40)));
    if (std::any_of(layers.begin(), layers.end(),
                    [](const Layer& layer) { return layer.out.h < 1; })) {
      continue;
    }
    const auto passes_on =
        LayersThatPassOn(layers, OwnStorage(layers.size() + 1),
                         {0, static_cast<TensorId>(layers.size())});
    if (std::count(passes_on.begin(), passes_on.end(), true) != count - 1) {
      continue;
    }
    ++chains;
    const Chain chain = {
        .first = 0,
        .last = static_cast<int32_t>(count - 1),
        .rows = static_cast<int64_t>(rng.InRange(1, layers.back().out.h)),
        .copies_rows = rng.InRange(0, 1) == 0};
    // By layer.
    std::vector<int64_t> made(layers.size(), 0);  // Rows, from the first on.
    std::vector<Rows> before(layers.size());      // That buffers hold.
    std::vector<std::set<int64_t>> there(layers.size());  // Rows, of them.
    int64_t copies = 0;
    std::set<int64_t> results;
    for (const PieceRows& rows : PiecesOfChain(layers, chain)) {
      for (size_t k = 0; k < layers.size(); ++k) {
        const Rows& new_rows = rows.made[k + 1];
        const Rows& held = rows.held[k + 1];
        EXPECT_LE(new_rows.begin, made[k]) << "round " << round;
        if (chain.copies_rows) {
          EXPECT_EQ(new_rows.begin, made[k]) << "round " << round;
        }
        made[k] = std::max(made[k], new_rows.end);
        if (new_rows.count() == 0) ++nothing_made;
        EXPECT_EQ(held.end, new_rows.end) << "round " << round;
        // Of what was there those that are not made stay, if they can.
        std::set<int64_t> now;
        const int64_t from = held.begin - before[k].begin;
        for (int64_t row = held.begin; row < new_rows.begin; ++row) {
          if (from >= 0 && there[k].contains(row)) now.insert(row);
        }
        const int64_t moved = new_rows.begin - held.begin;
        if (moved > 0 && from < 0) ++let_go;
        if (moved > 0 && from > 0) {
          ++copied;
          copies += CeilDiv(moved, from);
        }
        // Made are those whose windows are there.
        for (int64_t row = new_rows.begin; row < new_rows.end; ++row) {
          const AxisInput read =
              InputOfAxis(layers[k].vertical, layers[k].in.h, row, row + 1);
          EXPECT_LE(rows.held[k].begin, read.begin) << "round " << round;
          EXPECT_GE(rows.held[k].end, read.end) << "round " << round;
          bool all = true;
          for (int64_t in = read.begin; k > 0 && in < read.end; ++in) {
            all = all && there[k - 1].contains(in);
          }
          if (!all) continue;
          now.insert(row);
          if (k + 1 == layers.size()) results.insert(row);
        }
        there[k] = std::move(now);
        before[k] = held;
      }
    }
    EXPECT_EQ(std::ssize(results), layers.back().out.h) << "round " << round;
    for (size_t k = 0; k < layers.size(); ++k) {
      EXPECT_EQ(made[k], layers[k].out.h) << "round " << round;
    }
    const RowCounts counts = CountRows(layers, chain);
    EXPECT_EQ(counts.copies, copies) << "round " << round;
    for (const RowCopies& each : counts.copied) {
      EXPECT_GT(each.rows, 0) << "round " << round;
      copies -= each.commands;
    }
    EXPECT_EQ(copies, 0) << "round " << round;
  }
  EXPECT_GT(chains, 3000);
  EXPECT_GT(copied, 3000);
  EXPECT_GT(nothing_made, 100);
  EXPECT_GT(let_go, 0);
}

// With eight PEs; `change` is of its engine.
absl::StatusOr<Chip> ChipWith(
    int64_t sram_bytes, absl::FunctionRef<void(v1::Machine::Engine&)> change =
                            [](v1::Machine::Engine&) {}) {
  auto target =
      target::ResolveTarget("extends: \"dla\" set { name: \"pes\" value: 8 }");
  EXPECT_TRUE(target.ok()) << target.status();
  v1::Machine& machine = *target->mutable_machine();
  change(*machine.mutable_engines(0));
  return Chip::Create(machine, 0, sram_bytes);
}

void SetBits(v1::Machine::Engine& engine, const char* name, int bits) {
  for (auto& reg : *engine.mutable_isa()->mutable_registers()) {
    if (reg.name() == name) reg.set_bits(bits);
  }
}

void DropMaximum(v1::Machine::Engine& engine) {
  auto& commands = *engine.mutable_isa()->mutable_commands();
  commands.erase(std::remove_if(commands.begin(), commands.end(),
                                [](const auto& command) {
                                  return command.mnemonic() == "OP_C_MAX";
                                }),
                 commands.end());
}

// What is copied are two rows of 32 bytes, pixels of 8.
TEST(WithCopiesTest, CopiesWhatTheRegistersHold) {
  const std::vector<Layer> layers =
      ChainOf({{1, 1, 1, 0}, {3, 1, 1, 1}, {1, 1, 1, 0}}, 10);
  const Chain chain = {.first = 0, .last = 2, .rows = 4};
  const auto copies = [&](const char* name, int bits) {
    const auto chip = ChipWith(1 << 16, [&](v1::Machine::Engine& engine) {
      SetBits(engine, name, bits);
    });
    EXPECT_TRUE(chip.ok()) << chip.status();
    return chip.ok() && WithCopies(*chip, layers, chain).copies_rows;
  };
  for (const char* name : {"IN_ROW_PITCH", "IN2_ROW_PITCH", "OUT_ROW_PITCH"}) {
    EXPECT_TRUE(copies(name, 6)) << name;
    EXPECT_FALSE(copies(name, 5)) << name;
  }
  for (const char* name :
       {"IN_PIXEL_PITCH", "IN2_PIXEL_PITCH", "OUT_PIXEL_PITCH", "OUT_C"}) {
    EXPECT_TRUE(copies(name, 4)) << name;
    EXPECT_FALSE(copies(name, 3)) << name;
  }
  EXPECT_TRUE(copies("OUT_W", 3));
  EXPECT_FALSE(copies("OUT_W", 2));
  EXPECT_TRUE(copies("OUT_H", 2));
  EXPECT_FALSE(copies("OUT_H", 1));
  const auto without = ChipWith(1 << 16, DropMaximum);
  ASSERT_TRUE(without.ok()) << without.status();
  EXPECT_FALSE(WithCopies(*without, layers, chain).copies_rows);
  // Nothing to copy.
  const std::vector<Layer> apart = ChainOf({{1, 1, 1, 0}, {2, 2, 1, 0}}, 10);
  EXPECT_FALSE(
      WithCopies(*ChipWith(1 << 16), apart, {.first = 0, .last = 1, .rows = 2})
          .copies_rows);
}

SubgraphInput InputOf(const std::vector<Layer>& layers, const Graph& graph) {
  SubgraphInput input;
  input.graph = &graph;
  input.layers = layers;
  input.storage = OwnStorage(layers.size() + 1);
  input.external = {0, static_cast<TensorId>(layers.size())};
  return input;
}

// The bound of a chain has its copies as the chip's timing has them.
TEST(ChainSearchTest, CopiesTakeWhatTheCommandTakes) {
  const Graph graph;
  const SubgraphInput input =
      InputOf(ChainOf({{1, 1, 1, 0}, {3, 1, 1, 1}}, 10), graph);
  const std::vector<int64_t> nothing(2, 0);
  const auto cycles = [&](const char* occupancy, int64_t macs_per_cycle) {
    const auto chip = ChipWith(1 << 16, [&](v1::Machine::Engine& engine) {
      engine.set_macs_per_cycle(macs_per_cycle);
      for (auto& command : *engine.mutable_isa()->mutable_commands()) {
        if (command.mnemonic() != "OP_C_MAX") continue;
        command.set_occupancy_cycles_expr(occupancy);
      }
    });
    EXPECT_TRUE(chip.ok()) << chip.status();
    ChainSearch search(*chip, input, nothing);
    std::vector<int64_t> ways;
    for (const ChainSearch::Least& least : search.LeastOf(0, 1)) {
      ways.push_back(least.cycles);
    }
    return ways;
  };
  // 5, 4, 3, 2 and 1 rows: 2 rows of 32 bytes for each piece but the first. Of
  // one row in two commands, but for the second piece, whose rows are in place.
  for (const int64_t macs_per_cycle : {1, 8}) {
    EXPECT_THAT(cycles("ceildiv(OUT_H*OUT_W*OUT_C, pes)", macs_per_cycle),
                ElementsAre(8, 16, 24, 32, 64));
    EXPECT_THAT(cycles("ceildiv(OUT_H*OUT_W*OUT_C, 4*pes)", macs_per_cycle),
                ElementsAre(2, 4, 6, 8, 16));
  }
}

// Of convolutions: a chip without the command computes shared rows again.
TEST(ChainSearchTest, PlansCopyRowsWhereTheChipCan) {
  const Graph graph;
  const WindowAxis three = {3, 1, 1, 1};
  SubgraphInput input = InputOf(ChainOf({three, three, three}, 400), graph);
  constexpr int64_t kSram = 8 << 10;
  for (const bool can : {false, true}) {
    const auto chip = can ? ChipWith(kSram) : ChipWith(kSram, DropMaximum);
    ASSERT_TRUE(chip.ok()) << chip.status();
    const auto timed = PlanSubgraph(*chip, input, {});
    ASSERT_TRUE(timed.ok()) << timed.status();
    EXPECT_LE(timed->bound_cycles, timed->cycles);
    ASSERT_FALSE(timed->plan.chains.empty());
    int64_t copies = 0;
    for (const Chain& chain : timed->plan.chains) {
      EXPECT_EQ(chain.copies_rows, can);
      copies += CountRows(input.layers, chain).copies;
    }
    EXPECT_EQ(copies > 0, can);
    Schedule schedule;
    const auto again = TimeIfFits(*chip, input.storage, timed->plan,
                                  timed->sram_bytes, schedule);
    ASSERT_TRUE(again.ok() && *again);
    EXPECT_EQ((*again)->cycles, timed->cycles);
    // Rows within one buffer, to before where they are.
    using R = DlaRegister;
    for (const ScheduledCommand& command : schedule.commands) {
      if (command.command != DlaCommand::kMax) continue;
      --copies;
      const RegisterFile& r = command.registers;
      ASSERT_EQ(command.bases.size(), 3u);
      EXPECT_EQ(command.bases[0].buffer, command.bases[2].buffer);
      EXPECT_EQ(r[R::kIn2Addr], r[R::kInAddr]);
      EXPECT_GT(r[R::kOutH], 0);
      EXPECT_LE(r[R::kOutAddr] + r[R::kOutH] * 32, r[R::kInAddr]);
      EXPECT_EQ(r[R::kInAddr] % 32, 0);
      EXPECT_EQ(r[R::kOutAddr] % 32, 0);
    }
    EXPECT_EQ(copies, 0);
  }
}

// Of chains next to each other, and layers beside them.
TEST(ComputeCommandsTest, CountsEveryPieceAsTheLargest) {
  SubgraphPlan plan;
  const WindowAxis three = {3, 1, 1, 1};
  plan.layers =
      ChainOf({three, three, {1, 1, 1, 0}, three, three, three, three}, 10);
  plan.tilings.assign(
      plan.layers.size(),
      {.rows = 2, .columns = 4, .channels = 4, .inputs = plan.layers[0].in.c});
  // By layer: 5 tiles of rows, 2 of channels.
  EXPECT_EQ(ComputeCommands(plan), 7 * 10);
  plan.chains = {{.first = 1, .last = 3, .rows = 4},
                 {.first = 4, .last = 5, .rows = 5}};
  // 3 pieces of up to 6, 6 and 4 rows, and 2 of up to 6 and 5.
  EXPECT_EQ(ComputeCommands(plan),
            10 + 3 * (3 + 3 + 2) * 2 + 2 * (3 + 3) * 2 + 10);
}

TEST(LayersThatPassOnTest, NeedsOneReaderThatLeavesNothingOut) {
  const std::vector<Layer> layers = ChainOf({{3, 1, 1, 1}, {3, 2, 1, 1}}, 9);
  const auto pass_on =
      [](const std::vector<Layer>& of,
         std::vector<TensorId> storage = OwnStorage(4),
         absl::flat_hash_set<TensorId> external = {0, 2}) -> bool {
    return LayersThatPassOn(of, storage, external)[0];
  };
  EXPECT_TRUE(pass_on(layers));
  EXPECT_FALSE(pass_on(layers, OwnStorage(4), {0, 1, 2}));
  {
    std::vector<Layer> other = layers;
    other.push_back(layers[1]);  // Reads it, too.
    other.back().output = 3;
    EXPECT_FALSE(pass_on(other));
  }
  {
    std::vector<Layer> other = layers;
    other[1].vertical.stride = 4;  // Leaves out every fourth row.
    EXPECT_FALSE(pass_on(other));
  }
  {
    std::vector<Layer> other = layers;
    other[1].vertical.pad_before = 3;  // The first window sees padding alone.
    EXPECT_FALSE(pass_on(other));
  }
  {
    std::vector<Layer> other = layers;
    other[1].in = {1, 36, 8};  // As other rows.
    EXPECT_FALSE(pass_on(other));
  }
  {
    std::vector<Layer> other = layers;
    other[1].op = LayerOp::kAlias;
    EXPECT_FALSE(pass_on(other));
  }
}

TEST(InnerPieceTest, IsAsFarFromTheBordersAsItCanBe) {
  const Layer layer = ChainOf({{3, 2, 1, 1}}, 20)[0];
  const Layer inner = InnerPiece(layer, 3);
  EXPECT_EQ(inner.out.h, 3);
  EXPECT_EQ(inner.in.h, 7);
  EXPECT_EQ(inner.vertical.pad_before, 0);
  const Layer all = InnerPiece(layer, 100);
  EXPECT_EQ(all.out.h, layer.out.h);
  EXPECT_EQ(all.in.h, 20);
  EXPECT_EQ(all.vertical.pad_before, 1);
}

}  // namespace
}  // namespace edgekiln::compiler::dla
