#include "compiler/engines/register_job/search.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compiler/engines/register_job/backend.h"
#include "compiler/engines/register_job/choice_memo.h"
#include "compiler/engines/register_job/testing/toy_machine.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler::register_job {
namespace {

constexpr int64_t kBlock = 8;

const OpSpec kSpecs[] = {
    {.name = "Conv",
     .kind = "conv2d",
     .h = 12,
     .w = 10,
     .c = 16,
     .out_c = 24,
     .kernel_h = 3,
     .kernel_w = 3,
     .pad = 1},
    {.name = "Depthwise",
     .kind = "depthwise_conv2d",
     .h = 9,
     .w = 16,
     .c = 40,
     .out_c = 40,
     .kernel_h = 3,
     .kernel_w = 3,
     .stride = 2,
     .pad = 1},
    {.name = "Add", .kind = "add", .h = 7, .w = 12, .c = 20, .out_c = 20},
};

// An op in system memory on an engine with so many bytes.
struct Case {
  Case(const OpSpec& spec, int64_t tile_bytes)
      : bytes(tile_bytes),
        machine(ToyMachine(kBlock, tile_bytes)),
        graph(GraphOf(spec)),
        chip(Chip::Create(machine, 0).value()),
        placement(PlaceOperands(chip, RegionOf(graph, {0}), kRam, {}).value()) {
  }
  int64_t bytes;
  v1::Machine machine;
  Graph graph;
  Chip chip;
  Placement placement;
};

// A recipe that takes the tiling nearest to this one.
v1::register_job::TileDecisions Near(const Tiling& tiling) {
  const auto distance = [](const char* name, int64_t size) {
    return absl::StrCat("(max(", name, ", ", size, ") - min(", name, ", ", size,
                        "))");
  };
  v1::register_job::TileDecisions decisions;
  decisions.add_attempts();
  decisions.set_objective_expr(
      absl::StrCat("0 - ", distance("out_h", tiling.rows), " * 1000000 - ",
                   distance("out_w", tiling.columns), " * 1000 - ",
                   distance("out_c", tiling.channels)));
  return decisions;
}

class SearchTest : public testing::TestWithParam<OpSpec> {};

// Whatever the search leaves out by its bounds.
TEST_P(SearchTest, NoTilingThatFitsTakesLess) {
  for (const int64_t tile_bytes : {4096, 16384, 262144}) {
    const Case on(GetParam(), tile_bytes);
    const auto best = BestChoice(on.placement, on.bytes, {});
    ASSERT_TRUE(best.ok() && best->has_value()) << best.status();
    int64_t least = 0;
    for (const int64_t rows : {1, 2, 3, 4, 5, 6, 7, 8, 9, 12}) {
      for (const int64_t columns : {1, 2, 3, 4, 5, 6, 8, 10, 12, 16}) {
        for (const int64_t channels : {1, 4, 8, 16, 20, 24, 32, 40}) {
          const auto other = BestChoice(on.placement, on.bytes,
                                        Near({rows, columns, channels}));
          ASSERT_TRUE(other.ok() && other->has_value()) << other.status();
          EXPECT_LE((*best)->cycles, (*other)->cycles)
              << rows << " x " << columns << " x " << channels;
          if (least == 0 || (*other)->cycles < least) least = (*other)->cycles;
        }
      }
    }
    // The recipes' loop order is one of the two.
    EXPECT_LE((*best)->cycles, least);
    EXPECT_GT((*best)->cycles, 0);
  }
}

TEST_P(SearchTest, RecipesTakeTheNearestTilingOfTheSearch) {
  const Case on(GetParam(), 262144);
  const Image& out = on.placement.operation.out;
  const auto all =
      BestChoice(on.placement, on.bytes, Near({out.h, out.w, out.c}));
  ASSERT_TRUE(all.ok() && all->has_value()) << all.status();
  EXPECT_EQ((*all)->decision.tiling, (Tiling{out.h, out.w, out.c}));
  const auto one = BestChoice(on.placement, on.bytes, Near({1, 1, 1}));
  ASSERT_TRUE(one.ok() && one->has_value()) << one.status();
  EXPECT_EQ((*one)->decision.tiling, (Tiling{1, 1, 1}));
}

TEST_P(SearchTest, RemembersChoicesByWhatTheyDependOn) {
  ChoiceMemo memo;
  const Case on(GetParam(), 262144);
  for (const int round : {1, 2}) {
    SCOPED_TRACE(round);
    for (const int64_t in_bytes : {4096, 2048, 262144, 131072}) {
      for (const bool one_room : {false, true}) {
        v1::register_job::TileDecisions decisions;
        decisions.set_one_room(one_room);
        const auto plain = BestChoice(on.placement, in_bytes, decisions);
        const auto known = memo.BestChoice(on.placement, in_bytes, decisions);
        ASSERT_TRUE(plain.ok() && known.ok()) << plain.status();
        ASSERT_EQ(plain->has_value(), known->has_value());
        if (!plain->has_value()) continue;
        EXPECT_EQ((*plain)->cycles, (*known)->cycles);
        EXPECT_EQ((*plain)->bytes, (*known)->bytes);
        EXPECT_EQ((*plain)->decision.tiling, (*known)->decision.tiling);
      }
    }
  }
}

TEST(TileSetMakerTest, SharesEqualCuts) {
  const Case on(kSpecs[1], 262144);
  const Operation& operation = on.placement.operation;
  TileSetMaker maker(operation);
  for (const int64_t size : {1, 2, 3, 5, 16}) {
    const Tiling tiling = {std::min(size, operation.out.h),
                           std::min(size, operation.out.w), size};
    const TileSet made = maker.Tiles(tiling);
    const TileSet own(operation, tiling);
    EXPECT_EQ(made.tiles(), own.tiles());
    for (const auto& [a, b] :
         {std::pair(made.h, own.h), std::pair(made.w, own.w),
          std::pair(made.c, own.c)}) {
      ASSERT_EQ(a->cuts.size(), b->cuts.size());
      EXPECT_EQ(a->jobs.of, b->jobs.of);
      EXPECT_EQ(a->moves.of, b->moves.of);
      EXPECT_EQ(a->cuts.back().in_end, b->cuts.back().in_end);
    }
    EXPECT_EQ(maker.Tiles(tiling).c, made.c);
    const TileSet jobs = maker.Jobs(made, 1);
    EXPECT_EQ(jobs.h, made.h);
    EXPECT_EQ(std::ssize(jobs.c->cuts), operation.out.c);
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, SearchTest, testing::ValuesIn(kSpecs),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace edgekiln::compiler::register_job
