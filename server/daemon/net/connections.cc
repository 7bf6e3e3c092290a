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
#include <iterator>
#include <utility>

namespace edgekiln::server {
namespace {

// Less than the greeting of HTTP/2 and the headers of one gRPC call.
constexpr uint64_t kGreetingBytes = 200;
// A client that has connected makes its call sooner than that, beside the time
// that the network takes: it waits for the server's settings first.
constexpr uint32_t kSilentMs = 150;
constexpr uint32_t kMaxRoundTripMs = 1000;  // Whoever answers late is slow.

// For how many milliseconds a call is overdue; 0 for a connection that has made
// one, or of which that is unknown.
uint32_t OverdueMs(int descriptor) {
  tcp_info info = {};
  socklen_t size = sizeof(info);
  if (getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) != 0 ||
      size < offsetof(tcp_info, tcpi_bytes_received) +
                 sizeof(info.tcpi_bytes_received) ||
      info.tcpi_bytes_received >= kGreetingBytes) {
    return 0;
  }
  const uint32_t patience =
      kSilentMs + 2 * std::min(info.tcpi_rtt / 1000, kMaxRoundTripMs);
  const uint32_t silent = info.tcpi_last_data_recv;
  return silent > patience ? silent - patience : 0;
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
  alive_.push_back(
      {.descriptor = descriptor, .inode = info.st_ino, .peer = peer});
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
  silent_known_ = false;
}

int Connections::Of(const std::string& peer) const {
  const auto it = by_peer_.find(peer);
  return it == by_peer_.end() ? 0 : it->second;
}

void Connections::FindSilent() {
  std::vector<std::pair<uint32_t, size_t>> found;
  for (size_t i = 0; i < alive_.size(); ++i) {
    const uint32_t overdue_ms = OverdueMs(alive_[i].descriptor);
    if (overdue_ms > 0) found.emplace_back(overdue_ms, i);
  }
  std::sort(found.begin(), found.end());
  silent_.clear();
  for (const auto& [overdue_ms, i] : found) silent_.push_back(alive_[i]);
  silent_known_ = true;
}

bool Connections::EndSilent(const std::string& peer) {
  if (!silent_known_) FindSilent();
  const auto longest = std::find_if(
      silent_.rbegin(), silent_.rend(), [&](const Connection& connection) {
        return peer.empty() || connection.peer == peer;
      });
  if (longest == silent_.rend()) return false;
  const Connection chosen = *longest;
  silent_.erase(std::next(longest).base());
  // gRPC may close the descriptor at any time, and another socket get it; a
  // copy stays what it is.
  const int copy = fcntl(chosen.descriptor, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) return false;
  if (IsOpen({copy, chosen.inode, ""})) shutdown(copy, SHUT_RDWR);
  close(copy);
  return true;
}

}  // namespace edgekiln::server
