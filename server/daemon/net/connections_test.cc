#include "server/daemon/net/connections.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/scoped_fd.h"
#include "gtest/gtest.h"
#include "server/daemon/net/testing/test_socket.h"

namespace edgekiln::server {
namespace {

// Accepted connections, and the clients at their other ends.
class ConnectionsTest : public testing::Test {
 protected:
  ConnectionsTest()
      : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(bind(listener_.get(), generic, size), 0);
    EXPECT_EQ(listen(listener_.get(), 8), 0);
    EXPECT_EQ(getsockname(listener_.get(), generic, &size), 0);
    address_ = absl::StrCat("127.0.0.1:", ntohs(address.sin_port));
  }

  void Connect(const std::string& peer) {
    clients_.emplace_back(address_);
    accepted_.emplace_back(accept(listener_.get(), nullptr, nullptr));
    ASSERT_TRUE(accepted_.back().valid());
    connections_.Add(accepted_.back().get(), peer);
  }
  bool Ended(size_t client) {
    return clients_[client].ReadToEnd(/*timeout_ms=*/1) != "timeout";
  }

  const ScopedFd listener_;
  std::string address_;
  std::vector<TestSocket> clients_;
  std::vector<ScopedFd> accepted_;
  Connections connections_;
};

TEST_F(ConnectionsTest, ForgetsThoseThatAreClosed) {
  for (const char* peer : {"a", "a", "b"}) Connect(peer);
  accepted_[0].reset();
  // As of the last Prune().
  EXPECT_EQ(connections_.size(), 3);
  connections_.Prune();
  EXPECT_EQ(connections_.size(), 2);
  EXPECT_EQ(connections_.Of("a"), 1);
  EXPECT_EQ(connections_.Of("b"), 1);
  EXPECT_EQ(connections_.Of("c"), 0);
}

TEST_F(ConnectionsTest, ADescriptorThatIsAnotherSocketNowIsClosed) {
  Connect("a");
  const int descriptor = accepted_[0].get();
  accepted_[0].reset();
  const ScopedFd other(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(other.get(), descriptor);
  connections_.Prune();
  EXPECT_EQ(connections_.size(), 0);
}

TEST_F(ConnectionsTest, TheOneSilentForLongestIsEnded) {
  Connect("a");
  ASSERT_TRUE(clients_[0].Send(std::string(1000, 'x')));  // A call.
  for (const char* peer : {"a", "b"}) {
    Connect(peer);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_FALSE(connections_.EndSilent("nobody"));
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  connections_.Prune();
  EXPECT_TRUE(connections_.EndSilent(""));
  EXPECT_TRUE(Ended(1));
  EXPECT_FALSE(Ended(2));
  EXPECT_FALSE(connections_.EndSilent("a"));
  EXPECT_TRUE(connections_.EndSilent("b"));
  EXPECT_TRUE(Ended(2));
  EXPECT_FALSE(connections_.EndSilent(""));
  EXPECT_FALSE(Ended(0));
}

}  // namespace
}  // namespace edgekiln::server
