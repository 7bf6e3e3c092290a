#include "server/daemon/http/http_connections.h"

#include <sys/socket.h>

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
  if (first == nullptr) return;
  first->state = kCut;
  ++cut_;
  // libmicrohttpd sees the end and closes it.
  shutdown(first->socket, SHUT_RDWR);
}

}  // namespace edgekiln::server
