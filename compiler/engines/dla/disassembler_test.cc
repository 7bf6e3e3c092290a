#include "compiler/engines/dla/disassembler.h"

#include <string>

#include "compiler/engines/dla/chip.h"
#include "gtest/gtest.h"
#include "target/resolve.h"

namespace edgekiln::compiler::dla {
namespace {

target::IsaView Isa() {
  const auto target = target::ResolveTarget("extends: \"dla\"");
  EXPECT_TRUE(target.ok()) << target.status();
  return *target::IsaView::Create(target->machine().engines(0).isa());
}

// That streams round-trip is tests/chips' to show; this is how they read.
TEST(DisassemblerTest, WritesTheFormOfItsHeader) {
  const std::string text =
      "REG_WRITE IN_ADDR 4096\n"
      "REG_WRITE IN_ZERO_POINT -128\n"
      "REG_WRITE OUT_MULTIPLIER 2147483647\n"
      "OP_CONV wait 3\n"
      "OP_CONV half_even wait 3\n"
      "OP_POOL half_even\n"
      "OP_DMA_WRITE\n"
      "OP_END\n";
  const target::IsaView isa = Isa();
  const auto code = Assemble(isa, text);
  ASSERT_TRUE(code.ok()) << code.status();
  EXPECT_EQ(code->size(), 8 * 8);
  const auto again = Disassemble(isa, *code);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(*again, text);
}

struct BadCase {
  const char* name;
  const char* text;
  const char* says;
};

class AssembleErrorTest : public testing::TestWithParam<BadCase> {};

TEST_P(AssembleErrorTest, NamesTheLine) {
  const auto code = Assemble(Isa(), GetParam().text);
  ASSERT_FALSE(code.ok());
  EXPECT_NE(code.status().message().find(GetParam().says), std::string::npos)
      << code.status();
}

const BadCase kBadCases[] = {
    {"UnknownMnemonic", "OP_END\nOP_FLY\n", "line 2: unknown mnemonic"},
    {"UnknownRegister", "REG_WRITE NOWHERE 1\n", "line 1: unknown register"},
    {"NotANumber", "# c\nREG_WRITE IN_ADDR x\n", "line 2: not a number"},
    {"TooWide", "REG_WRITE IN_ZERO_POINT 128\n", "line 1"},
    {"NothingToRound", "OP_C_MAX half_even\n", "OP_C_MAX takes no rounding"},
    {"MissingValue", "REG_WRITE IN_ADDR\n", "line 1: needs two operands"},
};

INSTANTIATE_TEST_SUITE_P(All, AssembleErrorTest, testing::ValuesIn(kBadCases),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace edgekiln::compiler::dla
