#include "server/daemon/net/connections.h"

#include <fcntl.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace edgekiln::server {
namespace {

// Less than the greeting of HTTP/2 and the headers of one gRPC call.
constexpr uint64_t kGreetingBytes = 200;
// A client that has connected makes its call sooner than that.
constexpr uint32_t kSilentMs = 500;

// Milliseconds since its last byte; 0 for one that has made a call, or of which
// that is unknown.
uint32_t SilentMs(int descriptor) {
  tcp_info info = {};
  socklen_t size = sizeof(info);
  if (getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) != 0 ||
      size < offsetof(tcp_info, tcpi_bytes_received) +
                 sizeof(info.tcpi_bytes_received) ||
      info.tcpi_bytes_received >= kGreetingBytes) {
    return 0;
  }
  return info.tcpi_last_data_recv;
}

}  // namespace

bool Connections::IsOpen(const Connection& connection) {
  struct stat info = {};
  return fstat(connection.descriptor, &info) == 0 && S_ISSOCK(info.st_mode) &&
         info.st_ino == connection.inode;
}

void Connections::Add(int descriptor, const std::string& peer) {
  struct stat info = {};
  if (fstat(descriptor, &info) != 0) return;
  alive_.push_back({.descriptor = descriptor,
                    .inode = info.st_ino,
                    .peer = peer,
                    .ended = false});
  ++by_peer_[peer];
}

void Connections::Prune() {
  const auto closed = std::remove_if(
      alive_.begin(), alive_.end(), [this](const Connection& connection) {
        if (IsOpen(connection)) return false;
        const auto peer = by_peer_.find(connection.peer);
        if (--peer->second == 0) by_peer_.erase(peer);
        return true;
      });
  alive_.erase(closed, alive_.end());
}

int Connections::Of(const std::string& peer) const {
  const auto it = by_peer_.find(peer);
  return it == by_peer_.end() ? 0 : it->second;
}

bool Connections::EndSilent(const std::string& peer) {
  Connection* longest = nullptr;
  uint32_t most_ms = kSilentMs;
  for (Connection& connection : alive_) {
    if (connection.ended || (!peer.empty() && connection.peer != peer)) {
      continue;
    }
    const uint32_t silent_ms = SilentMs(connection.descriptor);
    if (silent_ms <= most_ms) continue;
    most_ms = silent_ms;
    longest = &connection;
  }
  if (longest == nullptr) return false;
  longest->ended = true;
  // gRPC may close the descriptor at any time, and another socket get it; a
  // copy stays what it is.
  const int copy = fcntl(longest->descriptor, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) return false;
  if (IsOpen({copy, longest->inode, "", false})) shutdown(copy, SHUT_RDWR);
  close(copy);
  return true;
}

}  // namespace edgekiln::server
