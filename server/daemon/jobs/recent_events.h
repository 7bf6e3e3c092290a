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
  // From now on events of the job are kept, until Unfollow() was called as
  // often as Follow().
  void Follow(const std::string& id);
  void Unfollow(const std::string& id);

  // These became durable; ignored unless the job is followed. The latest
  // kKeptBytes of a job are kept, and none of one for which there is no room.
  void Add(const std::string& id, const std::vector<v1::JobEvent>& events);
  // Of a job that was deleted.
  void Drop(const std::string& id);
  // Of all jobs, for an idle process.
  void DropAll();

  // Events after that sequence, at most `limit`; empty if there are none, or
  // not all of them are here.
  std::vector<v1::JobEvent> After(const std::string& id, int64_t after,
                                  int limit);

 private:
  // In memory.
  static constexpr size_t kKeptBytes = size_t{64} << 10;
  static constexpr size_t kAllKeptBytes = size_t{8} << 20;

  struct Job {
    int followers = 0;
    std::deque<v1::JobEvent> events;  // With consecutive sequence numbers.
    size_t bytes = 0;
  };

  static size_t BytesOf(const v1::JobEvent& event);
  void Clear(Job& job) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Mutex mutex_;
  std::map<std::string, Job> jobs_ ABSL_GUARDED_BY(mutex_);
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // Of all jobs.
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_JOBS_RECENT_EVENTS_H_
