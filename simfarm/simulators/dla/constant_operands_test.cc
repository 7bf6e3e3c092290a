#include "simfarm/simulators/dla/constant_operands.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace edgekiln::simfarm::dla {
namespace {

using Reg = DlaRegister;

constexpr int64_t kSramBytes = 1024;
constexpr int64_t kRam = 1 << 20;

Instruction Make(DlaCommand command,
                 const std::vector<std::pair<Reg, int64_t>>& values) {
  Instruction instruction;
  instruction.command = command;
  for (const auto& [reg, value] : values) {
    instruction.registers[static_cast<size_t>(reg)] = value;
  }
  return instruction;
}

Instruction Load(int64_t system, int64_t sram, int64_t bytes,
                 int64_t rows = 1) {
  return Make(DlaCommand::kDmaRead, {{Reg::kDmaSystemAddr, system},
                                     {Reg::kDmaSramAddr, sram},
                                     {Reg::kDmaRowBytes, bytes},
                                     {Reg::kDmaRows, rows},
                                     {Reg::kDmaSystemPitch, bytes + 8},
                                     {Reg::kDmaSramPitch, bytes}});
}

// 2x2x4 at 0 with 3 kernels 1x1 at 100 and their table at 200, to 300.
Instruction Convolution() {
  return Make(DlaCommand::kConv,
              {{Reg::kInAddr, 0},        {Reg::kInH, 2},
               {Reg::kInW, 2},           {Reg::kInC, 4},
               {Reg::kInPixelPitch, 4},  {Reg::kInRowPitch, 8},
               {Reg::kOutAddr, 300},     {Reg::kOutH, 2},
               {Reg::kOutW, 2},          {Reg::kOutC, 3},
               {Reg::kOutPixelPitch, 3}, {Reg::kOutRowPitch, 6},
               {Reg::kKernelH, 1},       {Reg::kKernelW, 1},
               {Reg::kStrideH, 1},       {Reg::kStrideW, 1},
               {Reg::kDilationH, 1},     {Reg::kDilationW, 1},
               {Reg::kWeightAddr, 100},  {Reg::kTableAddr, 200},
               {Reg::kInMultiplier, 0}});
}

// The input, then weights and table from flash 0x40 and 0x80, then CONV.
std::vector<Instruction> Usual() {
  return {Load(kRam, 0, 16), Load(0x40, 100, 12),
          Load(0x80, 200, 3 * target::kDlaTableEntryBytes), Convolution()};
}

struct Case {
  const char* name;
  std::function<void(std::vector<Instruction>*)> edit;
  std::vector<ShownRange> shown;
  std::string unneeded;  // '1' per instruction that can be left out.
  int64_t weights;       // Of the CONV; -1: must be read in SRAM.
  int64_t table;
};

class ConstantOperandsTest : public testing::TestWithParam<Case> {};

TEST_P(ConstantOperandsTest, AreFound) {
  const Case& c = GetParam();
  std::vector<Instruction> instructions = Usual();
  c.edit(&instructions);
  int64_t conv = -1;
  for (size_t i = 0; i < instructions.size(); ++i) {
    instructions[i].word = static_cast<int32_t>(i);
    if (!instructions[i].is_dma()) conv = static_cast<int64_t>(i);
  }
  StreamContext context;
  context.scratchpad_bytes = kSramBytes;
  context.system = {{0, 4096, false}, {kRam, 4096, true}};
  const std::vector<ConstantOperands> operands =
      FindConstantOperands(instructions, context, kSramBytes, c.shown);
  std::string unneeded;
  for (const ConstantOperands& each : operands) {
    unneeded += each.unneeded ? '1' : '0';
  }
  EXPECT_EQ(unneeded, c.unneeded);
  EXPECT_EQ(operands[static_cast<size_t>(conv)].weights, c.weights);
  EXPECT_EQ(operands[static_cast<size_t>(conv)].table, c.table);
}

using Stream = std::vector<Instruction>;

INSTANTIATE_TEST_SUITE_P(
    All, ConstantOperandsTest,
    testing::Values(
        Case{"Usual", [](Stream*) {}, {}, "0110", 0x40, 0x80},
        Case{"OneTransferForBoth",
             [](Stream* s) {
               (*s)[1] = Load(0x40, 100, 200);
               s->erase(s->begin() + 2);
             },
             {},
             "010",
             0x40,
             0x40 + 100},
        Case{"WeightsFromRam",
             [](Stream* s) { (*s)[1] = Load(kRam + 64, 100, 12); },
             {},
             "0000",
             -1,
             -1},
        Case{"WeightsInTwoPieces",
             [](Stream* s) {
               (*s)[1] = Load(0x40, 100, 6);
               s->insert(s->begin() + 2, Load(0x46, 106, 6));
             },
             {},
             "00000",
             -1,
             -1},
        Case{"WeightsInRows",
             [](Stream* s) { (*s)[1] = Load(0x40, 100, 6, 2); },
             {},
             "0000",
             -1,
             -1},
        Case{"APartIsOverwritten",
             [](Stream* s) {
               s->insert(s->begin() + 2, Load(kRam + 64, 111, 1));
             },
             {},
             "00000",
             -1,
             -1},
        Case{"TheInputIsConstantToo",
             [](Stream* s) { (*s)[0] = Load(0x400, 0, 16); },
             {},
             "0110",
             0x40,
             0x80},
        Case{"WeightsAreStoredElsewhere",
             [](Stream* s) {
               Instruction store = Load(kRam + 512, 111, 1);
               store.command = DlaCommand::kDmaWrite;
               s->push_back(store);
             },
             {},
             "00100",
             0x40,
             0x80},
        Case{"WhatOverwroteThemIsStored",
             [](Stream* s) {
               s->push_back(Load(kRam + 64, 100, 12));
               Instruction store = Load(kRam + 512, 100, 12);
               store.command = DlaCommand::kDmaWrite;
               s->push_back(store);
             },
             {},
             "011000",
             0x40,
             0x80},
        Case{"Shown", [](Stream*) {}, {{3, 205, 206}}, "0100", 0x40, 0x80},
        Case{
            "ShownBefore", [](Stream*) {}, {{1, 205, 206}}, "0110", 0x40, 0x80},
        Case{"ShownBeyondWhatTheStreamReaches",
             [](Stream*) {},
             {{3, 900, 5000}},
             "0110",
             0x40,
             0x80}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace edgekiln::simfarm::dla
