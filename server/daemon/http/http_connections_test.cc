#include "server/daemon/http/http_connections.h"

#include <sys/socket.h>
#include <unistd.h>

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

}  // namespace
}  // namespace edgekiln::server
