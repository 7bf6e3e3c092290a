#ifndef EK_TESTS_CHAOS_PROCESS_USAGE_H_
#define EK_TESTS_CHAOS_PROCESS_USAGE_H_

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/mutex.h"

namespace edgekiln::chaos {

// What one process holds of the machine.
struct Usage {
  int64_t rss_bytes = 0;
  int descriptors = 0;
  int threads = 0;
};

// From /proc. NOT_FOUND if there is no such process, or it has ended.
absl::StatusOr<Usage> UsageOf(pid_t process);

// What these processes have started, and what that has, as far as it still
// runs. Without the roots.
std::vector<pid_t> ProcessesBelow(const std::vector<pid_t>& roots);

// Memory of these processes and all that descend from them, as far as they
// still run. What they share counts for each.
int64_t RssOfTrees(const std::vector<pid_t>& roots);

// The largest of each figure between start and Stop(), sampled on a thread.
class PeakUsage {
 public:
  explicit PeakUsage(pid_t process);
  ~PeakUsage();  // As Stop().
  PeakUsage(const PeakUsage&) = delete;
  PeakUsage& operator=(const PeakUsage&) = delete;
  Usage now();
  Usage peak();
  void Stop();

 private:
  void Run();

  const pid_t process_;
  std::atomic<bool> stop_{false};
  Mutex mutex_;
  Usage now_ ABSL_GUARDED_BY(mutex_);
  Usage peak_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace edgekiln::chaos

#endif  // EK_TESTS_CHAOS_PROCESS_USAGE_H_
