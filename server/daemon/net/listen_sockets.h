#ifndef EK_SERVER_DAEMON_NET_LISTEN_SOCKETS_H_
#define EK_SERVER_DAEMON_NET_LISTEN_SOCKETS_H_

// The sockets behind one address to listen on.

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace edgekiln::server {

// A host name may stand for several addresses, of IPv4 and IPv6; each has a
// socket. Closes them at the end and removes a Unix socket's file if it is
// still ours. Movable; not thread-safe.
class ListenSockets {
 public:
  // `address` is "host:port", "[ipv6]:port" or "unix:/path"; port 0 picks one.
  // A Unix socket gets mode 0600; the file of one on which nobody listens any
  // more is replaced. Errors: INVALID_ARGUMENT (not an address), UNAVAILABLE
  // (ADDRESS_TAKEN: the address cannot be had).
  static absl::StatusOr<ListenSockets> Open(const std::string& address);
  ~ListenSockets();
  ListenSockets(ListenSockets&& other) noexcept;
  ListenSockets& operator=(ListenSockets&& other) noexcept;

  // As given, with the port that was taken.
  const std::string& address() const { return address_; }
  const std::vector<int>& descriptors() const { return descriptors_; }
  // False once somebody has removed or replaced the file of a Unix socket:
  // nobody finds us any more. Safe to call from any thread.
  bool Reachable() const;

 private:
  ListenSockets() = default;
  absl::Status OpenUnix(const std::string& path);
  absl::Status OpenTcp(const std::string& host, const std::string& port);
  void Close();

  std::string address_;
  std::string path_;  // Of a Unix socket; else empty.
  ino_t inode_ = 0;   // Of that path.
  std::vector<int> descriptors_;
};

// Whether who accepts on `descriptor` still does: connects to it, says
// something that is not HTTP/2 and waits for the connection to be closed.
// UNAVAILABLE with what went wrong.
absl::Status ProbeListener(int descriptor, absl::Duration patience);

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_NET_LISTEN_SOCKETS_H_
