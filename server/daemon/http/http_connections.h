#ifndef EK_SERVER_DAEMON_HTTP_HTTP_CONNECTIONS_H_
#define EK_SERVER_DAEMON_HTTP_HTTP_CONNECTIONS_H_

// Keeps room for new connections over HTTP. Where there are more than a limit,
// one of those that keep the daemon waiting is cut, with a request that is not
// complete or an answer that is not read: the one that has done so for longest,
// where who reads has a head start of half of the limit. Calls and streams
// under way stay: their number has a limit of its own. Thread-safe.

#include <cstddef>
#include <cstdint>
#include <map>

#include "base/mutex.h"

struct MHD_Connection;

namespace edgekiln::server {

class HttpConnections {
 public:
  // Those that are cut live for some more milliseconds: connections beyond
  // `max` that libmicrohttpd should allow.
  static constexpr size_t kSpare = 8;

  explicit HttpConnections(size_t max) : max_(max) {}

  // A new one, with its socket, which must stay open until Closed().
  void Opened(const MHD_Connection* connection, int socket);
  // A call or a stream begins.
  void Busy(const MHD_Connection* connection) { Use(connection, kBusy); }
  // Its answer is there.
  void Answering(const MHD_Connection* connection) {
    Use(connection, kAnswering);
  }
  // The answer was read, and the next request may come.
  void Asking(const MHD_Connection* connection) { Use(connection, kAsking); }
  void Closed(const MHD_Connection* connection);

 private:
  // From kBusy on they are not cut.
  enum State : uint8_t { kAsking, kAnswering, kBusy, kCut };

  struct Connection {
    int socket = -1;
    State state = kAsking;
    uint64_t since = 0;  // Number of the change of state.
  };

  void Use(const MHD_Connection* connection, State state);
  void Cut() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const size_t max_;
  Mutex mutex_;
  uint64_t changes_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t cut_ ABSL_GUARDED_BY(mutex_) = 0;  // Of those below.
  std::map<const MHD_Connection*, Connection> connections_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_HTTP_HTTP_CONNECTIONS_H_
