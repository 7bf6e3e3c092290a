#include "server/daemon/http/http_connections.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace edgekiln::server {

void HttpConnections::Opened(const MHD_Connection* connection, int socket) {
  MutexLock lock(mutex_);
  connections_[connection] = {.socket = socket, .since = ++changes_};
  if (connections_.size() - cut_ > max_) Cut();
}

void HttpConnections::Closed(const MHD_Connection* connection) {
  MutexLock lock(mutex_);
  const auto it = connections_.find(connection);
  if (it == connections_.end()) return;
  if (it->second.state == kCut) --cut_;
  connections_.erase(it);
}

void HttpConnections::HeadRead(const MHD_Connection* connection, size_t bytes) {
  MutexLock lock(mutex_);
  const auto it = connections_.find(connection);
  if (it == connections_.end()) return;
  it->second.read_bytes += bytes;
  // `since` stays: for Cut() it has been incomplete since then.
  if (it->second.state == kAsking) it->second.state = kSending;
}

void HttpConnections::BodyRead(const MHD_Connection* connection, size_t bytes) {
  MutexLock lock(mutex_);
  const auto it = connections_.find(connection);
  if (it != connections_.end()) it->second.read_bytes += bytes;
}

uint64_t HttpConnections::HeadBytes(const Connection& one) {
  if (one.state != kAsking) return 0;
  tcp_info info = {};
  socklen_t size = sizeof(info);
  if (getsockopt(one.socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0 ||
      size < offsetof(tcp_info, tcpi_bytes_received) +
                 sizeof(info.tcpi_bytes_received)) {
    return 0;
  }
  // Asked for last: what comes in between then counts as unread.
  int unread_bytes = 0;
  if (ioctl(one.socket, FIONREAD, &unread_bytes) != 0) return 0;
  const uint64_t others = one.read_bytes + static_cast<uint64_t>(unread_bytes);
  return std::min<uint64_t>(
      info.tcpi_bytes_received -
          std::min<uint64_t>(others, info.tcpi_bytes_received),
      kMaxOneHeadBytes);
}

bool HttpConnections::CutLongHeads() {
  MutexLock lock(mutex_);
  uint64_t all_bytes = 0;
  std::vector<std::pair<uint64_t, Connection*>> heads;
  for (auto& [key, one] : connections_) {
    const uint64_t bytes = HeadBytes(one);
    if (bytes == 0) continue;
    // One that has just come is about to be complete.
    if (std::exchange(one.head_since, one.since) != one.since) continue;
    all_bytes += bytes;
    heads.emplace_back(bytes, &one);
  }
  std::sort(heads.begin(), heads.end());
  for (; all_bytes > kMaxHeadBytes; heads.pop_back()) {
    all_bytes -= heads.back().first;
    Cut(*heads.back().second);
  }
  return !connections_.empty();
}

void HttpConnections::Use(const MHD_Connection* connection, State state) {
  MutexLock lock(mutex_);
  const auto it = connections_.find(connection);
  if (it == connections_.end() || it->second.state == kCut) return;
  it->second.state = state;
  it->second.since = ++changes_;
}

void HttpConnections::Cut() {
  Connection* first = nullptr;
  uint64_t first_since = 0;
  for (auto& [key, one] : connections_) {
    const bool is_new = one.since == changes_;
    if (one.state >= kBusy || is_new) continue;
    const uint64_t since = one.since + (one.state == kAnswering ? max_ / 2 : 0);
    if (first == nullptr || since < first_since) {
      first = &one;
      first_since = since;
    }
  }
  if (first != nullptr) Cut(*first);
}

void HttpConnections::Cut(Connection& one) {
  one.state = kCut;
  ++cut_;
  // libmicrohttpd sees the end and closes it.
  shutdown(one.socket, SHUT_RDWR);
}

}  // namespace edgekiln::server
