// Ops of the host between layers of an engine with a layout of its own: they
// compute on the bytes as the engine has them.

#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/chips/case_parts.h"
#include "tests/chips/expect_bit_exact.h"
#include "tests/pipeline/chip_run.h"
#include "tests/pipeline/graph_builder.h"

namespace edgekiln::tests {
namespace {

using compiler::Graph;
using compiler::TensorId;

// Its engine has blocks of 64 channels, words with reversed bytes, and neither
// additions nor pools.
const v1::ResolvedTarget& Target() {
  static const auto* const target =
      new v1::ResolvedTarget(ExtendingTarget("diana-analog", "", 256 << 10));
  return *target;
}

v1::TileRecipe RecipeOf(const v1::ResolvedTarget& target,
                        const std::string& name) {
  for (const v1::ResolvedRecipe& recipe : target.recipes()) {
    if (recipe.name() == name) return recipe.tile();
  }
  ADD_FAILURE() << "no recipe " << name;
  return {};
}

QuantizedGraphBuilder Builder(uint64_t seed) {
  QuantizedGraphBuilder builder(seed);
  builder.UseShifts(v1::FLOOR);
  builder.ShareScale();
  builder.UseConverters(100);
  builder.LeaveOutConvertedBiases();
  return builder;
}

WindowCase WholeImage(const QuantizedGraphBuilder& builder, TensorId x) {
  WindowCase window;
  window.kernel[0] = builder.shape(x)[1];
  window.kernel[1] = builder.shape(x)[2];
  return window;
}

// Moves by the host's code between two layouts.
int Rearranged(const v1::Program& program) {
  int moves = 0;
  for (const v1::Program::Step& step : program.steps()) {
    moves += step.has_move() && step.move().link() < 0;
  }
  return moves;
}

int Rearranged(const Graph& graph, const std::string& recipe) {
  const v1::ResolvedTarget& target = Target();
  const auto compiled =
      CompileQuantized(graph, target, RecipeOf(target, recipe));
  EXPECT_TRUE(compiled.ok()) << compiled.status();
  return compiled.ok() ? Rearranged(compiled->program) : -1;
}

void ExpectBitExactBy(const std::string& recipe, const Graph& graph,
                      QuantizedGraphBuilder& builder) {
  const v1::ResolvedTarget& target = Target();
  ExpectBitExact(graph, target, {builder.Sample(), builder.Sample()},
                 RecipeOf(target, recipe));
}

// Two sums, the second of which only the first one's maker and the host read.
Graph Sums(QuantizedGraphBuilder& builder, int64_t channels) {
  const TensorId x = builder.Conv(builder.Input({1, 3, 5, 3}), channels, {},
                                  /*relu=*/true);
  const TensorId y = builder.Conv(x, channels, {}, false);
  const TensorId z = builder.Conv(x, channels, {}, false);
  const TensorId sum = builder.Add(builder.Add(x, y), z);
  return builder.Finish({builder.Conv(sum, 5, {}, false)});
}

// Nothing but the network's input and output is rearranged, whether channels
// fill a block or not, if the image has whole words.
TEST(HostOrdersTest, SumsRearrangeNothing) {
  for (const char* recipe : {"default", "htvm"}) {
    for (const int64_t channels : {4, 60, 64}) {
      SCOPED_TRACE(testing::Message() << recipe << " " << channels);
      QuantizedGraphBuilder builder = Builder(1);
      const Graph graph = Sums(builder, channels);
      EXPECT_EQ(Rearranged(graph, recipe), 2);
      ExpectBitExactBy(recipe, graph, builder);
    }
  }
}

// A last block that is not full leaves gaps, and a last word.
TEST(HostOrdersTest, GapsAreTheHostsToRearrange) {
  for (const int64_t channels : {7, 100}) {
    SCOPED_TRACE(channels);
    QuantizedGraphBuilder builder = Builder(2);
    const Graph graph = Sums(builder, channels);
    EXPECT_GT(Rearranged(graph, "htvm"), 4);
    ExpectBitExactBy("htvm", graph, builder);
  }
}

// A pool behind a sum reads it as it lies; recipe htvm has it dense.
TEST(HostOrdersTest, PoolsKeepTheChannelsOrder) {
  for (const bool maximum : {false, true}) {
    SCOPED_TRACE(maximum ? "maximum" : "average");
    QuantizedGraphBuilder builder = Builder(3);
    const TensorId x = builder.Conv(builder.Input({1, 4, 6, 3}), 32, {}, true);
    const TensorId sum = builder.Add(x, builder.Conv(x, 32, {}, false));
    const WindowCase window = WholeImage(builder, sum);
    const TensorId pool = maximum ? builder.MaxPool(sum, window)
                                  : builder.AveragePool(sum, window);
    const Graph graph = builder.Finish({builder.Conv(pool, 5, {}, false)});
    EXPECT_EQ(Rearranged(graph, "default"), 2);
    EXPECT_GT(Rearranged(graph, "htvm"), 3);
    ExpectBitExactBy("default", graph, builder);
    ExpectBitExactBy("htvm", graph, builder);
  }
}

// A pool in front of a layer of the host puts its result in plain order, also
// of several blocks of channels, and of a last one that is not full in none.
TEST(HostOrdersTest, PoolsRestoreThePlainOrder) {
  struct Case {
    int64_t channels;
    bool rearranges;
  };
  for (const auto& [channels, rearranges] :
       {Case{32, false}, Case{64, false}, Case{128, false}, Case{100, true}}) {
    for (const bool maximum : {false, true}) {
      SCOPED_TRACE(testing::Message() << channels << " " << maximum);
      QuantizedGraphBuilder builder = Builder(6);
      const TensorId x =
          builder.Conv(builder.Input({1, 4, 6, 3}), channels, {}, true);
      const TensorId sum = builder.Add(x, builder.Conv(x, channels, {}, false));
      const WindowCase window = WholeImage(builder, sum);
      const TensorId pool = maximum ? builder.MaxPool(sum, window)
                                    : builder.AveragePool(sum, window);
      const Graph graph = builder.Finish({pool});
      // The network's input, and the result of the pool there and back.
      if (rearranges) {
        EXPECT_GT(Rearranged(graph, "default"), 3);
      } else {
        EXPECT_EQ(Rearranged(graph, "default"), 3);
      }
      ExpectBitExactBy("default", graph, builder);
      ExpectBitExactBy("htvm", graph, builder);
    }
  }
}

// Where the caller sees a sum, it is dense, and so are its operands.
TEST(HostOrdersTest, WhatTheCallerSeesIsDense) {
  QuantizedGraphBuilder builder = Builder(4);
  const TensorId x = builder.Conv(builder.Input({1, 4, 6, 3}), 16, {}, true);
  const TensorId sum = builder.Add(x, builder.Conv(x, 16, {}, false));
  const Graph graph = builder.Finish({builder.Conv(sum, 5, {}, false), sum});
  EXPECT_GT(Rearranged(graph, "default"), 3);
  ExpectBitExactBy("default", graph, builder);
}

// Layers, sums, minima and pools in any order, of tensors with many readers.
Graph RandomNet(QuantizedGraphBuilder& builder) {
  Rng& rng = builder.rng();
  const int64_t channels = OneOf<int64_t>(rng, {3, 4, 6, 16, 64, 96, 128});
  WindowCase same;  // Keeps the extents.
  same.kernel[0] = same.kernel[1] = 3;
  for (int32_t& pad : same.pad) pad = 1;
  const TensorId image =
      builder.Input({1, rng.InRange(2, 7), rng.InRange(2, 7), 3});
  std::vector<TensorId> unread = {builder.Conv(image, channels, {}, true)};
  std::vector<TensorId> all = unread;
  for (int64_t op = rng.InRange(3, 8); op > 0; --op) {
    const TensorId x = OneOf(rng, all);
    const TensorId y = unread[0];
    std::erase_if(unread, [&](TensorId t) { return t == x || t == y; });
    switch (rng.Below(5)) {
      case 0:
        all.push_back(builder.Add(builder.Conv(x, channels, {}, true), y));
        break;
      case 1:
      case 2:
        all.push_back(builder.Add(x, y));
        break;
      case 3:
        all.push_back(builder.Minimum(builder.Abs(x), y));
        break;
      default:
        all.push_back(builder.Add(builder.MaxPool(x, same), y));
    }
    unread.push_back(all.back());
  }
  TensorId last = unread[0];
  for (size_t i = 1; i < unread.size(); ++i) {
    last = builder.Add(last, unread[i]);
  }
  if (rng.Below(2) == 0) {
    last = builder.AveragePool(last, WholeImage(builder, last));
  }
  return builder.Finish({builder.Conv(last, rng.InRange(1, 70), {}, false)});
}

// Branches run in any order, so that the places of tensors tell nothing by the
// layers' numbers: values and cycles do.
TEST(HostOrdersTest, RandomNetworksAreBitExact) {
  const v1::ResolvedTarget& target = Target();
  for (uint64_t seed = 0; seed < 24; ++seed) {
    SCOPED_TRACE(seed);
    QuantizedGraphBuilder builder = Builder(100 + seed);
    const Graph graph = RandomNet(builder);
    const auto compiled = CompileQuantized(
        graph, target, RecipeOf(target, seed % 3 == 0 ? "htvm" : "default"));
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    const auto result = CompareWithInterpreter(
        graph, target, *compiled, {builder.Sample(), builder.Sample()});
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->mismatches, 0) << result->first_mismatch;
    EXPECT_GT(result->compared, 0);
    EXPECT_EQ(result->uncovered, 0);
    EXPECT_EQ(compiled->program.predicted_cycles(), result->report.cycles());
  }
}

}  // namespace
}  // namespace edgekiln::tests
