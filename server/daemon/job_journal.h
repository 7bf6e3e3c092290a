#ifndef EK_SERVER_DAEMON_JOB_JOURNAL_H_
#define EK_SERVER_DAEMON_JOB_JOURNAL_H_

// Writes what running jobs say, in order, in as few transactions as the disk
// allows: while one is being made durable, the next collects. Nobody sees an
// event before it is durable, so that a watcher who resumes after a crash never
// meets a sequence number twice with different contents. Thread-safe.

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "base/clock.h"
#include "base/log.h"
#include "edgekiln/v1/jobs.pb.h"
#include "server/daemon/job_store.h"

namespace edgekiln::server {

class JobJournal {
 public:
  // All must outlive the journal.
  JobJournal(JobStore& store, Clock& clock, Logger& log);
  // Writes what was appended, then stops.
  ~JobJournal();

  // Announces a job whose stored events end at `last_sequence`.
  void Track(const std::string& job_id, int64_t last_sequence);
  // Gives the event its sequence and time, and queues it. Unknown jobs are
  // ignored: their last event was written.
  void Append(const std::string& job_id, v1::JobEvent event);
  // Queues a new state of the job, after what was appended before.
  void Save(const v1::Job& job);
  // Queues the end of a job: reports, final state and last event become
  // visible at once. The job is forgotten here.
  void Finish(const v1::Job& job, std::vector<v1::Report> reports,
              v1::JobEvent last_event);

  // Blocks until everything queued before this call is durable.
  void Flush();
  // Blocks until something was made durable after `version`, or the timeout;
  // returns the version of now. Start with 0.
  uint64_t WaitForChange(uint64_t version, absl::Duration timeout);

 private:
  JobUpdate& NewUpdate(const std::string& job_id);
  void Add(const std::string& job_id, v1::JobEvent event);
  void WriteLoop();

  JobStore& store_;
  Clock& clock_;
  Logger& log_;
  std::mutex mutex_;
  std::condition_variable work_;     // Something was queued, or stop.
  std::condition_variable written_;  // durable_ changed.
  // All guarded by mutex_.
  std::map<std::string, int64_t> sequences_;
  std::vector<JobUpdate> queue_;
  bool stopping_ = false;
  uint64_t queued_ = 0;   // Updates ever queued.
  uint64_t durable_ = 0;  // Of them, how many are on disk.
  uint64_t version_ = 1;  // Changes whenever durable_ does.
  std::thread writer_;    // Last: uses the rest.
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_JOB_JOURNAL_H_
