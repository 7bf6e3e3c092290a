#include "server/daemon/net/log_limit.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace edgekiln::server {
namespace {

using testing::ElementsAre;

class KeptLines : public Logger {
 public:
  bool Enabled(LogLevel) const override { return true; }
  void Write(LogLevel, absl::string_view message) override {
    lines.emplace_back(message);
  }
  std::vector<std::string> lines;
};

TEST(LogLimitTest, SaysOnceInAWhileAndHowOften) {
  FakeClock clock;
  KeptLines log;
  LogLimit limit(clock, log, absl::Seconds(10));
  for (int i = 0; i < 1000; ++i) limit.Warning("refused");
  EXPECT_THAT(log.lines, ElementsAre("refused"));
  clock.Advance(absl::Seconds(10));
  limit.Warning("refused");
  clock.Advance(absl::Seconds(10));
  limit.Warning("refused");
  EXPECT_THAT(
      log.lines,
      ElementsAre("refused", "refused (and 999 more like this)", "refused"));
}

}  // namespace
}  // namespace edgekiln::server
