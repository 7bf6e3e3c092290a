#include "server/daemon/listen_address.h"

#include "base/error.h"
#include "gtest/gtest.h"

namespace edgekiln::server {
namespace {

TEST(ListenAddressTest, IsHostAndPortOrASocket) {
  for (const char* good :
       {"127.0.0.1:0", "host:65535", "[::1]:80", "unix:/s"}) {
    EXPECT_TRUE(CheckListenAddress(good).ok()) << good;
  }
  for (const char* bad : {"", "host", "host:", "host:65536", "host:-1", ":x"}) {
    EXPECT_EQ(GetErrorDetail(CheckListenAddress(bad))->reason, "BAD_ADDRESS")
        << bad;
  }
}

TEST(ListenAddressTest, TellsLoopbackFromTheRest) {
  for (const char* near : {"127.0.0.1:1", "127.9.9.9:1", "localhost:1",
                           "[::1]:1", "unix:/s", "[0:0:0:0:0:0:0:1]:1"}) {
    EXPECT_TRUE(IsLoopback(near)) << near;
  }
  for (const char* far :
       {"0.0.0.0:1", "[::]:1", "10.0.0.1:1", "127.example.org:1",
        "localhost.example.org:1", "example.org:1", "*:1", ":1"}) {
    EXPECT_FALSE(IsLoopback(far)) << far;
  }
}

TEST(ListenAddressTest, OtherMachinesOnlyIfThatIsMeant) {
  EXPECT_TRUE(CheckExposure("--listen", "127.0.0.1:1", false).ok());
  EXPECT_TRUE(CheckExposure("--listen", "0.0.0.0:1", true).ok());
  const absl::Status refused = CheckExposure("--listen", "0.0.0.0:1", false);
  EXPECT_EQ(GetErrorDetail(refused)->reason, "INSECURE_NETWORK");
  EXPECT_EQ(GetErrorDetail(refused)->where, "--listen 0.0.0.0:1");
}

TEST(ListenAddressTest, EverywhereIsDialledHere) {
  EXPECT_EQ(DialAddress("0.0.0.0:80"), "127.0.0.1:80");
  EXPECT_EQ(DialAddress("[::]:80"), "[::1]:80");
  for (const char* same : {"10.0.0.7:80", "localhost:80", "unix:/a/b"}) {
    EXPECT_EQ(DialAddress(same), same);
  }
}

}  // namespace
}  // namespace edgekiln::server
