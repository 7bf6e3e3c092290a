#ifndef EK_SERVER_DAEMON_JOBS_JOB_QUEUE_H_
#define EK_SERVER_DAEMON_JOBS_JOB_QUEUE_H_

// Jobs that wait to run, and those that run: at most `max_running`. A quarter
// of these is kept for INTERACTIVE jobs, and another quarter for INTERACTIVE
// and CI jobs, so that no later class ever occupies all. One client has at most
// half of the three quarters that CI and BATCH may have. Below 4 nothing is
// kept. The order is that of fair_queue.h, by class and client.
// Thread-compatible.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "edgekiln/v1/jobs.pb.h"
#include "server/daemon/fairness/fair_queue.h"
#include "server/daemon/fairness/wait_estimate.h"

namespace edgekiln::server {

// Whose job it is: the client that the slot names, or else the connection that
// asks, `peer`.
std::string ClientOf(const v1::CreateJobRequest& request,
                     const std::string& peer);

class JobQueue {
 public:
  explicit JobQueue(int max_running) : max_running_(max_running) {}

  // `since`: monotonic; when the job was created, also in an earlier life of
  // the daemon. Jobs of one client and class run in the order of these calls.
  void Push(const std::string& id, const v1::CreateJobRequest& request,
            const std::string& client, absl::Duration since);
  // False if it does not wait (any more).
  bool Remove(const std::string& id);
  // Takes the next one out; it runs until Ended(). Empty if none may run now.
  std::optional<std::string> Next(absl::Duration now);
  // `succeeded`: how long it took tells how long others will.
  void Ended(const std::string& id, absl::Duration now, bool succeeded);

  struct Place {
    std::string id;
    int64_t position = 0;               // 1: the next one.
    std::optional<absl::Duration> eta;  // Until it may run. Empty: unknown.
  };
  // Of all that wait, in their order.
  std::vector<Place> Places(absl::Duration now) const;
  // Until one of those that wait may run; empty if unknown.
  std::optional<absl::Duration> UntilNext(absl::Duration now) const {
    return Running(now).Get();
  }

  // Whether one more of `client` may wait where `max_queued` may, `coming`
  // (and `coming_of_client`) being on their way here. The last quarter is for
  // clients of which few wait: one with many does not keep others out.
  bool HasRoom(const std::string& client, int max_queued, int coming,
               int coming_of_client) const;

  size_t size() const { return queue_.size(); }
  size_t running() const { return running_.size(); }

 private:
  struct Entry {
    std::string kind;  // What it wants: jobs alike take about the same time.
    v1::JobClass job_class = v1::INTERACTIVE;
    uint64_t number = 0;
    std::string client{};
    absl::Duration started{};
  };

  WaitEstimate Running(absl::Duration now) const;
  void NoLongerWaits(const Entry& entry);

  const int max_running_;
  FairQueue queue_;  // By number.
  std::map<std::string, Entry> waiting_;
  std::map<std::string, Entry> running_;
  std::map<uint64_t, std::string> ids_;    // Of those that wait.
  std::map<std::string, int> waiting_of_;  // By client; > 0.
  RecentDurations recent_;
  uint64_t next_number_ = 1;
  // Running jobs of CI and BATCH; of BATCH; and of the former by client, > 0.
  int others_ = 0;
  int batch_ = 0;
  std::map<std::string, int> others_of_;
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_JOBS_JOB_QUEUE_H_
