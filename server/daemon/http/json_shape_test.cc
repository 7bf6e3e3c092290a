#include "server/daemon/http/json_shape.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace edgekiln::server {
namespace {

std::string Repeat(absl::string_view text, int count) {
  std::string all;
  for (int i = 0; i < count; ++i) absl::StrAppend(&all, text);
  return all;
}

TEST(JsonShapeTest, TakesWhatClientsSend) {
  EXPECT_TRUE(CheckJsonShape("").ok());
  EXPECT_TRUE(CheckJsonShape(R"({"id": "j1", "list": [1, {"a": []}]})").ok());
  // As many digests as FindMissingBlobs takes in a body of a mebibyte.
  EXPECT_TRUE(
      CheckJsonShape(
          absl::StrCat("{\"blob_digests\":[",
                       Repeat("{\"hash\":\"0\",\"size_bytes\":\"1\"},", 16'384),
                       "]}"))
          .ok());
}

TEST(JsonShapeTest, RefusesWhatIsDeep) {
  EXPECT_TRUE(CheckJsonShape(Repeat("[", kMaxJsonDepth)).ok());
  const absl::Status status = CheckJsonShape(Repeat("[", kMaxJsonDepth + 1));
  EXPECT_EQ(GetErrorDetail(status)->reason, "REQUEST_TOO_LARGE");
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("64 levels"));
  // What is closed is no longer open.
  EXPECT_TRUE(CheckJsonShape(Repeat("[]", 1000)).ok());
}

TEST(JsonShapeTest, RefusesWhatIsWide) {
  EXPECT_TRUE(CheckJsonShape(Repeat(",", kMaxJsonValues)).ok());
  EXPECT_FALSE(CheckJsonShape(Repeat(",", kMaxJsonValues + 1)).ok());
  EXPECT_FALSE(CheckJsonShape(Repeat("{}", kMaxJsonValues + 1)).ok());
}

TEST(JsonShapeTest, TextsMayHoldAnything) {
  const std::string commas = Repeat(",[", kMaxJsonValues);
  EXPECT_TRUE(CheckJsonShape(absl::StrCat("{\"a\":\"", commas, "\"}")).ok());
  // A quote that belongs to the text, and one behind a backslash that does.
  EXPECT_TRUE(
      CheckJsonShape(absl::StrCat("{\"a\":\"\\\"", commas, "\"}")).ok());
  EXPECT_FALSE(
      CheckJsonShape(absl::StrCat("{\"a\":\"\\\\\"", commas, "\"}")).ok());
  EXPECT_TRUE(CheckJsonShape("\"\\").ok());
}

// Protobuf takes both kinds of quotes; each ends with its own.
TEST(JsonShapeTest, EachQuoteEndsWithItsOwn) {
  const std::string values = Repeat("{},", 70'000);
  EXPECT_FALSE(CheckJsonShape(absl::StrCat("{'\"':[", values, "]}")).ok());
  EXPECT_FALSE(CheckJsonShape(absl::StrCat("{\"'\":[", values, "]}")).ok());
  EXPECT_TRUE(CheckJsonShape(absl::StrCat("{'a\"':'", values, "'}")).ok());
  EXPECT_TRUE(CheckJsonShape(absl::StrCat("{\"a'\":\"", values, "\"}")).ok());
}

}  // namespace
}  // namespace edgekiln::server
