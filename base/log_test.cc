#include "base/log.h"

#include "gtest/gtest.h"

namespace edgekiln {
namespace {

TEST(LogTest, OneMessageIsOneLine) {
  EXPECT_EQ(FormatLogLine(absl::UnixEpoch() + absl::Milliseconds(1234),
                          LogLevel::kWarning, "two\nlines"),
            "1970-01-01T00:00:01.234Z WARNING two?lines\n");
}

TEST(LogTest, WritesItsLevelAndAbove) {
  FakeClock clock;
  const auto logger = NewStderrLogger(LogLevel::kWarning, clock);
  testing::internal::CaptureStderr();
  logger->Info("no");
  logger->Write(LogLevel::kDebug, "no");
  logger->Warning("w", 1);
  logger->Error("e", 2);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "1970-01-01T00:00:00.000Z WARNING w1\n"
            "1970-01-01T00:00:00.000Z ERROR e2\n");
}

TEST(LogTest, NullLoggerWritesNothing) {
  testing::internal::CaptureStderr();
  NewNullLogger()->Error("x");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace edgekiln
