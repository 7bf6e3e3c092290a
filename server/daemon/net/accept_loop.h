#ifndef EK_SERVER_DAEMON_NET_ACCEPT_LOOP_H_
#define EK_SERVER_DAEMON_NET_ACCEPT_LOOP_H_

// Accepts connections for gRPC, whose own listener is deaf for good once the
// process has run out of descriptors, and hands over those that greet like a
// client.
//
// A connection costs gRPC memory and time from the start, and us one
// descriptor. So it waits here until the greeting of HTTP/2, its preface and
// SETTINGS, has come (greeting.h), for a bounded time and together with a
// bounded number of others; beyond that number, one that has begun to greet and
// not gone on makes room, or else the one that has been silent for longest.
// Connections alive at once are bounded, and those from one TCP address to a
// part of that; who comes later waits, or is told why not by a GOAWAY.
// Descriptors for all of this are set aside (descriptor_limit.h), and if they
// run out all the same, accepting goes on as soon as there are some.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/log.h"
#include "server/daemon/net/descriptor_limit.h"
#include "server/daemon/net/listen_sockets.h"

namespace edgekiln::server {

struct AcceptOptions {
  std::string name{};  // For the log: "clients".
  ConnectionLimits limits;
  // Until the whole greeting; until there is room, too.
  absl::Duration greeting_time = absl::Seconds(10);
  // A silent connection is not closed for a newcomer before that.
  absl::Duration min_greeting_time = absl::Milliseconds(50);
  // The same for one that has sent a part of the greeting: clients send it at
  // once.
  absl::Duration min_rest_time = absl::Milliseconds(10);
};

struct AcceptCounts {
  int connections = 0;  // Handed over and alive.
  int pending = 0;
  int64_t accepted = 0;  // Handed over, ever.
  int64_t silent = 0;    // Closed: no greeting, or none of HTTP/2.
  int64_t refused = 0;   // Closed: too many.
  int64_t failed = 0;  // Times that accepting failed, for want of descriptors.
};

// Thread-safe; has one thread. Destruction closes the sockets and what was not
// handed over.
class AcceptLoop {
 public:
  virtual ~AcceptLoop() = default;
  virtual AcceptCounts Counts() = 0;
  // Whether connections to our own address are accepted; may take seconds.
  // Opens a Unix socket again whose file somebody has removed. UNAVAILABLE.
  virtual absl::Status Check() = 0;
};

// `take` is called by the loop's thread and owns the descriptor it gets. It
// must not block. `clock` and `log` must outlive the loop.
std::unique_ptr<AcceptLoop> StartAcceptLoop(AcceptOptions options,
                                            ListenSockets sockets,
                                            std::function<void(int)> take,
                                            Clock& clock, Logger& log);

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_NET_ACCEPT_LOOP_H_
