#ifndef EK_SERVER_DAEMON_NET_TESTING_TEST_SOCKET_H_
#define EK_SERVER_DAEMON_NET_TESTING_TEST_SOCKET_H_

// A plain client, for tests of those who accept.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"

namespace edgekiln::server {

// The preface and settings that change nothing: a frame of 9 bytes.
inline constexpr absl::string_view kHttp2(
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0", 33);

class TestSocket {
 public:
  // "127.0.0.1:port" or "unix:/path".
  explicit TestSocket(const std::string& address) {
    if (absl::StartsWith(address, "unix:")) {
      sockaddr_un to = {};
      to.sun_family = AF_UNIX;
      address.copy(to.sun_path, sizeof(to.sun_path) - 1, 5);
      Connect(AF_UNIX, reinterpret_cast<sockaddr*>(&to), sizeof(to));
      return;
    }
    sockaddr_in to = {};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons(atoi(address.substr(address.rfind(':') + 1).c_str()));
    Connect(AF_INET, reinterpret_cast<sockaddr*>(&to), sizeof(to));
  }
  ~TestSocket() { Close(); }
  TestSocket(TestSocket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  TestSocket& operator=(TestSocket&&) = delete;

  bool connected() const { return fd_ >= 0; }
  bool Send(absl::string_view bytes) {
    return send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(bytes.size());
  }
  // All that comes until the other side closes; "timeout" if it does not.
  std::string ReadToEnd(int timeout_ms = 20'000) {
    std::string all;
    while (true) {
      pollfd waiting = {.fd = fd_, .events = POLLIN, .revents = 0};
      if (poll(&waiting, 1, timeout_ms) <= 0) return "timeout";
      char bytes[4096];
      const ssize_t got = recv(fd_, bytes, sizeof(bytes), 0);
      if (got <= 0) return all;
      all.append(bytes, static_cast<size_t>(got));
    }
  }
  // Whether the other side says "hello" within that time.
  bool Hears(int timeout_ms = 20'000) {
    pollfd waiting = {.fd = fd_, .events = POLLIN, .revents = 0};
    char byte = 0;
    return poll(&waiting, 1, timeout_ms) > 0 &&
           recv(fd_, &byte, 1, MSG_PEEK) > 0 && byte == 'h';
  }
  void Close() {
    if (fd_ >= 0) close(std::exchange(fd_, -1));
  }

 private:
  void Connect(int family, const sockaddr* to, socklen_t size) {
    fd_ = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd_, to, size) != 0) Close();
  }
  int fd_ = -1;
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_NET_TESTING_TEST_SOCKET_H_
