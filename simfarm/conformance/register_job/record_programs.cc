// Programs that were worked out by hand from docs/targets/register_job.md and
// docs/design/0022, on the chip of tests/support/record_chip.h.

#include "simfarm/conformance/register_job/record_programs.h"

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "simfarm/conformance/register_job/record_program_builder.h"

namespace edgekiln::simfarm::conformance::register_job {
namespace {

// Registers of the window.
constexpr uint32_t kWeights = 0x40;
constexpr uint32_t kRecord = 0x50;

constexpr uint64_t kL2Base = 0x10000;
constexpr uint64_t kRecords = kL2Base + 0x200;
constexpr uint64_t kL1Base = 0x100;
constexpr uint64_t kLocalIn = kL1Base;
constexpr uint64_t kLocalOut = kL1Base + 0x40;
constexpr uint64_t kLocalSum = kL1Base + 0x80;
constexpr RecordProgramPlaces kPlaces = {.constants = kL2Base,
                                         .input = kL2Base + 0x300,
                                         .room = kL2Base + 0x400,
                                         .output = kL2Base + 0x500,
                                         .local_in = kLocalIn,
                                         .record_words = 16};

uint32_t Pair(uint32_t low, uint32_t high) { return high << 16 | low; }

std::string Bytes(std::initializer_list<int> values) {
  std::string bytes;
  for (const int value : values) bytes.push_back(static_cast<char>(value));
  return bytes;
}

// A row of 16 pixels of 3 channels, x, 2 and -x, to 2 channels: 4x + 6 - x +
// 100 = 3x + 106 and -x + 2x - 9 = x - 9. Of which a quarter, down, between -2
// and 36.
ProgramCase OneConvolution(const v1::Machine& machine) {
  std::string input;
  for (int x = 0; x < 16; ++x) input.push_back(static_cast<char>(x));
  for (int x = 0; x < 16; ++x) input.push_back(2);
  for (int x = 0; x < 16; ++x) input.push_back(static_cast<char>(-x));
  // 3 input channels of 16 weights, then 4 bytes of 16 biases.
  std::string block(3 * 16 + 4 * 16, '\0');
  const int weights[3][2] = {{4, -1}, {3, 0}, {1, -2}};
  for (int i = 0; i < 3; ++i) {
    for (int o = 0; o < 2; ++o) {
      block[i * 16 + o] = static_cast<char>(weights[i][o]);
    }
  }
  const uint32_t biases[] = {100, static_cast<uint32_t>(-9)};
  for (int b = 0; b < 4; ++b) {
    for (int o = 0; o < 2; ++o) {
      block[48 + b * 16 + o] = static_cast<char>(biases[o] >> (8 * b));
    }
  }
  RecordProgramBuilder b(machine, kPlaces, {"load", "conv"}, input);
  b.Load(48, 0);
  b.Write(kRecords,
          {1 | 2 << 8, static_cast<uint32_t>(kLocalIn),
           static_cast<uint32_t>(kLocalOut), 0, Pair(1, 16), Pair(3, 2),
           Pair(1, 16), 0, 0xfe | 36u << 24},
          {{kRecord, static_cast<uint32_t>(kRecords)},
           {kWeights, static_cast<uint32_t>(kPlaces.constants)}},
          1);
  b.Poll(1);
  b.Store(kLocalOut, 32, 1);
  return b.Finish(ReversedWords(block));
}

std::string QuartersDown() {
  return Bytes({26, 27, 28, 28, 29, 30, 31, 31, 32, 33, 34, 34, 35, 36, 36, 36,
                -2, -2, -2, -2, -2, -1, -1, -1, -1, 0,  0,  0,  0,  1,  1,  1});
}

// 2 * 48 + 20 cycles to reverse the input; 48 bytes are 64 in granules of 32. A
// record of 16 words, 3 writes; 3 products for each of the 16 pixels and
// channels, which the engine computes at once: the third read ends with the
// job. 32 bytes back, reversed in 2 * 32 + 20.
HandCountedProgram OnUnit(const v1::Machine& machine) {
  return {.name = "RecordOnUnit",
          .program = OneConvolution(machine),
          .outcome = {.error = "",
                      .cycles = 116 + 64 + 19 + 3 + 32 + 84,
                      .layer_cycles = {116 + 64, 19 + 3 + 32 + 84},
                      .busy_cycles = {3, 318},
                      .bytes_read = 48,
                      .bytes_written = 32,
                      .taps = {},
                      .outputs = {QuartersDown()}}};
}

// 40 cycles of set-up and 16 bytes a cycle; 16 words of 2, 3 writes of 3 and
// 100 for the job, of 10 + 3 cycles, of which the third read, of 5, sees the
// end.
HandCountedProgram AsItIs(const v1::Machine& machine) {
  return {.name = "RecordAsItIs",
          .program = OneConvolution(machine),
          .outcome = {.error = "",
                      .cycles = 116 + 44 + 141 + 15 + 42 + 84,
                      .layer_cycles = {116 + 44, 141 + 15 + 42 + 84},
                      .busy_cycles = {13, 442},
                      .bytes_read = 48,
                      .bytes_written = 32,
                      .taps = {},
                      .outputs = {QuartersDown()}}};
}

// A row of 4 by a window of 1 2 1, beside a column of padding: 4, 8, 12 and 11;
// and 1, of which a half, down: 2, 4, 6 and 6. Added to the row, and halved: 1,
// 3, 4 and 5.
//
//   2 * 4 + 20 and a granule                      60  load
//   16 words, 3 writes, 3 reads                   22  depth
//   16 words, 2 writes, 1 read                    19  add
//   a granule, and 2 * 4 + 20                     60  store
//
// The window keeps what it held: the second job needs no weights.
HandCountedProgram DepthAndAdd(const v1::Machine& machine) {
  std::string block(3 * 16 + 4 * 16, '\0');
  block[0] = block[32] = 1;
  block[16] = 2;
  block[48] = 1;
  const uint32_t no_clamp = 0x80u | 0x7fu << 24;
  RecordProgramBuilder b(machine, kPlaces, {"load", "depth", "add", "store"},
                         Bytes({1, 2, 3, 4}));
  b.Load(4, 0);
  b.Write(kRecords,
          {2 | 1 << 8, static_cast<uint32_t>(kLocalIn),
           static_cast<uint32_t>(kLocalOut), 0, Pair(1, 4), Pair(1, 1),
           Pair(1, 4), 2 << 4 | 1 << 20, no_clamp},
          {{kRecord, static_cast<uint32_t>(kRecords)},
           {kWeights, static_cast<uint32_t>(kPlaces.constants)}},
          1);
  b.Poll(1);
  b.Write(kRecords + 64,
          {3 | 1 << 8, static_cast<uint32_t>(kLocalIn),
           static_cast<uint32_t>(kLocalSum), static_cast<uint32_t>(kLocalOut),
           0, Pair(0, 1), Pair(1, 4), 0, no_clamp},
          {{kRecord, static_cast<uint32_t>(kRecords + 64)}}, 2);
  b.Poll(2);
  b.Store(kLocalSum, 4, 3);
  return {.name = "DepthAndAdd",
          .program = b.Finish(ReversedWords(block)),
          .outcome = {.error = "",
                      .cycles = 60 + 22 + 19 + 60,
                      .layer_cycles = {60, 22, 19, 60},
                      .busy_cycles = {4, 161},
                      .bytes_read = 4,
                      .bytes_written = 4,
                      .taps = {},
                      .outputs = {Bytes({1, 3, 4, 5})}}};
}

}  // namespace

std::vector<HandCountedProgram> HandCountedOfRecords(
    const v1::Machine& in_units, const v1::Machine& as_it_is) {
  return {OnUnit(in_units), AsItIs(as_it_is), DepthAndAdd(in_units)};
}

}  // namespace edgekiln::simfarm::conformance::register_job
