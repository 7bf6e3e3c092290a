#include "compiler/engines/dla/planner.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/rng.h"
#include "compiler/engines/dla/cycle_limit.h"
#include "compiler/engines/dla/encode.h"
#include "compiler/engines/dla/hazards.h"
#include "compiler/engines/dla/schedule.h"
#include "compiler/engines/dla/testing/small_networks.h"
#include "compiler/engines/dla/tiling_costs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "target/command_timing.h"
#include "target/resolve.h"

namespace edgekiln::compiler::dla {
namespace {

using ::testing::HasSubstr;

// The plan of a network that is this layer, op "wide", alone.
absl::StatusOr<TimedPlan> PlanOfLayer(Layer layer, const Chip& chip) {
  Graph graph;
  graph.tensors.resize(2);
  graph.ops.resize(1);
  graph.ops[0].id = "wide";
  layer.op_index = 0;
  layer.input = 0;
  layer.output = 1;
  SubgraphInput input;
  input.graph = &graph;
  input.layers = {layer};
  input.storage = {0, 1};
  input.external = {0, 1};
  return PlanSubgraph(chip, input, {});
}

absl::StatusOr<TimedPlan> PlanOf(const Layer& layer, const std::string& target,
                                 int64_t sram_bytes) {
  const auto resolved = target::ResolveTarget("extends: \"" + target + "\"");
  return PlanOfLayer(layer,
                     Chip::Create(resolved->machine(), 0, sram_bytes).value());
}

// A depthwise convolution by OP_CONV, over `rows` rows of many channels.
absl::StatusOr<TimedPlan> PlanByChannel(int64_t rows, int64_t sram_bytes) {
  Layer layer;
  layer.op = LayerOp::kDepthwise;
  layer.by_channel = true;
  layer.in = layer.out = {rows, 1, 60000};
  layer.vertical = layer.horizontal = {1, 1, 1, 0};
  return PlanOf(layer, "dla-64-o-512k-swdw", sram_bytes);
}

// What RunAhead() leaves out.
TEST(BuildScheduleTest, MoreBuffersThanTilesChangeNothing) {
  const auto resolved = target::ResolveTarget("extends: \"dla-64-o-512k\"");
  const Chip chip = Chip::Create(resolved->machine(), 0, 1 << 19).value();
  const auto code = [&](int64_t rows, int buffers, int& most) {
    SubgraphPlan plan;
    Layer layer;
    layer.op = LayerOp::kMaxPool;
    layer.input = 0;
    layer.output = 1;
    layer.in = layer.out = {8, 4, 16};
    layer.vertical = layer.horizontal = {1, 1, 1, 0};
    plan.layers = {layer};
    plan.tilings = {{.rows = rows,
                     .columns = 4,
                     .channels = 16,
                     .inputs = 16,
                     .double_input = true,
                     .double_output = true}};
    plan.external = {0, 1};
    plan.lookahead = 32;
    plan.buffers = buffers;
    SystemMap system;
    system.tensors = {{0, 0}, {1, 4096}};
    const Schedule schedule = BuildSchedule(plan, system, {0, 1}, 1 << 19);
    most = schedule.most_buffers;
    const OffsetPlan offsets = AllocateOffsets(schedule.buffers);
    return EncodeStream(chip, schedule, offsets.offsets,
                        WaitCounts(schedule, offsets.offsets))
        ->code;
  };
  int most = 0;
  EXPECT_EQ(code(4, 8, most), code(4, 2, most));
  EXPECT_EQ(most, 2);
  const std::string many = code(1, 8, most);
  EXPECT_EQ(most, 8);
  EXPECT_NE(many, code(1, 2, most));
  EXPECT_EQ(most, 2);
}

// Blocks that a chain keeps take no turns, however many they are.
TEST(BuildScheduleTest, KeptBlocksAreNotBuffersInTurn) {
  SubgraphPlan plan;
  Layer layer;
  layer.op = LayerOp::kConv;
  layer.in = layer.out = {8, 4, 16};
  layer.vertical = layer.horizontal = {1, 1, 1, 0};
  for (TensorId tensor = 0; tensor < 2; ++tensor) {
    layer.input = tensor;
    layer.output = tensor + 1;
    plan.layers.push_back(layer);
  }
  plan.tilings.assign(2, {.rows = 4,
                          .columns = 4,
                          .channels = 2,
                          .inputs = 16,
                          .double_block = true,
                          .keeps_blocks = true});
  plan.external = {0, 2};
  plan.chains = {{.first = 0, .last = 1, .rows = 4}};
  plan.buffers = 2;
  SystemMap system;
  system.tensors = {{0, 0}, {1, 4096}, {2, 8192}};
  const auto most = [&] {
    return BuildSchedule(plan, system, {0, 1, 2}, 1 << 19).most_buffers;
  };
  EXPECT_EQ(most(), 1);
  for (Tiling& tiling : plan.tilings) tiling.keeps_blocks = false;
  EXPECT_EQ(most(), 2);
}

TEST(PlanSubgraphTest, ByChannelATileTakesACommandForEach) {
  const auto plan = PlanByChannel(4, 1 << 19);
  ASSERT_TRUE(plan.ok()) << plan.status();
  // 60 000 commands: 8 cycles to fill, and 4 pixels.
  EXPECT_GE(plan->cycles, 60000 * 12);
  EXPECT_LE(plan->cycles, 60000 * 20);
}

TEST(PlanSubgraphTest, TooManyCommandsNameTheLayer) {
  const absl::Status status = PlanByChannel(1000, 200).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  const auto detail = GetErrorDetail(status);
  ASSERT_TRUE(detail.has_value()) << status;
  EXPECT_EQ(detail->fault, Fault::kUser);
  EXPECT_EQ(detail->reason, "STREAM_TOO_LONG");
  EXPECT_THAT(detail->where, HasSubstr("wide"));
  EXPECT_THAT(detail->limit, HasSubstr("262144"));
}

// Tiles of some columns and channels are moved row by row, so that transfers
// are most of the commands.
TEST(PlanSubgraphTest, TooManyTransfersNameTheLayerAndASize) {
  Layer layer;
  layer.op = LayerOp::kMaxPool;
  layer.in = {37, 37, 40};
  layer.out = {30, 30, 40};
  layer.vertical = layer.horizontal = {8, 1, 1, 0};
  const auto plan = [&](int64_t sram_bytes) {
    return PlanOf(layer, "dla-64-o-512k", sram_bytes);
  };
  const auto detail = GetErrorDetail(plan(70).status());
  ASSERT_TRUE(detail.has_value()) << plan(70).status();
  EXPECT_EQ(detail->reason, "STREAM_TOO_LONG");
  const size_t at = detail->fix.find("at least ");
  ASSERT_NE(at, std::string::npos) << detail->fix;
  const auto enough = plan(std::stoll(detail->fix.substr(at + 9)));
  EXPECT_TRUE(enough.ok()) << enough.status();
}

// Partitioning gives no such layer to the engine.
TEST(PlanSubgraphTest, APlanThatDoesNotFitItsRegistersIsRefused) {
  Layer layer;
  layer.op = LayerOp::kConv;
  layer.in = layer.out = {1, 1, 8};
  layer.vertical = layer.horizontal = {1, 65535, 1, 0};
  EXPECT_TRUE(PlanOf(layer, "dla-64-o-512k", 1 << 19).ok());
  layer.vertical.stride = 65536;
  const absl::Status status = PlanOf(layer, "dla-64-o-512k", 1 << 19).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()), HasSubstr("STRIDE_H"));
}

// Of sizes with three significant bits, some of which a larger one looks at as
// well: the search for smaller ones ends where they are unlikely to be better.
TEST(PlanSubgraphTest, MoreSramSeldomCostsCyclesOfSmallNetworks) {
  Rng rng(3);
  int pairs = 0;
  int rises = 0;
  for (int round = 0; round < 24; ++round) {
    Graph graph;
    const int layers = static_cast<int>(rng.InRange(2, 7));
    graph.tensors.resize(layers + 1);
    graph.ops.resize(layers);
    const SubgraphInput input = RandomTinyNet(rng, layers, graph);
    const std::string settings = absl::StrCat(
        "extends: \"dla\" set { name: \"pes\" value: ", 1 << rng.InRange(0, 7),
        " } set { name: \"output_parallel\" value: ", rng.InRange(0, 1), " }");
    const auto target = target::ResolveTarget(settings);
    ASSERT_TRUE(target.ok()) << target.status();
    const auto chip = [&](int64_t sram_bytes) {
      return Chip::Create(target->machine(), 0, sram_bytes).value();
    };
    const Chip any = chip(1 << 19);
    int64_t smallest = 0;
    for (const Layer& layer : input.layers) {
      smallest = std::max(smallest, SmallestSram(any, layer));
    }
    std::set<int64_t> sizes = {1 << 19};
    for (int i = 0; i < 8; ++i) {
      const int64_t size = CoarseSizeBelow(
          smallest + rng.InRange(1, smallest << rng.InRange(0, 5)));
      if (size >= smallest) sizes.insert(size);
    }
    int64_t of_smaller = std::numeric_limits<int64_t>::max();
    for (const int64_t size : sizes) {
      const auto plan = PlanSubgraph(chip(size), input, {});
      ASSERT_TRUE(plan.ok()) << plan.status();
      ++pairs;
      if (plan->cycles > of_smaller) {
        ++rises;
        // By at most 3 %.
        EXPECT_LE(plan->cycles - of_smaller, of_smaller / 32)
            << "round " << round << ", " << size << " bytes, " << settings;
      }
      of_smaller = plan->cycles;
    }
  }
  EXPECT_LE(rises, pairs / 100);
}

// Cycles of all tiles of such layers exceed 64 bits.
TEST(PlanSubgraphTest, SlowCommandsOfManyTilesDoNotOverflow) {
  auto machine =
      target::ResolveTarget("extends: \"dla-64-o-512k-swdw\"")->machine();
  for (v1::CommandDescriptor& command :
       *machine.mutable_engines(0)->mutable_isa()->mutable_commands()) {
    if (command.unit() == v1::CONTROL_UNIT) continue;
    command.set_occupancy_cycles_expr(absl::StrCat(target::kMaxCommandCycles));
  }
  for (v1::ResolvedLink& link : *machine.mutable_links()) {
    link.set_setup_cycles(target::kMaxCommandCycles);
  }
  Layer pixels;
  pixels.op = LayerOp::kConv;
  pixels.in = pixels.out = {512, 512, 64};
  pixels.vertical = pixels.horizontal = {3, 1, 1, 1};
  Layer by_channel = pixels;
  by_channel.op = LayerOp::kDepthwise;
  by_channel.by_channel = true;
  by_channel.in = by_channel.out = {100, 100, 1024};
  for (const Layer& layer : {pixels, by_channel}) {
    const Chip any = Chip::Create(machine, 0, 1 << 19).value();
    const int64_t smallest = SmallestSram(any, layer);
    const Chip chip = Chip::Create(machine, 0, smallest).value();
    TilingCosts costs(chip, layer, {});
    const Candidate pixel_by_pixel = {.rows = costs.rows().size() - 1,
                                      .columns = costs.columns().size() - 1,
                                      .channels = costs.channels().size() - 1,
                                      .inputs = 0};
    EXPECT_EQ(costs.ComputeCycles(pixel_by_pixel).value_or(0), kMostCycles);
    EXPECT_EQ(costs.WorkOf(pixel_by_pixel, {}).operands[2].cycles, kMostCycles);
    const auto detail = GetErrorDetail(PlanOfLayer(layer, chip).status());
    ASSERT_TRUE(detail.has_value());
    EXPECT_EQ(detail->reason, "STREAM_TOO_LONG");
  }
  // One tile: each command and transfer takes so long.
  Layer small = pixels;
  small.in = small.out = {4, 4, 8};
  const auto plan =
      PlanOfLayer(small, Chip::Create(machine, 0, 1 << 19).value());
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_GE(plan->cycles, 4 * target::kMaxCommandCycles);
  EXPECT_LT(plan->cycles, 5 * target::kMaxCommandCycles);
}

}  // namespace
}  // namespace edgekiln::compiler::dla
