#include "tests/chaos/cut_proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <utility>

namespace edgekiln::chaos {
namespace {

constexpr int kPollMs = 50;
constexpr size_t kBufferBytes = 64 << 10;

sockaddr_in Loopback(int port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  return address;
}

bool Readable(int fd) {
  pollfd entry = {.fd = fd, .events = POLLIN, .revents = 0};
  return poll(&entry, 1, kPollMs) > 0;
}

}  // namespace

CutProxy::CutProxy(int listener, int port, int server_port,
                   std::vector<int64_t> cuts)
    : listener_(listener),
      port_(port),
      server_port_(server_port),
      cuts_(std::move(cuts)),
      thread_([this] { Run(); }) {}

absl::StatusOr<std::unique_ptr<CutProxy>> CutProxy::Start(
    int port, std::vector<int64_t> cuts) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = Loopback(0);
  socklen_t size = sizeof(address);
  if (listener < 0 ||
      bind(listener, reinterpret_cast<const sockaddr*>(&address),
           sizeof(address)) != 0 ||
      listen(listener, 16) != 0 ||
      getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) !=
          0) {
    if (listener >= 0) close(listener);
    return absl::UnavailableError("the proxy cannot listen");
  }
  return std::unique_ptr<CutProxy>(
      new CutProxy(listener, ntohs(address.sin_port), port, std::move(cuts)));
}

CutProxy::~CutProxy() {
  stop_ = true;
  thread_.join();
  close(listener_);
}

void CutProxy::Run() {
  while (!stop_) {
    if (!Readable(listener_)) continue;
    const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) continue;
    Serve(client);
    close(client);
  }
}

void CutProxy::Serve(int client) {
  const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (server < 0) return;
  const sockaddr_in address = Loopback(server_port_);
  bool open = connect(server, reinterpret_cast<const sockaddr*>(&address),
                      sizeof(address)) == 0;
  while (open && !stop_) {
    pollfd both[] = {{.fd = client, .events = POLLIN, .revents = 0},
                     {.fd = server, .events = POLLIN, .revents = 0}};
    if (poll(both, 2, kPollMs) <= 0) continue;
    if (both[0].revents != 0) open = Forward(client, server, true);
    const size_t made = static_cast<size_t>(cuts_made_);
    if (open && made < cuts_.size() && client_bytes_ >= cuts_[made]) {
      Cut(client, server);
      open = false;
    }
    if (open && both[1].revents != 0) open = Forward(server, client, false);
  }
  close(server);
}

bool CutProxy::Forward(int from, int to, bool counts) {
  char buffer[kBufferBytes];
  const ssize_t got = recv(from, buffer, sizeof(buffer), 0);
  if (got <= 0) return false;
  if (counts) {
    client_bytes_ += got;
    const size_t made = static_cast<size_t>(cuts_made_);
    // Lost with the connection that is about to be cut.
    if (made < cuts_.size() && client_bytes_ >= cuts_[made]) return true;
  }
  for (ssize_t sent = 0; sent < got;) {
    const ssize_t now =
        send(to, buffer + sent, static_cast<size_t>(got - sent), MSG_NOSIGNAL);
    if (now <= 0) return false;
    sent += now;
  }
  return true;
}

void CutProxy::Cut(int client, int server) {
  if (cuts_made_ % 2 == 1) {
    // Closing now resets: what the kernel still held is dropped, too.
    const linger reset = {.l_onoff = 1, .l_linger = 0};
    setsockopt(client, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
    setsockopt(server, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
  }
  ++cuts_made_;
}

}  // namespace edgekiln::chaos
