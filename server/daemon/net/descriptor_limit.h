#ifndef EK_SERVER_DAEMON_NET_DESCRIPTOR_LIMIT_H_
#define EK_SERVER_DAEMON_NET_DESCRIPTOR_LIMIT_H_

// How many connections the system's limit of open files leaves room for.

#include <cstdint>

namespace edgekiln::server {

// Raises the soft limit of open files to the hard one, though not beyond what
// is ever needed, and returns the limit that applies.
int64_t RaiseDescriptorLimit();

// The limit that applies now.
int64_t DescriptorLimit();

// Of one listener.
struct ConnectionLimits {
  int max_connections = 0;  // Handed to gRPC and alive.
  int max_per_peer = 0;     // Of those, from one TCP address.
  // Accepted, but without the whole greeting of HTTP/2, or waiting for room.
  int max_pending = 0;
};

struct ConnectionBudget {
  ConnectionLimits clients;
  ConnectionLimits workers;  // Their own: clients cannot keep them out.
};

// Shares `max_connections` out. Where `descriptors` are few there are less:
// half of them at most, and a third stays for databases, blobs, uploads and
// gRPC itself.
ConnectionBudget ShareConnections(int max_connections, int64_t descriptors);

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_NET_DESCRIPTOR_LIMIT_H_
