#include "server/daemon/http/origin.h"

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/error.h"
#include "server/daemon/listen_address.h"

namespace edgekiln::server {
namespace {

constexpr int kMaxTextBytes = 256;

absl::Status Denied(const char* reason, const char* what,
                    absl::string_view where, const char* fix) {
  return MakeError(absl::StatusCode::kPermissionDenied,
                   {.fault = Fault::kUser,
                    .reason = reason,
                    .what = what,
                    .where = SanitizeText(std::string(where), kMaxTextBytes),
                    .fix = fix});
}

// "localhost:80" to "localhost", "[::1]:80" to "[::1]".
absl::string_view HostOf(absl::string_view authority) {
  const size_t bracket = authority.find(']');
  const size_t colon =
      authority.find(':', bracket == absl::string_view::npos ? 0 : bracket);
  return authority.substr(0, colon);
}

}  // namespace

absl::Status CheckOrigin(const char* host, const char* origin, const char* site,
                         bool loopback) {
  const absl::string_view asked = host == nullptr ? "" : host;
  if (loopback && host != nullptr &&
      (absl::StartsWith(asked, "unix") ||  // Loopback to IsLoopback().
       !IsLoopback(absl::StrCat(HostOf(asked), ":1")))) {
    // DNS rebinding: a foreign page whose host name resolves to this machine.
    return Denied("WRONG_HOST", "this address is for this machine alone", asked,
                  "ask for localhost or 127.0.0.1");
  }
  const bool foreign =
      origin != nullptr && origin != absl::StrCat("http://", asked);
  // Of what has no origin, as an image, browsers say at least this.
  if (foreign || (site != nullptr && absl::string_view(site) == "cross-site")) {
    return Denied("WRONG_ORIGIN", "requests from other origins are refused",
                  origin != nullptr ? origin : "",
                  "ask from a program, or from a page of this address");
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::server
