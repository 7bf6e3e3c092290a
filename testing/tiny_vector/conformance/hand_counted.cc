#include <map>
#include <string>

#include "testing/tiny_vector/conformance/models.h"

namespace edgekiln::simfarm::conformance::tiny_vector {
namespace {

// The built-in "tiny-vector-unit": every cost 1, vectors of 16 bytes.
const TinyChip kUnit = {.bank_bytes = 1024};

struct Golden {
  std::string name;
  TinyChip chip;
  void (*write)(std::string& code);
  int64_t cycles;
  int64_t busy;
  std::map<int32_t, OwnedCycles> owned;  // Compute, stall.
};

void OnlyEnd(std::string& code) { Write(code, kEnd); }

// 5 register writes and the command: words 0 to 5.
void OneLoad(std::string& code) {
  Write(code, kLoadA,
        {{kSystemAddr, 0},
         {kSystemPitch, 10},
         {kPieces, 3},
         {kPieceBytes, 7},
         {kA, 0}});
  Write(code, kEnd);
}

// FILL is word 3, STORE word 8.
void FillAndStore(std::string& code) {
  Write(code, kFill, {{kB, 0}, {kVectors, 4}, {kClampMin, -7}});
  Write(code, kStore,
        {{kSystemAddr, static_cast<int64_t>(kRamBase)},
         {kSystemPitch, 20},
         {kPieces, 2},
         {kPieceBytes, 20}});
  Write(code, kEnd);
}

// Loads into both banks, words 0 to 5 and 6 to 7; ADD is word 20.
void Addition(std::string& code) {
  Write(code, kLoadA,
        {{kSystemAddr, 0},
         {kSystemPitch, 0},
         {kPieces, 1},
         {kPieceBytes, 40},
         {kA, 0}});
  Write(code, kLoadB, {{kB, 0}});
  Write(code, kAdd,
        {{kVectors, 3},
         {kAZero, 1},
         {kBZero, 2},
         {kOutZero, 3},
         {kAMultiplier, 1 << 30},
         {kAShift, 0},
         {kBMultiplier, 1 << 30},
         {kBShift, 0},
         {kOutMultiplier, 1 << 30},
         {kOutShift, -18},
         {kClampMin, -128},
         {kClampMax, 127}});
  Write(code, kEnd);
}

TinyChip With(TinyChip chip, void (*change)(TinyChip&)) {
  change(chip);
  return chip;
}

// Times are in cycles; [a, b) is when a command works.
const Golden kGoldens[] = {
    // END is decoded after 1 cycle.
    {"OnlyEnd", kUnit, OnlyEnd, 1, 0, {{0, {0, 1}}}},
    // 5 writes, decode: [6, 6 + 21), END 28.
    {"OneLoad", kUnit, OneLoad, 28, 21, {{5, {0, 27}}, {6, {0, 1}}}},
    // 5 * 2 writes, decode 3: [13, 13 + 20 + ceil(21 / 4) = 39), END 42.
    {"OneLoadThatCostsMore",
     With(kUnit,
          [](TinyChip& c) {
            c.register_write_cycles = 2;
            c.decode_cycles = 3;
            c.link_setup_cycles = 20;
            c.link_bytes_per_cycle = 4;
          }),
     OneLoad,
     42,
     26,
     {{5, {0, 39}}, {6, {0, 3}}}},
    // FILL: 3 writes, decode, [4, 8). STORE: 4 writes, decode, [13, 53).
    // END 54.
    {"FillAndStore",
     kUnit,
     FillAndStore,
     54,
     44,
     {{3, {4, 4}}, {8, {0, 45}}, {9, {0, 1}}}},
    // LOAD_A [6, 46), LOAD_B 1 write, decode, [48, 88). ADD 12 writes, decode,
    // 3 * 3 cycles: [101, 110). END 111.
    {"Addition",
     kUnit,
     Addition,
     111,
     89,
     {{5, {0, 46}}, {7, {0, 42}}, {20, {9, 13}}, {21, {0, 1}}}},
    // The pipeline fills for 5 cycles: ADD [101, 115).
    {"AdditionWithAPipeline",
     With(kUnit, [](TinyChip& c) { c.pipeline_cycles = 5; }),
     Addition,
     116,
     94,
     {{5, {0, 46}}, {7, {0, 42}}, {20, {14, 13}}, {21, {0, 1}}}},
    // Vectors of 8 bytes: the same time, as VECTORS says so.
    {"NarrowVectors",
     With(kUnit, [](TinyChip& c) { c.lanes = 8; }),
     Addition,
     111,
     89,
     {{5, {0, 46}}, {7, {0, 42}}, {20, {9, 13}}, {21, {0, 1}}}},
};

}  // namespace

std::vector<HandCounted> HandCountedPrograms() {
  std::vector<HandCounted> programs;
  for (const Golden& golden : kGoldens) {
    std::string code;
    golden.write(code);
    programs.push_back(
        {.name = golden.name,
         .chip = [chip = golden.chip] { return NewModels(chip); },
         .program = {.code = code,
                     .flash = std::string(256, '\1'),
                     .ram = std::string(64, '\0')},
         .cycles = golden.cycles,
         .busy_cycles = golden.busy,
         .owned = golden.owned});
  }
  return programs;
}

}  // namespace edgekiln::simfarm::conformance::tiny_vector
