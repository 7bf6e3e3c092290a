#ifndef EK_SERVER_VERSION_H_
#define EK_SERVER_VERSION_H_

#include "absl/strings/string_view.h"

namespace edgekiln::server {

// Of edgekiln, for people: "0.1.0". Caches rely on stage versions instead.
absl::string_view Version();

}  // namespace edgekiln::server

#endif  // EK_SERVER_VERSION_H_
