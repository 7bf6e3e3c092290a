#include "base/parallel.h"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"

namespace edgekiln {
namespace {

void RunOnThreads(int threads, const std::function<void()>& work) {
  std::vector<std::thread> helpers;
  helpers.reserve(static_cast<size_t>(threads - 1));
  for (int i = 1; i < threads; ++i) {
    try {
      helpers.emplace_back(work);
    } catch (const std::system_error&) {
      break;  // No more threads to be had: those there are do all of it.
    }
  }
  work();
  for (std::thread& helper : helpers) helper.join();
}

int ClampThreads(int64_t n, int threads) {
  return static_cast<int>(std::clamp<int64_t>(n, 1, std::max(threads, 1)));
}

}  // namespace

void ParallelFor(int64_t n, int threads,
                 const std::function<void(int64_t)>& fn) {
  std::atomic<int64_t> next{0};
  RunOnThreads(ClampThreads(n, threads), [&] {
    for (int64_t i = next++; i < n; i = next++) fn(i);
  });
}

absl::Status ParallelForStatus(int64_t n, int threads,
                               const std::function<absl::Status(int64_t)>& fn) {
  std::atomic<int64_t> next{0};
  std::atomic<bool> failed{false};
  Mutex mutex;
  int64_t first_failed = n;  // Guarded by mutex, as is `error`.
  absl::Status error;
  RunOnThreads(ClampThreads(n, threads), [&] {
    // An index once taken is always run, and indices are taken in order: what
    // is below a failing index reports too, and the smallest one wins.
    while (!failed) {
      const int64_t i = next++;
      if (i >= n) break;
      absl::Status status = fn(i);
      if (status.ok()) continue;
      failed = true;
      MutexLock lock(mutex);
      if (i < first_failed) {
        first_failed = i;
        error = std::move(status);
      }
    }
  });
  return error;
}

}  // namespace edgekiln
