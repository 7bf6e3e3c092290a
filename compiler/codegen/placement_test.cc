#include "compiler/codegen/placement.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "compiler/codegen/compile.h"
#include "compiler/codegen/turns.h"
#include "compiler/codegen/views.h"
#include "compiler/codegen/wall_cycles.h"
#include "compiler/ir/interpreter.h"
#include "compiler/ir/text.h"
#include "compiler/partition/partition.h"
#include "gtest/gtest.h"
#include "target/resolve.h"

namespace edgekiln::compiler {
namespace {

constexpr int kHost = -1;

// A chip whose host is quick about single values.
v1::ResolvedTarget Chip() {
  v1::ResolvedTarget target = *target::ResolveTarget("extends: \"dla\"");
  for (auto& cost : *target.mutable_machine()->mutable_host_costs()) {
    cost.set_cycles_expr("elements + 1");
  }
  return target;
}

v1::ResolvedMemory& MemoryOf(v1::ResolvedTarget& target,
                             const std::string& name) {
  for (auto& memory : *target.mutable_machine()->mutable_memories()) {
    if (memory.name() == name) return memory;
  }
  ADD_FAILURE() << name;
  return *target.mutable_machine()->mutable_memories(0);
}

// Another of the same, with an SRAM of its own, `times` as fast.
void AddSecondEngine(v1::ResolvedTarget& target, int times) {
  *target.mutable_capabilities()->add_engines() =
      target.capabilities().engines(0);
  target.mutable_capabilities()->mutable_engines(1)->set_name("second");
  v1::Machine& machine = *target.mutable_machine();
  const v1::Machine::Engine first = machine.engines(0);
  *machine.add_engines() = first;
  machine.mutable_engines(1)->set_name("second");
  machine.mutable_engines(1)->set_clock_hz(first.clock_hz() * times);
  const v1::ResolvedLink dma = machine.links(0);
  v1::ResolvedLink& second_dma = *machine.add_links();
  second_dma = dma;
  second_dma.set_owner(1);
  const int count = machine.memories_size();
  for (int m = 0; m < count; ++m) {
    if (machine.memories(m).host_reaches()) {
      if (machine.memories(m).engines_size() > 0) {
        machine.mutable_memories(m)->add_engines(1);
      }
      continue;
    }
    const v1::ResolvedMemory sram = machine.memories(m);
    v1::ResolvedMemory& own = *machine.add_memories();
    own = sram;
    own.set_name("sram2");
    own.set_engines(0, 1);
    for (auto* ends : {second_dma.mutable_from(), second_dma.mutable_to()}) {
      for (int& end : *ends) {
        if (end == m) end = machine.memories_size() - 1;
      }
    }
  }
}

// Convolutions: of one value, and of many; beside them what no engine has.
Graph TinyAndBig() {
  std::string weights = "1";
  for (int i = 1; i < 16 * 3 * 3 * 16; ++i) weights += ", 1";
  const auto graph = ParseGraph(absl::StrCat(R"(
%t : int8[1,1,1,1] scale 1 zero 0 = input
%x : int8[1,16,16,16] scale 1 zero 0 = input
%v : int8[1,1,1,1] scale 1 zero 0 = constant [1]
%w : int8[16,3,3,16] scale 1 zero 0 = constant [)",
                                             weights, R"(]
%a : int8[1,1,1,1] scale 2 zero 0 = conv2d(%t, %v) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1}} id tiny
%r : int8[1,1] scale 2 zero 0 = reshape(%a) id same
%f : float32[1,1] = dequantize(%r) id real
%b : int8[1,14,14,16] scale 64 zero 0 = conv2d(%x, %w) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1}} id big
return %f, %b
)"));
  EXPECT_TRUE(graph.ok()) << graph.status();
  return *graph;
}

class PlacementTest : public testing::Test {
 protected:
  v1::Partition Place(v1::Offload offload) {
    const auto partition = PartitionGraph(graph_, target_.capabilities());
    EXPECT_TRUE(partition.ok()) << partition.status();
    const auto placed = PlaceByCycles(*partition, target_.capabilities(),
                                      target_.machine(), offload);
    EXPECT_TRUE(placed.ok()) << placed.status();
    return placed.value_or(v1::Partition());
  }

  static std::vector<int> EnginesOf(const v1::Partition& partition) {
    std::vector<int> engines;
    for (const auto& placement : partition.placements()) {
      engines.push_back(placement.engine());
    }
    return engines;
  }

  // As planned: of streams and of the host, one after another.
  int64_t PlannedCycles(const v1::Partition& partition) const {
    const auto plans =
        TilePartition(partition, target_.machine(), v1::TileRecipe());
    EXPECT_TRUE(plans.ok()) << plans.status();
    if (!plans.ok()) return 0;
    int64_t cycles = 0;
    for (const v1::RegionPlan& plan : plans->regions()) {
      cycles += WallCycles(plan.predicted_cycles(),
                           target_.machine().engines(plan.engine()).clock_hz(),
                           target_.machine());
    }
    for (const auto& placement : partition.placements()) {
      if (placement.engine() != kHost) continue;
      cycles +=
          *HostOpCycles(graph_, graph_.ops[placement.op()], target_.machine(),
                        *target::HostCosts::Create(target_.machine()));
    }
    return cycles;
  }

  v1::ResolvedTarget target_ = Chip();
  const Graph graph_ = TinyAndBig();
};

TEST_F(PlacementTest, TheHostGetsWhatItMakesFaster) {
  const v1::Partition all = Place(v1::ALL);
  EXPECT_EQ(EnginesOf(all), (std::vector<int>{0, 0, kHost, 0}));
  const v1::Partition paying = Place(v1::PAYING);
  EXPECT_EQ(EnginesOf(paying), (std::vector<int>{kHost, kHost, kHost, 0}));
  EXPECT_LT(PlannedCycles(paying), PlannedCycles(all));
  const std::string& engine = target_.machine().engines(0).name();
  // A cycle for the call, and one for each product: 1, and 3136 times 144.
  EXPECT_TRUE(absl::StartsWith(
      paying.placements(0).reason(),
      absl::StrCat("the host runs conv2d (2 cycles alone; ", engine, ": ")))
      << paying.placements(0).reason();
  EXPECT_TRUE(absl::EndsWith(paying.placements(3).reason(),
                             " cycles alone; the host: 451585)"))
      << paying.placements(3).reason();
  EXPECT_EQ(paying.placements(3).subgraph(), 1);
  // Not for what it does not take, nor without a choice.
  EXPECT_EQ(paying.placements(2).reason(), all.placements(2).reason());
  EXPECT_EQ(all.placements(0).reason(), absl::StrCat(engine, " runs conv2d"));
}

TEST_F(PlacementTest, AHostThatIsSlowGetsNothing) {
  for (auto& cost : *target_.mutable_machine()->mutable_host_costs()) {
    cost.set_cycles_expr("elements + 100000");
  }
  EXPECT_EQ(EnginesOf(Place(v1::PAYING)), EnginesOf(Place(v1::ALL)));
  // Beyond 64 bits is slow, too.
  for (auto& cost : *target_.mutable_machine()->mutable_host_costs()) {
    cost.set_cycles_expr(absl::StrCat("elements * ", int64_t{1} << 61));
  }
  EXPECT_EQ(EnginesOf(Place(v1::PAYING)), EnginesOf(Place(v1::ALL)));
}

// With ALL, that is for tiling to refuse.
TEST_F(PlacementTest, TooLittleMemoryIsTheHostsAffairIfItPays) {
  MemoryOf(target_, "sram").set_capacity_bytes(256);
  EXPECT_EQ(EnginesOf(Place(v1::ALL))[3], 0);
  const v1::Partition paying = Place(v1::PAYING);
  EXPECT_EQ(paying.placements(3).engine(), kHost);
  EXPECT_EQ(paying.placements(3).reason(),
            absl::StrCat("the host runs conv2d (451585 cycles alone; ",
                         target_.machine().engines(0).name(),
                         ": too little memory)"));
  EXPECT_TRUE(TilePartition(paying, target_.machine(), {}).ok());
}

TEST_F(PlacementTest, TheFasterOfTwoEnginesGetsIt) {
  AddSecondEngine(target_, 2);
  const v1::Partition all = Place(v1::ALL);
  EXPECT_EQ(EnginesOf(all), (std::vector<int>{1, 1, kHost, 1}));
  EXPECT_TRUE(
      absl::StartsWith(all.placements(3).reason(), "second runs conv2d ("))
      << all.placements(3).reason();
  const auto as_matched = PartitionGraph(graph_, target_.capabilities());
  ASSERT_TRUE(as_matched.ok());
  EXPECT_EQ(EnginesOf(*as_matched), (std::vector<int>{0, 0, kHost, 0}));
  EXPECT_LT(PlannedCycles(all), PlannedCycles(*as_matched));
  EXPECT_EQ(EnginesOf(Place(v1::PAYING)),
            (std::vector<int>{kHost, kHost, kHost, 1}));
  // Unless it has no room.
  MemoryOf(target_, "sram2").set_capacity_bytes(256);
  EXPECT_EQ(EnginesOf(Place(v1::ALL)), (std::vector<int>{1, 1, kHost, 0}));
}

// The host runs the kernel as it was.
TEST_F(PlacementTest, EnginesRunPaddedKernels) {
  for (auto& pattern : *target_.mutable_capabilities()
                            ->mutable_engines(0)
                            ->mutable_patterns()) {
    if (pattern.ops(0) != "conv2d") continue;
    pattern.set_most_kernel_padding(1);
    v1::OpPattern::Condition& odd = *pattern.add_where();
    odd.set_expr("kernel_h != 2");
    odd.set_need("kernels of other sizes");
  }
  // 192 cycles for 64 results of four products; of six, 288.
  for (auto& cost : *target_.mutable_machine()->mutable_host_costs()) {
    cost.set_cycles_expr("floordiv(3 * elements, 4)");
  }
  AddSecondEngine(target_, 2);
  const auto graph = ParseGraph(R"(
%x : int8[1,9,9,1] scale 1 zero 0 = input
%w : int8[1,2,2,1] scale 1 zero 0 = constant [1, 2, 3, 4]
%y : int8[1,8,8,1] scale 64 zero 0 = conv2d(%x, %w) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1}} id y
return %y
)");
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto partition = PartitionGraph(*graph, target_.capabilities());
  ASSERT_TRUE(partition.ok()) << partition.status();
  for (const v1::Offload offload : {v1::ALL, v1::PAYING}) {
    const auto placed = PlaceByCycles(*partition, target_.capabilities(),
                                      target_.machine(), offload);
    ASSERT_TRUE(placed.ok()) << placed.status();
    const std::string& reason = placed->placements(0).reason();
    const auto got = GraphFromProto(placed->graph());
    ASSERT_TRUE(got.ok()) << got.status();
    const std::vector<int64_t>& kernel =
        got->tensors[got->ops[0].inputs[1]].shape;
    const auto want = Evaluate(*graph, {std::string(81, '\7')});
    ASSERT_TRUE(want.ok()) << want.status();
    EXPECT_EQ(*Evaluate(*got, {std::string(81, '\7')}), *want);
    if (offload == v1::PAYING) {
      EXPECT_EQ(placed->placements(0).engine(), kHost);
      EXPECT_EQ(kernel, (std::vector<int64_t>{1, 2, 2, 1}));
      EXPECT_TRUE(absl::StartsWith(reason, "the host runs conv2d (")) << reason;
      // Its cycles are those of 64 results of four products.
      EXPECT_TRUE(absl::StrContains(
          reason,
          absl::StrCat(
              "(",
              *HostOpCycles(*graph, graph->ops[0], target_.machine(),
                            *target::HostCosts::Create(target_.machine())),
              " cycles alone")))
          << reason;
      continue;
    }
    EXPECT_EQ(kernel, (std::vector<int64_t>{1, 3, 2, 1}));
    EXPECT_TRUE(absl::StrContains(reason,
                                  " runs conv2d with its kernel padded with "
                                  "zeros (of 2 x 2 to 3 x 2) ("))
        << reason;
  }
}

// So it does a convolution that an engine computes on the phases of its image.
TEST_F(PlacementTest, TheHostConvolvesImagesNotPhases) {
  for (auto& pattern : *target_.mutable_capabilities()
                            ->mutable_engines(0)
                            ->mutable_patterns()) {
    if (pattern.ops(0) != "conv2d") continue;
    pattern.set_phases_expr("1");
    v1::OpPattern::Condition& stride = *pattern.add_where();
    stride.set_expr("stride_h * stride_w == 1");
    stride.set_need("stride 1");
  }
  AddSecondEngine(target_, 2);
  const auto graph = ParseGraph(R"(
%x : int8[1,7,7,1] scale 1 zero 0 = input
%w : int8[1,3,2,1] scale 1 zero 0 = constant [1, 2, 3, 4, 5, 6]
%y : int8[1,4,4,1] scale 64 zero 0 = conv2d(%x, %w) {window {stride_h 2 stride_w 2 dilation_h 1 dilation_w 1 pad_top 1 pad_bottom 1 pad_right 1}} id y
%z : float32[1,4,4,1] = dequantize(%y) id z
return %z
)");
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto partition = PartitionGraph(*graph, target_.capabilities());
  ASSERT_TRUE(partition.ok()) << partition.status();
  ASSERT_GT(partition->placements_size(), 4);
  const std::string input = "0123456789abcdefghijklmnopqrstuvwxyz!?.,;:ABCDEFG";
  const auto want = Evaluate(*graph, {input});
  ASSERT_TRUE(want.ok()) << want.status();
  for (const bool slow_host : {true, false}) {
    for (auto& cost : *target_.mutable_machine()->mutable_host_costs()) {
      cost.set_cycles_expr(slow_host ? "1000000 * macs + 1" : "elements + 1");
    }
    const auto placed = PlaceByCycles(*partition, target_.capabilities(),
                                      target_.machine(), v1::PAYING);
    ASSERT_TRUE(placed.ok()) << placed.status();
    const auto got = GraphFromProto(placed->graph());
    ASSERT_TRUE(got.ok()) << got.status();
    ASSERT_TRUE(VerifyGraph(*got).ok());
    ASSERT_EQ(std::ssize(got->ops), placed->placements_size());
    EXPECT_EQ(*Evaluate(*got, {input}), *want);
    if (slow_host) {
      EXPECT_EQ(placed->placements_size(), partition->placements_size());
      EXPECT_EQ(placed->rearranged_size(), partition->rearranged_size());
      continue;
    }
    ASSERT_EQ(placed->placements_size(), 2);
    EXPECT_EQ(placed->rearranged_size(), 0);
    EXPECT_EQ(placed->placements(0).engine(), kHost);
    EXPECT_EQ(got->ops[0].attributes.conv2d().DebugString(),
              graph->ops[0].attributes.conv2d().DebugString());
    EXPECT_EQ(got->tensors[got->ops[0].inputs[1]].shape,
              (std::vector<int64_t>{1, 3, 2, 1}));
    EXPECT_FALSE(absl::StrContains(placed->placements(0).reason(), "phases"))
        << placed->placements(0).reason();
  }
}

// In cycles of the order that is planned for engines which the host drives.
int64_t CyclesInTurns(const Graph& graph, const v1::Partition& partition,
                      const v1::Machine& machine) {
  const auto plans = TilePartition(partition, machine, v1::TileRecipe());
  EXPECT_TRUE(plans.ok()) << plans.status();
  if (!plans.ok()) return 0;
  const auto works = WorksOf(graph, *Views::Create(graph, partition, {}),
                             partition, *plans, machine);
  EXPECT_TRUE(works.ok()) << works.status();
  const auto turns = ReplayTurns(*works, plans->turns(), machine,
                                 static_cast<int32_t>(graph.ops.size()));
  EXPECT_TRUE(turns.ok()) << turns.status();
  return turns.ok() ? turns->cycles : 0;
}

// Of two layers that could run at once, the smaller one goes to the engine that
// is slower at it, because the faster one is busy.
TEST_F(PlacementTest, EnginesThatTheHostDrivesShareTheWork) {
  std::string ones = "1";
  for (int i = 1; i < 16 * 3 * 3 * 16; ++i) ones += ", 1";
  const std::string less = ones.substr(0, 16 * 16 * 3 - 2);
  const auto graph = ParseGraph(absl::StrCat(
      R"(
%x : int8[1,16,16,16] scale 1 zero 0 = input
%v : int8[16,1,1,16] scale 1 zero 0 = constant [)",
      less, R"(]
%w : int8[16,3,3,16] scale 1 zero 0 = constant [)",
      ones, R"(]
%b : int8[1,14,14,16] scale 64 zero 0 = conv2d(%x, %w) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1}} id main
%a : int8[1,16,16,16] scale 64 zero 0 = conv2d(%x, %v) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1}} id skip
return %a, %b
)"));
  ASSERT_TRUE(graph.ok()) << graph.status();
  const v1::ResolvedTarget target =
      *target::ResolveTarget("extends: \"toy-two-array\"");
  const auto as_matched = PartitionGraph(*graph, target.capabilities());
  ASSERT_TRUE(as_matched.ok()) << as_matched.status();
  EXPECT_EQ(EnginesOf(*as_matched), (std::vector<int>{0, 0}));
  for (const v1::Offload offload : {v1::ALL, v1::PAYING}) {
    const auto placed = PlaceByCycles(*as_matched, target.capabilities(),
                                      target.machine(), offload);
    ASSERT_TRUE(placed.ok()) << placed.status();
    EXPECT_EQ(EnginesOf(*placed), (std::vector<int>{0, 1}));
    EXPECT_TRUE(
        absl::StartsWith(placed->placements(1).reason(), "b runs conv2d ("))
        << placed->placements(1).reason();
    EXPECT_LT(CyclesInTurns(*graph, *placed, target.machine()),
              CyclesInTurns(*graph, *as_matched, target.machine()));
  }
}

TEST_F(PlacementTest, RefusesWhatIsNotOfOneTarget) {
  const auto partition = PartitionGraph(graph_, target_.capabilities());
  ASSERT_TRUE(partition.ok());
  const auto refused = [&](const v1::Partition& p, const v1::Capabilities& c) {
    return absl::IsInvalidArgument(
        PlaceByCycles(p, c, target_.machine(), v1::PAYING).status());
  };
  EXPECT_TRUE(refused(*partition, v1::Capabilities()));
  for (const int engine : {1, -2}) {
    v1::Partition other = *partition;
    other.mutable_placements(0)->set_engine(engine);
    EXPECT_TRUE(refused(other, target_.capabilities())) << engine;
  }
  v1::Partition shorter = *partition;
  shorter.mutable_placements()->RemoveLast();
  EXPECT_TRUE(refused(shorter, target_.capabilities()));
}

}  // namespace
}  // namespace edgekiln::compiler
