#include "client/lsp/framing.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/lsp/json_text.h"

namespace edgekiln::client::lsp {
namespace {

// The bodies in `bytes`, appended `step` bytes at a time.
std::vector<std::string> BodiesOf(const std::string& bytes, size_t step) {
  FrameReader reader;
  std::vector<std::string> bodies;
  for (size_t at = 0; at < bytes.size(); at += step) {
    reader.Append(bytes.substr(at, step));
    while (true) {
      const absl::StatusOr<std::optional<Frame>> frame = reader.Next();
      EXPECT_TRUE(frame.ok()) << frame.status();
      if (!frame.ok() || !frame->has_value()) break;
      bodies.push_back((*frame)->body);
    }
  }
  return bodies;
}

TEST(FrameReaderTest, GivesMessagesHoweverTheyArrive) {
  const std::string bytes =
      absl::StrCat(FrameOf("{}"), FrameOf(""),
                   "content-type: x\r\nCONTENT-LENGTH:  3 \r\n\r\nabc",
                   FrameOf(std::string(100000, 'x')));
  for (const size_t step : {1ul, 2ul, 7ul, 4096ul, 1ul << 20}) {
    EXPECT_EQ(
        BodiesOf(bytes, step),
        (std::vector<std::string>{"{}", "", "abc", std::string(100000, 'x')}))
        << step;
  }
}

TEST(FrameReaderTest, IsLostAfterABadHeader) {
  for (const std::string& header :
       {std::string("Content-Length: -5\r\n\r\n"),
        std::string("Content-Length: 99999999999999999999\r\n\r\n"),
        std::string("Content-Length: 2000000000\r\n\r\n"),
        std::string("Content-Length: 1e3\r\n\r\n"),
        std::string("Content-Length: +5\r\n\r\n"),
        std::string("Content-Length:\r\n\r\n"),
        std::string("Content-Length: 1\r\nContent-Length: 1\r\n\r\n"),
        std::string("Content-Type: x\r\n\r\n"), std::string("hello\r\n\r\n"),
        std::string(kMaxHeaderBytes + 1, 'x')}) {
    FrameReader reader;
    reader.Append(header);
    EXPECT_FALSE(reader.Next().ok()) << header;
    reader.Append(FrameOf("{}"));
    EXPECT_FALSE(reader.Next().ok()) << header;
  }
}

TEST(FrameReaderTest, SkipsWhatIsTooLong) {
  FrameReader reader;
  const int64_t length = static_cast<int64_t>(kMaxMessageBytes) + 10;
  reader.Append(absl::StrCat("Content-Length: ", length, "\r\n\r\n"));
  const std::string piece(1 << 16, 'y');
  std::optional<Frame> got;
  for (int64_t sent = 0; sent < length;) {
    ASSERT_FALSE(got.has_value());
    const std::string part = piece.substr(0, length - sent);
    reader.Append(part);
    sent += static_cast<int64_t>(part.size());
    const auto frame = reader.Next();
    ASSERT_TRUE(frame.ok());
    got = *frame;
  }
  ASSERT_TRUE(got.has_value());
  EXPECT_TRUE(got->skipped);
  EXPECT_EQ(got->body, piece.substr(0, kKeptOfSkippedBytes));
  reader.Append(FrameOf("[]"));
  const auto next = reader.Next();
  ASSERT_TRUE(next.ok() && next->has_value());
  EXPECT_EQ((*next)->body, "[]");
}

TEST(JsonTextTest, BoundsDepthAndRepairsHalves) {
  EXPECT_FALSE(ParseJson(std::string(kMaxJsonDepth + 1, '[')).has_value());
  EXPECT_FALSE(ParseJson(std::string(1 << 20, '[')).has_value());
  const std::string deep =
      std::string(kMaxJsonDepth, '[') + std::string(kMaxJsonDepth, ']');
  EXPECT_TRUE(ParseJson(deep).has_value());
  EXPECT_TRUE(ParseJson("\"[[[{{{\\\"[\"").has_value());
  const auto half = ParseJson(R"({"text":"a\ud83db \ud83d\ude00 \ude00"})");
  ASSERT_TRUE(half.has_value());
  EXPECT_EQ(StringAt(*half, "text"), "a\uFFFDb \U0001F600 \uFFFD");
  const auto bytes = ParseJson("{\"text\":\"\xFF!\"}");
  ASSERT_TRUE(bytes.has_value());
  EXPECT_EQ(StringAt(*bytes, "text"), "?!");
}

TEST(JsonTextTest, AccessorsTakeAnything) {
  const Json value = *ParseJson(
      R"({"a":{"b":7},"p":{"line":-3,"character":1e3},
          "q":{"line":99999999999,"character":18446744073709551615},"s":[1]})");
  EXPECT_EQ(NumberAt(value, "a/b"), 7);
  EXPECT_EQ(NumberAt(value, "a/b/c"), std::nullopt);
  EXPECT_EQ(StringAt(value, "a/b"), "");
  EXPECT_EQ(PositionAt(value, "p"), std::nullopt);  // Not an integer.
  EXPECT_EQ(PositionAt(value, "q"),
            (Position{std::numeric_limits<int>::max(),
                      std::numeric_limits<int>::max()}));
  EXPECT_EQ(RangeAt(value, "s"), std::nullopt);
  EXPECT_FALSE(TrueAt(value, "s"));
}

}  // namespace
}  // namespace edgekiln::client::lsp
