#include "tests/chaos/plain_connection.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <cstdint>

#include "absl/strings/numbers.h"

namespace edgekiln::chaos {

int StartConnecting(const std::string& address) {
  int port = 0;
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos ||
      !absl::SimpleAtoi(address.substr(colon + 1), &port)) {
    return -1;
  }
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  sockaddr_in to = {};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<uint16_t>(port));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof(to));
  return fd;
}

bool SendAll(int fd, const std::string& bytes) {
  size_t sent = 0;
  while (sent < bytes.size()) {
    pollfd ready = {.fd = fd, .events = POLLOUT, .revents = 0};
    if (poll(&ready, 1, 2000) <= 0) return false;
    const ssize_t got =
        send(fd, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (got <= 0) return false;
    sent += static_cast<size_t>(got);
  }
  return true;
}

std::string AnswerOf(int fd) {
  pollfd ready = {.fd = fd, .events = POLLIN, .revents = 0};
  if (poll(&ready, 1, 5000) <= 0) return "";
  std::string head(64, '\0');
  const ssize_t got = recv(fd, head.data(), head.size(), 0);
  head.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return head;
}

}  // namespace edgekiln::chaos
