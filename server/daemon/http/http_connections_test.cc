#include "server/daemon/http/http_connections.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace edgekiln::server {
namespace {

// Three may be open. Those of the library are named by addresses that nobody
// looks behind.
class HttpConnectionsTest : public testing::Test {
 protected:
  ~HttpConnectionsTest() override {
    for (int i = 0; i < static_cast<int>(peers_.size()); ++i) {
      connections_.Closed(Named(i));
      close(peers_[static_cast<size_t>(i)]);
      close(mine_[static_cast<size_t>(i)]);
    }
  }

  int Open() {
    int pair[2] = {-1, -1};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    mine_.push_back(pair[0]);
    peers_.push_back(pair[1]);
    const int number = static_cast<int>(peers_.size()) - 1;
    connections_.Opened(Named(number), pair[0]);
    return number;
  }
  const MHD_Connection* Named(int number) const {
    return reinterpret_cast<const MHD_Connection*>(&names_[number]);
  }
  // Numbers of those that were cut.
  std::string Cut() const {
    std::string cut;
    for (size_t i = 0; i < peers_.size(); ++i) {
      char byte = 0;
      if (recv(peers_[i], &byte, 1, MSG_DONTWAIT) == 0) {
        cut += std::to_string(i);
      }
    }
    return cut;
  }

  // Over TCP: what has come is known of nothing else.
  int OpenTcp(HttpConnections& connections) {
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in at = {};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(at);
    EXPECT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&at), size), 0);
    EXPECT_EQ(listen(listener, 1), 0);
    getsockname(listener, reinterpret_cast<sockaddr*>(&at), &size);
    peers_.push_back(socket(AF_INET, SOCK_STREAM, 0));
    EXPECT_EQ(connect(peers_.back(), reinterpret_cast<sockaddr*>(&at), size),
              0);
    mine_.push_back(accept(listener, nullptr, nullptr));
    close(listener);
    const int number = static_cast<int>(peers_.size()) - 1;
    connections.Opened(Named(number), mine_.back());
    return number;
  }
  // Returns once they have come.
  void Say(int number, size_t bytes) {
    const std::string text(bytes, 'x');
    const auto at = static_cast<size_t>(number);
    EXPECT_EQ(send(peers_[at], text.data(), bytes, MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes));
    std::string got(bytes, ' ');
    EXPECT_EQ(recv(mine_[at], got.data(), bytes, MSG_WAITALL),
              static_cast<ssize_t>(bytes));
  }

  HttpConnections connections_{3};
  char names_[16] = {};
  std::vector<int> mine_;
  std::vector<int> peers_;
};

TEST_F(HttpConnectionsTest, TheOneThatWasWaitedForLongestGivesWay) {
  for (int i = 0; i < 3; ++i) Open();
  // Its second request is younger than the first one of the others.
  connections_.Answering(Named(0));
  connections_.Asking(Named(0));
  EXPECT_EQ(Cut(), "");
  Open();
  EXPECT_EQ(Cut(), "1");
  Open();
  EXPECT_EQ(Cut(), "12");
  connections_.Closed(Named(1));
  Open();
  EXPECT_EQ(Cut(), "012");
}

TEST_F(HttpConnectionsTest, ThenTheOneThatHasReadForLongest) {
  for (int i = 0; i < 3; ++i) Open();
  connections_.Answering(Named(1));
  connections_.Answering(Named(0));
  Open();
  EXPECT_EQ(Cut(), "2");
  connections_.Answering(Named(3));
  // Not the new one, though it has not asked yet.
  Open();
  EXPECT_EQ(Cut(), "12");
}

// Two requests that come at the same time do not cut each other.
TEST_F(HttpConnectionsTest, OldAnswersGiveWayToSeveralRequests) {
  for (int i = 0; i < 3; ++i) connections_.Answering(Named(Open()));
  Open();
  Open();
  EXPECT_EQ(Cut(), "01");
}

TEST_F(HttpConnectionsTest, CallsAndStreamsStay) {
  for (int i = 0; i < 3; ++i) connections_.Busy(Named(Open()));
  const int fourth = Open();
  EXPECT_EQ(Cut(), "");
  Open();
  EXPECT_EQ(Cut(), std::to_string(fourth));
}

TEST_F(HttpConnectionsTest, WhoLeavesMakesRoom) {
  for (int i = 0; i < 9; ++i) connections_.Closed(Named(Open()));
  EXPECT_EQ(Cut(), "");
}

TEST_F(HttpConnectionsTest, LongestHeadsThatDoNotEndGiveWay) {
  HttpConnections many{16};
  constexpr size_t kKib = 1 << 10;
  const size_t kib[] = {14, 12, 15, 16, 1, 13};  // 71 together.
  EXPECT_FALSE(many.CutLongHeads());
  for (const size_t each : kib) Say(OpenTcp(many), each * kKib);
  // They have just come.
  EXPECT_TRUE(many.CutLongHeads());
  EXPECT_EQ(Cut(), "");
  many.CutLongHeads();
  EXPECT_EQ(Cut(), "3");
  Say(4, 8 * kKib);  // 63.
  many.CutLongHeads();
  EXPECT_EQ(Cut(), "3");
  Say(4, 2 * kKib);
  many.CutLongHeads();
  EXPECT_EQ(Cut(), "23");
  for (int i = 0; i < 6; ++i) many.Closed(Named(i));
  EXPECT_FALSE(many.CutLongHeads());
}

// Beside heads that are just allowed.
TEST_F(HttpConnectionsTest, WhatWasReadIsNoLongHead) {
  HttpConnections many{16};
  const size_t limit = HttpConnections::kMaxHeadBytes;
  const int number = OpenTcp(many);
  for (int i = 0; i < 4; ++i) Say(OpenTcp(many), limit / 4);
  for (int i = 0; i < 2; ++i) {
    Say(number, limit);
    many.HeadRead(Named(number), 1000);
    Say(number, limit);
    // A long body that does not end, either.
    for (int k = 0; k < 3; ++k) many.CutLongHeads();
    many.BodyRead(Named(number), 2 * limit - 1000);
    many.Answering(Named(number));
    for (int k = 0; k < 3; ++k) many.CutLongHeads();
    many.Asking(Named(number));
    for (int k = 0; k < 3; ++k) many.CutLongHeads();
  }
  EXPECT_EQ(Cut(), "");
  Say(number, 1);
  for (int k = 0; k < 3; ++k) many.CutLongHeads();
  EXPECT_EQ(Cut().size(), 1u);
}

TEST_F(HttpConnectionsTest, OneHeadAloneIsNotCut) {
  HttpConnections many{16};
  const size_t limit = HttpConnections::kMaxHeadBytes;
  const int head = OpenTcp(many);
  for (int i = 0; i < 2; ++i) Say(head, limit);
  for (int k = 0; k < 3; ++k) many.CutLongHeads();
  EXPECT_EQ(Cut(), "");
  Say(OpenTcp(many), limit - HttpConnections::kMaxOneHeadBytes);
  for (int k = 0; k < 3; ++k) many.CutLongHeads();
  EXPECT_EQ(Cut(), "");
  Say(OpenTcp(many), 1);
  for (int k = 0; k < 3; ++k) many.CutLongHeads();
  EXPECT_EQ(Cut().size(), 1u);
}

// A body may lie in the kernel while the daemon is busy. Beside heads that are
// just allowed.
TEST_F(HttpConnectionsTest, WhatIsUnreadIsNoLongHead) {
  HttpConnections many{16};
  const size_t limit = HttpConnections::kMaxHeadBytes;
  const auto body = static_cast<size_t>(OpenTcp(many));
  const std::string text(size_t{48} << 10, 'x');
  ASSERT_EQ(send(peers_[body], text.data(), text.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(text.size()));
  for (int i = 0; i < 4; ++i) Say(OpenTcp(many), limit / 4);
  for (int k = 0; k < 3; ++k) many.CutLongHeads();
  EXPECT_EQ(Cut(), "");
  char byte = 0;
  ASSERT_EQ(recv(mine_[body], &byte, 1, 0), 1);
  for (int k = 0; k < 3; ++k) many.CutLongHeads();
  EXPECT_EQ(Cut().size(), 1u);
}

}  // namespace
}  // namespace edgekiln::server
