#include "server/daemon/net/greeting.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace edgekiln::server {
namespace {

constexpr absl::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
constexpr size_t kFrameHead = 9;
constexpr unsigned char kSettingsFrame = 4;
// Of the client's settings, what is waited for: those of any client we know
// take a tenth of that.
constexpr size_t kMaxSettings = 1024;
constexpr unsigned char kGoAwayFrame = 7;
constexpr unsigned char kEnhanceYourCalm = 11;
constexpr size_t kMaxReason = 100;

// The frame that must follow the preface (RFC 9113, 3.4); `frame` has its head.
Greeting SettingsOf(absl::string_view frame) {
  const auto byte = [&frame](size_t at) {
    return static_cast<size_t>(static_cast<unsigned char>(frame[at]));
  };
  if (byte(3) != kSettingsFrame) return Greeting::kForeign;
  const size_t length = byte(0) << 16 | byte(1) << 8 | byte(2);
  return frame.size() < kFrameHead + std::min(length, kMaxSettings)
             ? Greeting::kNone
             : Greeting::kHttp2;
}

}  // namespace

Greeting PeekGreeting(int descriptor) {
  char bytes[kPreface.size() + kFrameHead + kMaxSettings];
  const ssize_t got =
      recv(descriptor, bytes, sizeof(bytes), MSG_PEEK | MSG_DONTWAIT);
  if (got == 0) return Greeting::kClosed;
  if (got < 0) {
    const bool later = errno == EAGAIN || errno == EWOULDBLOCK ||
                       errno == EINTR || errno == ENOBUFS || errno == ENOMEM;
    return later ? Greeting::kNone : Greeting::kClosed;
  }
  const absl::string_view said(bytes, static_cast<size_t>(got));
  if (!absl::StartsWith(kPreface, said.substr(0, kPreface.size()))) {
    return Greeting::kForeign;
  }
  if (said.size() < kPreface.size() + kFrameHead) return Greeting::kNone;
  return SettingsOf(said.substr(kPreface.size()));
}

void SendGoAway(int descriptor, absl::string_view why) {
  why = why.substr(0, kMaxReason);
  // An empty SETTINGS frame, as the server's part of the greeting.
  std::string frames("\0\0\0\4\0\0\0\0\0", 9);
  frames.push_back('\0');
  frames.push_back('\0');
  frames.push_back(static_cast<char>(8 + why.size()));
  frames.push_back(static_cast<char>(kGoAwayFrame));
  frames.append(5, '\0');  // No flags; of the connection.
  frames.append(4, '\0');  // No stream was handled.
  frames.append(3, '\0');
  frames.push_back(static_cast<char>(kEnhanceYourCalm));
  absl::StrAppend(&frames, why);
  (void)send(descriptor, frames.data(), frames.size(),
             MSG_NOSIGNAL | MSG_DONTWAIT);
  // Unread bytes would turn the close into a reset that overtakes the above.
  char unread[4096];
  while (recv(descriptor, unread, sizeof(unread), MSG_DONTWAIT) > 0) {
  }
  shutdown(descriptor, SHUT_WR);
}

std::string PeerOf(int descriptor) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  if (getpeername(descriptor, reinterpret_cast<sockaddr*>(&address), &size) !=
      0) {
    return "";
  }
  char text[INET6_ADDRSTRLEN] = "";
  if (address.ss_family == AF_INET) {
    inet_ntop(AF_INET, &reinterpret_cast<sockaddr_in&>(address).sin_addr, text,
              sizeof(text));
  } else if (address.ss_family == AF_INET6) {
    inet_ntop(AF_INET6, &reinterpret_cast<sockaddr_in6&>(address).sin6_addr,
              text, sizeof(text));
  }
  return text;
}

}  // namespace edgekiln::server
