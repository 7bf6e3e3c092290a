#ifndef EK_SERVER_DAEMON_HTTP_HTTP_CONNECTIONS_H_
#define EK_SERVER_DAEMON_HTTP_HTTP_CONNECTIONS_H_

// Keeps room for new connections over HTTP. Where there are more than a limit,
// one of those that keep the daemon waiting is cut, with a request that is not
// complete or an answer that is not read: the one that has done so for longest,
// where who reads has a head start of half of the limit. Calls and streams
// under way stay: their number has a limit of its own.
//
// libmicrohttpd searches all heads that are not complete for their ends
// whenever anything comes, by any connection. So what they have together is
// limited, too, for TCP: of other sockets the system does not tell how much
// has come. Thread-safe.

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
  // Of all heads that are not complete.
  static constexpr uint64_t kMaxHeadBytes = 64 << 10;
  // Of one no more counts: what libmicrohttpd should keep of a connection.
  static constexpr uint64_t kMaxOneHeadBytes = 32 << 10;

  explicit HttpConnections(size_t max) : max_(max) {}

  // A new one, with its socket, which must stay open until Closed().
  void Opened(const MHD_Connection* connection, int socket);
  // The head is complete: `bytes` long. The body follows.
  void HeadRead(const MHD_Connection* connection, size_t bytes);
  // A piece of the body.
  void BodyRead(const MHD_Connection* connection, size_t bytes);
  // A call or a stream begins.
  void Busy(const MHD_Connection* connection) { Use(connection, kBusy); }
  // Its answer is there.
  void Answering(const MHD_Connection* connection) {
    Use(connection, kAnswering);
  }
  // The answer was read, and the next request may come.
  void Asking(const MHD_Connection* connection) { Use(connection, kAsking); }
  void Closed(const MHD_Connection* connection);

  // Cuts those with the longest heads that were not complete at the last such
  // call either, until the rest keeps within kMaxHeadBytes. To be called some
  // times a second while somebody is connected. False if nobody is.
  bool CutLongHeads();

 private:
  // From kBusy on they are not cut.
  enum State : uint8_t { kAsking, kSending, kAnswering, kBusy, kCut };

  struct Connection {
    int socket = -1;
    State state = kAsking;
    uint64_t since = 0;       // Number of the change of state.
    uint64_t read_bytes = 0;  // Of its requests so far.
    uint64_t head_since = 0;  // `since` of the head seen by CutLongHeads().
  };

  void Use(const MHD_Connection* connection, State state);
  void Cut() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Cut(Connection& one) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Of a head that is not complete: what libmicrohttpd has read.
  static uint64_t HeadBytes(const Connection& one);

  const size_t max_;
  Mutex mutex_;
  uint64_t changes_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t cut_ ABSL_GUARDED_BY(mutex_) = 0;  // Of those below.
  std::map<const MHD_Connection*, Connection> connections_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_HTTP_HTTP_CONNECTIONS_H_
