#include "server/worker/memory_budget.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <limits>
#include <sstream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/long_lease.h"
#include "server/worker/message_channel.h"

namespace edgekiln::server {
namespace {

constexpr int64_t kUnknown = std::numeric_limits<int64_t>::max();

// The number in a file, or kUnknown ("max", no such file).
int64_t NumberIn(const std::string& path) {
  std::ifstream in(path);
  std::string text;
  in >> text;
  int64_t number = 0;
  return absl::SimpleAtoi(text, &number) ? number : kUnknown;
}

int64_t MachineBytes(const std::string& root) {
  std::ifstream in(root + "/proc/meminfo");
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string name;
    int64_t kibibytes = 0;
    if (words >> name >> kibibytes && name == "MemTotal:") {
      return kibibytes << 10;
    }
  }
  return kUnknown;
}

// The least of a group's limit and those around it. A container may show its
// own group as the outermost.
int64_t LimitOfGroup(const std::string& folder, std::string group,
                     const char* file) {
  int64_t least = kUnknown;
  while (true) {
    least = std::min(least, NumberIn(absl::StrCat(folder, group, "/", file)));
    if (group.empty()) return least;
    group.resize(group.rfind('/'));
  }
}

int64_t GroupBytes(const std::string& root) {
  int64_t least = kUnknown;
  std::ifstream in(root + "/proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {
    const std::vector<std::string> parts =
        absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() != 3 || parts[2].empty() || parts[2][0] != '/') continue;
    const std::string group = parts[2] == "/" ? "" : parts[2];
    const std::string folder = root + "/sys/fs/cgroup";
    if (parts[1].empty()) {
      least = std::min(least, LimitOfGroup(folder, group, "memory.max"));
    } else if (parts[1] == "memory") {
      least = std::min(least, LimitOfGroup(folder + "/memory", group,
                                           "memory.limit_in_bytes"));
    }
  }
  return least;
}

}  // namespace

int64_t DefaultMemoryBudget(const std::string& root) {
  const int64_t bytes = std::min(MachineBytes(root), GroupBytes(root));
  return bytes == kUnknown ? 0 : bytes / 5 * 4;
}

MemoryShares ShareMemory(int64_t budget, int64_t limit, int slots) {
  if (budget == 0 || limit == 0) return {limit, limit, 0};
  const int64_t share =
      std::min(limit, std::max(budget / std::max(slots, 1), kLeastMemoryShare));
  budget = std::max(budget, share);
  return {share, std::min(limit, budget), budget};
}

void MemoryBudget::Grant() {
  while (!waiting_.empty() && waiting_.front()->bytes <= free_) {
    Waiter& next = *waiting_.front();
    waiting_.pop_front();
    free_ -= next.bytes;
    next.granted = true;
    // Cannot fail: the counter is far from its end.
    (void)eventfd_write(next.ready_fd, 1);
  }
}

bool MemoryBudget::Reserve(int64_t bytes, int cancel_fd,
                           absl::Duration patience) {
  if (!limited_) return true;
  Waiter waiter;
  waiter.bytes = bytes;
  {
    MutexLock lock(mutex_);
    if (waiting_.empty() && bytes <= free_) {
      free_ -= bytes;
      return true;
    }
    waiter.ready_fd = eventfd(0, EFD_CLOEXEC);
    if (waiter.ready_fd < 0) return false;
    waiting_.push_back(&waiter);
  }
  on_wanted_();
  pollfd fds[] = {{waiter.ready_fd, POLLIN, 0}, {cancel_fd, POLLIN, 0}};
  const absl::Duration end = MessageChannel::Now() + patience;
  int ready = -1;
  do {
    // As much as poll() counts, and more than any lease has.
    const absl::Duration left = std::clamp(
        end - MessageChannel::Now(), absl::ZeroDuration(), absl::Hours(24));
    const bool forever = patience == absl::InfiniteDuration();
    ready =
        poll(fds, 2,
             forever ? -1 : static_cast<int>(absl::ToInt64Milliseconds(left)));
  } while (ready < 0 && errno == EINTR);
  MutexLock lock(mutex_);
  if (!waiter.granted) {
    waiting_.erase(std::find(waiting_.begin(), waiting_.end(), &waiter));
    Grant();  // Those behind may need less.
  }
  close(waiter.ready_fd);
  return waiter.granted;
}

void MemoryBudget::Release(int64_t bytes) {
  if (!limited_) return;
  MutexLock lock(mutex_);
  free_ += bytes;
  Grant();
}

bool MemoryBudget::wanted() const {
  MutexLock lock(mutex_);
  return !waiting_.empty();
}

}  // namespace edgekiln::server
