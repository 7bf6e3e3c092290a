#ifndef EK_SERVER_DAEMON_LISTEN_ADDRESS_H_
#define EK_SERVER_DAEMON_LISTEN_ADDRESS_H_

// Addresses to listen on: "HOST:PORT" or "unix:/PATH".

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace edgekiln::server {

// INVALID_ARGUMENT unless it is one. gRPC itself would take what is left of a
// port above 65535.
absl::Status CheckListenAddress(const std::string& address);

// Whether processes of this machine only can connect: a Unix socket, a literal
// loopback address or "localhost".
bool IsLoopback(absl::string_view address);

// Where this machine reaches who listens on `address`: "0.0.0.0:80" becomes
// "127.0.0.1:80", "[::]:80" "[::1]:80"; others stay.
std::string DialAddress(const std::string& address);

// As CheckListenAddress(). Besides, since nobody is asked who they are yet:
// addresses that other machines reach are refused unless `insecure_network`
// says that this is meant.
absl::Status CheckExposure(absl::string_view option, const std::string& address,
                           bool insecure_network);

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_LISTEN_ADDRESS_H_
