#include "server/daemon/net/accept_loop.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/time.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/daemon/net/testing/test_socket.h"

namespace edgekiln::server {
namespace {

using testing::HasSubstr;

// Takes connections as gRPC would, and says hello.
class AcceptLoopTest : public testing::Test {
 protected:
  ~AcceptLoopTest() override {
    loop_.reset();
    CloseTaken();
  }

  void Start(AcceptOptions options, const std::string& address) {
    options.name = "clients";
    absl::StatusOr<ListenSockets> sockets = ListenSockets::Open(address);
    ASSERT_TRUE(sockets.ok()) << sockets.status();
    address_ = sockets->address();
    loop_ = StartAcceptLoop(
        options, *std::move(sockets),
        [this](int fd) {
          EXPECT_EQ(send(fd, "hello", 5, MSG_NOSIGNAL), 5);
          MutexLock lock(mutex_);
          taken_.push_back(fd);
        },
        *clock_, *log_);
  }
  void CloseTaken() {
    MutexLock lock(mutex_);
    for (const int fd : taken_) close(fd);
    taken_.clear();
  }
  TestSocket Client(absl::string_view says = kHttp2) {
    TestSocket socket(address_);
    EXPECT_TRUE(socket.connected());
    EXPECT_TRUE(socket.Send(says));
    return socket;
  }
  // Of this test alone: others run at the same time.
  static std::string SocketAddress() {
    return "unix:" + testing::TempDir() +
           testing::UnitTest::GetInstance()->current_test_info()->name() +
           ".sock";
  }
  // As one that has made a call.
  TestSocket Caller() {
    return Client(absl::StrCat(kHttp2, std::string(300, 'x')));
  }
  static bool Eventually(const std::function<bool()>& condition) {
    for (int i = 0; i < 4000; ++i) {
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
  }

  const std::unique_ptr<Clock> clock_ = NewRealClock();
  const std::unique_ptr<Logger> log_ = NewNullLogger();
  Mutex mutex_;
  std::vector<int> taken_ ABSL_GUARDED_BY(mutex_);
  std::string address_;
  std::unique_ptr<AcceptLoop> loop_;
};

const ConnectionLimits kFew = {
    .max_connections = 4, .max_per_peer = 3, .max_pending = 8};

TEST_F(AcceptLoopTest, HandsOverWhoSpeaksHttp2EvenInPieces) {
  for (const std::string& address :
       {std::string("127.0.0.1:0"), SocketAddress()}) {
    Start({.limits = kFew}, address);
    TestSocket whole = Caller();
    EXPECT_TRUE(whole.Hears());
    TestSocket pieces = Client("PRI * HTTP");
    EXPECT_TRUE(Eventually([&] { return loop_->Counts().pending == 1; }));
    EXPECT_TRUE(pieces.Send(kHttp2.substr(10)));
    EXPECT_TRUE(pieces.Hears());
    EXPECT_EQ(Client("GET / HTTP/1.1\r\n\r\n").ReadToEnd(), "");
    EXPECT_EQ(loop_->Counts().connections, 2);
    EXPECT_EQ(loop_->Counts().silent, 1);
    loop_.reset();
    CloseTaken();
  }
}

// gRPC would make a transport of each.
TEST_F(AcceptLoopTest, WaitsForTheClientsSettings) {
  Start({.limits = kFew, .greeting_time = absl::Milliseconds(200)},
        "127.0.0.1:0");
  const std::string preface(kHttp2.substr(0, 24));
  const auto settings = [&preface](absl::string_view head, size_t bytes) {
    return absl::StrCat(preface, head, std::string(bytes, '\0'));
  };
  const absl::string_view of_60("\0\0\x3c\4\0\0\0\0\0", 9);
  EXPECT_TRUE(Client(settings(of_60, 60)).Hears());
  // Longer than any that is waited for.
  const absl::string_view of_6000("\0\x17\x70\4\0\0\0\0\0", 9);
  EXPECT_TRUE(Client(settings(of_6000, 1024)).Hears());
  EXPECT_EQ(loop_->Counts().silent, 0);
  EXPECT_EQ(Client(preface).ReadToEnd(), "");
  EXPECT_EQ(Client(settings(of_60, 59)).ReadToEnd(), "");
  const absl::string_view of_headers("\0\0\1\1\0\0\0\0\1", 9);
  EXPECT_EQ(Client(settings(of_headers, 1)).ReadToEnd(), "");
  EXPECT_EQ(loop_->Counts().silent, 3);
  EXPECT_EQ(loop_->Counts().accepted, 2);
}

TEST_F(AcceptLoopTest, ClosesWhoSaysNothing) {
  Start({.limits = kFew, .greeting_time = absl::Milliseconds(20)},
        "127.0.0.1:0");
  TestSocket silent(address_);
  EXPECT_EQ(silent.ReadToEnd(), "");
  TestSocket slow = Client("PRI");
  EXPECT_EQ(slow.ReadToEnd(), "");
  EXPECT_EQ(loop_->Counts().silent, 2);
}

TEST_F(AcceptLoopTest, ACrowdOfSilentOnesKeepsNobodyOut) {
  Start({.limits = kFew, .min_greeting_time = absl::Milliseconds(1)},
        "127.0.0.1:0");
  std::vector<TestSocket> crowd;
  for (int i = 0; i < 100; ++i) crowd.emplace_back(address_);
  TestSocket honest = Client();
  EXPECT_TRUE(honest.Hears());
  EXPECT_LE(loop_->Counts().pending, kFew.max_pending);
}

// Clients send the greeting at once; who is silent may be about to.
TEST_F(AcceptLoopTest, WhoStopsHalfwayGivesWayBeforeWhoIsSilent) {
  Start({.limits = kFew,
         .min_greeting_time = absl::Seconds(9),
         .min_rest_time = absl::Milliseconds(1)},
        "127.0.0.1:0");
  TestSocket silent(address_);
  std::vector<TestSocket> crowd;
  for (int i = 0; i < 100; ++i) crowd.push_back(Client("PRI * HTTP"));
  TestSocket honest = Client();
  EXPECT_TRUE(honest.Hears());
  EXPECT_LE(loop_->Counts().pending, kFew.max_pending);
  EXPECT_TRUE(silent.Send(kHttp2));
  EXPECT_TRUE(silent.Hears());
}

TEST_F(AcceptLoopTest, OneAddressGetsItsShareAndIsToldSo) {
  Start({.limits = kFew}, "127.0.0.1:0");
  std::vector<TestSocket> clients;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(Caller());
    EXPECT_TRUE(clients.back().Hears());
  }
  EXPECT_THAT(Client().ReadToEnd(),
              HasSubstr("more than 3 connections from one address"));
  EXPECT_EQ(loop_->Counts().refused, 1);
  CloseTaken();
  EXPECT_TRUE(Client().Hears());
}

TEST_F(AcceptLoopTest, WhoGreetsAndMakesNoCallGivesWay) {
  Start({.limits = kFew}, "127.0.0.1:0");
  TestSocket caller = Caller();
  EXPECT_TRUE(caller.Hears());
  TestSocket first = Client();
  EXPECT_TRUE(first.Hears());
  TestSocket second = Client();
  EXPECT_TRUE(second.Hears());
  // Refused at first: they might be about to make their calls.
  EXPECT_TRUE(Eventually([&] {
    Client().ReadToEnd(/*timeout_ms=*/100);
    return first.ReadToEnd(/*timeout_ms=*/1) != "timeout";
  }));
  EXPECT_EQ(caller.ReadToEnd(/*timeout_ms=*/1), "timeout");
}

TEST_F(AcceptLoopTest, SilentOnesGiveWayBeforeTheirPlacesAreNeeded) {
  Start(
      {.limits = {.max_connections = 16, .max_per_peer = 12, .max_pending = 8}},
      "127.0.0.1:0");
  TestSocket caller = Caller();
  EXPECT_TRUE(caller.Hears());
  std::vector<TestSocket> silent;
  for (int i = 0; i < 7; ++i) silent.push_back(Client());
  for (TestSocket& one : silent) EXPECT_TRUE(one.Hears());
  EXPECT_EQ(silent[0].ReadToEnd(), "hello");
  EXPECT_EQ(caller.ReadToEnd(/*timeout_ms=*/1), "timeout");
}

TEST_F(AcceptLoopTest, BeyondTheCapOneWaitsForRoom) {
  Start({.limits = kFew, .greeting_time = absl::Seconds(60)}, SocketAddress());
  std::vector<TestSocket> clients;
  for (int i = 0; i < 4; ++i) {
    clients.push_back(Client());
    EXPECT_TRUE(clients.back().Hears());
  }
  TestSocket fifth = Client();
  EXPECT_TRUE(Eventually([&] { return loop_->Counts().pending == 1; }));
  EXPECT_FALSE(fifth.Hears(100));
  CloseTaken();
  EXPECT_TRUE(fifth.Hears());
  EXPECT_EQ(loop_->Counts().connections, 1);
}

TEST_F(AcceptLoopTest, BeyondTheCapAndTheTimeOneIsToldWhy) {
  Start({.limits = kFew, .greeting_time = absl::Milliseconds(50)},
        SocketAddress());
  std::vector<TestSocket> clients;
  for (int i = 0; i < 4; ++i) {
    clients.push_back(Client());
    EXPECT_TRUE(clients.back().Hears());
  }
  EXPECT_THAT(Client().ReadToEnd(), HasSubstr("all 4 connections are taken"));
}

TEST_F(AcceptLoopTest, HearsAgainOnceThereAreDescriptors) {
  Start({.limits = kFew}, "127.0.0.1:0");
  const int spare = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval limit = {.tv_sec = 20, .tv_usec = 0};
  setsockopt(spare, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = 3;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  sockaddr_in to = {};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  to.sin_port = htons(atoi(address_.substr(address_.rfind(':') + 1).c_str()));
  ASSERT_EQ(connect(spare, reinterpret_cast<sockaddr*>(&to), sizeof(to)), 0);
  ASSERT_EQ(send(spare, kHttp2.data(), kHttp2.size(), MSG_NOSIGNAL), 33);
  EXPECT_TRUE(Eventually([&] { return loop_->Counts().failed > 0; }));
  EXPECT_FALSE(loop_->Check().ok());
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  char answer[5];
  EXPECT_EQ(recv(spare, answer, sizeof(answer), MSG_WAITALL), 5);
  close(spare);
  EXPECT_TRUE(loop_->Check().ok()) << loop_->Check();
}

TEST_F(AcceptLoopTest, OpensAUnixSocketAgainThatSomebodyRemoved) {
  const std::string path = testing::TempDir() + "al.sock";
  Start({.limits = kFew}, "unix:" + path);
  EXPECT_TRUE(loop_->Check().ok()) << loop_->Check();
  std::filesystem::remove(path);
  EXPECT_FALSE(TestSocket(address_).connected());
  EXPECT_TRUE(loop_->Check().ok()) << loop_->Check();
  EXPECT_TRUE(Client().Hears());
}

}  // namespace
}  // namespace edgekiln::server
