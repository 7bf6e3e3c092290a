#ifndef EK_TESTS_CHAOS_WATCHED_JOB_H_
#define EK_TESTS_CHAOS_WATCHED_JOB_H_

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "base/clock.h"
#include "base/file.h"
#include "client/connection.h"

namespace edgekiln::chaos {

// A connection of the command line's own kind, which waits for a daemon that is
// away.
std::unique_ptr<client::Connection> Connect(const std::string& address,
                                            FileSystem& files, Clock& clock);

// Follows one job from its first event to its last, on a thread and a
// connection of its own, whatever happens to the daemon meanwhile.
class WatchedJob {
 public:
  // All must outlive the object.
  WatchedJob(std::string id, const std::string& address, FileSystem& files,
             Clock& clock);
  ~WatchedJob();  // Gives up watching.

  const std::string& id() const { return id_; }
  bool over() const { return over_; }
  // Once over(): OK if each event came once and in order, the stored ones are
  // the same, and no stage that had finished was computed again, unless the
  // machine lost power: results are not synced. For jobs of one target.
  absl::Status Check(client::Connection& connection, bool lost_power);
  // Once over().
  int64_t events() const { return static_cast<int64_t>(seen_.size()); }

 private:
  class Sink;
  const std::string id_;
  const std::unique_ptr<client::Connection> connection_;
  std::atomic<bool> give_up_{false};
  std::atomic<bool> over_{false};
  // Of the thread until it is over.
  std::vector<v1::JobEvent> seen_;
  absl::Status status_;
  std::thread thread_;
};

}  // namespace edgekiln::chaos

#endif  // EK_TESTS_CHAOS_WATCHED_JOB_H_
