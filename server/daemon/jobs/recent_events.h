#ifndef EK_SERVER_DAEMON_JOBS_RECENT_EVENTS_H_
#define EK_SERVER_DAEMON_JOBS_RECENT_EVENTS_H_

// The latest events of jobs that are followed, so that a watcher who keeps up
// needs no look-up in the database: after each write SQLite reads every page
// anew, and more of them the more jobs there are. Thread-safe.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "edgekiln/v1/jobs.pb.h"

namespace edgekiln::server {

class RecentEvents {
 public:
  // From now on events of the job are kept, until it was unfollowed as often.
  void Follow(const std::string& id);
  void Unfollow(const std::string& id);

  // These became durable; ignored unless the job is followed. The latest
  // kKeptBytes are kept.
  void Add(const std::string& id, const std::vector<v1::JobEvent>& events);
  // Of a job that was deleted.
  void Drop(const std::string& id);

  // Events after that sequence, at most `limit`; empty if there are none, or
  // not all of them are here.
  std::vector<v1::JobEvent> After(const std::string& id, int64_t after,
                                  int limit);

 private:
  static constexpr size_t kKeptBytes = size_t{64} << 10;

  struct Job {
    int followers = 0;
    std::deque<v1::JobEvent> events;  // With consecutive sequence numbers.
    size_t bytes = 0;
  };

  Mutex mutex_;
  std::map<std::string, Job> jobs_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_JOBS_RECENT_EVENTS_H_
