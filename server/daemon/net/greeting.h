#ifndef EK_SERVER_DAEMON_NET_GREETING_H_
#define EK_SERVER_DAEMON_NET_GREETING_H_

// What HTTP/2 starts with, on either side.

#include <string>

#include "absl/strings/string_view.h"

namespace edgekiln::server {

enum class Greeting {
  kNone,     // Nothing yet, or the start of it.
  kHttp2,    // Complete, with the client's settings. It is still to be read.
  kForeign,  // Something else.
  kClosed,   // The other side has gone.
};

// Looks without taking anything from the socket.
Greeting PeekGreeting(int descriptor);

// Tells an HTTP/2 client to go away and come back later. Never blocks.
void SendGoAway(int descriptor, absl::string_view why);

// Who is at the other end: the address without its port. Empty for a Unix
// socket.
std::string PeerOf(int descriptor);

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_NET_GREETING_H_
