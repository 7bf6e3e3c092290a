#include "server/daemon/status/process_use.h"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <memory>

namespace edgekiln::server {
namespace {

// Entries of a folder of /proc, but for "." and "..".
int32_t CountEntries(const char* folder) {
  const std::unique_ptr<DIR, int (*)(DIR*)> opened(opendir(folder), closedir);
  if (opened == nullptr) return 0;
  int32_t entries = -2;
  while (readdir(opened.get()) != nullptr) ++entries;
  return std::max(entries, 0);
}

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) +
         static_cast<double>(time.tv_usec) / 1e6;
}

}  // namespace

v1::DaemonStatus::Process ProcessUse() {
  v1::DaemonStatus::Process use;
  int64_t pages = 0;
  int64_t resident = 0;
  if (std::ifstream("/proc/self/statm") >> pages >> resident) {
    use.set_resident_bytes(resident * sysconf(_SC_PAGESIZE));
  }
  rusage used{};
  if (getrusage(RUSAGE_SELF, &used) == 0) {
    use.set_cpu_seconds(Seconds(used.ru_utime) + Seconds(used.ru_stime));
  }
  // The folder itself is open while it is counted.
  use.set_open_files(std::max(CountEntries("/proc/self/fd") - 1, 0));
  use.set_threads(CountEntries("/proc/self/task"));
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    use.set_max_open_files(
        static_cast<int32_t>(std::min<rlim_t>(files.rlim_cur, INT32_MAX)));
  }
  return use;
}

}  // namespace edgekiln::server
