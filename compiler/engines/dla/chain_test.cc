#include "compiler/engines/dla/chain.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/rng.h"
#include "compiler/engines/dla/plan_timing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

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
  // Two rows of 32 bytes, for each piece but the first.
  EXPECT_EQ(counts.copies, 2);
  EXPECT_EQ(counts.copied_bytes, 2 * 2 * 32);
}

TEST(CopiesOfTest, WhatIsReadAndWrittenDoesNotOverlap) {
  EXPECT_EQ(CopiesOf(4, 2), 1);
  EXPECT_EQ(CopiesOf(2, 2), 1);
  EXPECT_EQ(CopiesOf(1, 2), 2);
  EXPECT_EQ(CopiesOf(0, 2), 0);  // They are there.
}

TEST(PiecesOfChainTest, LeaveOutNoRow) {
  Rng rng(5);
  int chains = 0;
  int copied = 0;
  int nothing_made = 0;
  for (int round = 0; round < 2000; ++round) {
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
    std::vector<int64_t> made(layers.size(), 0);  // Rows, from the first on.
    std::vector<Rows> before(layers.size());      // That buffers hold.
    for (const PieceRows& rows : PiecesOfChain(layers, chain)) {
      for (size_t k = 0; k < layers.size(); ++k) {
        const Rows& new_rows = rows.made[k + 1];
        EXPECT_LE(new_rows.begin, made[k]) << "round " << round;
        if (chain.copies_rows) {
          EXPECT_EQ(new_rows.begin, made[k]) << "round " << round;
        }
        made[k] = std::max(made[k], new_rows.end);
        if (new_rows.count() == 0) ++nothing_made;
        // What is held and not made was in the buffer before.
        const Rows& held = rows.held[k + 1];
        EXPECT_EQ(held.end, new_rows.end) << "round " << round;
        if (held.begin < new_rows.begin) {
          ++copied;
          EXPECT_GE(held.begin, before[k].begin) << "round " << round;
          EXPECT_LE(new_rows.begin, before[k].end) << "round " << round;
        }
        before[k] = held;
        // Every row that a window covers is there.
        for (int64_t row = new_rows.begin; row < new_rows.end; ++row) {
          const AxisInput read =
              InputOfAxis(layers[k].vertical, layers[k].in.h, row, row + 1);
          EXPECT_LE(rows.held[k].begin, read.begin) << "round " << round;
          EXPECT_GE(rows.held[k].end, read.end) << "round " << round;
        }
      }
    }
    for (size_t k = 0; k < layers.size(); ++k) {
      EXPECT_EQ(made[k], layers[k].out.h) << "round " << round;
    }
  }
  EXPECT_GT(chains, 300);
  EXPECT_GT(copied, 300);
  EXPECT_GT(nothing_made, 10);
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
