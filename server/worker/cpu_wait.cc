#include "server/worker/cpu_wait.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace edgekiln::server {

absl::Duration CpuWaitOf(pid_t pid) {
  absl::Duration longest;
  std::error_code gone;
  const std::string tasks = absl::StrCat("/proc/", pid, "/task");
  for (std::filesystem::directory_iterator task(tasks, gone), end;
       !gone && task != end; task.increment(gone)) {
    // Nanoseconds on a processor, then those in its queue.
    std::ifstream schedstat(task->path() / "schedstat");
    int64_t ran = 0;
    int64_t waited = 0;
    if (schedstat >> ran >> waited) {
      longest = std::max(longest, absl::Nanoseconds(waited));
    }
  }
  return longest;
}

}  // namespace edgekiln::server
