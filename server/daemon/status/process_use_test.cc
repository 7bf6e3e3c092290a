#include "server/daemon/status/process_use.h"

#include <unistd.h>

#include <thread>

#include "gtest/gtest.h"

namespace edgekiln::server {
namespace {

TEST(ProcessUseTest, CountsWhatIsOpenedAndStarted) {
  const v1::DaemonStatus::Process before = ProcessUse();
  EXPECT_GT(before.resident_bytes(), 100'000);
  EXPECT_GE(before.threads(), 1);
  EXPECT_GE(before.max_open_files(), before.open_files());
  const int descriptor = dup(0);
  ASSERT_GE(descriptor, 0);
  int threads = 0;
  std::thread([&] { threads = ProcessUse().threads(); }).join();
  EXPECT_EQ(threads, before.threads() + 1);
  EXPECT_EQ(ProcessUse().open_files(), before.open_files() + 1);
  close(descriptor);
  EXPECT_EQ(ProcessUse().open_files(), before.open_files());
}

}  // namespace
}  // namespace edgekiln::server
