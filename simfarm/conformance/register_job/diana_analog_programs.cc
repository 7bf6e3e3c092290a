// A program of the analog array that was worked out by hand from
// docs/targets/diana.md and docs/targets/register_job.md.

#include "simfarm/conformance/register_job/diana_analog_programs.h"

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "simfarm/conformance/register_job/record_program_builder.h"
#include "target/resolve.h"

namespace edgekiln::simfarm::conformance::register_job {
namespace {

constexpr uint32_t kL2 = 0x1c000000;
constexpr uint32_t kConstants = kL2;
constexpr uint32_t kCellBytes = 288 * 128 / 4;
constexpr uint32_t kRecord = kL2 + 0x3000;
constexpr uint32_t kIn = 0x100;  // In L1.
constexpr uint32_t kOut = 0x200;
constexpr RecordProgramPlaces kPlaces = {.constants = kConstants,
                                         .input = kL2 + 0x3400,
                                         .room = kL2 + 0x3600,
                                         .output = kL2 + 0x3800,
                                         .local_in = kIn,
                                         .record_words = 48,
                                         .engine = 1,
                                         .memory_bytes = 16'384};
// A block of channels takes 64 bytes of each pixel.
constexpr int64_t kImageBytes = int64_t{3} * 64;

void PutHalf(std::vector<uint32_t>& words, int instruction, int half,
             uint32_t value) {
  words[instruction * 16 + half / 2] |= value << (16 * (half % 2));
}

// 2 channels of 1 x 3 by a window of 1 x 3, padded by 1 on the left and on the
// right, to 64 channels; 4 columns would be computed at once.
std::vector<uint32_t> Record() {
  std::vector<uint32_t> words(48, 0);
  const std::initializer_list<std::pair<int, uint32_t>> first = {
      {0, 0x2d},  // No pool, ReLU, residual, partial sums.
      {2, kIn / 16},
      {3, kOut / 16},  // Pointers.
      {7, 2},
      {8, 64},  // Channels.
      {9, 3},
      {10, 1},  // The image.
      {11, 7},
      {12, 3 | 1 << 4},  // The window.
      {13, 1},
      {14, 1},  // A group of columns, a row.
      {15, 4},
      {16, 1},                // At once, stride.
      {17, 1 << 4 | 1 << 6},  // Right and left.
      {18, 1},
      {19, 0x2005},  // A block of channels.
      {20, 0xc000},
      {21, 0x100},  // 2 blocks of columns.
      {22, 0xf000},
      {24, 0x84},
      {25, 32},  // 12 rows of cells.
      {26, 3},
      {27, 4},   // Gain, shift.
      {28, 3}};  // Columns of the last group.
  for (const auto& [half, value] : first) PutHalf(words, 0, half, value);
  const std::initializer_list<std::pair<int, uint32_t>> stop = {
      {0, 0x3f}, {11, 7},     {15, 1},      {18, 1},   {19, 5},
      {20, 1},   {21, 0x10a}, {22, 0xf001}, {24, 0x84}};
  for (const auto& [half, value] : stop) PutHalf(words, 1, half, value);
  words[32] = 0x3000000;
  words[33] = 0x303001f;
  return words;
}

// Weights [i][w] of channel 0: 1 0 -1, 0 1 1; of channel 1: -1 -1 -1, 1 0 0.
// Row 287 is that of (0, 0), row 282 that of (1, 2). All of rows 256 to 287
// hold the other sign.
std::string Cells() {
  std::string cells(kCellBytes, '\0');
  const auto set = [&](int row, bool negative, int column) {
    cells[(2 * row + (negative ? 1 : 0)) * 16] |=
        static_cast<char>(0x80 >> column);
  };
  set(287, true, 0);
  set(285, false, 0);
  set(283, true, 0);
  set(282, true, 0);
  set(287, false, 1);
  set(286, false, 1);
  set(285, false, 1);
  set(284, true, 1);
  return ReversedWords(cells);
}

// Scale and offset of channel 0 are 60 and 7, of channel 1 -100 and -3, of any
// other c 0 and 16 c.
std::string Affine() {
  std::string bytes;
  const auto put = [&bytes](int scale, int offset) {
    for (const int value : {scale, offset}) {
      const auto bits = static_cast<uint32_t>(value);
      bytes.push_back(static_cast<char>(bits & 0xff));
      bytes.push_back(static_cast<char>((bits >> 8) & 0xff));
    }
  };
  put(60, 7);
  put(-100, -3);
  for (int c = 2; c < 64; ++c) put(0, 16 * c);
  return bytes;
}

// Input 1 2 3 and 10 20 100; what else the pixels hold is not used.
//
//   channel 0: 28, 118, 102; thirds 9, 39 and 34, of which 31 is the most; by
//     60 and 7 547, 1867 and 1867; sixteenths 34, 116 and 116.
//   channel 1: -3, 4, 15; thirds -1, 1 and 5; by -100 and -3 97, -103 and
//     -503; sixteenths 6, -7 and -32.
ProgramCase Program(const std::string& chip) {
  std::string input(kImageBytes, 99);
  const int values[3][2] = {{1, 10}, {2, 20}, {3, 100}};
  for (int pixel = 0; pixel < 3; ++pixel) {
    for (int c = 0; c < 2; ++c) {
      input[64 * pixel + c] = static_cast<char>(values[pixel][c]);
    }
  }
  const auto target =
      target::ResolveTarget(absl::StrCat("extends: \"", chip, "\""));
  EXPECT_TRUE(target.ok()) << target.status();
  RecordProgramBuilder b(target->machine(), kPlaces, {"load", "conv"}, input);
  b.Load(kImageBytes, 0);
  b.Write(kRecord, Record(),
          {{0x40, kConstants},
           {0x44, kConstants + kCellBytes},
           {0x48, kRecord},
           {0x4c, 32},
           {0x54, 0},
           {0x58, kRecord + 128},
           {0x5c, 16},
           {0x68, 0},
           {0x6c, 0}},
          1);
  b.Poll(1);
  b.Store(kOut, kImageBytes, 1);
  return b.Finish(Cells() + Affine());
}

std::string Results() {
  const int values[3][2] = {{34, 6}, {116, -7}, {116, -32}};
  std::string output;
  for (const auto& pixel : values) {
    output.push_back(static_cast<char>(pixel[0]));
    output.push_back(static_cast<char>(pixel[1]));
    for (int c = 2; c < 64; ++c) output.push_back(static_cast<char>(c));
  }
  return output;
}

//   the host reverses 192 bytes in 7.5 each       1440  load
//   6 granules                                     192  load
//   10 writes, 48 words, and 200 - 59 besides      199  conv
//   9216 bytes of cells, 256 of scales and
//     offsets, a position                         9473  conv
//   6 granules                                     192  conv
//   192 bytes of 7.5                              1440  conv
HandCountedProgram InUnits() {
  return {.name = "Analog",
          .program = Program("diana-analog-unit"),
          .outcome = {.error = "",
                      .cycles = 1632 + 11'304,
                      .layer_cycles = {1440 + 192, 199 + 9473 + 192 + 1440},
                      .busy_cycles = {0, 9473, 1632 + 11'304},
                      .bytes_read = 192,
                      .bytes_written = 192,
                      .taps = {},
                      .outputs = {Results()}}};
}

}  // namespace

std::vector<HandCountedProgram> HandCountedOfAnalogDiana() {
  return {InUnits()};
}

}  // namespace edgekiln::simfarm::conformance::register_job
