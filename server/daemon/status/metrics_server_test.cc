#include "server/daemon/status/metrics_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace edgekiln::server {
namespace {

int Connect(const std::string& address) {
  int port = 0;
  EXPECT_TRUE(absl::SimpleAtoi(address.substr(address.rfind(':') + 1), &port));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<uint16_t>(port));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int connection = socket(AF_INET, SOCK_STREAM, 0);
  EXPECT_EQ(
      connect(connection, reinterpret_cast<const sockaddr*>(&to), sizeof(to)),
      0);
  return connection;
}

// What a server on loopback answers.
std::string Ask(const std::string& address, const std::string& head) {
  const int connection = Connect(address);
  const std::string request =
      absl::StrCat(head, " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(write(connection, request.data(), request.size()),
            static_cast<ssize_t>(request.size()));
  std::string answer;
  char piece[4096];
  ssize_t got = 0;
  while ((got = read(connection, piece, sizeof(piece))) > 0) {
    answer.append(piece, static_cast<size_t>(got));
  }
  close(connection);
  return answer;
}

v1::DaemonStatus TwoRun() {
  v1::DaemonStatus status;
  status.mutable_jobs()->set_running(2);
  return status;
}

class MetricsServerTest : public testing::Test {
 protected:
  absl::StatusOr<std::unique_ptr<MetricsServer>> Start(
      const std::string& address = "127.0.0.1:0") {
    return StartMetricsServer(address, TwoRun, *log_);
  }

  const std::unique_ptr<Logger> log_ = NewNullLogger();
};

TEST_F(MetricsServerTest, AnswersWithTheStatusOfThatMoment) {
  const auto server = Start();
  ASSERT_TRUE(server.ok()) << server.status();
  const std::string answer = Ask((*server)->address(), "GET /metrics");
  EXPECT_TRUE(absl::StartsWith(answer, "HTTP/1.1 200")) << answer;
  EXPECT_TRUE(absl::StrContains(
      answer, "edgekiln_jobs{state=\"running\",kind=\"job\"} 2"))
      << answer;
}

TEST_F(MetricsServerTest, AnswersNothingElse) {
  const auto server = Start();
  ASSERT_TRUE(server.ok()) << server.status();
  const std::string& address = (*server)->address();
  for (const char* path : {"GET /", "GET /metricsfoo", "GET /../etc/passwd"}) {
    EXPECT_TRUE(absl::StartsWith(Ask(address, path), "HTTP/1.1 404")) << path;
  }
  EXPECT_TRUE(absl::StartsWith(Ask(address, "PUT /metrics"), "HTTP/1.1 405"));
}

TEST_F(MetricsServerTest, SilentConnectionsDoNotKeepOthersOut) {
  auto server = Start();
  ASSERT_TRUE(server.ok()) << server.status();
  std::vector<int> silent;
  for (int i = 0; i < 40; ++i) {
    silent.push_back(Connect((*server)->address()));
    if (i % 2 == 0) {
      EXPECT_EQ(write(silent.back(), "GET /met", 8), 8);
    }
  }
  EXPECT_TRUE(absl::StartsWith(Ask((*server)->address(), "GET /metrics"),
                               "HTTP/1.1 200"));
  server->reset();  // While they are open.
  for (const int connection : silent) close(connection);
}

TEST_F(MetricsServerTest, AnAddressThatIsTakenIsAnError) {
  const auto first = Start();
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_FALSE(Start((*first)->address()).ok());
  EXPECT_FALSE(Start("9000").ok());
}

}  // namespace
}  // namespace edgekiln::server
