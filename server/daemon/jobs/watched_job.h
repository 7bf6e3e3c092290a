#ifndef EK_SERVER_DAEMON_JOBS_WATCHED_JOB_H_
#define EK_SERVER_DAEMON_JOBS_WATCHED_JOB_H_

// The events of a job for all its watchers: read from the store and serialized
// once, however many watchers there are. The latest 64 KiB are kept; a watcher
// that lags behind them reads the store. Thread-safe.

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "server/daemon/jobs/job_store.h"

namespace edgekiln::server {

class WatchedJob {
 public:
  struct Event {
    int64_t sequence = 0;
    bool is_end = false;  // Of the job.
    grpc::ByteBuffer bytes;
  };
  using Events = std::vector<std::shared_ptr<const Event>>;

  // `store` must outlive it.
  WatchedJob(std::string id, JobStore& store)
      : id_(std::move(id)), store_(store) {
    store_.Follow(id_);
  }
  ~WatchedJob() { store_.Unfollow(id_); }
  WatchedJob(const WatchedJob&) = delete;
  WatchedJob& operator=(const WatchedJob&) = delete;

  const std::string& id() const { return id_; }

  // Takes one of `places` for watchers, to be given back once. False if there
  // is none.
  bool TakePlace(int places) {
    int taken = places_taken_;
    while (taken < places) {
      if (places_taken_.compare_exchange_weak(taken, taken + 1)) return true;
    }
    return false;
  }
  void GiveBackPlace() { --places_taken_; }

  // Events after sequence number `after`, in order without gaps: at most
  // `limit`, and not necessarily all that are stored. Empty only if there are
  // none. Errors: those of JobStore::Events().
  absl::StatusOr<Events> After(int64_t after, size_t limit);

 private:
  // Of serialized events.
  static constexpr size_t kKeptBytes = size_t{64} << 10;

  Events Kept(int64_t after, size_t limit);
  void Keep(const Events& read);

  const std::string id_;
  JobStore& store_;
  std::atomic<int> places_taken_{0};
  Mutex mutex_;
  // The latest events, with consecutive sequence numbers.
  std::deque<std::shared_ptr<const Event>> kept_ ABSL_GUARDED_BY(mutex_);
  size_t kept_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_JOBS_WATCHED_JOB_H_
