#include "server/daemon/net/listen_sockets.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <utility>

#include "base/error.h"
#include "gtest/gtest.h"
#include "server/daemon/net/testing/test_socket.h"

namespace edgekiln::server {
namespace {

class ListenSocketsTest : public testing::Test {
 protected:
  ListenSocketsTest()
      : path_(testing::TempDir() + "ls_" +
              testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::remove_all(path_);
  }
  std::string Reason(const std::string& address) {
    const absl::StatusOr<ListenSockets> sockets = ListenSockets::Open(address);
    if (sockets.ok()) return "OK";
    const std::optional<ErrorDetail> detail = GetErrorDetail(sockets.status());
    return detail.has_value() ? detail->reason : "?";
  }
  const std::string path_;
};

TEST_F(ListenSocketsTest, AUnixSocketIsForItsOwnerAloneAndGoesAway) {
  {
    const absl::StatusOr<ListenSockets> sockets =
        ListenSockets::Open("unix:" + path_);
    ASSERT_TRUE(sockets.ok()) << sockets.status();
    EXPECT_EQ(sockets->address(), "unix:" + path_);
    struct stat info = {};
    ASSERT_EQ(lstat(path_.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600u);
    EXPECT_TRUE(TestSocket("unix:" + path_).connected());
  }
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(ListenSocketsTest, OnlyASocketThatNobodyListensOnIsReplaced) {
  std::optional<ListenSockets> first(*ListenSockets::Open("unix:" + path_));
  EXPECT_EQ(Reason("unix:" + path_), "ADDRESS_TAKEN");
  EXPECT_TRUE(TestSocket("unix:" + path_).connected());
  // A daemon that was killed leaves the file.
  std::filesystem::rename(path_, path_ + ".left");
  first.reset();
  std::filesystem::rename(path_ + ".left", path_);
  EXPECT_EQ(Reason("unix:" + path_), "OK");
  std::ofstream(path_) << "precious";
  EXPECT_EQ(Reason("unix:" + path_), "ADDRESS_TAKEN");
  EXPECT_EQ(std::filesystem::file_size(path_), 8u);
  std::filesystem::remove(path_);
  EXPECT_EQ(Reason("unix:" + std::string(200, 'x')), "BAD_ADDRESS");
  EXPECT_EQ(Reason("unix:" + path_ + "/no/such/folder"), "ADDRESS_TAKEN");
}

TEST_F(ListenSocketsTest, WhatSomebodyElseMadeThereStays) {
  std::optional<ListenSockets> first(*ListenSockets::Open("unix:" + path_));
  EXPECT_TRUE(first->Reachable());
  std::filesystem::remove(path_);
  EXPECT_FALSE(first->Reachable());
  const absl::StatusOr<ListenSockets> second =
      ListenSockets::Open("unix:" + path_);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_FALSE(first->Reachable());
  first.reset();
  EXPECT_TRUE(second->Reachable());
}

TEST_F(ListenSocketsTest, TcpPortsArePickedAndTaken) {
  const absl::StatusOr<ListenSockets> sockets =
      ListenSockets::Open("127.0.0.1:0");
  ASSERT_TRUE(sockets.ok()) << sockets.status();
  EXPECT_NE(sockets->address(), "127.0.0.1:0");
  EXPECT_TRUE(TestSocket(sockets->address()).connected());
  EXPECT_EQ(Reason(sockets->address()), "ADDRESS_TAKEN");
  EXPECT_EQ(Reason("no.such.host.:0"), "ADDRESS_TAKEN");
  const absl::StatusOr<ListenSockets> both = ListenSockets::Open("localhost:0");
  ASSERT_TRUE(both.ok()) << both.status();
  EXPECT_TRUE(TestSocket(both->address()).connected());
}

TEST_F(ListenSocketsTest, ASocketOnWhichNobodyAcceptsIsNoticed) {
  for (const std::string& address :
       {std::string("127.0.0.1:0"), "unix:" + path_}) {
    const absl::StatusOr<ListenSockets> sockets = ListenSockets::Open(address);
    ASSERT_TRUE(sockets.ok()) << sockets.status();
    EXPECT_FALSE(
        ProbeListener(sockets->descriptors()[0], absl::Milliseconds(50)).ok());
  }
  EXPECT_FALSE(ProbeListener(-1, absl::Milliseconds(50)).ok());
}

}  // namespace
}  // namespace edgekiln::server
