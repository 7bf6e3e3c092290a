#include "server/daemon/listen_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"

namespace edgekiln::server {
namespace {

bool IsUnix(absl::string_view address) {
  return absl::StartsWith(address, "unix:");
}

}  // namespace

absl::Status CheckListenAddress(const std::string& address) {
  if (IsUnix(address)) return absl::OkStatus();
  const size_t colon = address.rfind(':');
  int port = -1;
  if (colon != std::string::npos &&
      absl::SimpleAtoi(address.substr(colon + 1), &port) && port >= 0 &&
      port <= 65535) {
    return absl::OkStatus();
  }
  return MakeError(absl::StatusCode::kInvalidArgument,
                   {.fault = Fault::kUser,
                    .reason = "BAD_ADDRESS",
                    .what = "not an address to listen on",
                    .where = address,
                    .need = "HOST:PORT with a port from 0 to 65535, or "
                            "unix:/PATH",
                    .fix = "write for example 127.0.0.1:7433; port 0 picks "
                           "one"});
}

bool IsLoopback(absl::string_view address) {
  if (IsUnix(address)) return true;
  // A host name that merely starts with "127." may resolve to anything.
  std::string host(address.substr(0, address.rfind(':')));
  if (host == "localhost") return true;
  in_addr v4 = {};
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) {
    return (ntohl(v4.s_addr) >> 24) == 127;
  }
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  in6_addr v6 = {};
  return inet_pton(AF_INET6, host.c_str(), &v6) == 1 &&
         IN6_IS_ADDR_LOOPBACK(&v6);
}

std::string DialAddress(const std::string& address) {
  const size_t colon = address.rfind(':');
  const std::string host = address.substr(0, colon);
  if (host == "0.0.0.0")
    return absl::StrCat("127.0.0.1", address.substr(colon));
  if (host == "[::]") return absl::StrCat("[::1]", address.substr(colon));
  return address;
}

absl::Status CheckExposure(absl::string_view option, const std::string& address,
                           bool insecure_network) {
  EK_RETURN_IF_ERROR(CheckListenAddress(address));
  if (insecure_network || IsLoopback(address)) return absl::OkStatus();
  return MakeError(
      absl::StatusCode::kInvalidArgument,
      {.fault = Fault::kUser,
       .reason = "INSECURE_NETWORK",
       .what = absl::StrCat("other machines can reach ", address,
                            ": clients are not authenticated, and nothing is "
                            "encrypted"),
       .where = absl::StrCat(option, " ", address),
       .limit = "loopback addresses and unix:/PATH",
       .fix = "add --insecure-network on a network you trust; elsewhere "
              "listen on 127.0.0.1 and connect through an SSH tunnel"});
}

}  // namespace edgekiln::server
