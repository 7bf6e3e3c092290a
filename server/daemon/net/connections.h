#ifndef EK_SERVER_DAEMON_NET_CONNECTIONS_H_
#define EK_SERVER_DAEMON_NET_CONNECTIONS_H_

// Which of the connections that were handed to gRPC are still alive. gRPC does
// not say; but a descriptor that has been closed is no longer the socket it
// was.

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

namespace edgekiln::server {

// Not thread-safe.
class Connections {
 public:
  // To be called before the descriptor is given away.
  void Add(int descriptor, const std::string& peer);
  // Forgets those that have been closed.
  void Prune();
  // As of the last Prune().
  int size() const { return static_cast<int>(alive_.size()); }
  int Of(const std::string& peer) const;
  // Ends the TCP connection (of `peer`, unless that is empty) that has made no
  // call and sent nothing for longest, at least for 150 ms and two round trips.
  // A later Prune() removes it. False if there is none. Silent connections are
  // looked for once after each Prune().
  bool EndSilent(const std::string& peer);

 private:
  struct Connection {
    int descriptor = -1;
    ino_t inode = 0;
    std::string peer;
  };
  static bool IsOpen(const Connection& connection);
  void FindSilent();

  std::vector<Connection> alive_;
  // Of those at the last Prune(): the one silent for longest comes last.
  std::vector<Connection> silent_;
  bool silent_known_ = false;
  std::map<std::string, int> by_peer_;
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_NET_CONNECTIONS_H_
