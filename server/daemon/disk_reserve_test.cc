#include "server/daemon/disk_reserve.h"

#include <sys/stat.h>

#include <cstdint>
#include <limits>
#include <string>

#include "base/clock.h"
#include "base/file.h"
#include "gtest/gtest.h"

namespace edgekiln::server {
namespace {

constexpr int64_t kReserve = 1 << 20;

class DiskReserveTest : public testing::Test {
 protected:
  DiskReserveTest()
      : clock_(NewRealClock()),
        log_(NewStderrLogger(LogLevel::kError, *clock_)) {
    std::string folder = testing::TempDir() + "disk_reserve_XXXXXX";
    folder_ = mkdtemp(folder.data());
  }

  // -1: there is none.
  int64_t ReservedBytes() const {
    struct stat info = {};
    if (stat(JoinPath(folder_, "reserve").c_str(), &info) != 0) return -1;
    return info.st_blocks * 512;
  }

  std::string folder_;
  const std::unique_ptr<Clock> clock_;
  const std::unique_ptr<Logger> log_;
};

TEST_F(DiskReserveTest, TakesRoomOnce) {
  PrepareDiskReserve(folder_, kReserve, *log_);
  EXPECT_GE(ReservedBytes(), kReserve);
  PrepareDiskReserve(folder_, kReserve, *log_);
  EXPECT_GE(ReservedBytes(), kReserve);
}

TEST_F(DiskReserveTest, GivesTheRoomBackOnAFullDisk) {
  PrepareDiskReserve(folder_, kReserve, *log_);
  // More than any disk has.
  PrepareDiskReserve(folder_, std::numeric_limits<int64_t>::max(), *log_);
  EXPECT_EQ(ReservedBytes(), -1);
}

TEST_F(DiskReserveTest, NoneIfNoneIsWanted) {
  PrepareDiskReserve(folder_, 0, *log_);
  EXPECT_EQ(ReservedBytes(), -1);
}

}  // namespace
}  // namespace edgekiln::server
