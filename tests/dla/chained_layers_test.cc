// Layers in chains, cut in any way: whatever the plan, the chip computes what
// the interpreter does, in as many cycles as the compiler predicts.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "compiler/codegen/compile.h"
#include "compiler/engines/dla/chain.h"
#include "compiler/engines/dla/subgraph.h"
#include "compiler/partition/partition.h"
#include "edgekiln/v1/engines/dla.pb.h"
#include "edgekiln/v1/tiling.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/pipeline/chip_run.h"
#include "tests/pipeline/compiler_run.h"
#include "tests/pipeline/graph_builder.h"
#include "tests/support/shared_data.h"

namespace edgekiln::tests {
namespace {

using compiler::Graph;
using compiler::TensorId;
using compiler::dla::kMostChainLayers;
using compiler::dla::Layer;

MATCHER_P(Refuses, what, "") {
  return arg.code() == absl::StatusCode::kInvalidArgument &&
         testing::ExplainMatchResult(testing::HasSubstr(what),
                                     std::string(arg.message()),
                                     result_listener);
}

// A few layers, each of which reads the one before; additions also what came
// earlier, if it has their shape.
Graph RandomChain(QuantizedGraphBuilder& builder) {
  Rng& rng = builder.rng();
  TensorId x = builder.Input({1, static_cast<int64_t>(rng.InRange(4, 16)),
                              static_cast<int64_t>(rng.InRange(2, 10)),
                              static_cast<int64_t>(rng.InRange(1, 12))});
  TensorId earlier = x;
  const int64_t layers = rng.InRange(2, 5);
  for (int64_t l = 0; l < layers; ++l) {
    const std::vector<int64_t> shape = builder.shape(x);
    const WindowCase window =
        RandomWindow(rng, shape[1], shape[2], rng.InRange(0, 3) == 0);
    const TensorId before = x;
    switch (rng.InRange(0, 6)) {
      case 0:
      case 1:
        x = builder.Conv(x, rng.InRange(1, 20), window, rng.InRange(0, 1) == 0);
        break;
      case 2:
        x = builder.Conv(x, rng.InRange(1, 20), {}, true);
        break;
      case 3:
        x = builder.Depthwise(x, rng.InRange(1, 2), window, false);
        break;
      case 4:
        x = builder.MaxPool(x, window);
        break;
      case 5:
        x = builder.LeakyRelu(x, 0.25f);
        break;
      default:
        x = builder.Add(x, builder.shape(earlier) == shape ? earlier : x);
    }
    earlier = before;
  }
  return builder.Finish({x});
}

// Any cut of the layer that commands can have.
void CutAnyhow(Rng& rng, const Layer& layer,
               v1::dla::RegionDecisions::Layer& decided) {
  const auto up_to = [&](int64_t most) {
    return static_cast<int64_t>(rng.InRange(1, most));
  };
  decided.set_rows(up_to(layer.out.h));
  decided.set_columns(up_to(layer.out.w));
  const int64_t groups = layer.out.c / layer.depth_multiplier;
  decided.set_channels(up_to(groups) * layer.depth_multiplier);
  decided.set_inputs(up_to(layer.in.c));
  decided.set_pixels_outer(rng.InRange(0, 1) == 0);
  decided.set_whole_input(rng.InRange(0, 2) == 0);
  decided.set_double_input(rng.InRange(0, 1) == 0);
  decided.set_double_block(rng.InRange(0, 1) == 0);
  decided.set_double_output(rng.InRange(0, 1) == 0);
  decided.set_keeps_blocks(rng.InRange(0, 1) == 0);
}

class ChainedLayersTest : public testing::Test {
 protected:
  ChainedLayersTest()
      : target_(TargetWithScratchpad("extends: \"dla\"", 1 << 19)) {}

  // The first region of `graph`, planned, and its decisions.
  struct Planned {
    v1::Partition partition;
    v1::RegionPlans plans;
    v1::dla::RegionDecisions decisions;
    std::vector<Layer> layers;
    std::vector<bool> passes_on;
  };
  Planned Plan(const Graph& graph) const {
    Planned planned;
    planned.partition =
        compiler::PartitionGraph(graph, target_.capabilities()).value();
    planned.plans =
        compiler::TilePartition(planned.partition, target_.machine(), {})
            .value();
    const v1::RegionPlan& region = planned.plans.regions(0);
    EXPECT_TRUE(region.decisions().UnpackTo(&planned.decisions));
    const compiler::Region input =
        compiler::RegionOf(graph, {region.ops().begin(), region.ops().end()});
    const auto chip =
        compiler::dla::Chip::Create(target_.machine(), 0, 1 << 19);
    const auto subgraph = compiler::dla::InputOfRegion(*chip, input).value();
    planned.layers = subgraph.layers;
    planned.passes_on = compiler::dla::LayersThatPassOn(
        subgraph.layers, subgraph.storage, subgraph.external);
    return planned;
  }

  static void AddChain(Planned& planned, int32_t first, int32_t last,
                       int64_t rows) {
    v1::dla::RegionDecisions::Chain* const chain =
        planned.decisions.add_chains();
    chain->set_first(first);
    chain->set_last(last);
    chain->set_rows(rows);
  }

  // First and last op.
  using OpChain = std::pair<int32_t, int32_t>;

  absl::StatusOr<compiler::EmitResult> Emit(const Planned& planned) const {
    std::vector<OpChain> chains;
    for (const auto& chain : planned.decisions.chains()) {
      chains.emplace_back(planned.layers[chain.first()].op_index,
                          planned.layers[chain.last()].op_index);
    }
    return Emit(planned, chains);
  }

  absl::StatusOr<compiler::EmitResult> Emit(
      Planned planned, const std::vector<OpChain>& chains) const {
    v1::RegionPlan& region = *planned.plans.mutable_regions(0);
    region.clear_chains();
    for (const auto& [first, last] : chains) {
      v1::RegionPlan::Chain* const ops = region.add_chains();
      ops->set_first(first);
      ops->set_last(last);
    }
    region.mutable_decisions()->PackFrom(planned.decisions);
    return compiler::EmitProgram(planned.partition, planned.plans,
                                 target_.machine());
  }

  const v1::ResolvedTarget target_;
};

TEST_F(ChainedLayersTest, AnyCutIsBitExact) {
  int chained = 0;
  int long_chains = 0;
  for (int round = 0; round < 400; ++round) {
    QuantizedGraphBuilder builder(1000 + round);
    const Graph graph = RandomChain(builder);
    Planned planned = Plan(graph);
    Rng rng(round);
    v1::dla::RegionDecisions& decisions = planned.decisions;
    decisions.clear_chains();
    const auto layers = static_cast<int32_t>(planned.layers.size());
    for (int32_t l = 0; l < layers; ++l) {
      CutAnyhow(rng, planned.layers[l], *decisions.mutable_layers(l));
    }
    for (int32_t l = 0; l < layers; ++l) {
      int32_t last = l;
      while (planned.passes_on[last] && last - l + 1 < kMostChainLayers &&
             rng.InRange(0, 3) > 0) {
        ++last;
      }
      if (last == l) continue;
      AddChain(planned, l, last, rng.InRange(1, planned.layers[last].out.h));
      if (last > l + 1) ++long_chains;
      l = last;
    }
    decisions.set_lookahead(static_cast<int32_t>(rng.InRange(0, 8)));
    decisions.set_buffers(static_cast<int32_t>(rng.InRange(1, 4)));
    decisions.set_fenced(rng.InRange(0, 2) == 0);
    decisions.set_strict(false);
    decisions.set_sram_bytes(1 << 19);
    if (decisions.chains_size() == 0) continue;
    ++chained;
    const auto compiled = Emit(planned);
    ASSERT_TRUE(compiled.ok())
        << "round " << round << ": " << compiled.status();
    const auto same =
        CompareWithInterpreter(graph, target_, *compiled, {builder.Sample()});
    ASSERT_TRUE(same.ok()) << "round " << round << ": " << same.status();
    ASSERT_EQ(same->mismatches, 0)
        << "round " << round << ": " << same->first_mismatch << "\n"
        << decisions.DebugString();
    ASSERT_EQ(same->uncovered, 0) << "round " << round;
    ASSERT_EQ(same->report.cycles(), compiled->program.predicted_cycles())
        << "round " << round;
  }
  EXPECT_GT(chained, 200);
  EXPECT_GT(long_chains, 50);
}

TEST_F(ChainedLayersTest, RefusesChainsThatDoNotPassOn) {
  QuantizedGraphBuilder builder(4);
  TensorId x = builder.Input({1, 8, 8, 4});
  x = builder.Conv(x, 4, {}, true);
  const TensorId y = builder.Conv(x, 4, {}, true);
  const Graph graph = builder.Finish({builder.Add(x, y)});
  const Planned planned = Plan(graph);
  const struct {
    int32_t first;
    int32_t last;
    int64_t rows;
  } kChains[] = {{0, 1, 2},  // Two layers read what the first one makes.
                 {1, 3, 2},  // There are three layers.
                 {-1, 1, 2}, {1, 1, 2}, {2, 1, 2}, {1, 2, 0}, {1, 2, 9}};
  for (const auto& bad : kChains) {
    Planned changed = planned;
    AddChain(changed, bad.first, bad.last, bad.rows);
    EXPECT_THAT(Emit(changed, {}).status(), Refuses("do not pass on"))
        << bad.first << " to " << bad.last;
  }
  // The ops' chains must be the same.
  Planned changed = planned;
  AddChain(changed, 1, 2, 2);
  const auto op = [&](int32_t layer) { return planned.layers[layer].op_index; };
  EXPECT_TRUE(Emit(changed, {{op(1), op(2)}}).ok());
  const std::vector<OpChain> others[] = {
      {}, {{op(0), op(2)}}, {{op(0), op(1)}}};
  for (const std::vector<OpChain>& other : others) {
    EXPECT_THAT(Emit(changed, other).status(), Refuses("chains other ops"))
        << other.size();
  }
}

TEST_F(ChainedLayersTest, RefusesLongChains) {
  QuantizedGraphBuilder builder(5);
  TensorId x = builder.Input({1, 8, 8, 4});
  for (int i = 0; i <= kMostChainLayers; ++i) x = builder.Conv(x, 4, {}, true);
  const Planned planned = Plan(builder.Finish({x}));
  Planned changed = planned;
  AddChain(changed, 0, kMostChainLayers - 1, 2);
  EXPECT_TRUE(Emit(changed).ok());
  changed = planned;
  AddChain(changed, 0, kMostChainLayers, 2);
  EXPECT_THAT(Emit(changed).status(), Refuses("do not pass on"));
}

TEST_F(ChainedLayersTest, RefusesCutsLargerThanTheLayer) {
  QuantizedGraphBuilder builder(6);
  TensorId x = builder.Input({1, 8, 6, 4});
  x = builder.Conv(x, 5, {}, true);
  Planned planned = Plan(builder.Finish({builder.Conv(x, 7, {}, true)}));
  AddChain(planned, 0, 1, 3);
  using Decided = v1::dla::RegionDecisions::Layer;
  const struct {
    void (Decided::*set)(int64_t);
    int64_t most;
  } kCuts[] = {{&Decided::set_rows, 8},
               {&Decided::set_columns, 6},
               {&Decided::set_channels, 7},
               {&Decided::set_inputs, 5}};
  for (const auto& cut : kCuts) {
    for (const int64_t size : {cut.most + 1, int64_t{1} << 62,
                               std::numeric_limits<int64_t>::max()}) {
      Planned changed = planned;
      (changed.decisions.mutable_layers(1)->*cut.set)(size);
      EXPECT_THAT(Emit(changed).status(), Refuses("another graph"))
          << cut.most << ": " << size;
    }
    Planned changed = planned;
    (changed.decisions.mutable_layers(1)->*cut.set)(cut.most);
    EXPECT_TRUE(Emit(changed).ok()) << cut.most;
  }
}

TEST_F(ChainedLayersTest, RefusesMoreCommandsThanAStreamHas) {
  // By layer, commands of 64 x 64 x 72 tiles of an element; and fewer that each
  // take several transfers.
  const struct {
    int64_t columns;
    int64_t channels;
    int64_t rows;  // Of a chain; 0: none.
  } kCuts[] = {{1, 1, 0}, {1, 1, 2}, {2, 1, 0}, {2, 1, 1}};
  QuantizedGraphBuilder builder(7);
  TensorId x = builder.Input({1, 64, 64, 2});
  x = builder.Conv(x, 2, {}, true);
  const Planned planned = Plan(builder.Finish({builder.Conv(x, 72, {}, true)}));
  for (const auto& cut : kCuts) {
    Planned changed = planned;
    v1::dla::RegionDecisions::Layer& layer =
        *changed.decisions.mutable_layers(1);
    layer.set_rows(1);
    layer.set_columns(cut.columns);
    layer.set_channels(cut.channels);
    layer.set_pixels_outer(false);
    if (cut.rows > 0) AddChain(changed, 0, 1, cut.rows);
    EXPECT_THAT(Emit(changed).status(), Refuses("than the 262144 commands"))
        << cut.columns << ", " << cut.rows;
  }
}

}  // namespace
}  // namespace edgekiln::tests
