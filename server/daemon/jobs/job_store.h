#ifndef EK_SERVER_DAEMON_JOBS_JOB_STORE_H_
#define EK_SERVER_DAEMON_JOBS_JOB_STORE_H_

// Jobs, their events and their reports on disk (SQLite, WAL, synchronous=FULL).
// What a method acknowledged survives SIGKILL and power failure. Thread-safe;
// reads do not wait for writes, nor look-ups for lists. What is damaged is told
// from what is not (docs/design/0017-broken-state.md).

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mutex.h"
#include "cache/blob_store.h"
#include "edgekiln/v1/jobs.pb.h"
#include "server/daemon/jobs/answer_cache.h"
#include "server/daemon/jobs/job_files.h"
#include "server/daemon/jobs/recent_events.h"
#include "server/daemon/jobs/sqlite.h"

namespace edgekiln::server {

// What changed about one job. Applied as a whole or not at all.
struct JobUpdate {
  std::string job_id;
  std::vector<v1::JobEvent> events;  // With their sequences.
  bool is_new = false;               // `job` is not stored yet.
  bool has_job = false;
  v1::Job job;  // Replaces what is stored; its request only if it is new.
  std::vector<v1::Report> reports;  // By target; replace what is stored.
  // After JobStore::Fit(): what the blob store has of it, as a column.
  std::optional<std::string> blobs;
};

struct JobPage {
  std::vector<v1::Job> jobs;  // Newest first; heads, see job_head.h.
  int64_t next = 0;           // Hand to the next List(); 0 = no more.
};

// How many finished jobs are kept, and for how long.
struct Retention {
  int64_t max_jobs = 10'000;
  absl::Duration max_age = absl::Hours(24 * 30);
  // Nothing that ended since is forgotten: whoever waited still asks for it.
  absl::Duration grace = absl::Minutes(10);
};

struct JobStoreOptions {
  // Takes what is too large for an answer. Null: nothing is.
  cache::BlobStore* blobs = nullptr;
  Clock* clock = nullptr;  // Null: the machine's.
  Logger* log = nullptr;   // Of what was found damaged. Null: nobody is told.
  // There were jobs before, whether there is a database or not.
  bool expected = false;
};

// Of what JobStore::Events() returns at once.
inline constexpr size_t kMaxEventsBytes = size_t{256} << 10;

class JobStore {
 public:
  // Opens or creates the database file. One that is damaged is set aside, and
  // what can be read of it kept. Errors: UNAVAILABLE; also for a file of a
  // newer edgekiln.
  static absl::StatusOr<std::unique_ptr<JobStore>> Open(
      const std::string& path, const JobStoreOptions& options = {});

  // Of a job that is over: hands to the blob store what is too large for an
  // answer, which takes as long as megabytes take. What finds no room there is
  // left out, and the update tells so. Makes its artifacts durable. Apply()
  // does both for those that come without, while all others wait. Not OK: the
  // disk failed, and nothing was done.
  absl::Status Fit(JobUpdate& update);
  // In one transaction. No two jobs have the same non-empty request_id: an
  // update that would make a second one fails. Nothing is acknowledged once
  // CheckFiles() fails.
  absl::Status Apply(std::vector<JobUpdate>& updates);
  absl::Status Apply(std::vector<JobUpdate>&& updates) {
    return Apply(updates);
  }
  // Deletes the oldest finished jobs, in one transaction and not more than a
  // hundred or so; how many. Their disk space is used again.
  absl::StatusOr<int> Forget(const Retention& retention, absl::Time now);

  // UNAVAILABLE once somebody has removed or replaced the files, or they turned
  // out to be damaged: then it is time to start again.
  absl::Status CheckFiles();
  // Forgets pages that the databases keep in memory: for times without work.
  void DropPages();
  // As cache::BlobStore::HalveMemory(), of answers.
  void HalveMemory() {
    answers_.HalveMemory();
    events_.HalveMemory();
    recent_.DropAll();
  }
  // What was lost when the store was opened; "" if nothing was.
  const std::string& loss() const { return loss_; }

  // All give `last_sequence` as stored events have it; a damaged job is FAILED
  // with reason JOB_DAMAGED. Errors: NOT_FOUND.
  absl::StatusOr<v1::Job> Get(const std::string& id);
  // As Get(), serialized; null unless the job is over.
  absl::StatusOr<Answer> FinishedJob(const std::string& id);
  // The same if it is in memory; null says nothing of the job.
  Answer FinishedJobIfKept(const std::string& id) {
    return answers_.Find(JobKey(id));
  }
  // All of what was asked for. Errors: NOT_FOUND, DATA_LOSS.
  absl::StatusOr<v1::CreateJobRequest> GetRequest(const std::string& id);
  // A serialized Report. Also DATA_LOSS.
  absl::StatusOr<Answer> GetReport(const std::string& id, int target);
  // The job with this request_id, which is not empty.
  absl::StatusOr<std::optional<v1::Job>> FindByRequest(
      const std::string& request_id);
  // Jobs older than `before`, a value of JobPage::next; 0 = from the newest.
  // Fewer than `page_size` where they would exceed kMaxAnswerBytes together.
  // `sweep`: only jobs of its cells; empty: only jobs of none.
  absl::StatusOr<JobPage> List(int page_size, int64_t before,
                               const std::string& sweep = "");
  // Heads of QUEUED and RUNNING jobs, oldest first.
  absl::StatusOr<std::vector<v1::Job>> Unfinished();
  // Tells the file names of blobs that must stay while their jobs are kept.
  absl::Status ForEachBlob(
      const std::function<void(const std::string& name)>& tell);
  // Whether all events of that job are in memory.
  bool HasEventsAtHand(const std::string& id) {
    return events_.Find(id) != nullptr;
  }
  // At most `limit` events after that sequence, in order; fewer, but not none,
  // where they exceed kMaxEventsBytes together.
  absl::StatusOr<std::vector<v1::JobEvent>> Events(const std::string& id,
                                                   int64_t after, int limit);
  // While followed, a job's new events are kept in memory for Events().
  void Follow(const std::string& id) { recent_.Follow(id); }
  void Unfollow(const std::string& id) { recent_.Unfollow(id); }

 private:
  struct Row;

  // In `answers_`.
  static std::string JobKey(const std::string& id);
  static std::string ReportKey(const std::string& id, int target);

  explicit JobStore(std::string path) : path_(path), watch_(std::move(path)) {}

  absl::Status OpenFiles(const JobStoreOptions& options);
  // What an update writes, once it fits.
  absl::StatusOr<Row> Prepare(JobUpdate& update);
  // Keeps in memory what is asked for as soon as a job is over.
  void Keep(const std::vector<Row>& rows);
  absl::Status Write(const Row& row)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_mutex_);
  absl::Status InsertJob(const Row& row)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_mutex_);
  absl::Status UpdateJob(const Row& row)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_mutex_);
  // Remembers damage that was met while writing.
  absl::Status Noted(absl::Status status);
  absl::StatusOr<std::vector<v1::Job>> ToForget(const Retention& retention,
                                                absl::Time now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_mutex_);
  absl::Status Delete(const std::vector<v1::Job>& jobs)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_mutex_);
  absl::Status NoJob(const std::string& id) const;

  const std::string path_;
  std::string loss_;
  cache::BlobStore* blobs_ = nullptr;
  OpenFileWatch watch_;
  AnswerCache answers_{int64_t{16} << 20};
  // All events of jobs that were stored as they ended.
  AnswerCacheOf<std::vector<v1::JobEvent>> events_{int64_t{8} << 20};
  RecentEvents recent_;
  Mutex damage_mutex_;
  absl::Status damage_ ABSL_GUARDED_BY(damage_mutex_);
  Mutex write_mutex_;
  std::optional<Database> writer_ ABSL_GUARDED_BY(write_mutex_);
  Mutex read_mutex_;
  std::optional<Database> reader_ ABSL_GUARDED_BY(read_mutex_);
  // Lists take longer than look-ups.
  Mutex list_mutex_;
  std::optional<Database> lister_ ABSL_GUARDED_BY(list_mutex_);
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_JOBS_JOB_STORE_H_
