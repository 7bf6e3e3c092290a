// What the simulator refuses, and how it says so. Values and cycles are the
// business of simfarm/conformance.

#include "simfarm/simulators/dla/stream.h"

#include <functional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simfarm/conformance/dla/dla_words.h"
#include "simfarm/conformance/dla/stream_writer.h"
#include "simfarm/simulators/dla/testing/stream_case.h"

namespace edgekiln::simfarm::dla {
namespace {

using testing::HasSubstr;

// A convolution of 4x4x3 at 0 with 5 kernels 2x3 at 100, its table at 200, to
// 3x2x5 at 300; weights and input loaded by one transfer.
void LoadAll(StreamWriter& w) {
  w.Command(words::kDmaRead, 0,
            {{words::kDmaSystemAddr, 0},
             {words::kDmaSramAddr, 0},
             {words::kDmaRowBytes, 300},
             {words::kDmaRows, 1}});
}

void SetConvolution(StreamWriter& w) {
  const std::pair<words::DlaIndex, int64_t> kValues[] = {
      {words::kInAddr, 0},
      {words::kWeightAddr, 100},
      {words::kTableAddr, 200},
      {words::kOutAddr, 300},
      {words::kInH, 4},
      {words::kInW, 4},
      {words::kInC, 3},
      {words::kOutH, 3},
      {words::kOutW, 2},
      {words::kOutC, 5},
      {words::kKernelH, 2},
      {words::kKernelW, 3},
      {words::kStrideH, 1},
      {words::kStrideW, 1},
      {words::kDilationH, 1},
      {words::kDilationW, 1},
      {words::kPadTop, 0},
      {words::kPadLeft, 0},
      {words::kInRowPitch, 12},
      {words::kInPixelPitch, 3},
      {words::kOutRowPitch, 10},
      {words::kOutPixelPitch, 5},
      {words::kInZeroPoint, 0},
      {words::kOutZeroPoint, 0},
      {words::kClampMin, -128},
      {words::kClampMax, 127},
      {words::kDepthMultiplier, 1},
      {words::kPoolKind, 0},
      {words::kFlags, 0},
      {words::kInShift, 0},
      {words::kInMultiplier, 0},
      {words::kIn2Addr, 0},
      {words::kIn2RowPitch, 0},
      {words::kIn2PixelPitch, 0},
      {words::kIn2ZeroPoint, 0},
      {words::kIn2Multiplier, 0},
      {words::kIn2Shift, 0},
      {words::kOutMultiplier, 0},
      {words::kOutShift, 0},
      {words::kLeftShift, 0}};
  for (const auto& [reg, value] : kValues) w.Set(reg, value);
}

// Loads, sets the convolution's registers, then `change` and `opcode`.
Case Changed(std::string name, std::string message, words::DlaIndex reg,
             int64_t value, words::DlaOpcode opcode = words::kConv) {
  return {std::move(name), std::move(message),
          [reg, value, opcode](StreamWriter& w) {
            LoadAll(w);
            SetConvolution(w);
            w.Set(reg, value);
            w.Command(opcode, 1);
            w.End();
          }};
}

class StreamErrorTest : public testing::TestWithParam<Case> {};

TEST_P(StreamErrorTest, IsNamed) { ExpectSaid(GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    Limits, StreamErrorTest,
    testing::ValuesIn(std::vector<Case>{
        Changed("Good", "", words::kFlags, 0),
        Changed("GoodDepth", "", words::kOutC, 3, words::kDepthConv),
        Changed("GoodMatMul", "", words::kOutW, 2, words::kMatMul),
        Changed("GoodPool", "", words::kOutC, 3, words::kPool),
        Changed("ZeroExtent", "register OUT_H is 0", words::kOutH, 0),
        Changed("ZeroStride", "register STRIDE_W is 0", words::kStrideW, 0),
        Changed("Flags", "register FLAGS is 2", words::kFlags, 2),
        Changed("PoolKind", "register POOL_KIND is 3", words::kPoolKind, 3,
                words::kPool),
        Changed("Shift", "register IN_SHIFT is 31", words::kInShift, 31,
                words::kLeakyRelu),
        Changed("Multiplier", "register OUT_MULTIPLIER is -1",
                words::kOutMultiplier, -1, words::kAdd),
        Changed("LeftShift", "register LEFT_SHIFT is 25", words::kLeftShift, 25,
                words::kAdd),
        Changed("DepthChannels", "OUT_C is above", words::kOutC, 4,
                words::kDepthConv),
        Changed("InputBeyond",
                "input reaches beyond SRAM; where: command 46 (OP_CONV), "
                "SRAM 0xfe0 to SRAM 0x100f, layer conv_1; limit: 4096 bytes",
                words::kInAddr, 4064),
        Changed("WeightsBeyond", "weights reaches beyond", words::kWeightAddr,
                4096 - 89),
        Changed("WeightsHuge", "weights reaches beyond", words::kKernelH,
                65535),
        Changed("TableBeyond", "table reaches beyond", words::kTableAddr, 4040),
        Changed("TableUnaligned", "multiple of 4", words::kTableAddr, 202),
        Changed("OutputBeyond", "output reaches beyond", words::kOutAddr, 4067),
        Changed("OutputPitchHuge", "output reaches beyond", words::kOutRowPitch,
                0xffffffff),
        Changed("OutputPixelsOverlap", "overlap each other",
                words::kOutPixelPitch, 4),
        Changed("OutputRowsOverlap", "overlap each other", words::kOutRowPitch,
                9),
        Changed("Int32Unaligned", "not a multiple of 4", words::kInRowPitch, 6,
                words::kAdd32),
        Changed("EmptyPoolWindow", "window lies outside", words::kPadTop, 2,
                words::kPool),
        Changed("OverlapsInput", "overlaps the command's own operands",
                words::kOutAddr, 40),
        Changed("OverlapsTable", "overlaps the command's own operands",
                words::kOutAddr, 259),
        Changed("InPlaceShifted", "overlaps the command's own operands",
                words::kOutAddr, 1, words::kRelu),
        Changed("UndefinedInput",
                "reads a byte that nothing wrote; where: command 46 (OP_CONV), "
                "SRAM 0x12c",
                words::kInAddr, 290)}),
    [](const auto& info) { return info.param.name; });

TEST(StreamTest, ClampLimitsMustBeInOrder) {
  StreamWriter w;
  LoadAll(w);
  SetConvolution(w);
  w.Set(words::kClampMin, 5);
  w.Set(words::kClampMax, 4);
  w.Command(words::kConvRelu, 1);
  w.End();
  EXPECT_THAT(ErrorOf(w.code()), HasSubstr("CLAMP_MIN is above CLAMP_MAX"));
}

TEST(StreamTest, RoundingNeedsSomethingToRound) {
  const struct {
    words::DlaOpcode opcode;
    words::DlaIndex mode;
  } cases[] = {{words::kPool, words::kPoolKind}, {words::kConv, words::kFlags}};
  for (const auto& c : cases) {
    for (const int mode : {0, 1}) {
      StreamWriter w;
      LoadAll(w);
      SetConvolution(w);
      // Fit for both, with results of one byte or four.
      w.Set(words::kOutC, 3);
      w.Set(words::kOutPixelPitch, 12);
      w.Set(words::kOutRowPitch, 24);
      w.Set(c.mode, mode);
      w.Command(c.opcode, 1, {}, true);
      w.End();
      const std::string error = ErrorOf(w.code());
      if (mode == 0) {
        EXPECT_EQ(error, "") << c.opcode;
      } else {
        EXPECT_THAT(error, HasSubstr("rounding bit is set, but nothing"));
      }
    }
  }
}

// An average half to even is one of distances to the zero point.
TEST(StreamTest, PoolsReadTheZeroPointToRoundHalfToEven) {
  for (const bool half_even : {false, true}) {
    StreamWriter w;
    Dma(w, words::kDmaRead, 0, 0, 0, 8);
    w.Command(words::kPool, 1,
              {{words::kInAddr, 0},        {words::kOutAddr, 100},
               {words::kInH, 1},           {words::kInW, 1},
               {words::kOutH, 1},          {words::kOutW, 1},
               {words::kOutC, 8},          {words::kKernelH, 1},
               {words::kKernelW, 1},       {words::kStrideH, 1},
               {words::kStrideW, 1},       {words::kPadTop, 0},
               {words::kPadLeft, 0},       {words::kInRowPitch, 0},
               {words::kInPixelPitch, 0},  {words::kOutRowPitch, 0},
               {words::kOutPixelPitch, 0}, {words::kClampMin, -128},
               {words::kClampMax, 127},    {words::kPoolKind, 0}},
              half_even);
    w.End();
    if (half_even) {
      EXPECT_THAT(ErrorOf(w.code()),
                  HasSubstr("reads register IN_ZERO_POINT, which nothing"));
    } else {
      EXPECT_EQ(ErrorOf(w.code()), "");
    }
  }
}

Case Transfer(std::string name, std::string message, words::DlaOpcode opcode,
              int64_t system, int64_t sram, int64_t bytes, int64_t rows = 1,
              int64_t system_pitch = 0, int64_t sram_pitch = 0) {
  return {std::move(name), std::move(message), [=](StreamWriter& w) {
            LoadAll(w);
            w.Set(words::kDmaSystemPitch, system_pitch);
            w.Set(words::kDmaSramPitch, sram_pitch);
            Dma(w, opcode, 0, system, sram, bytes, rows);
            w.End();
          }};
}

INSTANTIATE_TEST_SUITE_P(
    Transfers, StreamErrorTest,
    testing::ValuesIn(std::vector<Case>{
        Transfer("Good", "", words::kDmaWrite, kRam, 0, 300),
        Transfer("GoodRows", "", words::kDmaWrite, kRam, 0, 10, 3, 20, 5),
        Transfer("WriteToFlash", "writes to flash; where: command 8",
                 words::kDmaWrite, 0, 0, 4),
        Transfer("BeyondSram", "transfer reaches beyond SRAM", words::kDmaRead,
                 0, 4000, 97),
        Transfer("BeyondFlash", "outside system memory", words::kDmaRead, 4000,
                 0, 97),
        Transfer("Between", "outside system memory", words::kDmaRead, kRam - 2,
                 0, 4),
        Transfer("BeyondRam", "outside system memory", words::kDmaWrite,
                 kRam + 4000, 0, 10, 11, 10, 10),
        Transfer("RowsOverwrite", "overwrite each other", words::kDmaRead, 0, 0,
                 10, 3, 10, 9),
        Transfer("PitchHuge", "outside system memory", words::kDmaRead, 0, 0, 1,
                 3, 0xffffffff, 1),
        Transfer("RowsHuge", "", words::kDmaRead, 0, 0, 1, 4096, 0, 1),
        Transfer("TooLarge", "reaches beyond SRAM", words::kDmaRead, 0, 0,
                 0xffffffff, 1),
        Transfer("TooManyRows", "", words::kDmaWrite, kRam, 0, 1, 4096, 1, 0),
        Transfer("UndefinedSram",
                 "reads a byte that nothing wrote; where: command 9 "
                 "(OP_DMA_WRITE), SRAM 0x12c",
                 words::kDmaWrite, kRam, 0, 301),
        Transfer("UndefinedRam",
                 "nothing wrote; where: command 8 (OP_DMA_READ), ram "
                 "0x80000010",
                 words::kDmaRead, kRam + 16, 0, 300)}),
    [](const auto& info) { return info.param.name; });

// Word i of a stream replaced.
std::string WithWord(std::string code, int word, uint64_t bits) {
  for (int i = 0; i < 8; ++i) {
    code[word * 8 + i] = static_cast<char>(bits >> (8 * i) & 0xff);
  }
  return code;
}

TEST(StreamTest, EncodingErrorsNameCommandAndWord) {
  StreamWriter w;
  LoadAll(w);
  w.End();
  const std::string code = w.code();
  ASSERT_EQ(ErrorOf(code), "");
  EXPECT_THAT(ErrorOf(WithWord(code, 4, 0x7)),
              HasSubstr("unknown opcode 0x07; where: command 4, word "
                        "0x0000000000000007, layer conv_1"));
  EXPECT_THAT(ErrorOf(WithWord(code, 1, 0x2f01)),
              HasSubstr("unknown register"));
  EXPECT_THAT(ErrorOf(WithWord(code, 4, 0x0000000000020040)),
              HasSubstr("reserved bits"));
  EXPECT_THAT(ErrorOf(WithWord(code, 4, 0x0000000000010040)),
              HasSubstr("rounding bit is set in OP_DMA_READ"));
  EXPECT_THAT(ErrorOf(WithWord(code, 4, 0x0000000100000040)),
              HasSubstr("waits for 1 commands of the compute unit; issued so "
                        "far: 0"));
  EXPECT_THAT(ErrorOf(WithWord(code, 4, 0x7f)), HasSubstr("OP_END before"));
  EXPECT_THAT(ErrorOf(WithWord(code, 5, 0x40)),
              HasSubstr("not end with OP_END"));
  EXPECT_THAT(ErrorOf(WithWord(code, 5, 0x000000010000007f)),
              HasSubstr("OP_END with an immediate"));
  // Row bytes are never written: the register stays undefined.
  EXPECT_THAT(ErrorOf(WithWord(code, 2, 0x2801)),
              HasSubstr("reads register DMA_ROW_BYTES, which nothing wrote"));
  EXPECT_THAT(ErrorOf(""), HasSubstr("0 bytes"));
  EXPECT_THAT(ErrorOf(code.substr(0, 15)), HasSubstr("15 bytes"));
}

TEST(StreamTest, TableValuesAreChecked) {
  // Flash is all zeros but for the shift of entry 2: 31 does not exist.
  StreamWriter w;
  LoadAll(w);
  SetConvolution(w);
  w.Command(words::kConv, 1);
  w.End();
  const v1::Machine machine = TestMachine();
  StreamContext context;
  context.scratchpad_bytes = kSramBytes;
  context.system = {{0, kSystemBytes, false}};
  const auto stream =
      NewSimulator()->Load(w.code(), machine, std::move(context));
  ASSERT_TRUE(stream.ok()) << stream.status();
  std::vector<uint8_t> sram(kSramBytes);
  std::vector<uint8_t> flash(kSystemBytes);
  flash[200 + 2 * 12 + 8] = 31;
  std::vector<uint8_t> ram;
  ChipMemory memory;
  AddMemories(flash, ram, sram, memory);
  const absl::Status status =
      (*stream)->Start(memory, RunMode::kFast)->RunUntil(1 << 30);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("table entry 2 has multiplier 0 and shift 31; where: "
                        "command 45 (OP_CONV), SRAM 0xe0"));
}

TEST(StreamTest, BlockingDmaOverlapsNothing) {
  StreamWriter w;
  Dma(w, words::kDmaRead, 0, 0, 0, 8);
  Dma(w, words::kDmaRead, 0, 0, 300, 1600);
  Relu(w, 1);
  w.End();
  v1::Machine machine = TestMachine();
  StreamContext context;
  context.scratchpad_bytes = kSramBytes;
  context.system = {{0, kSystemBytes, false}};
  const auto overlapped = NewSimulator()->Load(w.code(), machine, context);
  machine.mutable_links(0)->set_contention(v1::LinkDescriptor::BLOCKING);
  const auto blocking = NewSimulator()->Load(w.code(), machine, context);
  ASSERT_TRUE(overlapped.ok() && blocking.ok());
  // Transfers [8, 29) and [29, 149); the ReLU takes one cycle.
  EXPECT_EQ((*overlapped)->timing().cycles, 149);
  EXPECT_EQ((*blocking)->timing().cycles, 150);
  // ReLU is not yet issued when its operand is there, nor, without contention,
  // when the second transfer begins.
  std::vector<StreamTiming::Spent> spent;
  int64_t contention = 0;
  int64_t begin = 0;
  for (const StreamTiming::Segment& segment : (*blocking)->timing().segments) {
    spent.push_back(segment.spent);
    if (segment.spent == StreamTiming::Spent::kContention) {
      contention += segment.end - begin;
    }
    begin = segment.end;
  }
  using Spent = StreamTiming::Spent;
  EXPECT_THAT(spent, testing::ElementsAre(Spent::kTransfer, Spent::kContention,
                                          Spent::kComputing));
  EXPECT_EQ(contention, 149 - 29);
}

}  // namespace
}  // namespace edgekiln::simfarm::dla
