// Every recipe of every chip: it decides how, never what.

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "compiler/partition/partition.h"
#include "gtest/gtest.h"
#include "tests/chips/chip_cases.h"
#include "tests/chips/expect_bit_exact.h"
#include "tests/chips/smallest_scratchpad.h"
#include "tests/pipeline/chip_run.h"

namespace edgekiln::tests {
namespace {

using compiler::Graph;

constexpr int kMaxSeeds = 6;

// A chip and one of its recipes.
struct RecipeCase {
  const ChipCase* chip;
  std::string recipe;

  v1::ResolvedRecipe Of(const v1::ResolvedTarget& target) const {
    for (const v1::ResolvedRecipe& each : target.recipes()) {
      if (each.name() == recipe) return each;
    }
    ADD_FAILURE() << target.name() << " has no recipe " << recipe;
    return {};
  }

  // The target as the recipe has ops placed on it.
  v1::ResolvedTarget Ordered(v1::ResolvedTarget target) const {
    auto ordered = compiler::InOrderOf(
        Of(target).partition(), std::move(*target.mutable_capabilities()));
    EXPECT_TRUE(ordered.ok()) << ordered.status();
    *target.mutable_capabilities() = *std::move(ordered);
    return target;
  }

  // The chip whose targets are all like that.
  ChipCase Chip() const {
    ChipCase ordered = *chip;
    ordered.target = [*this](int64_t bytes) {
      return Ordered(chip->target(bytes));
    };
    ordered.random_target = [*this](Rng& rng, int64_t bytes) {
      return Ordered(chip->random_target(rng, bytes));
    };
    return ordered;
  }
};

void PrintTo(const RecipeCase& c, std::ostream* out) {
  *out << c.chip->name << " " << c.recipe;
}

std::vector<RecipeCase> AllRecipes() {
  std::vector<RecipeCase> cases;
  for (const ChipCase* chip : AllChips()) {
    const v1::ResolvedTarget target = chip->target(1 << 20);
    for (const v1::ResolvedRecipe& recipe : target.recipes()) {
      cases.push_back({chip, recipe.name()});
    }
  }
  return cases;
}

class RecipeTest : public testing::TestWithParam<RecipeCase> {
 protected:
  template <typename Check>
  void ForGraphs(const Check& check) {
    for (const GraphKind& kind : GetParam().chip->graphs) {
      const int seeds = std::min(kMaxSeeds, GetParam().chip->seeds);
      for (int seed = 0; seed < seeds; ++seed) {
        SCOPED_TRACE(absl::StrCat(kind.name, " ", seed));
        // Others than those that are compiled with no recipe.
        QuantizedGraphBuilder builder =
            BuilderFor(*GetParam().chip,
                       kind.first_seed + 500 + static_cast<uint64_t>(seed));
        const Graph graph = kind.make(builder);
        check(builder, graph);
      }
    }
  }

  v1::TileRecipe Recipe(const v1::ResolvedTarget& target) const {
    return GetParam().Of(target).tile();
  }
};

TEST_P(RecipeTest, IsBitExactFromTheSmallestSizeOn) {
  const ChipCase chip = GetParam().Chip();
  const v1::TileRecipe recipe = Recipe(chip.target(1 << 20));
  ForGraphs([&](QuantizedGraphBuilder& builder, const Graph& graph) {
    const int64_t smallest = SmallestScratchpad(chip, graph, recipe);
    Rng& rng = builder.rng();
    const std::vector<std::string> samples = {builder.Sample(),
                                              builder.Sample()};
    for (const int64_t bytes : {smallest, smallest + rng.InRange(1, 300),
                                smallest * 4, int64_t{1} << 20}) {
      SCOPED_TRACE(testing::Message() << "scratchpad " << bytes);
      ExpectBitExact(graph, chip.random_target(rng, bytes), samples, recipe);
    }
  });
}

TEST_P(RecipeTest, ItsSmallestScratchpadIsExact) {
  const ChipCase chip = GetParam().Chip();
  const v1::TileRecipe recipe = Recipe(chip.target(1 << 20));
  ForGraphs([&](QuantizedGraphBuilder&, const Graph& graph) {
    const int64_t smallest = SmallestScratchpad(chip, graph, recipe);
    const auto fits = CompileQuantized(graph, chip.target(smallest), recipe);
    ASSERT_TRUE(fits.ok()) << fits.status();
    EXPECT_LE(fits->program.sram_peak_bytes(), smallest);
    const auto below =
        CompileQuantized(graph, chip.target(smallest - 1), recipe);
    EXPECT_EQ(SmallestSramOf(below.status()), smallest) << below.status();
  });
}

TEST_P(RecipeTest, MakesAnotherProgramIfItDecidesAnything) {
  const v1::ResolvedTarget target = GetParam().chip->target(1 << 20);
  const v1::TileRecipe recipe = Recipe(target);
  int others = 0;
  ForGraphs([&](QuantizedGraphBuilder&, const Graph& graph) {
    const auto without = CompileQuantized(graph, target);
    const auto with =
        CompileQuantized(graph, GetParam().Ordered(target), recipe);
    ASSERT_TRUE(without.ok()) << without.status();
    ASSERT_TRUE(with.ok()) << with.status();
    others += with->program.SerializeAsString() !=
              without->program.SerializeAsString();
  });
  EXPECT_EQ(others > 0, recipe.engines_size() > 0);
}

// What is no message of the engine's model is refused, not passed over.
TEST_P(RecipeTest, DecisionsOfOthersAreRefused) {
  const v1::ResolvedTarget target = GetParam().chip->target(1 << 20);
  const GraphKind& kind = GetParam().chip->graphs.front();
  QuantizedGraphBuilder builder = BuilderFor(*GetParam().chip, kind.first_seed);
  const Graph graph = kind.make(builder);
  v1::TileRecipe foreign;
  foreign.add_engines()->mutable_decisions()->PackFrom(v1::Setting());
  EXPECT_EQ(CompileQuantized(graph, target, foreign).status().code(),
            absl::StatusCode::kInvalidArgument);
  // Of all engines: the graph need not use each.
  v1::TileRecipe damaged = Recipe(target);
  if (damaged.engines().empty()) return;
  for (v1::TileRecipe::Engine& engine : *damaged.mutable_engines()) {
    engine.mutable_decisions()->set_value("\xff");
  }
  EXPECT_EQ(CompileQuantized(graph, target, damaged).status().code(),
            absl::StatusCode::kInvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(All, RecipeTest, testing::ValuesIn(AllRecipes()),
                         [](const auto& info) {
                           return absl::StrReplaceAll(
                               absl::StrCat(info.param.chip->name, "_",
                                            info.param.recipe),
                               {{"-", "_"}});
                         });

}  // namespace
}  // namespace edgekiln::tests
