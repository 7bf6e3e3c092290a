#include "compiler/codegen/sufficient_memory.h"

#include <cstdint>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "compiler/codegen/compile.h"
#include "compiler/ir/text.h"
#include "compiler/partition/partition.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "target/resolve.h"

namespace edgekiln::compiler {
namespace {

using testing::HasSubstr;

class SufficientMemoryTest : public testing::Test {
 protected:
  SufficientMemoryTest() {
    const auto graph = ParseGraph(R"(
%x : int8[1,10,10,4] scale 1 zero 0 = input
%w : int8[8,1,1,4] scale 1 zero 0 = constant [ 1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8]
%y : int8[1,10,10,8] scale 64 zero 0 = conv2d(%x, %w) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1} rounding FLOOR} id c
return %y
)");
    EXPECT_TRUE(graph.ok()) << graph.status();
    graph_ = *graph;
    const auto partition = PartitionOnHost(graph_);
    EXPECT_TRUE(partition.ok()) << partition.status();
    partition_ = *partition;
    machine_ = target::ResolveTarget("extends: \"diana-cpu\"")->machine();
    v1::TileRecipe::HostRoom& room = *recipe_.add_host_rooms();
    room.set_op("conv2d");
    room.set_bytes_expr("100");
  }

  absl::Status Tiled(int64_t bytes) {
    machine_.mutable_memories(0)->set_capacity_bytes(bytes);
    return TilePartition(graph_, partition_, machine_, recipe_).status();
  }

  bool Compiles(int64_t bytes) {
    if (!Tiled(bytes).ok()) return false;
    const auto plans = TilePartition(graph_, partition_, machine_, recipe_);
    return EmitProgram(graph_, partition_, *plans, machine_).ok();
  }

  // `refusal` is of a memory of so many bytes.
  void ExpectNamesTheLeast(const absl::Status& refusal, int64_t before) {
    machine_.mutable_memories(0)->set_capacity_bytes(before);
    const absl::Status told =
        NameSufficientMemory(refusal, graph_, partition_, machine_, recipe_);
    EXPECT_EQ(told.code(), absl::StatusCode::kResourceExhausted);
    const auto detail = GetErrorDetail(told);
    ASSERT_TRUE(detail.has_value()) << told;
    EXPECT_THAT(detail->need, HasSubstr(GetErrorDetail(refusal)->need));
    EXPECT_THAT(detail->fix, HasSubstr(" more bytes of l2"));
    constexpr char kBefore[] = "at least ";
    const size_t begin = detail->fix.find(kBefore);
    ASSERT_NE(begin, std::string::npos) << detail->fix;
    const std::string number = detail->fix.substr(begin + sizeof(kBefore) - 1);
    int64_t more = 0;
    ASSERT_TRUE(absl::SimpleAtoi(number.substr(0, number.find(' ')), &more));
    const int64_t bytes = before + more;
    EXPECT_THAT(detail->need, HasSubstr(absl::StrCat(bytes, " bytes suffice")));
    EXPECT_TRUE(Compiles(bytes)) << bytes;
    EXPECT_FALSE(Compiles(bytes - 1)) << bytes;
  }

  Graph graph_;
  v1::Partition partition_;
  v1::Machine machine_;
  v1::TileRecipe recipe_;
};

TEST_F(SufficientMemoryTest, NamesTheLeastWithWhichTheNetworkCompiles) {
  const absl::Status refusal = Tiled(300);
  ASSERT_EQ(refusal.code(), absl::StatusCode::kResourceExhausted) << refusal;
  ExpectNamesTheLeast(refusal, 300);
}

// Planning alone accepts these sizes.
TEST_F(SufficientMemoryTest, ConstantsThatDoNotFitAreFoundByPackingThem) {
  recipe_.clear_host_rooms();
  int found = 0;
  for (int64_t bytes = 1100; bytes < 1500; bytes += 8) {
    if (!Tiled(bytes).ok()) continue;
    const auto plans = TilePartition(graph_, partition_, machine_, recipe_);
    const absl::Status emitted =
        EmitProgram(graph_, partition_, *plans, machine_).status();
    const absl::Status refusal =
        CheckConstantsFit(graph_, partition_, *plans, machine_);
    EXPECT_EQ(refusal, emitted) << bytes;
    if (refusal.ok() || ++found > 1) continue;
    ExpectNamesTheLeast(refusal, bytes);
  }
  EXPECT_GT(found, 0);
}

// Weights and biases of a job with more than 16 output channels share bytes.
TEST(CheckConstantsFitTest, ConstantsThatOverlapAreRefusedBeforeEmission) {
  std::string weights;
  for (int i = 0; i < 64 * 4; ++i) {
    absl::StrAppend(&weights, i > 0 ? ", 1" : "1");
  }
  const auto graph = ParseGraph(absl::StrCat(R"(
%x : int8[1,4,4,4] scale 1 zero 0 = input
%w : int8[64,1,1,4] scale 1 zero 0 = constant [ )",
                                             weights, R"(]
%y : int8[1,4,4,64] scale 64 zero 0 = conv2d(%x, %w) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1} rounding FLOOR} id c
return %y
)"));
  ASSERT_TRUE(graph.ok()) << graph.status();
  const v1::Partition partition =
      PartitionOf(*graph, {{.engine = 0, .reason = ""}});
  v1::Machine machine = target::ResolveTarget("extends: \"diana\"")->machine();
  // So small that constants are packed to see whether they fit.
  machine.mutable_memories(0)->set_capacity_bytes(12288);
  const auto check = [&] {
    const auto plans = TilePartition(*graph, partition, machine, {});
    EXPECT_TRUE(plans.ok()) << plans.status();
    if (!plans.ok()) return plans.status();
    return CheckConstantsFit(*graph, partition, *plans, machine);
  };
  EXPECT_TRUE(check().ok()) << check();
  constexpr char kStep[] = "in_c * kernel_h * kernel_w * 16 + 64";
  for (auto& job :
       *machine.mutable_engines(0)->mutable_jobs()->mutable_jobs()) {
    for (auto& operand : *job.mutable_operands()) {
      if (operand.name() != "weights" ||
          operand.terms(0).stride_bytes_expr() != kStep) {
        continue;
      }
      operand.mutable_terms(0)->set_stride_bytes_expr(
          absl::StrCat(kStep, " + 64"));
      operand.set_size_bytes_expr(
          absl::StrCat("ceildiv(out_c, 16) * (", kStep, " + 64)"));
    }
  }
  const absl::Status refusal = check();
  EXPECT_EQ(refusal.code(), absl::StatusCode::kInvalidArgument);
  const auto detail = GetErrorDetail(refusal);
  ASSERT_TRUE(detail.has_value()) << refusal;
  EXPECT_THAT(detail->what, HasSubstr("operands overlap"));
}

// Where the memory can be no larger, as another one follows.
TEST_F(SufficientMemoryTest, NamesNoSizeThatNoMachineHas) {
  const absl::Status refusal = Tiled(300);
  v1::ResolvedMemory next = machine_.memories(0);
  next.set_name("next");
  next.clear_holds();
  next.set_base_address(next.base_address() + 400);
  *machine_.add_memories() = next;
  EXPECT_EQ(
      NameSufficientMemory(refusal, graph_, partition_, machine_, recipe_),
      refusal);
}

TEST_F(SufficientMemoryTest, LeavesOtherErrorsAlone) {
  const absl::Status other = absl::ResourceExhaustedError("something else");
  EXPECT_EQ(NameSufficientMemory(other, graph_, partition_, machine_, recipe_),
            other);
  // No memory is large enough.
  recipe_.mutable_host_rooms(0)->set_bytes_expr("1000000 * 1000000");
  const absl::Status refusal = Tiled(300);
  EXPECT_EQ(
      NameSufficientMemory(refusal, graph_, partition_, machine_, recipe_),
      refusal);
}

}  // namespace
}  // namespace edgekiln::compiler
