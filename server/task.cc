#include "server/task.h"

#include "base/error.h"

namespace edgekiln::server {

absl::Status OutOfMemory() {
  try {
    return MakeError(absl::StatusCode::kResourceExhausted,
                     {.fault = Fault::kInfra,
                      .reason = "OUT_OF_MEMORY",
                      .what = "the daemon has no memory left for this",
                      .limit = "the memory of the daemon's machine",
                      .need = "more of it, or fewer and smaller jobs at once",
                      .fix = "run the job again, or lower max_running_jobs"});
  } catch (const std::bad_alloc&) {
    // Without a message it allocates nothing.
    return absl::Status(absl::StatusCode::kResourceExhausted, "");
  }
}

}  // namespace edgekiln::server
