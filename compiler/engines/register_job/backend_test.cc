#include "compiler/engines/register_job/backend.h"

#include <cstdint>
#include <string>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "compiler/engines/register_job/model_in_c.h"
#include "compiler/engines/register_job/testing/toy_machine.h"
#include "edgekiln/v1/engines/register_job.pb.h"
#include "gtest/gtest.h"
#include "target/layout.h"
#include "target/layout_parts.h"

namespace edgekiln::compiler::register_job {
namespace {

constexpr int64_t kBlock = 8;
constexpr int64_t kRoomy = 1 << 20;
constexpr uint64_t kRamBase = 2147483648;

Region RegionFor(const Graph& graph) { return RegionOf(graph, {0}); }

// Weights that fit stay while the image passes; the next tile comes while the
// engine works on this one.
TEST(OverlapTest, ATileIsBroughtWhileTheEngineWorks) {
  const Graph graph = GraphOf({.name = "c",
                               .kind = "conv2d",
                               .h = 32,
                               .w = 32,
                               .c = 16,
                               .out_c = 64,
                               .kernel_h = 3,
                               .kernel_w = 3,
                               .pad = 1});
  const v1::Machine machine = ToyMachine(kBlock, 32768);
  const auto plan = PlanOf(RegionFor(graph), machine, 32768, Stays());
  ASSERT_TRUE(plan.ok()) << plan.status();
  int64_t host = 0;
  int64_t engine = 0;
  for (const v1::RegionPlan::Step& step : plan->steps()) {
    host += step.host_cycles();
    engine += step.engine_cycles();
  }
  // Most of the host's work is hidden.
  EXPECT_LT(plan->predicted_cycles(), engine + host / 3);
  v1::register_job::RegionDecisions decisions;
  ASSERT_TRUE(plan->decisions().UnpackTo(&decisions));
  EXPECT_EQ(decisions.input_rooms(), 2);
  int64_t constants = 0;
  for (const v1::RegionPlan::Step& step : plan->steps()) {
    constants += step.early() ? 1 : 0;
  }
  EXPECT_EQ(constants, (64 + decisions.channels() - 1) / decisions.channels());
}

// Of a machine, and of another one that it was not made for.
TEST(OnMachineTest, AnswersAreTheSame) {
  const v1::Machine machine = ToyMachine(kBlock, 16384);
  const v1::Machine other = ToyMachine(kBlock, 8192);
  const auto kept = Backend().OnMachine(machine);
  ASSERT_NE(kept, nullptr);
  for (const int64_t channels : {16, 24, 16}) {
    for (const char* const kind : {"conv2d", "depthwise_conv2d"}) {
      const Graph graph = GraphOf({.name = "s",
                                   .kind = kind,
                                   .h = 12,
                                   .w = 12,
                                   .c = channels,
                                   .out_c = channels,
                                   .kernel_h = 3,
                                   .kernel_w = 3,
                                   .pad = 1});
      const Region region = RegionFor(graph);
      for (const v1::Machine* const asked : {&machine, &other}) {
        for (const int64_t bytes : {8192, 4096}) {
          for (const Stays stays : {Stays(), Stays{true, false}}) {
            const Budget budget = BudgetOf(region, *asked, bytes, stays);
            const auto plan = Backend().Plan(region, budget, *asked, 0, {});
            const auto again = kept->Plan(region, budget, *asked, 0, {});
            ASSERT_EQ(plan.status(), again.status());
            if (!plan.ok()) continue;
            EXPECT_EQ(plan->SerializeAsString(), again->SerializeAsString());
          }
        }
        const auto cycles = Backend().EstimateCycles(region, *asked, 0);
        ASSERT_TRUE(cycles.ok()) << cycles.status();
        EXPECT_EQ(*cycles, *kept->EstimateCycles(region, *asked, 0));
      }
    }
  }
}

// No window reads the last row and column; nothing is copied for that.
TEST(ResidentTest, AWholeTensorIsReadAsItLies) {
  const Graph graph = GraphOf({.name = "s",
                               .kind = "conv2d",
                               .h = 8,
                               .w = 8,
                               .c = 16,
                               .out_c = 16,
                               .stride = 2});
  const auto plan = PlanOf(RegionFor(graph), ToyMachine(kBlock, kRoomy), kRoomy,
                           {true, true});
  ASSERT_TRUE(plan.ok()) << plan.status();
  for (const v1::RegionPlan::Step& step : plan->steps()) {
    EXPECT_TRUE(step.early() || step.kind() == v1::RegionPlan::Step::JOB);
  }
}

// Tiles that a register does not hold are none; what no tile changes is named.
TEST(RegisterTest, TooNarrowOnesCutAnOpOrAreNamed) {
  const Graph graph = GraphOf({.name = "n",
                               .kind = "conv2d",
                               .h = 8,
                               .w = 8,
                               .c = 8,
                               .out_c = 8,
                               .kernel_h = 3,
                               .kernel_w = 3,
                               .pad = 1});
  const auto plan = [&](const std::string& name, int32_t bits) {
    v1::Machine machine = ToyMachine(kBlock, kRoomy);
    for (auto& reg :
         *machine.mutable_engines(0)->mutable_jobs()->mutable_registers()) {
      if (absl::AsciiStrToLower(reg.name()) == name) reg.set_bits(bits);
    }
    return PlanOf(RegionFor(graph), machine, kRoomy, Stays());
  };
  const auto jobs = [](const absl::StatusOr<v1::RegionPlan>& planned) {
    int64_t count = 0;
    if (!planned.ok()) return count;
    for (const v1::RegionPlan::Step& step : planned->steps()) {
      count += step.kind() == v1::RegionPlan::Step::JOB ? 1 : 0;
    }
    return count;
  };
  EXPECT_EQ(jobs(plan("out_h", 16)), 1);
  // Registers are signed: at most 3 rows.
  const auto cut = plan("out_h", 3);
  ASSERT_TRUE(cut.ok()) << cut.status();
  EXPECT_GE(jobs(cut), 3);
  const absl::Status refused = plan("kernel_h", 2).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnimplemented);
  const auto detail = GetErrorDetail(refused);
  ASSERT_TRUE(detail.has_value()) << refused;
  EXPECT_EQ(detail->reason, "REGISTER_TOO_NARROW");
  EXPECT_EQ(absl::AsciiStrToLower(detail->where),
            "op conv2d (conv2d), register kernel_h");
  EXPECT_EQ(detail->limit, "-2 to 1");
  EXPECT_EQ(detail->need, "3");
}

// The borders of a plan, and the messages about others.
TEST(BorderTest, OthersAreRefusedByName) {
  const Graph graph = GraphOf({.name = "p",
                               .kind = "max_pool2d",
                               .h = 4,
                               .w = 4,
                               .c = 8,
                               .kernel_h = 2,
                               .kernel_w = 2,
                               .stride = 2});
  v1::Machine machine = ToyMachine(kBlock, kRoomy);
  const Region region = RegionFor(graph);
  const Budget good = BudgetOf(region, machine, kRoomy, {true, true});
  const auto check = [&](const Budget& budget) {
    const absl::Status checked =
        Backend().CheckBorder(region, budget.borders[0], machine, 0);
    EXPECT_EQ(Backend().Plan(region, budget, machine, 0, {}).ok(),
              checked.ok());
    return checked.code();
  };
  EXPECT_EQ(check(good), absl::StatusCode::kOk);
  // The same layout elsewhere, and blocks of half the size: tiles are moved.
  Budget budget = good;
  budget.borders[0].memory = kRam;
  EXPECT_EQ(check(budget), absl::StatusCode::kOk);
  budget = good;
  budget.borders[0].layout = *target::InShape(
      target::Permuted(target::DenseLayout({1, 2, 16, 4}, 1), {0, 2, 1, 3}),
      {1, 4, 4, 8});
  EXPECT_EQ(check(budget), absl::StatusCode::kOk);
  // .. if a link can.
  machine.mutable_links(0)->clear_from();
  machine.mutable_links(0)->add_from(kFlash);
  machine.mutable_links(0)->add_from(kRam);
  EXPECT_EQ(check(budget), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(check(good), absl::StatusCode::kOk);
  // Illegal, and of another shape.
  budget = good;
  budget.borders[0].layout.set_size_bytes(1);
  EXPECT_EQ(check(budget), absl::StatusCode::kInvalidArgument);
  budget = good;
  budget.borders[0].layout = target::DenseLayout({1, 4, 8, 4}, 1);
  EXPECT_EQ(check(budget), absl::StatusCode::kInvalidArgument);
  budget = good;
  budget.borders[0].memory = 7;
  EXPECT_EQ(check(budget), absl::StatusCode::kInvalidArgument);
}

TEST(EmitTest, RefusesPlansOfOthers) {
  const Graph graph =
      GraphOf({.name = "a", .kind = "add", .h = 4, .w = 4, .c = 8});
  const v1::Machine machine = ToyMachine(kBlock, kRoomy);
  const Region region = RegionFor(graph);
  const auto plan = PlanOf(region, machine, 256, Stays());
  ASSERT_TRUE(plan.ok()) << plan.status();
  const absl::flat_hash_map<TensorId, uint64_t> tensors = {
      {0, kRamBase}, {1, kRamBase + 256}, {2, kRamBase + 512}};
  RegionMemory memory;
  memory.tensors = &tensors;
  memory.ram = kRam;
  memory.buffers.assign(static_cast<size_t>(plan->buffers_size()), 0);
  const auto code = Backend().Emit(region, *plan, machine, memory);
  EXPECT_TRUE(code.ok()) << code.status();
  const auto refused = [&](const v1::RegionPlan& other) {
    return Backend().Emit(region, other, machine, memory).status().code();
  };
  v1::RegionPlan other = *plan;
  other.mutable_decisions()->clear_value();
  EXPECT_EQ(refused(other), absl::StatusCode::kInvalidArgument);
  other = *plan;
  other.mutable_steps()->RemoveLast();
  EXPECT_EQ(refused(other), absl::StatusCode::kInvalidArgument);
  other = *plan;
  other.mutable_buffers()->RemoveLast();
  EXPECT_EQ(refused(other), absl::StatusCode::kInvalidArgument);
  memory.buffers.pop_back();
  EXPECT_EQ(refused(*plan), absl::StatusCode::kInvalidArgument);
}

TEST(TextTest, RegisterWritesGoThereAndBack) {
  const v1::Machine machine = ToyMachine(kBlock, kRoomy);
  const std::string bytes("\x04\0\0\0\x2a\0\0\0\0\x10\0\0\x01\0\0\0", 16);
  const auto text = Backend().Disassemble(machine.engines(0), bytes);
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(*text, "in_h 0x0000002a\nstart 0x00000001\n");
  const auto back = Backend().Assemble(machine.engines(0), *text);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_TRUE(*back == bytes);
  for (const char* wrong :
       {"in_h", "nothing 1", "in_h 0x100000000", "in_h g"}) {
    EXPECT_FALSE(Backend().Assemble(machine.engines(0), wrong).ok()) << wrong;
  }
  EXPECT_FALSE(Backend().Disassemble(machine.engines(0), "abc").ok());
  EXPECT_FALSE(Backend()
                   .Disassemble(machine.engines(0),
                                std::string("\xf0\xff\0\0\0\0\0\0", 8))
                   .ok());
}

// The C has its own names for them.
TEST(ModelInCTest, SizesAreThoseOfTheHeader) {
  const auto files = ModelInC(ToyMachine(kBlock, kRoomy), 0);
  ASSERT_TRUE(files.ok()) << files.status();
  const auto header = absl::c_find_if(
      *files, [](const auto& file) { return file.path == "job_model.h"; });
  ASSERT_NE(header, files->end());
  EXPECT_TRUE(absl::StrContains(
      header->text,
      absl::StrCat("enum { JOB_MOST_TERMS = ", kMostModelTerms,
                   ", JOB_MOST_REGISTERS = ", kMostModelRegisters, " };")));
}

}  // namespace
}  // namespace edgekiln::compiler::register_job
