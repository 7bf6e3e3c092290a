#include "server/daemon/stages/stage_log.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace edgekiln::server {
namespace {

TEST(WarningLogTest, SaysEachWarningOnce) {
  WarningLog log;
  const std::optional<v1::JobEvent> first = log.Add("simulate[0]", 1, "odd");
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->log().ShortDebugString(),
            "severity: WARNING stage: \"simulate[0]\" target: 1 text: \"odd\"");
  EXPECT_FALSE(log.Add("simulate[1]", 1, "odd").has_value());
  EXPECT_TRUE(log.Add("simulate[1]", 1, "even").has_value());
}

TEST(WarningLogTest, IsBounded) {
  WarningLog log;
  int lines = 0;
  std::string last;
  for (int i = 0; i < 1000; ++i) {
    const auto line =
        log.Add("tile", 0, absl::StrCat(i, std::string(10'000, 'x')));
    if (!line.has_value()) continue;
    ++lines;
    last = line->log().text();
    EXPECT_LE(last.size(), static_cast<size_t>(kMaxLogLineBytes));
  }
  EXPECT_EQ(lines, WarningLog::kMaxWarnings + 1);
  EXPECT_EQ(last, "more warnings follow; the report has all of them");
}

TEST(LogEventTest, HostileTextIsMadeHarmless) {
  const v1::JobEvent event =
      LogEvent(v1::JobEvent::Log::INFO, "", -1, "a\x1b[2J\xff");
  EXPECT_EQ(event.log().text().find('\x1b'), std::string::npos);
  EXPECT_TRUE(v1::JobEvent().ParseFromString(event.SerializeAsString()));
}

}  // namespace
}  // namespace edgekiln::server
