#include "compiler/codegen/firmware/indirect_jumps.h"

#include <cstdint>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

std::string Code(const std::vector<uint16_t>& halves) {
  std::string bytes;
  for (const uint16_t half : halves) {
    bytes.push_back(static_cast<char>(half & 0xff));
    bytes.push_back(static_cast<char>(half >> 8));
  }
  return bytes;
}

struct Case {
  std::string name;
  std::vector<uint16_t> code;
  bool jumps = false;
};

void PrintTo(const Case& test, std::ostream* out) { *out << test.name; }

std::string NameOf(const testing::TestParamInfo<Case>& info) {
  return info.param.name;
}

class RiscvJumpsTest : public testing::TestWithParam<Case> {};

TEST_P(RiscvJumpsTest, AreFound) {
  EXPECT_EQ(RiscvJumpsIndirectly(Code(GetParam().code), {}), GetParam().jumps);
}

// Encodings as GNU as has them.
INSTANTIATE_TEST_SUITE_P(
    All, RiscvJumpsTest,
    testing::Values(
        Case{"Nothing", {}}, Case{"CompressedReturn", {0x8082}},
        Case{"Return", {0x8067, 0x0000}}, Case{"CompressedJr", {0x8782}, true},
        Case{"CompressedJalr", {0x9582}, true},
        Case{"CompressedJalrOfRa", {0x9082}, true},
        Case{"CompressedEbreak", {0x9002}},
        Case{"CompressedMoveAndAdd", {0x852e, 0x9526}},
        Case{"JrOfA5", {0x8067, 0x0007}, true},
        Case{"JalrOfA5", {0x80e7, 0x0007}, true},
        Case{"ReturnBehindAnOffset", {0x8067, 0x0040}, true},
        Case{"JalAndBranch", {0x00ef, 0x0000, 0x0063, 0x0000}},
        // The second half of this lui is that of c.jr a5.
        Case{"WithinAnInstruction", {0x0537, 0x8782}},
        Case{"BehindOthers", {0x4501, 0x0537, 0x0000, 0x9782, 0x8082}, true},
        Case{"HalfAnInstruction", {0x8082, 0x0537}, true}),
    NameOf);

TEST(RiscvJumpsIndirectlyTest, JumpsOfTheLinkerAreNone) {
  // auipc ra, 0; jalr ra, 0(ra); twice.
  const std::vector<uint16_t> call = {0x0097, 0x0000, 0x80e7, 0x0000};
  std::vector<uint16_t> calls = call;
  calls.insert(calls.end(), call.begin(), call.end());
  EXPECT_FALSE(RiscvJumpsIndirectly(Code(calls), {4, 12}));
  EXPECT_TRUE(RiscvJumpsIndirectly(Code(calls), {4}));
  EXPECT_TRUE(RiscvJumpsIndirectly(Code(calls), {}));
}

class ThumbJumpsTest : public testing::TestWithParam<Case> {};

TEST_P(ThumbJumpsTest, AreFound) {
  EXPECT_EQ(ThumbJumpsIndirectly(Code(GetParam().code)), GetParam().jumps);
}

INSTANTIATE_TEST_SUITE_P(
    All, ThumbJumpsTest,
    testing::Values(
        Case{"Nothing", {}}, Case{"BxLr", {0x4770}},
        Case{"BxR1", {0x4708}, true}, Case{"BlxR4", {0x47a0}, true},
        Case{"BlxLr", {0x47f0}, true}, Case{"BlxnsR0", {0x4784}, true},
        Case{"MovPcLr", {0x46f7}}, Case{"MovPcR3", {0x469f}, true},
        Case{"AddPcR3", {0x449f}, true}, Case{"MovR8R8", {0x46c0}},
        Case{"PopPc", {0xbdf0}}, Case{"LdmOfTheStack", {0xe8bd, 0x81f0}},
        Case{"LdmOfR3", {0xe893, 0x8001}, true},
        Case{"LdmWithoutPc", {0xe893, 0x0101}},
        Case{"LdrPcOfTheStack", {0xf85d, 0xfb04}},
        Case{"LdrPcOfR2", {0xf8d2, 0xf000}, true},
        Case{"LdrPcOfALiteral", {0xf8df, 0xf004}, true},
        Case{"Tbb", {0xe8df, 0xf001}}, Case{"Tbh", {0xe8df, 0xf011}},
        Case{"LdrR7", {0xf8d2, 0x7000}}, Case{"Bl", {0xf7ff, 0xfffe}},
        // The second half of this bl is that of blx r4.
        Case{"WithinAnInstruction", {0xf000, 0x47a0}},
        Case{"HalfAnInstruction", {0x4770, 0xf8d2}, true}),
    NameOf);

}  // namespace
}  // namespace edgekiln::compiler
