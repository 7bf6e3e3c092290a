// Several system memories of one kind.

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <set>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/error.h"
#include "compiler/codegen/compile.h"
#include "compiler/codegen/sufficient_memory.h"
#include "compiler/ir/graph.h"
#include "compiler/partition/partition.h"
#include "gtest/gtest.h"
#include "target/resolve.h"
#include "tests/chips/expect_bit_exact.h"
#include "tests/pipeline/chip_run.h"
#include "tests/pipeline/graph_builder.h"

namespace edgekiln::tests {
namespace {

using compiler::Graph;
using compiler::TensorId;

constexpr int64_t kRamBytes = 3100;

// With two RAMs in place of one; whatever reaches the first reaches the second.
v1::ResolvedTarget WithTwoRams(const std::string& name, int64_t ram_bytes) {
  auto target = target::ResolveTarget("extends: \"" + name + "\"");
  EXPECT_TRUE(target.ok()) << target.status();
  v1::Machine& machine = *target->mutable_machine();
  const int32_t second = machine.memories_size();
  for (int32_t m = 0; m < second; ++m) {
    v1::ResolvedMemory& ram = *machine.mutable_memories(m);
    if (ram.name() != "ram") continue;
    ram.set_capacity_bytes(ram_bytes);
    v1::ResolvedMemory other = ram;
    other.set_name("ram2");
    other.set_base_address(ram.base_address() + (1 << 24));
    for (v1::ResolvedLink& link : *machine.mutable_links()) {
      for (auto* ends : {link.mutable_from(), link.mutable_to()}) {
        if (std::find(ends->begin(), ends->end(), m) != ends->end()) {
          ends->Add(second);
        }
      }
    }
    *machine.add_memories() = std::move(other);
    break;
  }
  EXPECT_EQ(machine.memories_size(), second + 1);
  return *std::move(target);
}

// Tensors of 2048 bytes, two of which are in RAM at one time, and one of 1024.
Graph Net(QuantizedGraphBuilder& builder) {
  const TensorId x = builder.Input({1, 8, 8, 32});
  const TensorId a = builder.Conv(x, 32, {}, true);
  const TensorId t = builder.Transpose(a, {0, 2, 1, 3});
  const TensorId b = builder.Conv(t, 32, {}, true);
  const TensorId c = builder.Conv(builder.Add(a, b), 16, {}, true);
  return builder.Finish({t, c});
}

class MemoriesTest : public testing::TestWithParam<const char*> {};

TEST_P(MemoriesTest, TensorsLieInBothOfTwoRams) {
  QuantizedGraphBuilder builder(3);
  const Graph graph = Net(builder);
  const v1::ResolvedTarget target = WithTwoRams(GetParam(), kRamBytes);
  ExpectBitExact(graph, WithTwoRams(GetParam(), 1 << 20), {builder.Sample()});
  ExpectBitExact(graph, target, {builder.Sample()});
  const auto compiled = CompileQuantized(graph, target);
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  std::set<std::string> used;
  for (const v1::TensorUse& use : compiled->program.tensors()) {
    used.insert(use.memory());
  }
  EXPECT_TRUE(used.contains("ram") && used.contains("ram2"));
  int64_t sum = 0;
  for (int32_t m = 0; m < target.machine().memories_size(); ++m) {
    const v1::ResolvedMemory& memory = target.machine().memories(m);
    EXPECT_LE(compiled->memory_bytes[m], memory.capacity_bytes());
    if (memory.name().substr(0, 3) != "ram") continue;
    EXPECT_GT(compiled->memory_bytes[m], 0) << memory.name();
    sum += compiled->memory_bytes[m];
  }
  EXPECT_EQ(compiled->program.ram_bytes(), sum);
}

TEST_P(MemoriesTest, TheMessageNamesBoth) {
  QuantizedGraphBuilder builder(3);
  const auto compiled =
      CompileQuantized(Net(builder), WithTwoRams(GetParam(), 2047));
  EXPECT_EQ(compiled.status().code(), absl::StatusCode::kResourceExhausted);
  const auto detail = GetErrorDetail(compiled.status());
  ASSERT_TRUE(detail.has_value()) << compiled.status();
  EXPECT_EQ(detail->reason, "MEMORY_TOO_SMALL");
  EXPECT_EQ(detail->where.substr(0, 19), "memory ram and ram2");
  EXPECT_EQ(detail->limit, "4094 bytes");
}

// Records and what is rearranged lie beside the activations: the message counts
// both against the whole memory, also where they alone exceed it.
TEST(KeptMemoryTest, TheMessageCountsWhatIsKept) {
  for (const int64_t bytes : {16, 6000}) {
    QuantizedGraphBuilder builder(5);
    builder.UseShifts(v1::FLOOR);
    builder.ShareScale();
    const TensorId x = builder.Input({1, 8, 8, 32});
    const Graph graph = builder.Finish({builder.Conv(x, 32, {}, true)});
    auto target = target::ResolveTarget("extends: \"diana\"");
    ASSERT_TRUE(target.ok()) << target.status();
    target->mutable_machine()->mutable_memories(0)->set_capacity_bytes(bytes);
    const auto compiled = CompileQuantized(graph, *target);
    EXPECT_EQ(compiled.status().code(), absl::StatusCode::kResourceExhausted);
    const auto detail = GetErrorDetail(compiled.status());
    ASSERT_TRUE(detail.has_value()) << compiled.status();
    EXPECT_EQ(detail->reason, "MEMORY_TOO_SMALL");
    EXPECT_EQ(detail->limit, absl::StrCat(bytes, " bytes"));
    // Input and output, a record of 320 bytes, and 2048 that are rearranged.
    EXPECT_EQ(detail->need,
              "6480 bytes, 2384 of them for records of jobs and what is "
              "rearranged");
  }
}

// Constants take most of the memory, and planning does not count them. What the
// message advises is added to the parameter, which counts the firmware, too.
TEST(KeptMemoryTest, TheMessageNamesHowManyBytesMoreSuffice) {
  QuantizedGraphBuilder builder(5);
  builder.UseShifts(v1::FLOOR);
  builder.ShareScale();
  TensorId x = builder.Input({1, 8, 8, 64});
  for (int layer = 0; layer < 3; ++layer) x = builder.Conv(x, 64, {}, true);
  const Graph graph = builder.Finish({x});
  const auto target_of = [](int64_t l2_bytes) {
    const auto target = target::ResolveTarget(absl::StrCat(
        "extends: \"diana\"\nset { name: \"l2_bytes\" value: ", l2_bytes,
        " }"));
    EXPECT_TRUE(target.ok()) << target.status();
    return *target;
  };
  constexpr int64_t kSmall = 40'000;
  const v1::ResolvedTarget small = target_of(kSmall);
  const auto partition = compiler::PartitionGraph(graph, small.capabilities());
  ASSERT_TRUE(partition.ok()) << partition.status();
  const absl::Status refusal =
      compiler::TilePartition(graph, *partition, small.machine(), {}).status();
  ASSERT_EQ(refusal.code(), absl::StatusCode::kResourceExhausted) << refusal;
  const auto detail = GetErrorDetail(compiler::NameSufficientMemory(
      refusal, graph, *partition, small.machine(), {}));
  ASSERT_TRUE(detail.has_value());
  constexpr absl::string_view kBefore = "use a target with at least ";
  ASSERT_TRUE(absl::StartsWith(detail->fix, kBefore)) << detail->fix;
  const std::string number = detail->fix.substr(kBefore.size());
  int64_t more = 0;
  ASSERT_TRUE(absl::SimpleAtoi(number.substr(0, number.find(' ')), &more))
      << detail->fix;
  EXPECT_TRUE(CompileQuantized(graph, target_of(kSmall + more)).ok()) << more;
  EXPECT_FALSE(CompileQuantized(graph, target_of(kSmall + more - 1)).ok())
      << more;
}

// The first layer does not fit the array's memory, the second needs more, and
// recipes that round channels up more still. With what the message names all
// layers fit, with a byte less they do not.
TEST(EngineMemoryTest, TheMessageNamesTheLayerThatNeedsTheMost) {
  QuantizedGraphBuilder builder(11);
  builder.UseShifts(v1::FLOOR);
  builder.ShareScale();
  WindowCase window;
  window.kernel[0] = window.kernel[1] = 3;
  const TensorId x = builder.Input({1, 9, 9, 40});
  const TensorId a = builder.Conv(x, 72, window, true);
  const TensorId b = builder.Conv(a, 4, window, true);
  const Graph graph = builder.Finish({builder.Depthwise(b, 1, window, true)});
  const auto target_of = [](int64_t l1_bytes) {
    const auto target = target::ResolveTarget(absl::StrCat(
        "extends: \"diana\"\nset { name: \"l1_bytes\" value: ", l1_bytes,
        " }"));
    EXPECT_TRUE(target.ok()) << target.status();
    return *target;
  };
  int64_t last = 0;
  for (const char* const name : {"default", "htvm"}) {
    SCOPED_TRACE(name);
    const v1::ResolvedTarget small = target_of(256);
    const auto recipe = absl::c_find_if(
        small.recipes(), [&](const auto& each) { return each.name() == name; });
    ASSERT_NE(recipe, small.recipes().end());
    const absl::Status refusal =
        CompileQuantized(graph, small, recipe->tile()).status();
    const auto detail = GetErrorDetail(refusal);
    ASSERT_TRUE(detail.has_value()) << refusal;
    const compiler::Op& largest = graph.ops[1];
    EXPECT_EQ(detail->where,
              absl::StrCat("op ", largest.id, " (conv2d), memory l1"));
    const int64_t need = SmallestSramOf(refusal);
    EXPECT_GT(need, last);
    last = need;
    EXPECT_TRUE(CompileQuantized(graph, target_of(need), recipe->tile()).ok())
        << need;
    const absl::Status less =
        CompileQuantized(graph, target_of(need - 1), recipe->tile()).status();
    EXPECT_EQ(SmallestSramOf(less), need) << less;
  }
}

// A caller's input is added to what the array made: no slower, with room for
// all of it in the array's memory, than layer by layer through system memory.
TEST(EngineMemoryTest, WhatStaysCostsNoMoreThanWhatDoesNot) {
  QuantizedGraphBuilder builder(13);
  builder.UseShifts(v1::FLOOR);
  builder.ShareScale();
  WindowCase square;
  square.kernel[0] = square.kernel[1] = 3;
  std::fill(std::begin(square.pad), std::end(square.pad), 1);
  WindowCase tall;
  tall.kernel[0] = 3;
  tall.pad[0] = tall.pad[1] = 1;
  const TensorId x = builder.Input({1, 8, 11, 13});
  const TensorId a =
      builder.Conv(builder.Transpose(x, {0, 2, 3, 1}), 8, square, true);
  const TensorId b = builder.Conv(a, 8, tall, false);
  const TensorId sum = builder.Add(x, builder.Transpose(b, {0, 3, 1, 2}));
  const Graph graph = builder.Finish(
      {builder.Conv(builder.Transpose(sum, {0, 2, 3, 1}), 2, {}, true)});
  const auto target = target::ResolveTarget("extends: \"diana-digital\"");
  ASSERT_TRUE(target.ok()) << target.status();
  const auto cycles_of = [&](bool round_trips) {
    v1::TileRecipe recipe;
    recipe.set_round_trips(round_trips);
    const auto compiled = CompileQuantized(graph, *target, recipe);
    EXPECT_TRUE(compiled.ok()) << compiled.status();
    int64_t cycles = 0;
    if (!compiled.ok()) return cycles;
    for (const v1::Program::Layer& layer : compiled->program.layers()) {
      cycles += layer.predicted_cycles();
    }
    return cycles;
  };
  EXPECT_LE(cycles_of(false), cycles_of(true));
}

// A job has all input channels, whose weights must fit the memory that it
// brings them to: 16 x 16 bytes for each 16 of a dense layer and 256 of biases,
// 9 x 16 for each of a convolution and 64.
TEST(StagedConstantsTest, LayersOfTooManyInputsAreTheHosts) {
  const auto target_of = [](int64_t weight_bytes) {
    const auto target = target::ResolveTarget(
        absl::StrCat("extends: \"diana\"\nset { name: \"weight_bytes\" value: ",
                     weight_bytes, " }"));
    EXPECT_TRUE(target.ok()) << target.status();
    return target.value_or(v1::ResolvedTarget());
  };
  const auto builder_of = [] {
    QuantizedGraphBuilder builder(7);
    builder.UseShifts(v1::FLOOR);
    builder.ShareScale();
    return builder;
  };
  const auto placed = [](const Graph& graph, const v1::ResolvedTarget& target) {
    const auto partition =
        compiler::PartitionGraph(graph, target.capabilities());
    EXPECT_TRUE(partition.ok()) << partition.status();
    return partition.ok() ? partition->placements(0)
                          : v1::Partition::Placement();
  };
  const v1::ResolvedTarget diana = target_of(65536);
  for (const int64_t inputs : {4080, 5000}) {
    QuantizedGraphBuilder builder = builder_of();
    const Graph graph = builder.Finish(
        {builder.FullyConnected(builder.Input({1, inputs}), 20)});
    ExpectBitExact(graph, diana, {builder.Sample()});
    const v1::Partition::Placement placement = placed(graph, diana);
    EXPECT_EQ(placement.engine(), inputs == 4080 ? 0 : -1);
    if (inputs == 4080) continue;
    EXPECT_TRUE(absl::StartsWith(
        placement.reason(),
        "digital needs constants of an output channel in at most 65536 bytes "
        "of weight_memory (here in_c 5000)"))
        << placement.reason();
    EXPECT_EQ(placed(graph, target_of(131072)).engine(), 0);
  }
  for (const int64_t channels : {454, 455}) {
    QuantizedGraphBuilder builder = builder_of();
    WindowCase window;
    window.kernel[0] = window.kernel[1] = 3;
    const Graph graph = builder.Finish(
        {builder.Conv(builder.Input({1, 4, 4, channels}), 20, window, true)});
    ExpectBitExact(graph, diana, {builder.Sample()});
    EXPECT_EQ(placed(graph, diana).engine(), channels == 454 ? 0 : -1);
  }
}

INSTANTIATE_TEST_SUITE_P(Chips, MemoriesTest,
                         testing::Values("dla", "toy-array", "toy-two-array"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace edgekiln::tests
