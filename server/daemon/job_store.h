#ifndef EK_SERVER_DAEMON_JOB_STORE_H_
#define EK_SERVER_DAEMON_JOB_STORE_H_

// Jobs, their events and their reports on disk (SQLite, WAL, synchronous=FULL).
// What a method acknowledged survives SIGKILL and power failure. Thread-safe;
// reads do not wait for writes.

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "edgekiln/v1/jobs.pb.h"
#include "server/daemon/sqlite.h"

namespace edgekiln::server {

// What changed about one job. Applied as a whole or not at all.
struct JobUpdate {
  std::string job_id;
  std::vector<v1::JobEvent> events;  // With their sequences.
  bool has_job = false;
  v1::Job job;                      // Replaces what is stored.
  std::vector<v1::Report> reports;  // By target; replace what is stored.
};

struct JobPage {
  std::vector<v1::Job> jobs;  // Newest first.
  int64_t next = 0;           // Hand to the next List(); 0 = no more.
};

class JobStore {
 public:
  // Opens or creates the database file. Errors: UNAVAILABLE; also for a file
  // of a newer edgekiln.
  static absl::StatusOr<std::unique_ptr<JobStore>> Open(
      const std::string& path);

  // Stores a new job with its first event. If there is a job with the same
  // non-empty request_id, stores nothing and returns that one.
  absl::StatusOr<v1::Job> Create(const v1::Job& job,
                                 const v1::JobEvent& first_event);
  // In one transaction.
  absl::Status Apply(const std::vector<JobUpdate>& updates);

  // All give `last_sequence` as stored events have it. Errors: NOT_FOUND.
  absl::StatusOr<v1::Job> Get(const std::string& id);
  absl::StatusOr<v1::Report> GetReport(const std::string& id, int target);
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
  absl::Status ApplyOne(const JobUpdate& update);
  absl::Status Transaction(const std::vector<JobUpdate>& updates);
  absl::Status InsertJob(const v1::Job& job, const v1::JobEvent& first_event);

  std::mutex write_mutex_;
  Database writer_;  // Guarded by write_mutex_.
  std::mutex read_mutex_;
  Database reader_;  // Guarded by read_mutex_.
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_JOB_STORE_H_
