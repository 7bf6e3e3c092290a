// Programs that were worked out by hand from docs/targets/diana.md and
// docs/targets/register_job.md.

#include "simfarm/conformance/register_job/diana_programs.h"

#include <cstdint>
#include <initializer_list>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "simfarm/conformance/register_job/record_program_builder.h"
#include "target/resolve.h"

namespace edgekiln::simfarm::conformance::register_job {
namespace {

constexpr char kUnit[] = "diana-digital-unit";

constexpr uint32_t kL2 = 0x1c000000;
constexpr uint32_t kConstants = kL2;
constexpr uint32_t kRecords = kL2 + 0x600;
constexpr uint32_t kIn = 0x100;  // In L1.
constexpr uint32_t kOut = 0x180;
constexpr uint32_t kSum = 0x200;
constexpr RecordProgramPlaces kPlaces = {.constants = kConstants,
                                         .input = kL2 + 0x900,
                                         .room = kL2 + 0xa00,
                                         .output = kL2 + 0xb00,
                                         .local_in = kIn,
                                         .record_words = 80,
                                         .memory_bytes = 16'384};

// Values of word 0 of a record.
constexpr uint32_t kDense = 0;
constexpr uint32_t kConvolution = 1;
constexpr uint32_t kAddition = 3;

using Words = std::vector<uint32_t>;

// Both instructions and the configuration, of which `first` is the first: mode,
// second operand of a sum, input, output; channels, blocks of outputs, columns
// and rows; columns in whole blocks, elements of a channel, columns and rows of
// the window; of the result, blocks of columns and rows, ReLU, layout; its
// elements, dilation, 0, shift; padding, 0, 0, 0; stride 2, 0, bits of output
// and input; output channels, channels and columns of the last block.
std::vector<uint32_t> Record(Words first) {
  const bool convolution = first[0] == kConvolution;
  first.resize(80, 0);
  first[32 + 18] = 1;
  first[64] = convolution ? 0x800 : 0;
  first[65] = convolution ? 0xf : 0;
  return first;
}

struct Weights {
  uint32_t address = 0;
  uint32_t words = 0;
};

// All registers of the window that jobs write: 12, and the start.
void Start(RecordProgramBuilder& b, uint32_t record, const Weights& convolution,
           const Weights& dense, Words first, int32_t layer) {
  b.Write(record, Record(std::move(first)),
          {{0x40, convolution.address},
           {0x44, convolution.words},
           {0x48, dense.address},
           {0x4c, dense.words},
           {0x50, record},
           {0x54, 64},
           {0x58, 0},
           {0x5c, 0},
           {0x60, record + 256},
           {0x64, 16},
           {0x84, 1},
           {0xa0, 0}},
          layer);
}

std::string Bytes(std::initializer_list<int> values) {
  std::string bytes;
  for (const int value : values) bytes.push_back(static_cast<char>(value));
  return bytes;
}

v1::Machine MachineOf(const std::string& name) {
  const auto target =
      target::ResolveTarget(absl::StrCat("extends: \"", name, "\""));
  EXPECT_TRUE(target.ok()) << target.status();
  return target.ok() ? target->machine() : v1::Machine();
}

// 2 channels of 4 x 4, 1 to 16 and always -2, by a window of 3 x 3, padding of
// 1 on top and on the left, and stride 2, to 2 channels of 2 x 2.
//
//   channel 0: all of input 0 in the window, 14, 30, 57 and 99; 3 times the
//     middle of input 1, -6; bias 300. 308, 324, 351 and 393, of which a
//     quarter is 77, 81, 87.75 and 98.25.
//   channel 1: less the middle of input 0, 1, 3, 9 and 11; 5 times the first
//     corner of input 1, which is padding but for the last, -10; bias -7. -8,
//     -10, -16 and -28, of which a quarter is -2, -2.5, -4 and -7.
ProgramCase Convolution(const std::string& chip) {
  std::string input(16, '\0');
  std::iota(input.begin(), input.end(), 1);
  input.append(16, static_cast<char>(-2));
  // [c][fy][fx][16], then 4 bytes of 16 biases: 300 is 0x12c.
  std::string block(2 * 9 * 16 + 64, '\0');
  for (int tap = 0; tap < 9; ++tap) block[tap * 16] = 1;
  block[(9 + 4) * 16] = 3;
  block[4 * 16 + 1] = static_cast<char>(-1);
  block[9 * 16 + 1] = 5;
  block[18 * 16] = 0x2c;
  block[19 * 16] = 1;
  block[18 * 16 + 1] = static_cast<char>(-7);
  for (int byte = 1; byte < 4; ++byte) {
    block[(18 + byte) * 16 + 1] = static_cast<char>(-1);
  }
  RecordProgramBuilder b(MachineOf(chip), kPlaces, {"load", "conv"}, input);
  constexpr uint32_t kPadding = 1 | 1 << 8;  // On the left and on top.
  b.Load(32, 0);
  Start(b, kRecords, {kConstants, (2 * 9 * 16 + 64) / 4}, {}, {kConvolution,
                                                               0,
                                                               kIn,
                                                               kOut,
                                                               2,
                                                               1,
                                                               4,
                                                               4,
                                                               16,
                                                               16,
                                                               3,
                                                               3,
                                                               1,
                                                               2,
                                                               0,
                                                               2,
                                                               4,
                                                               1,
                                                               0,
                                                               2,
                                                               kPadding,
                                                               0,
                                                               0,
                                                               0,
                                                               1,
                                                               0,
                                                               8,
                                                               8,
                                                               2,
                                                               0,
                                                               2},
        1);
  b.Poll(1);
  b.Store(kOut, 8, 1);
  return b.Finish(ReversedWords(block));
}

std::string Quarters() { return Bytes({77, 81, 87, 98, -2, -3, -4, -7}); }

//   the host reverses 32 bytes in 7.5 each       240  load
//   32 bytes are a granule                        32  load
//   13 writes, 80 words, and 330 - 94 besides    329  conv
//   the job                                      448  conv
//   a granule                                     32  conv
//   8 bytes of 7.5                                60  conv
//
// 352 bytes of weights. Of the first row of results 2 rows of the window are
// in the image, of the second 3: 2*2*3 + 2*2*2 + 23 and 2*3*3 + 2*2*3 + 23.
HandCountedProgram ConvolutionInUnits() {
  return {.name = "Convolution",
          .program = Convolution(kUnit),
          .outcome = {.error = "",
                      .cycles = 272 + 869,
                      .layer_cycles = {240 + 32, 329 + 448 + 32 + 60},
                      .busy_cycles = {352 + 43 + 53, 0, 272 + 869},
                      .bytes_read = 32,
                      .bytes_written = 8,
                      .taps = {},
                      .outputs = {Quarters()}}};
}

// Transfers of 40 + 32 / 16; 565 for the job but for a read of 8; 352 / 16
// cycles of weights, 118 in all, of which the 15th read sees the end.
HandCountedProgram ConvolutionAsItIs() {
  return {.name = "AsItIs",
          .program = Convolution("diana"),
          .outcome = {.error = "",
                      .cycles = 282 + 779,
                      .layer_cycles = {240 + 42, 557 + 120 + 42 + 60},
                      .busy_cycles = {22 + 43 + 53, 0, 282 + 779},
                      .bytes_read = 32,
                      .bytes_written = 8,
                      .taps = {},
                      .outputs = {Quarters()}}};
}

// The second channel of a depthwise convolution, 2 rows of 4, 1 2 3 4 and
// always -100, by a window of 1 x 3, 1 2 -1, beside a column of padding; bias
// 266; a quarter, with ReLU. Then added to its input, and halved.
//
//   266, 268, 270 and 277 are 66.5, 67, 67.5 and 69.25;
//   166, 66, 66 and -34 are 41.5, 16.5, 16.5 and, by ReLU, 0.
//   67, 69, 70, 73, -59, -84, -84 and -100 are 33.5, 34.5, 35, 36.5, -29.5,
//   -42, -42 and -50.
//
//   8 bytes of 7.5, a granule                     92  load
//   a job                                        329  depth
//   48 + 64 bytes of weights, 2 * (3 + 2 + 23)   168  depth
//   a job of one block of 16                     330  add
//   a granule, 8 bytes of 7.5                     92  store
//
// The channel is in slot 4; the job reads the block from there on. Other slots
// hold what would show.
HandCountedProgram DepthwiseAndAddition() {
  std::string block(3 * 16 + 64, 77);
  block[4] = 1;
  block[16 + 4] = 2;
  block[32 + 4] = static_cast<char>(-1);
  block[48 + 4] = 10;  // 266 is 0x10a.
  block[64 + 4] = 1;
  block[80 + 4] = block[96 + 4] = 0;
  RecordProgramBuilder b(MachineOf(kUnit), kPlaces,
                         {"load", "depth", "add", "store"},
                         Bytes({1, 2, 3, 4, -100, -100, -100, -100}));
  b.Load(8, 0);
  Start(b, kRecords, {kConstants + 4, (3 * 16 + 64) / 4}, {},
        {kConvolution,
         0,
         kIn,
         kOut,
         1,
         1,
         4,
         2,
         16,
         8,
         3,
         1,
         1,
         2,
         1,
         2,
         8,
         1,
         0,
         2,
         1,
         0,
         0,
         0,
         0,
         0,
         8,
         8,
         1,
         0,
         4},
        1);
  b.Poll(1);
  Start(b, kRecords + 320, {}, {},
        {kAddition, kIn, kOut, kSum, 1, 0, 4, 2, 16, 8, 0, 0, 0, 0, 0, 2,
         0,         0,   0,    1,    0, 0, 0, 0, 0,  0, 8, 8, 0, 8, 0},
        2);
  b.Poll(2);
  b.Store(kSum, 8, 3);
  return {
      .name = "DepthwiseAndAddition",
      .program = b.Finish(ReversedWords(block)),
      .outcome = {.error = "",
                  .cycles = 92 + 329 + 168 + 330 + 92,
                  .layer_cycles = {92, 329 + 168, 330, 92},
                  .busy_cycles = {168 + 1, 0, 92 + 329 + 168 + 330 + 92},
                  .bytes_read = 8,
                  .bytes_written = 8,
                  .taps = {},
                  .outputs = {Bytes({33, 34, 35, 36, -30, -42, -42, -50})}}};
}

// 1 to 36, which are 3 blocks of 16 of which the last has 4, to 4: 666 - 1000;
// 3*1 - 5*33 + 70'000; 12*36 - 1; -7*16 + 5. A sixteenth of -334 is -20.9, of
// 69'838 above 127, of 431 26.9 and of -107 -6.7.
//
//   36 bytes of 7.5                              270  load
//   36 bytes are 2 granules                       64  load
//   a job                                        329  dense
//   1024 bytes of weights, 23 + 3               1050  dense
//   a granule, 4 bytes of 7.5                     62  dense
HandCountedProgram DenseLayer() {
  std::string input(36, '\0');
  std::iota(input.begin(), input.end(), 1);
  // [c][16], then 16 bytes for each output.
  std::string block(48 * 16 + 16 * 16, '\0');
  for (int c = 0; c < 36; ++c) block[c * 16] = 1;
  block[1] = 3;
  block[32 * 16 + 1] = static_cast<char>(-5);
  block[35 * 16 + 2] = 12;
  block[15 * 16 + 3] = static_cast<char>(-7);
  const int32_t biases[4] = {-1000, 70'000, -1, 5};
  for (int o = 0; o < 4; ++o) {
    for (int byte = 0; byte < 4; ++byte) {
      block[48 * 16 + o * 16 + byte] =
          static_cast<char>(static_cast<uint32_t>(biases[o]) >> (8 * byte));
    }
  }
  RecordProgramBuilder b(MachineOf(kUnit), kPlaces, {"load", "dense"}, input);
  b.Load(36, 0);
  Start(b, kRecords, {}, {kConstants, 1024 / 4},
        {kDense, 0, kIn, kOut, 3, 1, 1, 1, 16, 1, 0, 0, 0, 0, 0, 2,
         0,      0, 0,   4,    0, 0, 0, 0, 0,  0, 8, 8, 4, 4, 0},
        1);
  b.Poll(1);
  b.Store(kOut, 4, 1);
  return {.name = "DenseLayer",
          .program = b.Finish(ReversedWords(block)),
          .outcome = {.error = "",
                      .cycles = 334 + 1441,
                      .layer_cycles = {334, 329 + 1050 + 62},
                      .busy_cycles = {1050, 0, 334 + 1441},
                      .bytes_read = 36,
                      .bytes_written = 4,
                      .taps = {},
                      .outputs = {Bytes({-21, 127, 26, -7})}}};
}

}  // namespace

std::vector<HandCountedProgram> HandCountedOfDiana() {
  return {ConvolutionInUnits(), ConvolutionAsItIs(), DepthwiseAndAddition(),
          DenseLayer()};
}

}  // namespace edgekiln::simfarm::conformance::register_job
