#include "compiler/engines/dla/overlapped_search.h"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "compiler/engines/dla/bound.h"
#include "compiler/engines/dla/plan_timing.h"
#include "compiler/engines/dla/residency.h"
#include "compiler/engines/dla/testing/small_networks.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler::dla {
namespace {

// The search has one choice for several sizes: its plan is as good as those of
// choices made for each.
TEST(FindOverlappedTest, NoChoiceForASizeThatIsTriedHasABetterPlan) {
  Rng rng(27);
  Graph graph;
  graph.tensors.resize(8);
  graph.ops.resize(8);
  int planned = 0;
  int shared = 0;
  int differ = 0;
  for (int round = 0; round < 60; ++round) {
    const Chip chip = TestChip(round % 2 == 0, rng.InRange(200, 20000));
    const SubgraphInput input = RandomNet(
        rng, static_cast<int>(rng.InRange(2, 6)), /*tall=*/true, graph);
    std::vector<TilingSearch> searches = SearchesOf(chip, input);
    const Bound bound =
        BoundOf(chip, input, searches, /*chains=*/false).value();
    const auto found =
        FindOverlapped(chip, input, searches, bound, /*may_chain=*/false);
    ASSERT_TRUE(found.ok()) << found.status();
    std::optional<TimedPlan> best;
    std::optional<ResidencyChoice> before;
    Schedule scratch;
    int64_t size = RoundSize(chip.sram_bytes());
    for (int i = 0; i < 8 && size > 0; ++i, size = RoundSize(size - 1)) {
      searches = SearchesOf(chip, input);
      std::optional<ResidencyChoice> choice =
          ChooseResidency(input, searches, size).value();
      // Estimates are that near.
      if (!choice ||
          (best && choice->cycles - choice->cycles / 1000 > best->cycles)) {
        break;
      }
      int64_t commands = 0;
      std::optional<TimedPlan> plan =
          RunAhead(chip, input.storage, choice->plan, size, scratch, commands)
              .value();
      if (plan && (!best || IsBetter(*plan, *best))) best = std::move(plan);
      if (before && before->sram_bytes <= size) {
        ++shared;
      } else if (before) {
        ++differ;
      }
      before = std::move(choice);
    }
    if (!best) continue;
    ++planned;
    ASSERT_TRUE(found->has_value()) << "round " << round;
    EXPECT_LE((*found)->cycles, best->cycles) << "round " << round;
  }
  EXPECT_GT(planned, 30);
  EXPECT_GT(shared, 30);
  EXPECT_GT(differ, 30);
}

}  // namespace
}  // namespace edgekiln::compiler::dla
