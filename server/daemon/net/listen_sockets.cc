#include "server/daemon/net/listen_sockets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/error.h"
#include "base/scoped_fd.h"
#include "base/status_macros.h"

namespace edgekiln::server {
namespace {

// Connections that wait for accept(). A client that finds the queue full tries
// again after a second; the accept loop disposes of this many silent
// connections in less (AcceptOptions::min_greeting_time,
// ConnectionLimits::max_pending).
constexpr int kBacklog = 2048;
// Bytes unacknowledged for that long: the connection is dead. As gRPC has it.
constexpr unsigned kUserTimeoutMs = 10'000;
constexpr char kProbe[] = "edgekiln self-check\r\n";

absl::Status Taken(const std::string& address, absl::string_view why) {
  return MakeError(
      absl::StatusCode::kUnavailable,
      {.fault = Fault::kInfra,
       .reason = "ADDRESS_TAKEN",
       .what = absl::StrCat("cannot listen on this address: ", why),
       .where = address,
       .need = "an address of this machine that is not in use",
       .fix = "free it, or choose another; port 0 picks one"});
}

absl::StatusOr<sockaddr_un> UnixAddress(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path)) {
    return MakeError(
        absl::StatusCode::kInvalidArgument,
        {.fault = Fault::kUser,
         .reason = "BAD_ADDRESS",
         .what = "not a path that a socket can have",
         .where = absl::StrCat("unix:", path),
         .limit = absl::StrCat(sizeof(address.sun_path) - 1, " bytes"),
         .need = "unix:/PATH with a path that is neither empty nor longer",
         .fix = "choose a shorter path"});
  }
  path.copy(address.sun_path, path.size());
  return address;
}

const sockaddr* Generic(const sockaddr_un& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

// Whether another process is listening on it.
bool IsAnswered(const sockaddr_un& address) {
  const ScopedFd fd(
      socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return true;  // Unknown: nothing is taken away from anybody.
  // EAGAIN: somebody does, and is busy.
  return connect(fd.get(), Generic(address), sizeof(address)) == 0 ||
         errno != ECONNREFUSED;
}

// What a client that runs here connects to.
void PointToLoopback(sockaddr_storage& address) {
  if (address.ss_family == AF_INET) {
    auto& v4 = reinterpret_cast<sockaddr_in&>(address);
    if (v4.sin_addr.s_addr == htonl(INADDR_ANY)) {
      v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    }
  } else if (address.ss_family == AF_INET6) {
    auto& v6 = reinterpret_cast<sockaddr_in6&>(address);
    if (IN6_IS_ADDR_UNSPECIFIED(&v6.sin6_addr)) v6.sin6_addr = in6addr_loopback;
  }
}

int PortOf(int descriptor) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.ss_family == AF_INET
                   ? reinterpret_cast<sockaddr_in&>(address).sin_port
                   : reinterpret_cast<sockaddr_in6&>(address).sin6_port);
}

// -1 with errno if it cannot be had. `port`: instead of that of `address`
// unless 0.
int ListenTcp(const addrinfo& address, int port) {
  sockaddr_storage own = {};
  memcpy(&own, address.ai_addr, address.ai_addrlen);
  if (port != 0) {
    if (own.ss_family == AF_INET) {
      reinterpret_cast<sockaddr_in&>(own).sin_port = htons(port);
    } else {
      reinterpret_cast<sockaddr_in6&>(own).sin6_port = htons(port);
    }
  }
  const int fd =
      socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  const int on = 1;
  const int off = 0;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  // Connections inherit both of these.
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &kUserTimeoutMs,
             sizeof(kUserTimeoutMs));
  if (address.ai_family == AF_INET6) {
    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
  }
  if (bind(fd, reinterpret_cast<sockaddr*>(&own), address.ai_addrlen) == 0 &&
      listen(fd, kBacklog) == 0) {
    return fd;
  }
  const int error = errno;
  close(fd);
  errno = error;
  return -1;
}

}  // namespace

absl::StatusOr<ListenSockets> ListenSockets::Open(const std::string& address) {
  ListenSockets sockets;
  sockets.address_ = address;
  if (absl::StartsWith(address, "unix:")) {
    EK_RETURN_IF_ERROR(
        sockets.OpenUnix(std::string(absl::StripPrefix(address, "unix:"))));
    return sockets;
  }
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos) return Taken(address, "it has no port");
  std::string host = address.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  EK_RETURN_IF_ERROR(sockets.OpenTcp(host, address.substr(colon + 1)));
  sockets.address_ = absl::StrCat(address.substr(0, colon), ":",
                                  PortOf(sockets.descriptors_.front()));
  return sockets;
}

absl::Status ListenSockets::OpenUnix(const std::string& path) {
  EK_ASSIGN_OR_RETURN(const sockaddr_un address, UnixAddress(path));
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return Taken(address_, strerror(errno));
  descriptors_.push_back(fd);
  struct stat info = {};
  if (lstat(path.c_str(), &info) == 0) {
    if (!S_ISSOCK(info.st_mode)) {
      return Taken(address_, "a file that is not a socket has this name");
    }
    if (IsAnswered(address))
      return Taken(address_, "another process is listening on it");
    unlink(path.c_str());
  }
  if (bind(fd, Generic(address), sizeof(address)) != 0) {
    return Taken(address_, strerror(errno));
  }
  // Before listen(): until then nobody gets in.
  if (chmod(path.c_str(), 0600) != 0 || listen(fd, kBacklog) != 0 ||
      lstat(path.c_str(), &info) != 0) {
    const int error = errno;
    unlink(path.c_str());
    return Taken(address_, strerror(error));
  }
  path_ = path;
  inode_ = info.st_ino;
  return absl::OkStatus();
}

absl::Status ListenSockets::OpenTcp(const std::string& host,
                                    const std::string& port) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.empty() ? nullptr : host.c_str(),
                                port.c_str(), &hints, &found);
  if (error != 0) return Taken(address_, gai_strerror(error));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found,
                                                             freeaddrinfo);
  int taken_port = 0;
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    const int fd = ListenTcp(*at, taken_port);
    if (fd < 0) {
      // A machine without IPv6 still has "localhost".
      if (errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL) continue;
      return Taken(address_, strerror(errno));
    }
    descriptors_.push_back(fd);
    taken_port = PortOf(fd);
  }
  if (!descriptors_.empty()) return absl::OkStatus();
  return Taken(address_, "it is not an address of this machine");
}

bool ListenSockets::Reachable() const {
  if (path_.empty()) return true;
  struct stat info = {};
  return lstat(path_.c_str(), &info) == 0 && info.st_ino == inode_;
}

void ListenSockets::Close() {
  if (!path_.empty() && Reachable()) unlink(path_.c_str());
  for (const int fd : descriptors_) close(fd);
  descriptors_.clear();
  path_.clear();
}

ListenSockets::~ListenSockets() { Close(); }

ListenSockets::ListenSockets(ListenSockets&& other) noexcept
    : address_(std::move(other.address_)),
      path_(std::exchange(other.path_, "")),
      inode_(other.inode_),
      descriptors_(std::exchange(other.descriptors_, {})) {}

ListenSockets& ListenSockets::operator=(ListenSockets&& other) noexcept {
  if (this == &other) return *this;
  Close();
  address_ = std::move(other.address_);
  path_ = std::exchange(other.path_, "");
  inode_ = other.inode_;
  descriptors_ = std::exchange(other.descriptors_, {});
  return *this;
}

absl::Status ProbeListener(int descriptor, absl::Duration patience) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  const auto failed = [](absl::string_view step) {
    return absl::UnavailableError(absl::StrCat(step, ": ", strerror(errno)));
  };
  if (getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size) !=
      0) {
    return failed("the listening socket is gone");
  }
  PointToLoopback(address);
  const ScopedFd fd(
      socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return failed("no socket can be made");
  if (connect(fd.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 &&
      errno != EINPROGRESS) {
    return failed("connecting");
  }
  const int timeout = static_cast<int>(absl::ToInt64Milliseconds(patience));
  pollfd waiting = {.fd = fd.get(), .events = POLLOUT, .revents = 0};
  errno = ETIMEDOUT;
  if (poll(&waiting, 1, timeout) <= 0) return failed("connecting");
  // A refused connection shows here at the latest.
  if (send(fd.get(), kProbe, sizeof(kProbe) - 1, MSG_NOSIGNAL) < 0) {
    return failed("connecting");
  }
  waiting.events = POLLIN;
  errno = ETIMEDOUT;
  if (poll(&waiting, 1, timeout) <= 0)
    return failed("no process accepts connections");
  return absl::OkStatus();
}

}  // namespace edgekiln::server
