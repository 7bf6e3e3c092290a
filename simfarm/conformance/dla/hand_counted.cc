#include "simfarm/conformance/dla/hand_counted.h"

#include <map>
#include <string>

#include "simfarm/conformance/dla/dla_models.h"
#include "simfarm/conformance/dla/dla_words.h"
#include "simfarm/conformance/dla/stream_writer.h"

namespace edgekiln::simfarm::conformance::dla {
namespace {

// The built-in `unit`: every cost 1, one place per queue.
const DlaChip kUnit = {.pes = 1,
                       .output_parallel = true,
                       .sram_bytes = 65536,
                       .fill_cycles = 0,
                       .dma_bytes_per_cycle = 1,
                       .dma_setup_cycles = 0,
                       .queue_depth = 1,
                       .register_write_cycles = 1,
                       .decode_cycles = 1};

struct Golden {
  std::string name;
  DlaChip chip;
  void (*write)(StreamWriter&);
  int64_t cycles;
  int64_t busy;
  std::map<int32_t, OwnedCycles> owned;
};

// 4 register writes and the command: words 0 to 4.
void Load(StreamWriter& w, int64_t bytes, int64_t sram, int64_t wait = 0) {
  w.Command(kDmaRead, wait,
            {{kDmaSystemAddr, 0},
             {kDmaSramAddr, sram},
             {kDmaRowBytes, bytes},
             {kDmaRows, 1}});
}

// 10 register writes and the command.
void Relu(StreamWriter& w, int64_t elements, int64_t wait) {
  w.Command(kRelu, wait,
            {{kInAddr, 0},
             {kOutAddr, 100},
             {kOutH, 1},
             {kOutW, 1},
             {kOutC, elements},
             {kInRowPitch, 0},
             {kInPixelPitch, 0},
             {kOutRowPitch, 0},
             {kOutPixelPitch, 0},
             {kInZeroPoint, 0}});
}

void OnlyEnd(StreamWriter& w) { w.End(); }

void OneTransfer(StreamWriter& w) {
  Load(w, 8, 0);
  w.End();
}

void TransferThenRelu(StreamWriter& w) {
  Load(w, 20, 0);
  Relu(w, 20, 1);
  w.End();
}

// The second transfer waits for nothing that the program names.
void TransferBesideRelu(StreamWriter& w) {
  Load(w, 20, 0);
  Relu(w, 20, 1);
  Load(w, 30, 300);
  w.End();
}

void FullQueue(StreamWriter& w) {
  Load(w, 50, 0);
  for (int i = 0; i < 3; ++i) w.Command(kDmaRead, 0);
  w.End();
}

void Convolution(StreamWriter& w) {
  Load(w, 200, 0);
  w.Command(kConv, 1, {{kInAddr, 0},       {kWeightAddr, 0},
                       {kTableAddr, 40},   {kOutAddr, 1000},
                       {kInH, 4},          {kInW, 4},
                       {kInC, 3},          {kOutH, 3},
                       {kOutW, 2},         {kOutC, 5},
                       {kKernelH, 2},      {kKernelW, 3},
                       {kStrideH, 1},      {kStrideW, 1},
                       {kDilationH, 1},    {kDilationW, 1},
                       {kPadTop, 0},       {kPadLeft, 0},
                       {kInRowPitch, 12},  {kInPixelPitch, 3},
                       {kOutRowPitch, 40}, {kOutPixelPitch, 20},
                       {kInZeroPoint, 0},  {kOutZeroPoint, 0},
                       {kFlags, 1}});
  w.End();
}

DlaChip With(DlaChip chip, void (*change)(DlaChip&)) {
  change(chip);
  return chip;
}

// Times are in cycles; [a, b) is when a command runs.
const Golden kGoldens[] = {
    // OP_END is decoded after 1 cycle; its own word owns it.
    {"OnlyEnd", kUnit, OnlyEnd, 1, 0, {{0, {0, 1}}}},
    // 4 writes, decode: queued at 5. [5, 13). OP_END decoded at 6.
    {"OneTransfer", kUnit, OneTransfer, 13, 8, {{4, {0, 13}}}},
    // 20 + ceil(8 / 16), decode 4: queued at 8, [8, 29).
    {"OneTransferOfTheDefaults",
     With(kUnit,
          [](DlaChip& c) {
            c.dma_setup_cycles = 20;
            c.dma_bytes_per_cycle = 16;
            c.decode_cycles = 4;
          }),
     OneTransfer,
     29,
     21,
     {{4, {0, 29}}}},
    // Transfer [5, 25); ReLU queued at 5 + 11 = 16, waits: [25, 45).
    {"WaitsForTheOtherUnit", kUnit, TransferThenRelu, 45, 40, {{15, {20, 25}}}},
    // Transfer [5, 25), ReLU [25, 45). The second transfer is queued at 19 and
    // starts with the ReLU: [25, 55); from 45 on the cycles are its own.
    {"TransferBesideRelu",
     kUnit,
     TransferBesideRelu,
     55,
     50,
     {{15, {20, 25}}, {18, {0, 10}}}},
    // As above, but it waits for the ReLU: [45, 75).
    {"NothingOverlaps",
     With(kUnit, [](DlaChip& c) { c.blocking_dma = true; }),
     TransferBesideRelu,
     75,
     70,
     {{15, {20, 25}}, {18, {0, 30}}}},
    // With 8 PEs the ReLU takes ceil(20 / 8) = 3: [25, 28).
    {"ElementsPerCycle",
     With(kUnit, [](DlaChip& c) { c.pes = 8; }),
     TransferThenRelu,
     28,
     23,
     {{15, {3, 25}}}},
    // First [5, 55). Second decoded at 6, queued at 6 (place free since the
    // first started). Third decoded at 7, queued at 55 when the second starts;
    // [105, 155). Fourth decoded at 56, queued at 105; [155, 205). OP_END
    // decoded at 106.
    {"QueueIsFull", kUnit, FullQueue, 205, 200, {{7, {0, 205}}}},
    // 3*2 outputs, 2*3 taps, 3 channels in, 5 out on 1 PE: 540. The transfer
    // runs [5, 205), the convolution [205, 745).
    {"ConvolutionOnOnePe", kUnit, Convolution, 745, 740, {{30, {540, 205}}}},
    // 2 PEs on output channels: 6 * 6 * 3 * ceil(5/2) = 324, and 8 to fill.
    {"ConvolutionOutputParallel",
     With(kUnit,
          [](DlaChip& c) {
            c.pes = 2;
            c.fill_cycles = 8;
          }),
     Convolution,
     205 + 332,
     200 + 332,
     {{30, {332, 205}}}},
    // On input channels: 6 * 6 * 5 * ceil(3/2) = 360.
    {"ConvolutionInputParallel",
     With(kUnit,
          [](DlaChip& c) {
            c.pes = 2;
            c.output_parallel = false;
          }),
     Convolution,
     205 + 360,
     200 + 360,
     {{30, {360, 205}}}},
};

}  // namespace

std::vector<HandCounted> HandCountedPrograms() {
  std::vector<HandCounted> programs;
  for (const Golden& golden : kGoldens) {
    StreamWriter writer;
    golden.write(writer);
    programs.push_back(
        {.name = golden.name,
         .chip = [chip = golden.chip] { return NewDlaModels(chip); },
         .program = {.code = writer.code(),
                     .flash = std::string(256, '\1'),
                     .ram = std::string(16, '\0')},
         .cycles = golden.cycles,
         .busy_cycles = golden.busy,
         .owned = golden.owned});
  }
  return programs;
}

}  // namespace edgekiln::simfarm::conformance::dla
