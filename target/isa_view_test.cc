#include "target/isa_view.h"

#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace edgekiln::target {
namespace {

using testing::HasSubstr;

v1::Isa ParseIsa(const std::string& text) {
  v1::Isa isa;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &isa));
  return isa;
}

const char kIsa[] = R"(
  word_bytes: 8
  fields { name: "opcode" low_bit: 0 bits: 8 }
  fields { name: "register" low_bit: 8 bits: 8 }
  fields { name: "immediate" low_bit: 32 bits: 32 }
  fields { name: "rounding" low_bit: 16 bits: 1 }
  registers { name: "ADDR" index: 3 bits: 32 }
  registers { name: "ZERO" index: 9 bits: 8 is_signed: true }
  commands { mnemonic: "REG_WRITE" opcode: 1 }
  commands { mnemonic: "OP_GO" opcode: 0x10 }
  commands { mnemonic: "OP_MEAN" opcode: 0x11 takes_rounding: true }
)";

class IsaViewTest : public testing::Test {
 protected:
  IsaView view_ = *IsaView::Create(ParseIsa(kIsa));
};

// Names are found in the copy that all copies of the view share.
TEST_F(IsaViewTest, CopiesOutliveWhatTheyWereMadeFrom) {
  auto isa = std::make_unique<v1::Isa>(ParseIsa(kIsa));
  auto first = std::make_unique<IsaView>(*IsaView::Create(*isa));
  const IsaView copy = *first;
  first.reset();
  isa.reset();
  EXPECT_EQ(copy.FindRegister("ZERO"), 1);
  EXPECT_EQ(copy.command(copy.FindCommand("OP_GO")).mnemonic(), "OP_GO");
}

TEST_F(IsaViewTest, BorrowsWhatOutlivesIt) {
  const v1::Isa isa = ParseIsa(kIsa);
  const auto view = IsaView::Borrow(isa);
  ASSERT_TRUE(view.ok()) << view.status();
  EXPECT_EQ(&view->isa(), &isa);
  EXPECT_EQ(view->FindRegister("ZERO"), 1);
  EXPECT_FALSE(IsaView::Borrow(v1::Isa()).ok());
}

struct WordCase {
  CommandWord word;
  uint64_t bits;
};

TEST_F(IsaViewTest, EncodesAndDecodes) {
  const WordCase kCases[] = {
      {{0, 0, 0}, 0x0000'0000'0000'0301},
      {{0, 0, 0xffffffff}, 0xffff'ffff'0000'0301},
      {{0, 1, -1}, 0xffff'ffff'0000'0901},
      {{0, 1, 127}, 0x0000'007f'0000'0901},
      {{0, 1, -128}, 0xffff'ff80'0000'0901},
      {{1, -1, 5}, 0x0000'0005'0000'0010},
      {{2, -1, 5}, 0x0000'0005'0000'0011},
      {{2, -1, 5, true}, 0x0000'0005'0001'0011},
  };
  for (const WordCase& c : kCases) {
    const auto bits = view_.Encode(c.word);
    ASSERT_TRUE(bits.ok()) << bits.status();
    EXPECT_EQ(*bits, c.bits);
    const auto word = view_.Decode(c.bits);
    ASSERT_TRUE(word.ok()) << word.status();
    EXPECT_EQ(*word, c.word);
  }
}

TEST_F(IsaViewTest, EveryBitOfAWordMatters) {
  // No two words mean the same: a flipped bit is refused or changes the
  // meaning.
  for (const CommandWord& word :
       {CommandWord{0, 0, 77}, CommandWord{0, 1, -3}, CommandWord{1, -1, 5},
        CommandWord{2, -1, 5, true}}) {
    const uint64_t bits = *view_.Encode(word);
    for (int bit = 0; bit < 64; ++bit) {
      const auto flipped = view_.Decode(bits ^ uint64_t{1} << bit);
      EXPECT_TRUE(!flipped.ok() || *flipped != word) << bit;
    }
  }
}

TEST_F(IsaViewTest, RefusesWordsThatMeanNothing) {
  const struct {
    uint64_t bits;
    const char* message;
  } kCases[] = {
      {0x0000'0000'0002'0301, "reserved bits 0x20000"},
      {0x0000'0000'0001'0301, "rounding bit is set in REG_WRITE"},
      {0x0000'0000'0001'0010, "rounding bit is set in OP_GO"},
      {0x02, "unknown opcode 0x02"},
      {0x0001, "unknown register 0"},
      {0x0000'0080'0000'0901, "128 is outside ZERO's -128 to 127"},
      {0x0310, "register field is 3 in OP_GO"},
  };
  for (const auto& c : kCases) {
    EXPECT_THAT(std::string(view_.Decode(c.bits).status().message()),
                HasSubstr(c.message));
  }
  EXPECT_FALSE(view_.Encode({0, 0, -1}).ok());
  EXPECT_FALSE(view_.Encode({0, 0, int64_t{1} << 32}).ok());
  EXPECT_FALSE(view_.Encode({0, 2, 0}).ok());
  EXPECT_FALSE(view_.Encode({1, 0, 0}).ok());
  EXPECT_FALSE(view_.Encode({1, -1, -1}).ok());
  EXPECT_FALSE(view_.Encode({3, -1, 0}).ok());
  EXPECT_FALSE(view_.Encode({1, -1, 0, true}).ok());
}

TEST_F(IsaViewTest, LooksUp) {
  EXPECT_EQ(view_.FindRegister("ZERO"), 1);
  EXPECT_EQ(view_.FindRegister("NONE"), -1);
  EXPECT_EQ(view_.FindRegisterIndex(9), 1);
  EXPECT_EQ(view_.FindRegisterIndex(10), -1);
  EXPECT_EQ(view_.FindRegisterIndex(-1), -1);
  EXPECT_EQ(view_.FindCommand("OP_GO"), 1);
  EXPECT_EQ(view_.FindOpcode(0x10), 1);
  EXPECT_EQ(view_.FindOpcode(1000), -1);
  EXPECT_EQ(view_.register_write(), 0);
}

TEST_F(IsaViewTest, StreamsAreLittleEndian) {
  std::string code;
  view_.AppendWord(0x0102030405060708, code);
  view_.AppendWord(0x11, code);
  EXPECT_EQ(code.substr(0, 8), "\x08\x07\x06\x05\x04\x03\x02\x01");
  EXPECT_EQ(view_.ReadWord(code, 0), 0x0102030405060708u);
  EXPECT_EQ(view_.ReadWord(code, 1), 0x11u);
}

TEST(IsaViewCreateTest, RefusesBrokenTables) {
  const struct {
    const char* from;
    const char* to;
    const char* message;
  } kCases[] = {
      {"low_bit: 8 bits: 8", "low_bit: 7 bits: 8", "overlaps"},
      {"low_bit: 32 bits: 32", "low_bit: 33 bits: 32", "lie in the word"},
      {"name: \"register\"", "name: \"reg\"", "unknown field name"},
      {"name: \"register\"", "name: \"opcode\"", "occurs twice"},
      {"low_bit: 0 bits: 8", "low_bit: 0 bits: 0", "lie in the word"},
      {"low_bit: 16 bits: 1", "low_bit: 16 bits: 2", "wider than 1 bit"},
      {"fields { name: \"rounding\" low_bit: 16 bits: 1 }", "",
       "without a field rounding"},
      {"word_bytes: 8", "word_bytes: 9", "word_bytes"},
      {"index: 9", "index: 3", "index is used twice"},
      {"index: 9", "index: 256", "does not fit its field"},
      {"index: 9", "index: -1", "does not fit its field"},
      {"bits: 8 is_signed", "bits: 33 is_signed", "fit the immediate"},
      {"\"ZERO\"", "\"ADDR\"", "name is used twice"},
      {"opcode: 0x10", "opcode: 1", "opcode is used twice"},
      {"opcode: 0x10", "opcode: 256", "does not fit its field"},
      {"\"OP_GO\"", "\"REG_WRITE\"", "mnemonic is used twice"},
  };
  for (const auto& c : kCases) {
    std::string text = kIsa;
    const size_t at = text.find(c.from);
    ASSERT_NE(at, std::string::npos) << c.from;
    text.replace(at, std::string(c.from).size(), c.to);
    EXPECT_THAT(std::string(IsaView::Create(ParseIsa(text)).status().message()),
                HasSubstr(c.message))
        << c.from << " -> " << c.to;
  }
}

}  // namespace
}  // namespace edgekiln::target
