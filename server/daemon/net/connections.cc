#include "server/daemon/net/connections.h"

#include <sys/stat.h>

#include <algorithm>

namespace edgekiln::server {

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
}

int Connections::Of(const std::string& peer) const {
  const auto it = by_peer_.find(peer);
  return it == by_peer_.end() ? 0 : it->second;
}

}  // namespace edgekiln::server
