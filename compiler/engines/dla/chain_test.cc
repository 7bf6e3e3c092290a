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

TEST(RowsOfPieceTest, HasWhatTheNextLayerReads) {
  // A window of three rows, and one of a single row over its outputs.
  const std::vector<Layer> layers =
      ChainOf({{1, 1, 1, 0}, {3, 1, 1, 1}, {1, 1, 1, 0}}, 10);
  const Chain chain = {.first = 0, .last = 2, .rows = 4};
  ASSERT_EQ(PiecesOf(layers, chain), 3);
  EXPECT_THAT(RowsOfPiece(layers, chain, 0),
              ElementsAre(Rows{0, 5}, Rows{0, 5}, Rows{0, 4}, Rows{0, 4}));
  EXPECT_THAT(RowsOfPiece(layers, chain, 1),
              ElementsAre(Rows{3, 9}, Rows{3, 9}, Rows{4, 8}, Rows{4, 8}));
  EXPECT_THAT(RowsOfPiece(layers, chain, 2),
              ElementsAre(Rows{7, 10}, Rows{7, 10}, Rows{8, 10}, Rows{8, 10}));
  const RowCounts counts = CountRows(layers, chain);
  EXPECT_THAT(counts.most, ElementsAre(6, 6, 4, 4));
  EXPECT_THAT(counts.all, ElementsAre(14, 14, 10, 10));
}

TEST(RowsOfPieceTest, LeavesOutNoRow) {
  Rng rng(5);
  int chains = 0;
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
        .rows = static_cast<int64_t>(rng.InRange(1, layers.back().out.h))};
    std::vector<int64_t> made(layers.size(), 0);  // Rows, from the first on.
    for (int64_t piece = 0; piece < PiecesOf(layers, chain); ++piece) {
      const std::vector<Rows> rows = RowsOfPiece(layers, chain, piece);
      for (size_t k = 0; k < layers.size(); ++k) {
        EXPECT_LE(rows[k + 1].begin, made[k]) << "round " << round;
        made[k] = std::max(made[k], rows[k + 1].end);
        // Every row that a window covers is there.
        for (int64_t row = rows[k + 1].begin; row < rows[k + 1].end; ++row) {
          const AxisInput read =
              InputOfAxis(layers[k].vertical, layers[k].in.h, row, row + 1);
          EXPECT_LE(rows[k].begin, read.begin) << "round " << round;
          EXPECT_GE(rows[k].end, read.end) << "round " << round;
        }
      }
    }
    for (size_t k = 0; k < layers.size(); ++k) {
      EXPECT_EQ(made[k], layers[k].out.h) << "round " << round;
    }
  }
  EXPECT_GT(chains, 300);
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
