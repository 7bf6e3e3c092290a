#include "server/version.h"

namespace edgekiln::server {

absl::string_view Version() { return EDGEKILN_VERSION; }

}  // namespace edgekiln::server
