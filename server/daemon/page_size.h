#ifndef EK_SERVER_DAEMON_PAGE_SIZE_H_
#define EK_SERVER_DAEMON_PAGE_SIZE_H_

// What is common to all requests for a page of a list.

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace edgekiln::server {

// How many entries are wanted: `page_size` of `request`, 50 for 0.
// INVALID_ARGUMENT with reason BAD_PAGE for a negative one and for more than
// 1000, and where the page token is not one that was handed out.
absl::StatusOr<int> PageSize(int page_size, bool good_token,
                             absl::string_view request,
                             absl::string_view entries);

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_PAGE_SIZE_H_
