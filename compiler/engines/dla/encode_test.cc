#include "compiler/engines/dla/encode.h"

#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "compiler/engines/dla/disassembler.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "target/resolve.h"

namespace edgekiln::compiler::dla {
namespace {

using ::testing::ElementsAre;

Chip DlaChip() {
  const auto target = target::ResolveTarget("extends: \"dla\"");
  EXPECT_TRUE(target.ok()) << target.status();
  return *Chip::Create(target->machine(), 0, 1 << 20);
}

// A 3x3 convolution of 8x8x8 to 8 channels, its output at `buffer`.
ScheduledCommand Convolution(int32_t buffer) {
  Layer layer;
  layer.op = LayerOp::kConv;
  layer.in = {8, 8, 8};
  layer.out = {8, 8, 8};
  layer.vertical = layer.horizontal = {3, 1, 1, 1};
  const Slice all = {0, 8, 0, 8, 0, 8};
  TileOperands operands;
  operands.input = operands.output = WholePlacement(layer.in, 1, all);
  const ComputeCommand compute = ComputeSlice(layer, all, operands).front();
  ScheduledCommand command;
  command.command = compute.command;
  command.registers = compute.registers;
  command.bases.push_back({DlaRegister::kOutAddr, buffer});
  return command;
}

std::vector<std::string> Lines(const Chip& chip, const EncodedStream& stream) {
  const auto text = Disassemble(chip.isa(), stream.code);
  EXPECT_TRUE(text.ok()) << text.status();
  return absl::StrSplit(*text, '\n', absl::SkipEmpty());
}

TEST(EncodeStreamTest, OneDifferentRegisterIsOneWrite) {
  const Chip chip = DlaChip();
  Schedule schedule;
  schedule.commands = {Convolution(0), Convolution(1)};
  const auto stream = EncodeStream(chip, schedule, std::vector<int64_t>{0, 512},
                                   std::vector<int64_t>{0, 0});
  ASSERT_TRUE(stream.ok()) << stream.status();
  const std::vector<std::string> lines = Lines(chip, *stream);
  const std::vector<std::string> between(
      lines.begin() + stream->first_word[1],
      lines.begin() + stream->command_word[1] + 1);
  EXPECT_THAT(between, ElementsAre("REG_WRITE OUT_ADDR 512", "OP_CONV_RELU"));
  EXPECT_EQ(lines.back(), "OP_END");
}

TEST(EncodeStreamTest, EqualCommandsWriteNothing) {
  const Chip chip = DlaChip();
  Schedule schedule;
  schedule.commands = {Convolution(0), Convolution(0)};
  const auto stream = EncodeStream(chip, schedule, std::vector<int64_t>{0},
                                   std::vector<int64_t>{0, 0});
  ASSERT_TRUE(stream.ok()) << stream.status();
  EXPECT_EQ(stream->first_word[1], stream->command_word[1]);
}

// Front end: 1 cycle a register, 4 a word; then 8 + 64 * 9 * 8 of the array.
TEST(EncodeStreamTest, PredictsByHand) {
  const Chip chip = DlaChip();
  Schedule schedule;
  schedule.commands = {Convolution(0)};
  const auto stream = EncodeStream(chip, schedule, std::vector<int64_t>{0},
                                   std::vector<int64_t>{0});
  ASSERT_TRUE(stream.ok()) << stream.status();
  const int64_t registers = stream->command_word[0];
  EXPECT_EQ(stream->cycles, registers + 4 + 8 + 64 * 9 * 8);
}

TEST(EncodeStreamTest, ValueTooWideIsAnInternalError) {
  const Chip chip = DlaChip();
  Schedule schedule;
  schedule.commands = {Convolution(0)};
  schedule.commands[0].registers.Set(DlaRegister::kInH, 70000);
  const auto stream = EncodeStream(chip, schedule, std::vector<int64_t>{0},
                                   std::vector<int64_t>{0});
  EXPECT_EQ(stream.status().code(), absl::StatusCode::kInternal);
}

}  // namespace
}  // namespace edgekiln::compiler::dla
