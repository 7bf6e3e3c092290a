#include "server/daemon/shutting_down.h"

#include "base/error.h"

namespace edgekiln::server {

absl::Status ShuttingDown() {
  return MakeError(absl::StatusCode::kUnavailable,
                   {.fault = Fault::kInfra,
                    .reason = "SHUTTING_DOWN",
                    .what = "the daemon is shutting down",
                    .fix = "ask again once it has been started again"});
}

}  // namespace edgekiln::server
