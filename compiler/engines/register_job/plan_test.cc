// Plans and what is emitted for them, on single ops: with every size of the
// engine's memory, borders in system memory and resident.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "base/error.h"
#include "base/rng.h"
#include "compiler/engines/register_job/backend.h"
#include "compiler/engines/register_job/testing/run_steps.h"
#include "compiler/engines/register_job/testing/toy_machine.h"
#include "compiler/ir/interpreter.h"
#include "compiler/planning/offset_allocator.h"
#include "gtest/gtest.h"
#include "target/layout.h"

namespace edgekiln::compiler::register_job {
namespace {

constexpr int64_t kBlock = 8;
constexpr int64_t kRoomy = 1 << 20;
constexpr uint64_t kRamBase = 2147483648;

// The steps alone, timed once more.
int64_t CyclesOf(const v1::RegionPlan& plan, int64_t poll_cycles) {
  int64_t now = 0;
  int64_t seen = 0;
  std::vector<int64_t> ends;
  for (const v1::RegionPlan::Step& step : plan.steps()) {
    for (const int32_t job : step.after()) {
      if (ends[job] <= seen) continue;
      do {
        now += poll_cycles;
      } while (now < ends[job]);
      seen = now;
    }
    now += step.host_cycles();
    ends.push_back(now + step.engine_cycles());
  }
  return std::max(now, *std::max_element(ends.begin(), ends.end()));
}

// The last step before which the end of a job need not have been seen.
int32_t LastBeforeSeen(const v1::RegionPlan& plan, int32_t job) {
  for (int32_t s = job + 1; s < plan.steps_size(); ++s) {
    for (const int32_t after : plan.steps(s).after()) {
      if (after >= job) return s - 1;
    }
  }
  return plan.steps_size() - 1;
}

// Addresses of a plan's buffers, each alive until the jobs among its steps have
// ended; EXPECTs that they fit.
std::vector<uint64_t> Allocate(const v1::RegionPlan& plan, int64_t bytes) {
  std::vector<BufferLife> lives;
  for (const v1::RegionPlan::Buffer& buffer : plan.buffers()) {
    EXPECT_LE(0, buffer.first_step());
    EXPECT_LE(buffer.first_step(), buffer.last_step());
    EXPECT_LT(buffer.last_step(), plan.steps_size());
    EXPECT_EQ(buffer.memory(), kTiles);
    int32_t end = buffer.last_step();
    for (int32_t s = buffer.first_step(); s <= buffer.last_step(); ++s) {
      if (plan.steps(s).kind() != v1::RegionPlan::Step::JOB) continue;
      end = std::max(end, LastBeforeSeen(plan, s));
    }
    lives.push_back({buffer.bytes(), 16, buffer.first_step(), end});
  }
  const OffsetPlan offsets = AllocateOffsets(lives);
  EXPECT_LE(offsets.peak_bytes, bytes);
  return {offsets.offsets.begin(), offsets.offsets.end()};
}

std::string RandomBytes(const Tensor& tensor, Rng& rng) {
  std::string bytes(
      static_cast<size_t>(tensor.num_elements() * ElementBytes(tensor.type)),
      '\0');
  for (size_t i = 0; i < bytes.size(); ++i) {
    // Sums of at most 2^23.
    const bool high = tensor.type == v1::INT32 && i % 4 == 3;
    bytes[i] = high ? '\0' : static_cast<char>(rng.Below(256));
  }
  return bytes;
}

// Runs a plan on random inputs and compares with the reference.
class Execution {
 public:
  Execution(const Region& region, const v1::Machine& machine,
            const v1::RegionPlan& plan, Stays stays)
      : region_(region), machine_(machine), plan_(plan), stays_(stays) {}

  void Check() {
    const Graph& graph = *region_.graph;
    RegionMemory memory;
    absl::flat_hash_map<TensorId, uint64_t> tensors;
    uint64_t next = kRamBase;
    for (size_t t = 0; t < graph.tensors.size(); ++t) {
      tensors[static_cast<TensorId>(t)] = next;
      next += static_cast<uint64_t>(graph.tensors[t].num_elements() * 4 + 3);
    }
    memory.tensors = &tensors;
    memory.ram = kRam;
    memory.flash = kFlash;
    memory.constants = 48;
    memory.buffers = Allocate(plan_, plan_.needs(0).bytes());
    const auto code = Backend().Emit(region_, plan_, machine_, memory);
    ASSERT_TRUE(code.ok()) << code.status();
    ASSERT_EQ(std::ssize(code->steps), plan_.steps_size());
    Memories memories;
    for (const v1::ResolvedMemory& each : machine_.memories()) {
      memories.bytes.emplace_back(
          static_cast<size_t>(std::min<int64_t>(each.capacity_bytes(), kRoomy)),
          '\x55');
    }
    memories.bytes[kFlash].replace(48, code->constants.size(), code->constants);
    Rng rng(7);
    std::vector<std::string> inputs;
    for (const TensorId input : graph.inputs) {
      inputs.push_back(RandomBytes(graph.tensors[input], rng));
      Put(input, tensors, memory, inputs.back(), memories);
    }
    RunSteps(machine_, plan_, *code, memories);
    const std::vector<absl::string_view> views(inputs.begin(), inputs.end());
    const auto expected = Evaluate(graph, views);
    ASSERT_TRUE(expected.ok()) << expected.status();
    EXPECT_TRUE(Get(graph.outputs[0], tensors, memory, memories) ==
                (*expected)[0]);
    CheckTaps(*code, (*expected)[0].size());
  }

 private:
  // The buffer of a resident tensor; -1 if it is in RAM.
  int32_t BufferOf(TensorId tensor) const {
    for (int32_t b = 0; b < plan_.buffers_size(); ++b) {
      if (plan_.buffers(b).has_tensor() &&
          plan_.buffers(b).tensor() == tensor) {
        return b;
      }
    }
    return -1;
  }

  target::Layout LayoutOf(TensorId tensor) const {
    for (const v1::RegionPlan::Border& border : plan_.borders()) {
      if (border.tensor() != tensor) continue;
      return target::Layout::Create(border.layout()).value();
    }
    ADD_FAILURE() << "no border of tensor " << tensor;
    return target::Layout::Create(v1::Layout()).value();
  }

  // The first byte of a tensor of the border.
  char* PlaceOf(TensorId tensor, bool stays,
                const absl::flat_hash_map<TensorId, uint64_t>& tensors,
                const RegionMemory& memory, Memories& memories) const {
    const int32_t buffer = BufferOf(tensor);
    EXPECT_EQ(buffer >= 0, stays);
    return buffer < 0
               ? memories.bytes[kRam].data() + tensors.at(tensor) - kRamBase
               : memories.bytes[kTiles].data() + memory.buffers[buffer];
  }

  void Put(TensorId tensor,
           const absl::flat_hash_map<TensorId, uint64_t>& tensors,
           const RegionMemory& memory, const std::string& bytes,
           Memories& memories) const {
    LayoutOf(tensor).Scatter(bytes.data(), PlaceOf(tensor, stays_.inputs,
                                                   tensors, memory, memories));
  }

  std::string Get(TensorId tensor,
                  const absl::flat_hash_map<TensorId, uint64_t>& tensors,
                  const RegionMemory& memory, Memories& memories) const {
    const Tensor& type = region_.graph->tensors[tensor];
    std::string bytes(
        static_cast<size_t>(type.num_elements() * ElementBytes(type.type)),
        '\0');
    LayoutOf(tensor).Gather(
        PlaceOf(tensor, stays_.output, tensors, memory, memories),
        bytes.data());
    return bytes;
  }

  // They show each element once.
  void CheckTaps(const RegionCode& code, size_t bytes) const {
    const Tensor& output = region_.graph->tensors[region_.graph->outputs[0]];
    int64_t shown = 0;
    for (const v1::Program::Tap& tap : code.taps) {
      EXPECT_EQ(plan_.steps(tap.step()).kind(), v1::RegionPlan::Step::JOB);
      int64_t elements = 1;
      for (int axis = 0; axis < tap.box().begin_size(); ++axis) {
        elements *= tap.box().end(axis) - tap.box().begin(axis);
        EXPECT_EQ(tap.box().end(axis) - tap.box().begin(axis),
                  code.layouts[tap.layout()].extents(axis));
      }
      shown += elements;
    }
    EXPECT_EQ(shown * ElementBytes(output.type), static_cast<int64_t>(bytes));
  }

  const Region& region_;
  const v1::Machine& machine_;
  const v1::RegionPlan& plan_;
  const Stays stays_;
};

constexpr Stays kStays[] = {{false, false},      {true, false},
                            {false, true},       {true, true},
                            {false, true, true}, {true, false, true}};

class PlanTest : public testing::TestWithParam<OpSpec> {
 protected:
  // The smallest need that the error names.
  static int64_t SmallestOf(const Region& region, const v1::Machine& machine,
                            Stays stays) {
    const auto none = PlanOf(region, machine, 0, stays);
    EXPECT_EQ(none.status().code(), absl::StatusCode::kResourceExhausted);
    const auto detail = GetErrorDetail(none.status());
    int64_t need = 0;
    EXPECT_TRUE(
        detail.has_value() &&
        absl::SimpleAtoi(detail->need.substr(0, detail->need.find(' ')), &need))
        << none.status();
    EXPECT_TRUE(absl::StrContains(detail->where, "tile_mem"));
    return need;
  }

  static void CheckAllSizes(const Graph& graph, const v1::Machine& machine) {
    const Region region = RegionOf(graph, {0});
    for (const Stays stays : kStays) {
      SCOPED_TRACE(testing::Message()
                   << stays.inputs << stays.output << stays.channels_first);
      const int64_t smallest = SmallestOf(region, machine, stays);
      EXPECT_EQ(PlanOf(region, machine, smallest - 1, stays).status().code(),
                absl::StatusCode::kResourceExhausted);
      int64_t cycles_before = std::numeric_limits<int64_t>::max();
      std::string decisions_before;
      for (int64_t bytes = smallest; bytes <= kRoomy; bytes += bytes / 2 + 16) {
        SCOPED_TRACE(bytes);
        const auto plan = PlanOf(region, machine, bytes, stays);
        ASSERT_TRUE(plan.ok()) << plan.status();
        EXPECT_EQ(plan->needs(0).memory(), kTiles);
        EXPECT_LE(plan->needs(0).bytes(), bytes);
        EXPECT_EQ(plan->predicted_cycles(), CyclesOf(*plan, 5));
        cycles_before = std::min(cycles_before, plan->predicted_cycles());
        if (plan->decisions().value() == decisions_before) continue;
        decisions_before = plan->decisions().value();
        Execution(region, machine, *plan, stays).Check();
      }
      // The most memory is as good as any.
      const auto roomy = PlanOf(region, machine, kRoomy, stays);
      ASSERT_TRUE(roomy.ok());
      EXPECT_LE(roomy->predicted_cycles(), cycles_before * 11 / 10);
    }
  }
};

TEST_P(PlanTest, FitsEveryMemoryDownToTheSmallestAndIsExact) {
  const Graph graph = GraphOf(GetParam());
  ASSERT_TRUE(VerifyGraph(graph).ok()) << VerifyGraph(graph);
  CheckAllSizes(graph, ToyMachine(kBlock, kRoomy));
}

// A block begins where an operand may, and so does its second half: a tile of
// that half alone would reach beyond the tensor.
TEST_P(PlanTest, BlocksMayBeLargerThanAlignments) {
  if (GetParam().kind != "add" && GetParam().kind != "requantize") return;
  OpSpec spec = GetParam();
  spec.c = 32;
  const Graph graph = GraphOf(spec);
  CheckAllSizes(graph, ToyMachine(32, kRoomy));
}

// A job's condition cuts the channels of a tile further.
TEST_P(PlanTest, JobsOfATileAreExact) {
  const Graph graph = GraphOf(GetParam());
  v1::Machine machine = ToyMachine(kBlock, kRoomy);
  for (auto& job :
       *machine.mutable_engines(0)->mutable_jobs()->mutable_jobs()) {
    auto& condition = *job.add_where();
    condition.set_expr("out_c <= 8");
    condition.set_need("8 channels");
  }
  const Region region = RegionOf(graph, {0});
  for (const Stays stays : {Stays{false, false}, Stays{true, true}}) {
    for (const int64_t bytes : {SmallestOf(region, machine, stays), kRoomy}) {
      SCOPED_TRACE(bytes);
      const auto plan = PlanOf(region, machine, bytes, stays);
      ASSERT_TRUE(plan.ok()) << plan.status();
      Execution(region, machine, *plan, stays).Check();
    }
  }
}

TEST_P(PlanTest, CheckSmallestRefusesWhatNoPlanFits) {
  const Graph graph = GraphOf(GetParam());
  const Region region = RegionOf(graph, {0});
  const int64_t smallest =
      SmallestOf(region, ToyMachine(kBlock, kRoomy), Stays());
  EXPECT_TRUE(Backend()
                  .CheckSmallest(graph, {0}, ToyMachine(kBlock, smallest), 0)
                  .ok());
  EXPECT_EQ(Backend()
                .CheckSmallest(graph, {0}, ToyMachine(kBlock, smallest - 1), 0)
                .code(),
            absl::StatusCode::kResourceExhausted);
}

TEST_P(PlanTest, EstimateIsThePlanWithResidentBorders) {
  const Graph graph = GraphOf(GetParam());
  const v1::Machine machine = ToyMachine(kBlock, kRoomy);
  const Region region = RegionOf(graph, {0});
  const auto estimate = Backend().EstimateCycles(region, machine, 0);
  const auto plan = PlanOf(region, machine, kRoomy, {true, true});
  ASSERT_TRUE(estimate.ok() && plan.ok()) << estimate.status() << plan.status();
  EXPECT_EQ(*estimate, plan->predicted_cycles());
}

const OpSpec kSpecs[] = {
    {.name = "Conv",
     .kind = "conv2d",
     .h = 9,
     .w = 7,
     .c = 12,
     .out_c = 20,
     .kernel_h = 3,
     .kernel_w = 3,
     .pad = 1},
    {.name = "ConvStridedFewChannels",
     .kind = "conv2d",
     .h = 12,
     .w = 12,
     .c = 3,
     .out_c = 8,
     .kernel_h = 3,
     .kernel_w = 3,
     .stride = 2,
     .pad = 1},
    {.name = "ConvDilatedHalfEven",
     .kind = "conv2d",
     .h = 8,
     .w = 9,
     .c = 8,
     .out_c = 11,
     .kernel_h = 3,
     .kernel_w = 2,
     .dilation = 2,
     .pad = 2,
     .half_even = true},
    {.name = "SkipConv",
     .kind = "conv2d",
     .h = 8,
     .w = 10,
     .c = 16,
     .out_c = 24,
     .stride = 2},
    {.name = "Pointwise",
     .kind = "conv2d",
     .h = 6,
     .w = 6,
     .c = 32,
     .out_c = 40},
    {.name = "ConvSums",
     .kind = "conv2d",
     .h = 5,
     .w = 5,
     .c = 16,
     .out_c = 24,
     .kernel_h = 3,
     .kernel_w = 3,
     .pad = 1,
     .int32_output = true},
    {.name = "Depthwise",
     .kind = "depthwise_conv2d",
     .h = 8,
     .w = 8,
     .c = 24,
     .out_c = 24,
     .kernel_h = 3,
     .kernel_w = 3,
     .stride = 2,
     .pad = 1},
    {.name = "DepthwiseMultiplier",
     .kind = "depthwise_conv2d",
     .h = 10,
     .w = 6,
     .c = 3,
     .out_c = 12,
     .kernel_h = 5,
     .kernel_w = 4,
     .pad = 2},
    {.name = "Dense",
     .kind = "fully_connected",
     .h = 1,
     .w = 1,
     .c = 100,
     .out_c = 30},
    {.name = "DenseRows",
     .kind = "fully_connected",
     .h = 1,
     .w = 5,
     .c = 32,
     .out_c = 16},
    {.name = "Add", .kind = "add", .h = 7, .w = 6, .c = 20},
    {.name = "AveragePool",
     .kind = "average_pool2d",
     .h = 9,
     .w = 9,
     .c = 16,
     .kernel_h = 3,
     .kernel_w = 3,
     .stride = 2,
     .pad = 1},
    {.name = "MaxPool",
     .kind = "max_pool2d",
     .h = 8,
     .w = 8,
     .c = 12,
     .kernel_h = 2,
     .kernel_w = 2,
     .stride = 2},
    {.name = "Requantize", .kind = "requantize", .h = 5, .w = 4, .c = 20},
};

INSTANTIATE_TEST_SUITE_P(All, PlanTest, testing::ValuesIn(kSpecs),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace edgekiln::compiler::register_job
