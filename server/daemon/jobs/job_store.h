#ifndef EK_SERVER_DAEMON_JOBS_JOB_STORE_H_
#define EK_SERVER_DAEMON_JOBS_JOB_STORE_H_

// Jobs, their events and their reports on disk (SQLite, WAL, synchronous=FULL).
// What a method acknowledged survives SIGKILL and power failure. Thread-safe;
// reads do not wait for writes.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "edgekiln/v1/jobs.pb.h"
#include "server/daemon/jobs/answer_cache.h"
#include "server/daemon/jobs/sqlite.h"

namespace edgekiln::server {

// What changed about one job. Applied as a whole or not at all.
struct JobUpdate {
  std::string job_id;
  std::vector<v1::JobEvent> events;  // With their sequences.
  bool is_new = false;               // `job` is not stored yet.
  bool has_job = false;
  v1::Job job;                      // Replaces what is stored.
  std::vector<v1::Report> reports;  // By target; replace what is stored.
};

struct JobPage {
  std::vector<v1::Job> jobs;  // Newest first.
  int64_t next = 0;           // Hand to the next List(); 0 = no more.
};

// How many finished jobs are kept, and for how long.
struct Retention {
  int64_t max_jobs = 10'000;
  absl::Duration max_age = absl::Hours(24 * 30);
  // Nothing that ended since is forgotten: whoever waited still asks for it.
  absl::Duration grace = absl::Minutes(10);
};

class JobStore {
 public:
  // Opens or creates the database file. Errors: UNAVAILABLE; also for a file
  // of a newer edgekiln.
  static absl::StatusOr<std::unique_ptr<JobStore>> Open(
      const std::string& path);

  // In one transaction. No two jobs have the same non-empty request_id: an
  // update that would make a second one fails.
  absl::Status Apply(const std::vector<JobUpdate>& updates);
  // Deletes the oldest finished jobs, in one transaction and not more than a
  // hundred or so; how many. Their disk space is used again.
  absl::StatusOr<int> Forget(const Retention& retention, absl::Time now);

  // All give `last_sequence` as stored events have it. Errors: NOT_FOUND.
  absl::StatusOr<v1::Job> Get(const std::string& id);
  // As Get(), serialized; null unless the job is over.
  absl::StatusOr<Answer> FinishedJob(const std::string& id);
  // A serialized Report.
  absl::StatusOr<Answer> GetReport(const std::string& id, int target);
  // The job with this request_id, which is not empty.
  absl::StatusOr<std::optional<v1::Job>> FindByRequest(
      const std::string& request_id);
  // Jobs older than `before`, a value of JobPage::next; 0 = from the newest.
  absl::StatusOr<JobPage> List(int page_size, int64_t before);
  // QUEUED and RUNNING jobs, oldest first.
  absl::StatusOr<std::vector<v1::Job>> Unfinished();
  // At most `limit` events after that sequence, in order.
  absl::StatusOr<std::vector<v1::JobEvent>> Events(const std::string& id,
                                                   int64_t after, int limit);

 private:
  JobStore(Database writer, Database reader)
      : writer_(std::move(writer)), reader_(std::move(reader)) {}

  absl::Status Migrate();
  absl::Status ApplyOne(const JobUpdate& update)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_mutex_);
  absl::Status WriteJob(const JobUpdate& update)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_mutex_);
  absl::Status WriteAll(const std::vector<JobUpdate>& updates)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_mutex_);
  absl::StatusOr<std::vector<v1::Job>> ToForget(const Retention& retention,
                                                absl::Time now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_mutex_);
  absl::Status Delete(const std::vector<v1::Job>& jobs)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_mutex_);
  absl::Status Run(absl::string_view sql)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_mutex_);
  template <typename Body>
  absl::Status Transaction(const Body& body)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_mutex_);

  AnswerCache answers_{int64_t{16} << 20};
  Mutex write_mutex_;
  Database writer_ ABSL_GUARDED_BY(write_mutex_);
  Mutex read_mutex_;
  Database reader_ ABSL_GUARDED_BY(read_mutex_);
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_JOBS_JOB_STORE_H_
