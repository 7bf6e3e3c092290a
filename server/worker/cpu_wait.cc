#include "server/worker/cpu_wait.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/scoped_fd.h"

namespace edgekiln::server {
namespace {

// Of a thread, or of the first one of a process; 0 if it is gone.
absl::Duration WaitIn(const std::string& schedstat) {
  const ScopedFd file(open(schedstat.c_str(), O_RDONLY | O_CLOEXEC));
  char text[96];
  const ssize_t size = read(file.get(), text, sizeof(text));
  // Nanoseconds on a processor, then those in its queue.
  const std::vector<absl::string_view> words = absl::StrSplit(
      absl::string_view(text, static_cast<size_t>(std::max<ssize_t>(size, 0))),
      ' ');
  int64_t waited = 0;
  return words.size() > 1 && absl::SimpleAtoi(words[1], &waited)
             ? absl::Nanoseconds(waited)
             : absl::ZeroDuration();
}

}  // namespace

absl::Duration CpuWaitOf(pid_t pid) {
  const std::string process = absl::StrCat("/proc/", pid);
  const std::string tasks = absl::StrCat(process, "/task");
  // This is asked before each stage, and nearly all children have one thread:
  // then the folder has three links. It takes long to list.
  struct stat info = {};
  if (stat(tasks.c_str(), &info) == 0 && info.st_nlink == 3) {
    return WaitIn(absl::StrCat(process, "/schedstat"));
  }
  absl::Duration longest;
  std::error_code gone;
  for (std::filesystem::directory_iterator task(tasks, gone), end;
       !gone && task != end; task.increment(gone)) {
    longest = std::max(longest, WaitIn(task->path() / "schedstat"));
  }
  return longest;
}

}  // namespace edgekiln::server
