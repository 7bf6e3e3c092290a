#ifndef EK_SERVER_DAEMON_JOBS_JOB_JOURNAL_H_
#define EK_SERVER_DAEMON_JOBS_JOB_JOURNAL_H_

// Writes what jobs say, in order, in as few transactions as the disk allows:
// while one is being made durable, the next collects, and what nobody waits
// for lets others join it. Nobody sees an event before it is durable, so that a
// watcher who resumes after a crash never meets a sequence number twice with
// different contents. Thread-safe.

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mutex.h"
#include "edgekiln/v1/jobs.pb.h"
#include "server/daemon/jobs/job_store.h"

namespace edgekiln::server {

class JobJournal {
 public:
  // Called without locks held, by the journal's thread; must not block.
  using Done = std::function<void(const absl::Status&)>;

  // All must outlive the journal.
  JobJournal(JobStore& store, Clock& clock, Logger& log);
  ~JobJournal();  // As Stop().

  // Queues a new job with its first event. Not OK: it was not stored, and is
  // not known here any more. While the disk refuses writes, this is answered by
  // the next attempt, within seconds.
  void Create(const v1::Job& job, v1::JobEvent event, Done done);
  // The same for a job that is over: all that there is of it becomes durable,
  // and visible, at once.
  void CreateEnded(v1::Job job, std::vector<v1::JobEvent> events,
                   std::vector<v1::Report> reports, Done done);
  // Announces a job whose stored events end at `last_sequence`.
  void Track(const std::string& job_id, int64_t last_sequence);
  // Gives the event its sequence and time, and queues it. Unknown jobs are
  // ignored: their last event was written. While the disk refuses writes, so
  // are progress, reasons to wait and counted cycles: they would only pile up.
  void Append(const std::string& job_id, v1::JobEvent event);
  // Queues a new state of the job, after what was appended before.
  void Save(const v1::Job& job);
  // Queues the end of a job: reports, final state and last event become
  // visible at once. The job is forgotten here. Blocks while what is too large
  // for an answer is written.
  void Finish(v1::Job job, std::vector<v1::Report> reports,
              v1::JobEvent last_event, Done done);

  // Blocks until everything queued before this call is durable and its Done
  // has returned.
  void Flush();
  // Writes what was queued and ends. Idempotent. If the disk keeps failing,
  // what is left is dropped, as by a crash; Done is called all the same.
  void Stop();

  // Why the last attempt to write failed; OK if it did not. What was queued is
  // kept and tried again every second.
  absl::Status Failure();

  enum class News {
    kNone,
    kEvents,
    kEnded,
    kStopped,  // The journal's end; of Subscribe() only.
  };
  // Blocks until the store has events of the job after that sequence, or will
  // never have: the job's last event is stored, or nobody has announced it.
  // kNone after the timeout.
  News WaitForEvents(const std::string& job_id, int64_t after_sequence,
                     absl::Duration timeout);

  // Calls `told` once, with kEvents, kEnded or kStopped: from within if that is
  // so already, else later, in the journal's thread. It must not block.
  using Told = std::function<void(News)>;
  void Subscribe(const std::string& job_id, int64_t after_sequence,
                 const void* subscriber, Told told);
  // Drops what that subscriber has asked for. It may be being told just now.
  void Unsubscribe(const std::string& job_id, const void* subscriber);

 private:
  using Clocks = std::chrono::steady_clock;
  struct Sequences {
    int64_t queued = 0;
    int64_t durable = 0;
    bool finished = false;  // Its end is queued.
    bool is_cell = false;   // Of a sweep, which has others under way.
  };
  struct Entry {
    JobUpdate update;
    Done done;
  };
  struct Subscription {
    int64_t after = 0;
    const void* subscriber = nullptr;
    Told told;
  };

  News NewsOf(const std::string& job_id, int64_t after) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Calls those of the job for whom there are news.
  void TellSubscribers(const std::string& job_id);

  // To be written together with what comes until `after_most` from now.
  bool Push(Entry& entry, Clocks::duration after_most)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool Number(const std::string& job_id, v1::JobEvent& event)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WriteLoop();
  std::vector<Entry> NextBatch();
  // False: it was given up, as the journal is stopping.
  bool Write(std::vector<Entry>& batch);
  void Publish(const std::vector<Entry>& batch);
  // What could not be written is not durable: nobody is told that it is.
  void Abandon(const std::vector<Entry>& batch);
  bool RefuseNew(std::vector<Entry>& batch, const absl::Status& why);
  bool PauseBefore(int attempt);
  void SetFailure(const absl::Status& failure);

  JobStore& store_;
  Clock& clock_;
  Logger& log_;
  Mutex mutex_;
  CondVar work_;     // Something was queued, or stop.
  CondVar written_;  // Something became durable, or is done.
  std::map<std::string, Sequences> sequences_ ABSL_GUARDED_BY(mutex_);
  // By job, in order of coming.
  std::map<std::string, std::vector<Subscription>> subscriptions_
      ABSL_GUARDED_BY(mutex_);
  std::vector<Entry> queue_ ABSL_GUARDED_BY(mutex_);
  // When what is queued is written, if there is anything.
  Clocks::time_point due_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);  // Of the last write.
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;  // The writer has ended.
  uint64_t queued_ ABSL_GUARDED_BY(mutex_) = 0;   // Entries ever queued.
  // Of them, how many are durable and told.
  uint64_t done_ ABSL_GUARDED_BY(mutex_) = 0;
  std::thread writer_;  // Last: uses the rest.
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_JOBS_JOB_JOURNAL_H_
