// What the DLA's backend answers to budgets.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "compiler/codegen/backends.h"
#include "compiler/codegen/compile.h"
#include "compiler/partition/partition.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "target/layout.h"
#include "target/memories.h"
#include "target/resolve.h"
#include "tests/pipeline/chip_run.h"
#include "tests/pipeline/graph_builder.h"

namespace edgekiln::tests {
namespace {

using compiler::Budget;
using compiler::EngineBackend;
using compiler::Graph;
using compiler::Region;
using compiler::TensorId;

constexpr int64_t kSramBytes = 1 << 19;

v1::ResolvedTarget Dla(int64_t sram_bytes) {
  return TargetWithScratchpad("extends: \"dla\"", sram_bytes);
}

class RegionPlanTest : public testing::Test {
 protected:
  RegionPlanTest() : builder_(11), graph_(Net(builder_)) {
    std::vector<int32_t> ops(graph_.ops.size());
    for (size_t i = 0; i < ops.size(); ++i) ops[i] = static_cast<int32_t>(i);
    region_ = compiler::RegionOf(graph_, ops);
    backend_ = *compiler::FindBackend(machine_, 0);
    for (const v1::ResolvedMemory& memory : machine_.memories()) {
      budget_.memory_bytes.push_back(memory.capacity_bytes());
    }
  }

  static Graph Net(QuantizedGraphBuilder& builder) {
    TensorId x = builder.Input({1, 12, 12, 6});
    const WindowCase window = {.kernel = {3, 3}, .pad = {1, 1, 1, 1}};
    x = builder.Conv(x, 64, window, true);
    const TensorId y = builder.Conv(x, 64, window, false);
    return builder.Finish({builder.Add(x, y)});
  }

  absl::StatusOr<v1::RegionPlan> Plan() const {
    return backend_->Plan(region_, budget_, machine_, 0, {});
  }
  int32_t scratchpad() const { return target::PrivateMemoryOf(machine_, 0); }
  Budget::Border& AddBorder() {
    Budget::Border& border = budget_.borders.emplace_back();
    border.tensor = graph_.inputs[0];
    border.memory = RamOf(machine_);
    border.layout = target::DenseLayout(graph_.tensors[border.tensor].shape, 1);
    return border;
  }
  static int32_t RamOf(const v1::Machine& machine) {
    for (int32_t i = 0; i < machine.memories_size(); ++i) {
      if (machine.memories(i).host_reaches() &&
          target::IsWritable(machine.memories(i)))
        return i;
    }
    return -1;
  }

  const v1::Machine machine_ = Dla(kSramBytes).machine();
  QuantizedGraphBuilder builder_;
  const Graph graph_;
  Region region_;
  const EngineBackend* backend_ = nullptr;
  Budget budget_;
};

TEST_F(RegionPlanTest, KnowsItsBorders) {
  EXPECT_EQ(region_.inputs, graph_.inputs);
  EXPECT_EQ(compiler::OutputsOf(region_), graph_.outputs);
}

TEST_F(RegionPlanTest, LessMemoryIsAChipWithLess) {
  const auto whole = Plan();
  ASSERT_TRUE(whole.ok()) << whole.status();
  ASSERT_EQ(whole->needs_size(), 1);
  EXPECT_EQ(whole->needs(0).memory(), scratchpad());
  ASSERT_GT(whole->needs(0).bytes(), 30000);
  for (int64_t bytes = 4000; bytes < whole->needs(0).bytes(); bytes += 2500) {
    budget_.memory_bytes[scratchpad()] = bytes;
    const auto part = Plan();
    ASSERT_TRUE(part.ok()) << part.status();
    EXPECT_LE(part->needs(0).bytes(), bytes);
    EXPECT_GE(part->predicted_cycles(), whole->predicted_cycles());
    // Emitted for the whole chip, it is what the smaller chip would get.
    const v1::ResolvedTarget small = Dla(bytes);
    const auto want = CompileQuantized(graph_, small);
    ASSERT_TRUE(want.ok()) << want.status();
    const auto partition =
        compiler::PartitionGraph(graph_, small.capabilities());
    ASSERT_TRUE(partition.ok()) << partition.status();
    v1::RegionPlans plans;
    *plans.add_regions() = *part;
    plans.mutable_regions(0)->mutable_ops()->Add(region_.ops.begin(),
                                                 region_.ops.end());
    const auto got = compiler::EmitProgram(*partition, plans, machine_);
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_EQ(got->program.streams(0).code(), want->program.streams(0).code());
    EXPECT_EQ(part->predicted_cycles(), got->program.predicted_cycles());
    EXPECT_EQ(part->needs(0).bytes(), got->program.sram_peak_bytes());
  }
  budget_.memory_bytes[scratchpad()] = 16;
  EXPECT_GT(SmallestSramOf(Plan().status()), 16);
}

TEST_F(RegionPlanTest, RefusesBordersThatItCannotHave) {
  AddBorder();
  EXPECT_TRUE(Plan().ok());
  const struct {
    const char* what;
    std::function<void(Budget::Border&)> change;
  } kCases[] = {
      {"holds nothing", [](Budget::Border& b) { b.resident = true; }},
      {"by DMA", [&](Budget::Border& b) { b.memory = scratchpad(); }},
      {"dense tensors only",
       [](Budget::Border& b) {
         b.layout = target::StridedLayout({1, 12, 12, 6}, {0, 128, 8, 1}, 1);
       }},
  };
  for (const auto& test : kCases) {
    budget_.borders.clear();
    Budget::Border& border = AddBorder();
    test.change(border);
    const absl::Status refused = Plan().status();
    ASSERT_EQ(refused.code(), absl::StatusCode::kUnimplemented) << test.what;
    const ErrorDetail detail = *GetErrorDetail(refused);
    EXPECT_THAT(detail.what, testing::HasSubstr(test.what));
    EXPECT_EQ(
        detail.where,
        absl::StrCat("tensor ", graph_.tensors[border.tensor].name,
                     " in memory ", machine_.memories(border.memory).name()));
    EXPECT_FALSE(detail.need.empty());
    EXPECT_FALSE(detail.fix.empty());
  }
  for (const int32_t nowhere : {-1, 1000}) {
    budget_.borders.clear();
    AddBorder().memory = nowhere;
    EXPECT_EQ(Plan().status().code(), absl::StatusCode::kInvalidArgument);
    budget_.borders.clear();
    AddBorder().tensor = nowhere;
    EXPECT_EQ(Plan().status().code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST_F(RegionPlanTest, RefusesOthersBudgetsAndPlans) {
  budget_.memory_bytes.pop_back();
  EXPECT_EQ(Plan().status().code(), absl::StatusCode::kInvalidArgument);
  v1::RegionPlan plan;
  const absl::flat_hash_map<TensorId, uint64_t> places;
  EXPECT_EQ(
      backend_
          ->Emit(region_, plan, machine_, {.tensors = &places, .buffers = {}})
          .status()
          .code(),
      absl::StatusCode::kInvalidArgument);
  plan.mutable_decisions()->PackFrom(v1::Setting());
  EXPECT_EQ(
      backend_
          ->Emit(region_, plan, machine_, {.tensors = &places, .buffers = {}})
          .status()
          .code(),
      absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace edgekiln::tests
