#include "server/daemon/jobs/job_journal.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "google/protobuf/util/time_util.h"
#include "server/daemon/shutting_down.h"

namespace edgekiln::server {
namespace {

// Between attempts when the disk is full or failing.
constexpr auto kRetryPause = std::chrono::seconds(1);
constexpr int kShutdownAttempts = 3;
// What nobody waits for is written this much later at most: a job whose stages
// are all in the cache is over by then, and costs one transaction.
constexpr auto kGather = std::chrono::milliseconds(10);

}  // namespace

JobJournal::JobJournal(JobStore& store, Clock& clock, Logger& log)
    : store_(store),
      clock_(clock),
      log_(log),
      writer_([this] { WriteLoop(); }) {}

JobJournal::~JobJournal() { Stop(); }

void JobJournal::Stop() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  work_.NotifyAll();
  if (writer_.joinable()) writer_.join();
}

// False if nobody writes any more.
bool JobJournal::Push(Entry& entry, bool urgent) {
  if (stopped_) return false;
  ++queued_;
  // The writer sleeps through what can wait.
  const bool wake = queue_.empty() || (urgent && !urgent_);
  queue_.push_back(std::move(entry));
  urgent_ |= urgent;
  if (wake) work_.NotifyOne();
  return true;
}

// False for a job that has told its end.
bool JobJournal::Number(const std::string& job_id, v1::JobEvent& event) {
  const auto it = sequences_.find(job_id);
  if (it == sequences_.end() || it->second.finished) return false;
  event.set_sequence(++it->second.queued);
  *event.mutable_time() =
      google::protobuf::util::TimeUtil::MicrosecondsToTimestamp(
          absl::ToUnixMicros(clock_.Now()));
  return true;
}

void JobJournal::Create(const v1::Job& job, v1::JobEvent event, Done done) {
  Entry entry{.update = {}, .done = std::move(done)};
  entry.update.job_id = job.id();
  entry.update.is_new = true;
  entry.update.has_job = true;
  entry.update.job = job;
  bool taken = false;
  {
    MutexLock lock(mutex_);
    sequences_[job.id()] = Sequences();
    Number(job.id(), event);
    entry.update.events.push_back(std::move(event));
    taken = Push(entry, /*urgent=*/true);
  }
  if (!taken) entry.done(ShuttingDown());
}

void JobJournal::Track(const std::string& job_id, int64_t last_sequence) {
  MutexLock lock(mutex_);
  sequences_[job_id] = {.queued = last_sequence, .durable = last_sequence};
}

void JobJournal::Append(const std::string& job_id, v1::JobEvent event) {
  MutexLock lock(mutex_);
  if (!Number(job_id, event)) return;
  Entry entry;
  entry.update.job_id = job_id;
  entry.update.events.push_back(std::move(event));
  Push(entry, /*urgent=*/false);
}

void JobJournal::Save(const v1::Job& job) {
  Entry entry;
  entry.update.job_id = job.id();
  entry.update.has_job = true;
  entry.update.job = job;
  MutexLock lock(mutex_);
  Push(entry, /*urgent=*/false);
}

void JobJournal::Finish(const v1::Job& job, std::vector<v1::Report> reports,
                        v1::JobEvent last_event, Done done) {
  Entry entry{.update = {}, .done = std::move(done)};
  entry.update.job_id = job.id();
  entry.update.has_job = true;
  entry.update.job = job;
  entry.update.reports = std::move(reports);
  bool taken = false;
  {
    MutexLock lock(mutex_);
    if (Number(job.id(), last_event)) {
      entry.update.events.push_back(std::move(last_event));
      sequences_[job.id()].finished = true;
    }
    taken = Push(entry, /*urgent=*/true);
  }
  if (!taken && entry.done) entry.done(ShuttingDown());
}

void JobJournal::Flush() {
  MutexLock lock(mutex_);
  const uint64_t wanted = queued_;
  urgent_ |= !queue_.empty();
  work_.NotifyOne();
  while (!stopped_ && done_ < wanted) written_.Wait(lock);
}

JobJournal::News JobJournal::WaitForEvents(const std::string& job_id,
                                           int64_t after_sequence,
                                           absl::Duration timeout) {
  MutexLock lock(mutex_);
  const auto end =
      std::chrono::steady_clock::now() + absl::ToChronoMilliseconds(timeout);
  for (bool in_time = true;; in_time = written_.WaitUntil(lock, end)) {
    const auto it = sequences_.find(job_id);
    if (it == sequences_.end()) return News::kEnded;
    if (it->second.durable > after_sequence) return News::kEvents;
    if (!in_time) return News::kNone;
  }
}

std::vector<JobJournal::Entry> JobJournal::NextBatch() {
  MutexLock lock(mutex_);
  while (!stopping_ && queue_.empty()) work_.Wait(lock);
  const auto end = std::chrono::steady_clock::now() + kGather;
  while (!stopping_ && !urgent_ && work_.WaitUntil(lock, end)) {
  }
  urgent_ = false;
  std::vector<Entry> batch;
  batch.swap(queue_);
  return batch;
}

bool JobJournal::GiveUp(int attempt) {
  MutexLock lock(mutex_);
  return stopping_ && attempt >= kShutdownAttempts;
}

bool JobJournal::Refuse(std::vector<Entry>& entries, const absl::Status& why) {
  const auto refused =
      std::stable_partition(entries.begin(), entries.end(),
                            [](const Entry& e) { return !e.update.is_new; });
  if (refused == entries.end()) return false;
  for (auto it = refused; it != entries.end(); ++it) {
    {
      MutexLock lock(mutex_);
      sequences_.erase(it->update.job_id);
    }
    it->done(why);
  }
  {
    MutexLock lock(mutex_);
    done_ += static_cast<uint64_t>(entries.end() - refused);
  }
  entries.erase(refused, entries.end());
  return true;
}

void JobJournal::RefuseQueued(const absl::Status& why) {
  std::vector<Entry> refused;
  {
    MutexLock lock(mutex_);
    const auto first =
        std::stable_partition(queue_.begin(), queue_.end(),
                              [](const Entry& e) { return !e.update.is_new; });
    std::move(first, queue_.end(), std::back_inserter(refused));
    queue_.erase(first, queue_.end());
  }
  Refuse(refused, why);
}

// Until it succeeds. New jobs are refused at the first failure: somebody waits
// for the answer.
void JobJournal::Write(std::vector<Entry>& batch) {
  for (int attempt = 1; !batch.empty(); ++attempt) {
    // Lent, not copied: requests may be large.
    std::vector<JobUpdate> updates;
    updates.reserve(batch.size());
    for (Entry& entry : batch) updates.push_back(std::move(entry.update));
    const absl::Status status = store_.Apply(updates);
    for (size_t i = 0; i < batch.size(); ++i) {
      batch[i].update = std::move(updates[i]);
    }
    if (status.ok()) return;
    log_.Error("cannot write job events, will try again: ", status.message());
    const bool had_new = Refuse(batch, status);
    if (had_new) continue;
    // Others came meanwhile, and wait for what is written after this.
    RefuseQueued(status);
    if (GiveUp(attempt)) return;
    std::this_thread::sleep_for(kRetryPause);
  }
}

void JobJournal::Publish(const std::vector<Entry>& batch) {
  {
    MutexLock lock(mutex_);
    for (const Entry& entry : batch) {
      const auto it = sequences_.find(entry.update.job_id);
      if (it == sequences_.end() || entry.update.events.empty()) continue;
      it->second.durable = entry.update.events.back().sequence();
      if (it->second.finished && it->second.durable == it->second.queued) {
        sequences_.erase(it);
      }
    }
  }
  written_.NotifyAll();
  for (const Entry& entry : batch) {
    if (entry.done) entry.done(absl::OkStatus());
  }
  {
    MutexLock lock(mutex_);
    done_ += batch.size();
  }
  written_.NotifyAll();
}

void JobJournal::WriteLoop() {
  while (true) {
    std::vector<Entry> batch = NextBatch();
    if (batch.empty()) {
      MutexLock lock(mutex_);
      stopped_ = stopping_ && queue_.empty();
      if (!stopped_) continue;
      written_.NotifyAll();
      return;
    }
    Write(batch);
    Publish(batch);
  }
}

}  // namespace edgekiln::server
