#include "server/daemon/net/descriptor_limit.h"

#include <sys/resource.h>

#include <algorithm>

namespace edgekiln::server {
namespace {

// A hard limit may be a billion; what is sized by it need not be.
constexpr rlim_t kEnoughDescriptors = 65'536;
// The database, locks, logs, gRPC's own, launched workers.
constexpr int64_t kOwnDescriptors = 64;
constexpr int64_t kMinConnections = 8;

// Connections that have not greeted yet cost a descriptor and nothing else. The
// more there may be, the longer it takes silent ones to keep others waiting.
constexpr int64_t kMaxPending = 512;

// `pending`: beside the connections.
ConnectionLimits Limits(int64_t connections, int64_t pending) {
  ConnectionLimits limits;
  limits.max_connections = static_cast<int>(connections);
  limits.max_per_peer = static_cast<int>(connections - connections / 4);
  limits.max_pending = static_cast<int>(std::max<int64_t>(pending, 8));
  return limits;
}

}  // namespace

int64_t DescriptorLimit() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;
  return static_cast<int64_t>(
      std::min<rlim_t>(limit.rlim_cur, rlim_t{1} << 30));
}

int64_t RaiseDescriptorLimit() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    const rlim_t wanted = std::min(limit.rlim_max, kEnoughDescriptors);
    if (limit.rlim_cur < wanted) {
      limit.rlim_cur = wanted;
      // Where it may not be raised, the lower one is kept to.
      (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
  }
  return DescriptorLimit();
}

ConnectionBudget ShareConnections(int max_connections, int64_t descriptors) {
  const int64_t all = std::max(
      kMinConnections,
      std::min<int64_t>(max_connections, (descriptors - kOwnDescriptors) / 2));
  const int64_t workers = all / 4;
  // A third of all descriptors is for the rest.
  const int64_t pending =
      std::clamp<int64_t>(descriptors * 2 / 3 - all, 0, kMaxPending);
  return {.clients = Limits(all - workers, pending - pending / 4),
          .workers = Limits(workers, pending / 4)};
}

}  // namespace edgekiln::server
