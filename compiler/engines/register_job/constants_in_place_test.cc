// Weights and biases that lie whole in system memory, moves that the host
// rearranges and the choice among jobs of one kernel: on DIANA.

#include "compiler/engines/register_job/constants_in_place.h"

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/engines/register_job/chip.h"
#include "compiler/engines/register_job/constants.h"
#include "compiler/engines/register_job/schedule.h"
#include "compiler/engines/register_job/testing/diana.h"
#include "compiler/engines/register_job/testing/toy_machine.h"
#include "gtest/gtest.h"
#include "target/layout.h"
#include "target/layout_parts.h"

namespace edgekiln::compiler::register_job {
namespace {

constexpr int32_t kL2 = 0;
constexpr int32_t kL1 = 1;

// The constants of an op, packed, and jobs that read them.
class Packed {
 public:
  Packed(const OpSpec& spec, bool dense_blocks)
      : graph_(Shifted(spec)), chip_(*Chip::Create(Diana(), 0)) {
    const auto placement =
        PlaceOperands(chip_, RegionOf(graph_, {0}), kL2, {}, dense_blocks);
    EXPECT_TRUE(placement.ok()) << placement.status();
    placement_ = placement.value_or(Placement());
    const Image& out = placement_.operation.out;
    const auto schedule =
        Schedule::Create(placement_, {.tiling = {out.h, out.w, out.c}});
    EXPECT_TRUE(schedule.ok()) << schedule.status();
    const auto constants = PackConstants(graph_, placement_, *schedule);
    EXPECT_TRUE(constants.ok()) << constants.status();
    bytes_ = constants->bytes;
    whole_ = *WholeConstantsOf(placement_);
    EXPECT_EQ(std::ssize(bytes_), whole_.bytes);
  }

  const WholeConstants& whole() const { return whole_; }

  // Of a job for output channels [begin, end), from the first byte on.
  std::optional<int64_t> AddressOf(int64_t begin, int64_t end) const {
    const auto address = AddressOfPart(placement_, whole_, CutOf(begin, end));
    EXPECT_TRUE(address.ok()) << address.status();
    return address.value_or(std::nullopt);
  }

  // What that job reads is what the op has, element by element.
  void ExpectReads(int64_t begin, int64_t end) const {
    const auto address = AddressOf(begin, end);
    ASSERT_TRUE(address.has_value());
    const Operation& operation = placement_.operation;
    target::JobVariables variables = VariablesOfAll(operation);
    variables[target::JobVariable::kOutC] = end - begin;
    if (operation.channelwise()) {
      variables[target::JobVariable::kInC] = end - begin;
    }
    variables[target::JobVariable::kWeightsAddr] = *address;
    EXPECT_TRUE(chip_.view().CheckJob(placement_.job, variables).ok());
    EXPECT_EQ(Read(target::JobOperand::kWeights, variables),
              WeightsOf(begin, end));
    EXPECT_EQ(Read(target::JobOperand::kBias, variables),
              graph_.tensors[operation.bias].data->substr(
                  static_cast<size_t>(begin) * 4,
                  static_cast<size_t>(end - begin) * 4));
  }

 private:
  Cut CutOf(int64_t begin, int64_t end) const {
    Cut cut = {.begin = begin, .end = end, .in_begin = 0};
    cut.in_end = placement_.operation.in.c;
    if (placement_.operation.channelwise()) {
      cut.in_begin = begin;
      cut.in_end = end;
    }
    return cut;
  }

  std::string Read(target::JobOperand operand,
                   const target::JobVariables& variables) const {
    const auto message = LayoutOf(placement_, operand, variables);
    const auto address =
        chip_.view().AddressOf(placement_.job, operand, variables);
    EXPECT_TRUE(message.ok() && address.ok());
    const auto layout = target::Layout::Create(*message);
    EXPECT_TRUE(layout.ok()) << layout.status();
    const int64_t first = *address - message->first_byte();
    EXPECT_LE(first + layout->end_bytes(), std::ssize(bytes_));
    std::string values(static_cast<size_t>(layout->dense_bytes()), '\0');
    layout->Gather(bytes_.data() + first, values.data());
    return values;
  }

  // [o][h][w][i] as the job has them: of a depthwise convolution [o][h][w], or
  // as dense blocks with zeros between channels.
  std::string WeightsOf(int64_t begin, int64_t end) const {
    const Operation& operation = placement_.operation;
    const std::string all(*graph_.tensors[operation.weights].data);
    const int64_t channels = operation.out.c;
    const int64_t each = std::ssize(all) / channels;
    if (!operation.channelwise()) {
      return all.substr(static_cast<size_t>(begin * each),
                        static_cast<size_t>((end - begin) * each));
    }
    std::string weights;
    for (int64_t o = begin; o < end; ++o) {
      for (int64_t tap = 0; tap < each; ++tap) {
        const char value = all[tap * channels + o];
        if (placement_.block == 0) {
          weights.push_back(value);
          continue;
        }
        for (int64_t i = begin; i < end; ++i) {
          weights.push_back(i == o ? value : '\0');
        }
      }
    }
    return weights;
  }

  Graph graph_;
  Chip chip_;
  Placement placement_;
  std::string bytes_;
  WholeConstants whole_;
};

OpSpec Conv(int64_t c, int64_t out_c) {
  return {.name = "c",
          .kind = "conv2d",
          .h = 5,
          .w = 6,
          .c = c,
          .out_c = out_c,
          .kernel_h = 3,
          .kernel_w = 5,
          .pad = 2};
}

OpSpec Depthwise(int64_t channels) {
  return {.name = "d",
          .kind = "depthwise_conv2d",
          .h = 5,
          .w = 6,
          .c = channels,
          .out_c = channels,
          .kernel_h = 3,
          .kernel_w = 3,
          .pad = 1};
}

TEST(ConstantsInPlaceTest, ConvolutionsFindTheirBlocks) {
  const Packed packed(Conv(3, 37), false);
  // Of 16 outputs each, with 4 bytes of bias.
  constexpr int64_t kBlock = 3 * 3 * 5 * 16 + 64;
  EXPECT_EQ(packed.whole().bytes, 3 * kBlock);
  EXPECT_EQ(packed.whole().block_bytes, 0);
  const struct {
    int64_t begin;
    int64_t end;
    int64_t address;
  } kParts[] = {{0, 37, 0},       {0, 16, 0},           {16, 32, kBlock},
                {16, 37, kBlock}, {32, 37, 2 * kBlock}, {0, 5, 0}};
  for (const auto& part : kParts) {
    SCOPED_TRACE(testing::Message() << part.begin << " to " << part.end);
    EXPECT_EQ(packed.AddressOf(part.begin, part.end), part.address);
    packed.ExpectReads(part.begin, part.end);
  }
  // Across blocks from within one: no job has such weights.
  EXPECT_FALSE(packed.AddressOf(8, 24).has_value());
}

TEST(ConstantsInPlaceTest, DenseLayersFindTheirBlocks) {
  const Packed packed(
      {.name = "f", .kind = "fully_connected", .c = 35, .out_c = 20}, false);
  constexpr int64_t kBlock = 3 * 256 + 256;
  EXPECT_EQ(packed.whole().bytes, 2 * kBlock);
  packed.ExpectReads(0, 16);
  EXPECT_EQ(packed.AddressOf(16, 20), kBlock);
  packed.ExpectReads(16, 20);
}

TEST(ConstantsInPlaceTest, ChannelsOfDepthwiseConvolutionsAreInSlots) {
  const Packed packed(Depthwise(6), false);
  constexpr int64_t kBlock = 3 * 3 * 16 + 64;
  EXPECT_EQ(packed.whole().bytes, 2 * kBlock);
  for (int64_t channel = 0; channel < 6; ++channel) {
    SCOPED_TRACE(channel);
    EXPECT_EQ(packed.AddressOf(channel, channel + 1),
              channel / 4 * kBlock + channel % 4 * 4);
    packed.ExpectReads(channel, channel + 1);
  }
}

TEST(ConstantsInPlaceTest, DenseBlocksAreTheSameConvolution) {
  const Packed packed(Depthwise(35), true);
  constexpr int64_t kBlock = 16 * 3 * 3 * 16 + 64;
  EXPECT_EQ(packed.whole().block_bytes, kBlock);
  EXPECT_EQ(packed.whole().bytes, 3 * kBlock);
  for (const auto& [begin, end] :
       std::vector<std::pair<int64_t, int64_t>>{{0, 16}, {16, 32}, {32, 35}}) {
    SCOPED_TRACE(begin);
    EXPECT_EQ(packed.AddressOf(begin, end), begin / 16 * kBlock);
    packed.ExpectReads(begin, end);
  }
  EXPECT_FALSE(packed.AddressOf(8, 16).has_value());
  EXPECT_FALSE(packed.AddressOf(0, 32).has_value());
}

TEST(FindJobTest, TheFirstJobThatSomeCutCanBeIsTaken) {
  const auto chip = Chip::Create(Diana(), 0);
  ASSERT_TRUE(chip.ok()) << chip.status();
  const OpSpec one_pixel = {
      .name = "p", .kind = "conv2d", .c = 20, .out_c = 40};
  OpSpec one_row = one_pixel;
  one_row.w = 2;
  const struct {
    OpSpec spec;
    bool dense_blocks;
    int64_t code;
  } kCases[] = {
      {{.name = "f", .kind = "fully_connected", .c = 9, .out_c = 40}, false, 4},
      {one_pixel, false, 4},
      {one_row, false, 1},
      {Conv(3, 37), false, 1},
      {Depthwise(6), false, 2},
      {Depthwise(6), true, 1},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.spec.name);
    const Graph graph = Shifted(c.spec);
    const auto placement =
        PlaceOperands(*chip, RegionOf(graph, {0}), kL2, {}, c.dense_blocks);
    ASSERT_TRUE(placement.ok()) << placement.status();
    EXPECT_EQ(chip->view().jobs().jobs(placement->job).code(), c.code);
    EXPECT_TRUE(placement->constants_in_place);
    EXPECT_TRUE(placement->cuts_jobs());
  }
  for (const OpSpec& spec : {Conv(3, 37), Depthwise(1)}) {
    const Graph graph = Shifted(spec);
    EXPECT_EQ(PlaceOperands(*chip, RegionOf(graph, {0}), kL2, {}, true)
                  .status()
                  .code(),
              absl::StatusCode::kUnimplemented);
  }
}

// 40 cycles and 16 bytes a cycle, in granules of 32; 7.5 for each byte that the
// host's code brings into the other order.
TEST(MoveBetweenTest, TheHostRearrangesWhereItIsFaster) {
  const auto chip = Chip::Create(Diana(), 0);
  ASSERT_TRUE(chip.ok()) << chip.status();
  ASSERT_TRUE(chip->rearranges());
  const auto in_l1 = [](int64_t h, int64_t w, int64_t c) {
    v1::Layout layout = target::StridedLayout({h, w, c}, {w, 1, h * w}, 1);
    layout.set_reversed_bytes(4);
    layout.set_size_bytes((h * w * c + 3) / 4 * 4);
    return layout;
  };
  const struct {
    const char* name;
    v1::Layout in_l2;
    v1::Layout in_l1;
    bool rearranges;
    int64_t cycles;
  } kCases[] = {
      {"as it lies", in_l1(4, 8, 3), in_l1(4, 8, 3), false, 40 + 6},
      {"other order", target::DenseLayout({4, 8, 3}, 1), in_l1(4, 8, 3), true,
       720 + 40 + 6},
      {"half a granule", in_l1(2, 2, 4), in_l1(2, 2, 4), false, 40 + 2},
      {"few bytes", target::DenseLayout({1, 4, 1}, 1), in_l1(1, 4, 1), true,
       30 + 40 + 2},
      {"one byte", target::DenseLayout({1, 1, 1}, 1), in_l1(1, 1, 1), false,
       40 + 2},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    for (const bool loads : {true, false}) {
      const auto move = loads ? chip->MoveBetween(kL2, c.in_l2, kL1, c.in_l1)
                              : chip->MoveBetween(kL1, c.in_l1, kL2, c.in_l2);
      ASSERT_TRUE(move.ok()) << move.status();
      EXPECT_EQ(move->rearranges, c.rearranges);
      EXPECT_EQ(move->host_cycles, c.cycles);
      EXPECT_EQ(move->window, 0);
    }
  }
}

// A row of 8 is a granule of its own, if the link can bring it as it lies.
TEST(MoveByRowTest, IsOfWholeRowsOfEachChannel) {
  const auto chip = Chip::Create(Diana(), 0);
  ASSERT_TRUE(chip.ok()) << chip.status();
  v1::Layout image = target::StridedLayout({4, 8, 3}, {8, 1, 32}, 1);
  image.set_reversed_bytes(4);
  const auto whole = chip->MoveBetween(kL2, image, kL1, image);
  ASSERT_TRUE(whole.ok()) << whole.status();
  const auto by_row = MoveByRow(*chip, kL2, image, image, *whole);
  ASSERT_TRUE(by_row.ok()) << by_row.status();
  EXPECT_TRUE(by_row->by_row);
  EXPECT_EQ(by_row->host_cycles, 4 * 3 * (40 + 2));

  const v1::Layout dense = target::DenseLayout({4, 8, 3}, 1);
  const auto rearranged = chip->MoveBetween(kL2, dense, kL1, image);
  ASSERT_TRUE(rearranged.ok()) << rearranged.status();
  const auto at_once = MoveByRow(*chip, kL2, dense, image, *rearranged);
  ASSERT_TRUE(at_once.ok()) << at_once.status();
  EXPECT_FALSE(at_once->by_row);
  EXPECT_EQ(at_once->host_cycles, rearranged->host_cycles);
}

}  // namespace
}  // namespace edgekiln::compiler::register_job
