#include "base/error.h"

#include "absl/strings/cord.h"
#include "base/status_macros.h"
#include "gtest/gtest.h"

namespace edgekiln {
namespace {

const ErrorDetail kDetail = {.fault = Fault::kQuota,
                             .reason = "SRAM_TOO_SMALL",
                             .what = "the layer does not fit",
                             .where = "op conv_3",
                             .limit = "1024 bytes",
                             .need = "2048 bytes",
                             .fix = "choose a larger target"};

TEST(ErrorTest, MessageIsOneReadableLine) {
  EXPECT_EQ(MakeError(absl::StatusCode::kInvalidArgument, kDetail).message(),
            "the layer does not fit; where: op conv_3; limit: 1024 bytes; "
            "need: 2048 bytes; fix: choose a larger target");
  EXPECT_EQ(MakeError(absl::StatusCode::kInternal, {.what = "bug"}).message(),
            "bug");
}

TEST(ErrorTest, DetailSurvivesAnnotations) {
  const absl::Status status = Annotate(
      Annotate(MakeError(absl::StatusCode::kOutOfRange, kDetail), "a"), "b");
  EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
  ASSERT_TRUE(GetErrorDetail(status).has_value());
  EXPECT_EQ(*GetErrorDetail(status), kDetail);
}

TEST(ErrorTest, OtherStatusesHaveNone) {
  EXPECT_FALSE(GetErrorDetail(absl::OkStatus()).has_value());
  EXPECT_FALSE(GetErrorDetail(absl::InternalError("x")).has_value());
}

TEST(ErrorTest, HostileFieldsStayBoundedAndReadable) {
  const absl::Status status =
      MakeError(absl::StatusCode::kInvalidArgument,
                {.what = "bad\nname\x1b[31m", .where = std::string(5000, 'x')});
  const auto detail = GetErrorDetail(status);
  ASSERT_TRUE(detail.has_value());
  EXPECT_EQ(detail->what, "bad?name?[31m");
  EXPECT_EQ(detail->where, std::string(kMaxErrorFieldBytes - 3, 'x') + "...");
}

TEST(ErrorTest, DamagedPayloadIsNoDetail) {
  const absl::Status good = MakeError(absl::StatusCode::kInternal, kDetail);
  std::string url;
  std::string bytes;
  good.ForEachPayload([&](absl::string_view u, const absl::Cord& payload) {
    url = std::string(u);
    bytes = std::string(payload);
  });
  const auto parses = [&](const std::string& payload) {
    absl::Status status = absl::InternalError("x");
    status.SetPayload(url, absl::Cord(payload));
    return GetErrorDetail(status).has_value();
  };
  EXPECT_TRUE(parses(bytes));
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(parses(bytes.substr(0, size))) << size;
  }
  EXPECT_FALSE(parses(bytes + "x"));
  EXPECT_FALSE(parses(std::string(100000, '\1')));
  bytes[1] = 3;  // No such fault.
  EXPECT_FALSE(parses(bytes));
}

struct TextCase {
  const char* name;
  std::string in;
  int max_bytes;
  std::string out;
};

class SanitizeTextTest : public testing::TestWithParam<TextCase> {};

TEST_P(SanitizeTextTest, Gives) {
  EXPECT_EQ(SanitizeText(GetParam().in, GetParam().max_bytes), GetParam().out);
}

const TextCase kTexts[] = {
    {"Plain", "abc", 10, "abc"},
    {"Exact", "abcd", 4, "abcd"},
    {"Cut", "abcde", 4, "a..."},
    {"NoRoomForDots", "abcde", 2, ""},
    {"Negative", "abc", -1, ""},
    {"Utf8", "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x99\x82", 20,
     "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x99\x82"},
    {"NeverCutsACharacter", "a\xC3\xA9xxxxx", 5, "a..."},
    {"Overlong", "\xC0\x80\xE0\x80\x80", 20, "?????"},
    {"Surrogate", "\xED\xA0\x80", 20, "???"},
    {"BeyondUnicode", "\xF4\x90\x80\x80\xFF", 20, "?????"},
    {"Truncated", "a\xE2\x82", 20, "a??"},
    {"LastControl", "a\x1F", 20, "a?"},
    {"FirstAndLastPrintable", " ~", 2, " ~"},
    {"Delete", "a\x7F", 20, "a?"},
    {"ContinuationAlone", "a\x80", 20, "a?"},
    {"PrintableTooLong", " ~~~~", 4, " ..."},
    {"Control", std::string("a\0b\x7F\n", 5), 20, "a?b??"},
};
INSTANTIATE_TEST_SUITE_P(All, SanitizeTextTest, testing::ValuesIn(kTexts),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace edgekiln
