#include "client/lsp/document.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/rng.h"

namespace edgekiln::client::lsp {
namespace {

// Characters of 1 to 4 bytes, and every line end.
const std::vector<std::string>& Pieces() {
  static const auto& pieces = *new std::vector<std::string>{
      "a",    "b",  "\u00E9", "\u20AC", "\U0001F600", "\n",
      "\r\n", "\r", "\"",     "key: 1", "\xFF",       "\xE2\x82"};
  return pieces;
}

std::string RandomText(Rng& rng, int pieces) {
  std::string text;
  for (int i = 0; i < pieces; ++i) {
    text += Pieces()[rng.Below(Pieces().size())];
  }
  return text;
}

TEST(LineIndexTest, CountsUnits) {
  const std::string text = "a\u00E9\U0001F600b\r\nx\ry\n\nz";
  const LineIndex index(text);
  ASSERT_EQ(index.lines(), 5);
  const size_t b = text.find('b');
  EXPECT_EQ(index.PositionOf(text, b, Encoding::kUtf16), (Position{0, 4}));
  EXPECT_EQ(index.PositionOf(text, b, Encoding::kUtf8), (Position{0, 7}));
  EXPECT_EQ(index.OffsetOf(text, {0, 4}, Encoding::kUtf16), b);
  // In the middle of a pair: its beginning.
  EXPECT_EQ(index.OffsetOf(text, {0, 3}, Encoding::kUtf16), 3u);
  // Beyond the end of a line, and of the text.
  EXPECT_EQ(index.OffsetOf(text, {0, 99}, Encoding::kUtf16), b + 1);
  EXPECT_EQ(index.OffsetOf(text, {99, 0}, Encoding::kUtf16), text.size());
  EXPECT_EQ(index.OffsetOf(text, {-1, 0}, Encoding::kUtf16), 0u);
  EXPECT_EQ(index.PositionOf(text, text.find('y'), Encoding::kUtf16),
            (Position{2, 0}));
  EXPECT_EQ(index.PositionOf(text, 1000, Encoding::kUtf16), (Position{4, 1}));
}

TEST(LineIndexTest, OffsetsSurviveTheWayThere) {
  Rng rng(7);
  for (int round = 0; round < 300; ++round) {
    const std::string text = RandomText(rng, 40);
    const LineIndex index(text);
    for (const Encoding encoding : {Encoding::kUtf8, Encoding::kUtf16}) {
      for (size_t at = 0; at < text.size(); at += CharacterBytes(text, at)) {
        // Within \r\n nothing can stand.
        if (text[at] == '\n' && at > 0 && text[at - 1] == '\r') continue;
        const Position position = index.PositionOf(text, at, encoding);
        EXPECT_EQ(index.OffsetOf(text, position, encoding), at);
      }
    }
  }
}

// Lines of UTF-32 characters: slow and plain.
Position NaivePosition(const std::string& text, size_t offset,
                       Encoding encoding) {
  Position position;
  for (size_t at = 0; at < offset; at += CharacterBytes(text, at)) {
    const bool crlf = text.compare(at, 2, "\r\n") == 0;
    if (text[at] == '\n' || (text[at] == '\r' && !crlf)) {
      ++position.line;
      position.character = 0;
    } else if (!crlf) {
      const size_t bytes = CharacterBytes(text, at);
      position.character += encoding == Encoding::kUtf8
                                ? static_cast<int>(bytes)
                                : (bytes == 4 ? 2 : 1);
    }
  }
  return position;
}

TEST(LineIndexTest, CountsInLongLines) {
  Rng rng(9);
  for (int round = 0; round < 4; ++round) {
    std::string text;
    for (int line = 0; line < 3; ++line) {
      std::string pieces = RandomText(rng, 500);
      std::erase_if(pieces, [](char c) { return c == '\n' || c == '\r'; });
      text += pieces + (line == 1 ? "\r\n" : "\n");
    }
    const LineIndex index(text);
    ASSERT_EQ(index.lines(), 4);
    for (const Encoding encoding : {Encoding::kUtf8, Encoding::kUtf16}) {
      for (size_t at = 0; at < text.size(); at += CharacterBytes(text, at)) {
        if (text[at] == '\n' && text[at - 1] == '\r') continue;
        ASSERT_EQ(index.PositionOf(text, at, encoding),
                  NaivePosition(text, at, encoding))
            << at;
      }
    }
  }
}

size_t RandomBoundary(const std::string& text, Rng& rng) {
  size_t wanted = rng.Below(text.size() + 1);
  size_t at = 0;
  while (at < wanted) at += CharacterBytes(text, at);
  if (at > 0 && at < text.size() && text[at] == '\n' && text[at - 1] == '\r') {
    --at;
  }
  return std::min(at, text.size());
}

TEST(DocumentTest, EditsAsOnAString) {
  for (const Encoding encoding : {Encoding::kUtf8, Encoding::kUtf16}) {
    Rng rng(encoding == Encoding::kUtf8 ? 1 : 2);
    std::string model = RandomText(rng, 60);
    Document document(model, 1);
    for (int64_t version = 2; version < 1500; ++version) {
      Span span{RandomBoundary(model, rng), RandomBoundary(model, rng)};
      Edit edit{.range = Range{NaivePosition(model, span.begin, encoding),
                               NaivePosition(model, span.end, encoding)},
                .text = RandomText(rng, static_cast<int>(rng.Below(4)))};
      if (span.begin > span.end) std::swap(span.begin, span.end);
      model.replace(span.begin, span.end - span.begin, edit.text);
      if (version % 97 == 0) {
        model = RandomText(rng, 60);
        edit = {.range = std::nullopt, .text = model};
      }
      document.Apply(edit, version, encoding);
      ASSERT_EQ(document.text(), model) << version;
      ASSERT_EQ(document.version(), version);
    }
  }
}

TEST(DocumentTest, IsDroppedWhenItOutgrows) {
  Document document("a", 1);
  const Edit grow{.range = Range{{0, 0}, {0, 0}},
                  .text = std::string(kMaxDocumentBytes, 'x')};
  document.Apply(grow, 2, Encoding::kUtf16);
  EXPECT_TRUE(document.too_large());
  EXPECT_FALSE(document.dropped());
  // It shrinks again.
  document.Apply({.range = Range{{0, 0}, {0, 100}}, .text = ""}, 3,
                 Encoding::kUtf16);
  EXPECT_FALSE(document.too_large());
  for (int i = 0; i < 10; ++i) document.Apply(grow, 4 + i, Encoding::kUtf16);
  EXPECT_TRUE(document.dropped());
  EXPECT_EQ(document.text(), "");
  document.Apply({.range = Range{{0, 0}, {0, 0}}, .text = "y"}, 20,
                 Encoding::kUtf16);
  EXPECT_TRUE(document.dropped());
  document.Apply({.range = std::nullopt, .text = "z"}, 21, Encoding::kUtf16);
  EXPECT_FALSE(document.too_large());
  EXPECT_EQ(document.text(), "z");
}

}  // namespace
}  // namespace edgekiln::client::lsp
