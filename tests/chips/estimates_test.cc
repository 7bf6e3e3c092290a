// What back ends estimate before anything is planned, against their plans.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compiler/codegen/backends.h"
#include "compiler/codegen/compile.h"
#include "compiler/engines/backend.h"
#include "compiler/ir/graph.h"
#include "compiler/partition/partition.h"
#include "gtest/gtest.h"
#include "tests/chips/chip_cases.h"
#include "tests/pipeline/compiler_run.h"
#include "tests/support/shared_data.h"

namespace edgekiln::tests {
namespace {

using compiler::Graph;

class EstimatesTest : public testing::TestWithParam<const ChipCase*> {};

// Of all regions of a network, in cycles.
struct Cycles {
  int64_t estimated = 0;
  int64_t planned = 0;
};

Cycles CyclesOf(const Graph& simplified, const v1::ResolvedTarget& target) {
  Cycles cycles;
  const auto partition =
      compiler::PartitionGraph(simplified, target.capabilities());
  EXPECT_TRUE(partition.ok()) << partition.status();
  const auto plans =
      compiler::TilePartition(*partition, target.machine(), v1::TileRecipe());
  EXPECT_TRUE(plans.ok()) << plans.status();
  if (!partition.ok() || !plans.ok()) return cycles;
  const auto graph = compiler::GraphFromProto(partition->graph());
  EXPECT_TRUE(graph.ok()) << graph.status();
  for (const v1::RegionPlan& plan : plans->regions()) {
    const auto backend = compiler::FindBackend(target.machine(), plan.engine());
    EXPECT_TRUE(backend.ok()) << backend.status();
    const auto estimate = (*backend)->EstimateCycles(
        compiler::RegionOf(*graph, {plan.ops().begin(), plan.ops().end()}),
        target.machine(), plan.engine());
    EXPECT_TRUE(estimate.ok()) << estimate.status();
    cycles.estimated += estimate.value_or(0);
    cycles.planned += plan.predicted_cycles();
  }
  return cycles;
}

// Close, and telling the faster chip wherever the difference is worth it.
TEST_P(EstimatesTest, AreCloseToPlans) {
  for (const std::string& file : GetParam()->networks) {
    SCOPED_TRACE(file);
    EK_REQUIRE_SHARED(absl::StrCat("models/", file));
    const auto graph = SimplifiedGraph(
        ReadWholeFile(SharedPath(absl::StrCat("models/", file))));
    ASSERT_TRUE(graph.ok()) << graph.status();
    std::vector<Cycles> all;
    for (const v1::ResolvedTarget& target : GetParam()->roomy_targets) {
      all.push_back(CyclesOf(*graph, target));
      const double ratio = static_cast<double>(all.back().estimated) /
                           static_cast<double>(all.back().planned);
      EXPECT_GT(ratio, 0.75) << target.DebugString().substr(0, 200);
      EXPECT_LT(ratio, 1.1) << target.DebugString().substr(0, 200);
    }
    for (const Cycles& a : all) {
      for (const Cycles& b : all) {
        if (a.planned * 4 > b.planned * 3) continue;
        EXPECT_LT(a.estimated, b.estimated);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Chips, EstimatesTest, testing::ValuesIn(AllChips()),
                         [](const auto& info) { return info.param->name; });

}  // namespace
}  // namespace edgekiln::tests
