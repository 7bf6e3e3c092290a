// Input channels that only jobs have: on DIANA, whose recipes round them up.

#include "compiler/engines/register_job/padded_channels.h"

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/engines/register_job/backend.h"
#include "compiler/engines/register_job/constants.h"
#include "compiler/engines/register_job/schedule.h"
#include "compiler/engines/register_job/testing/diana.h"
#include "compiler/engines/register_job/testing/toy_machine.h"
#include "edgekiln/v1/engines/register_job.pb.h"
#include "gtest/gtest.h"
#include "target/layout.h"

namespace edgekiln::compiler::register_job {
namespace {

constexpr int32_t kL2 = 0;
constexpr int32_t kL1 = 1;
constexpr int64_t kMultiple = 16;

const Chip& DianaChip() {
  static const auto* chip = new Chip(*Chip::Create(Diana(), 0));
  return *chip;
}

OpSpec Conv(int64_t c, int64_t h) {
  return {.name = "c",
          .kind = "conv2d",
          .h = h,
          .w = 6,
          .c = c,
          .out_c = 5,
          .kernel_h = 3,
          .kernel_w = 3,
          .pad = 1};
}

OpSpec Depthwise(int64_t channels) {
  OpSpec spec = Conv(channels, 4);
  spec.kind = "depthwise_conv2d";
  spec.out_c = channels;
  return spec;
}

Placement Padded(const Graph& graph, int64_t multiple) {
  auto placement = PlaceOperands(DianaChip(), RegionOf(graph, {0}), kL2, {});
  EXPECT_TRUE(placement.ok()) << placement.status();
  PadChannels(graph, multiple, *placement);
  return *placement;
}

TEST(PadChannelsTest, RoundsConvolutionsUp) {
  const OpSpec dense = {
      .name = "f", .kind = "fully_connected", .c = 9, .out_c = 40};
  const struct {
    OpSpec spec;
    int64_t multiple;
    int64_t in;
    int64_t out;
  } kCases[] = {{Conv(3, 4), 16, 16, 5},
                {Conv(16, 4), 16, 16, 5},
                {Conv(3, 4), 0, 3, 5},
                {Conv(3, 4), 1, 3, 5},
                {Conv(3, 4), 4, 4, 5},
                {Depthwise(6), 16, 16, 16},
                {Depthwise(20), 16, 32, 32},
                {dense, 16, 9, 40},
                // No job has room for rounded weights.
                {Conv(3, 4), 4096, 3, 5}};
  for (const auto& c : kCases) {
    SCOPED_TRACE(testing::Message() << c.spec.kind << " of " << c.spec.c
                                    << " in multiples of " << c.multiple);
    const Graph graph = Shifted(c.spec);
    const Placement placement = Padded(graph, c.multiple);
    EXPECT_EQ(placement.operation.in.c, c.in);
    EXPECT_EQ(placement.operation.out.c, c.out);
    EXPECT_EQ(placement.operation.in_padding, c.in - c.spec.c);
    EXPECT_EQ(placement.operation.out_padding, c.out - c.spec.out_c);
    EXPECT_EQ(placement.input_channels_multiple,
              c.in == c.spec.c ? 0 : c.multiple);
  }
}

TEST(PadChannelsTest, LeavesTensorsAloneThatStayOrHaveGaps) {
  const Graph graph = Shifted(Conv(3, 4));
  const TensorId input = graph.inputs[0];
  const v1::Layout dense = target::DenseLayout({1, 4, 6, 3}, 1);
  v1::Layout gaps = target::StridedLayout({1, 4, 6, 3}, {96, 24, 4, 1}, 1);
  for (const auto& border :
       {Border{kL1, dense, kNoTensor}, Border{kL2, gaps, kNoTensor}}) {
    auto placement = PlaceOperands(DianaChip(), RegionOf(graph, {0}), kL2,
                                   {{input, border}});
    ASSERT_TRUE(placement.ok()) << placement.status();
    PadChannels(graph, kMultiple, *placement);
    EXPECT_EQ(placement->operation.in.c, 3);
  }
}

TEST(PadChannelsTest, WeightsOfPaddingAreZero) {
  const Graph graph = Shifted(Conv(3, 4));
  const Placement placement = Padded(graph, kMultiple);
  const Image& out = placement.operation.out;
  const auto schedule =
      Schedule::Create(placement, {.tiling = {out.h, out.w, out.c}});
  ASSERT_TRUE(schedule.ok()) << schedule.status();
  const auto constants = PackConstants(graph, placement, *schedule);
  ASSERT_TRUE(constants.ok()) << constants.status();
  // [c][fy][fx][16], then 64 bytes of biases, in reversed words.
  ASSERT_EQ(std::ssize(constants->bytes), 16 * 9 * 16 + 64);
  const std::string weights(*graph.tensors[placement.operation.weights].data);
  for (int64_t c = 0; c < 16; ++c) {
    for (int64_t tap = 0; tap < 9; ++tap) {
      for (int64_t o = 0; o < 16; ++o) {
        const int64_t at = (c * 9 + tap) * 16 + o;
        const char expected =
            c < 3 && o < 5 ? weights[(o * 9 + tap) * 3 + c] : '\0';
        EXPECT_EQ(constants->bytes[at / 4 * 4 + 3 - at % 4], expected);
      }
    }
  }
}

v1::Layout ChannelsOfRows(int64_t h, int64_t w, int64_t c) {
  v1::Layout layout = target::StridedLayout({h, w, c}, {w, 1, h * w}, 1);
  layout.set_reversed_bytes(4);
  layout.set_size_bytes((h * w * c + 3) / 4 * 4);
  return layout;
}

TEST(FillerTest, CoversWhatTheTensorDoesNot) {
  const struct {
    const char* name;
    v1::Layout tensor;
    v1::Layout room;
    int64_t padding;
    int64_t begin;
    int64_t bytes;
    int64_t run_bytes;
    int64_t cycles;
  } kCases[] = {
      {"whole words", ChannelsOfRows(4, 6, 3), ChannelsOfRows(4, 6, 16), 13, 72,
       312, 72, 4 * (40 + 6) + 40 + 2},
      // 75 bytes, of which the last word is not full.
      {"parts of words", ChannelsOfRows(5, 5, 3), ChannelsOfRows(5, 5, 16), 13,
       72, 328, 72, 4 * (40 + 6) + 40 + 4},
      {"in the other order", target::DenseLayout({4, 6, 3}, 1),
       ChannelsOfRows(4, 6, 16), 13, 72, 312, 72, 4 * (40 + 6) + 40 + 2},
      {"in the other order, and parts of words",
       target::DenseLayout({5, 5, 3}, 1), ChannelsOfRows(5, 5, 16), 13, 72, 328,
       72, 4 * (40 + 6) + 40 + 4},
      {"a tile of rows", ChannelsOfRows(8, 6, 8), ChannelsOfRows(4, 6, 16), 8,
       192, 192, 384, 40 + 12},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    Operand input;
    input.memory = kL2;
    input.whole = c.tensor;
    const auto filler = FillerOf(input, c.room, c.padding);
    ASSERT_TRUE(filler.has_value());
    EXPECT_EQ(filler->begin, c.begin);
    EXPECT_EQ(filler->bytes, c.bytes);
    EXPECT_EQ(filler->run_bytes, c.run_bytes);
    const auto cycles = FillerCycles(DianaChip(), input, *filler);
    ASSERT_TRUE(cycles.ok()) << cycles.status();
    EXPECT_EQ(*cycles, c.cycles);
    EXPECT_FALSE(FillerOf(input, c.room, 0).has_value());
  }
}

// 16 jobs of 6 channels; what the others make is not stored.
TEST(PadChannelsTest, JobsOfPaddingHaveNoResults) {
  const Graph graph = Shifted(Depthwise(6));
  const Region region = RegionOf(graph, {0});
  Budget budget;
  budget.memory_bytes.assign(static_cast<size_t>(Diana().memories_size()),
                             1 << 20);
  v1::register_job::TileDecisions decisions;
  decisions.set_no_dense_blocks(true);
  decisions.set_input_channels_multiple(kMultiple);
  google::protobuf::Any recipe;
  recipe.PackFrom(decisions);
  const auto plan = Backend().Plan(region, budget, Diana(), 0, recipe);
  ASSERT_TRUE(plan.ok()) << plan.status();
  RegionMemory memory;
  absl::flat_hash_map<TensorId, uint64_t> tensors;
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    tensors[static_cast<TensorId>(t)] = 0x1c000000 + 4096 * t;
  }
  memory.tensors = &tensors;
  memory.ram = kL2;
  memory.flash = kL2;
  uint64_t next = 0;
  for (const v1::RegionPlan::Buffer& buffer : plan->buffers()) {
    memory.buffers.push_back(next);
    next += static_cast<uint64_t>((buffer.bytes() + 15) / 16 * 16);
  }
  const auto code = Backend().Emit(region, *plan, Diana(), memory);
  ASSERT_TRUE(code.ok()) << code.status();
  int jobs = 0;
  int64_t stored = 0;
  for (const std::vector<v1::Program::Step>& steps : code->steps) {
    for (const v1::Program::Step& step : steps) {
      jobs += step.has_register_writes() ? 1 : 0;
      if (!step.has_move() || step.move().to().memory() != kL2) continue;
      stored = code->layouts[step.move().to_layout()].extents(2);
    }
  }
  EXPECT_EQ(jobs, 16);
  EXPECT_EQ(code->taps.size(), 6);
  EXPECT_EQ(stored, 6);

  v1::RegionPlan wrong = *plan;
  v1::register_job::RegionDecisions written;
  ASSERT_TRUE(wrong.decisions().UnpackTo(&written));
  EXPECT_EQ(written.input_channels_multiple(), kMultiple);
  written.set_input_channels_multiple(-1);
  wrong.mutable_decisions()->PackFrom(written);
  EXPECT_EQ(Backend().Emit(region, wrong, Diana(), memory).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace edgekiln::compiler::register_job
