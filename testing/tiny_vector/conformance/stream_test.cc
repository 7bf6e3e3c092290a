// What the simulator refuses, and how it says so.

#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "testing/tiny_vector/conformance/models.h"

namespace edgekiln::simfarm::conformance::tiny_vector {
namespace {

constexpr auto kRam = static_cast<int64_t>(kRamBase);

using Registers = std::vector<std::pair<Index, int64_t>>;

struct Refusal {
  const char* name;
  void (*write)(std::string& code);
  const char* says;
};

void PrintTo(const Refusal& refusal, std::ostream* out) {
  *out << refusal.name;
}

Registers Transfer(int64_t address, int64_t pieces, int64_t bytes,
                   int64_t pitch) {
  return {{kSystemAddr, address},
          {kSystemPitch, pitch},
          {kPieces, pieces},
          {kPieceBytes, bytes},
          {kA, 0},
          {kB, 0}};
}

// Four vectors in each bank.
void LoadBoth(std::string& code) {
  Write(code, kLoadA, Transfer(0, 1, 64, 0));
  Write(code, kLoadB);
}

const Refusal kRefusals[] = {
    {"NoWords", [](std::string&) {}, "the stream has 0 bytes"},
    {"CutOff", [](std::string& code) { code.assign(12, '\1'); },
     "the stream has 12 bytes"},
    {"NoEnd", [](std::string& code) { LoadBoth(code); },
     "END is the last word, and no other is; where: command 7 (LOAD_B)"},
    {"WordsBehindEnd",
     [](std::string& code) {
       Write(code, kEnd);
       Write(code, kEnd);
     },
     "where: command 0 (END)"},
    {"RegisterThatNothingWrote",
     [](std::string& code) {
       Write(code, kLoadA, {{kSystemAddr, 0}, {kPieces, 1}});
       Write(code, kEnd);
     },
     "reads register SYSTEM_PITCH, which was not written; where: command 2 "
     "(LOAD_A)"},
    {"NothingToMove",
     [](std::string& code) {
       Write(code, kLoadA, Transfer(0, 0, 4, 0));
       Write(code, kEnd);
     },
     "moves nothing"},
    {"OutsideTheBank",
     [](std::string& code) {
       Write(code, kLoadA, Transfer(0, 65, 1, 0));
       Write(code, kEnd);
     },
     "leaves the bank; where: command 6 (LOAD_A), bank A, vector 64; limit: 64 "
     "vectors"},
    {"OutsideMemory",
     [](std::string& code) {
       Write(code, kLoadA, Transfer(250, 2, 4, 4));
       Write(code, kEnd);
     },
     "reads where no memory is; where: command 6 (LOAD_A), system memory 0xfa"},
    {"WritesFlash",
     [](std::string& code) {
       Write(code, kFill, {{kB, 0}, {kVectors, 1}, {kClampMin, 0}});
       Write(code, kStore, Transfer(0, 1, 4, 0));
       Write(code, kEnd);
     },
     "writes where no memory can be written"},
    {"PiecesOverlap",
     [](std::string& code) {
       Write(code, kFill, {{kB, 0}, {kVectors, 4}, {kClampMin, 0}});
       Write(code, kStore, Transfer(kRam, 2, 4, 3));
       Write(code, kEnd);
     },
     "pieces overlap"},
    {"LimitsTheWrongWay",
     [](std::string& code) {
       LoadBoth(code);
       Write(code, kMax, {{kVectors, 1}, {kClampMin, 1}, {kClampMax, 0}});
       Write(code, kEnd);
     },
     "CLAMP_MIN is above CLAMP_MAX"},
    {"ShiftOutOfRange",
     [](std::string& code) {
       LoadBoth(code);
       Registers registers = {{kVectors, 1}};
       for (int r = kAZero; r < kRegisters; ++r) {
         registers.emplace_back(static_cast<Index>(r), 0);
       }
       registers.emplace_back(kBShift, 31);
       Write(code, kAdd, registers);
       Write(code, kEnd);
     },
     "B_SHIFT is 31"},
    // In a checked run.
    {"VectorThatNothingWrote",
     [](std::string& code) {
       LoadBoth(code);
       Write(code, kMax, {{kVectors, 5}, {kClampMin, 0}, {kClampMax, 0}});
       Write(code, kEnd);
     },
     "where: command 11 (MAX), bank A, vector 4"},
};

class RefusalTest : public testing::TestWithParam<Refusal> {};

TEST_P(RefusalTest, NamesCommandAndPlace) {
  StreamProgram program = {.code = "",
                           .flash = std::string(256, '\1'),
                           .ram = std::string(64, '\0')};
  GetParam().write(program.code);
  const std::unique_ptr<ChipModels> chip = NewModels({.bank_bytes = 1024});
  EXPECT_THAT(chip->RunSimulator(program, CpuPath::kBest).error,
              testing::HasSubstr(GetParam().says));
}

INSTANTIATE_TEST_SUITE_P(All, RefusalTest, testing::ValuesIn(kRefusals),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace edgekiln::simfarm::conformance::tiny_vector
