#include "server/daemon/jobs/job_journal.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "server/daemon/jobs/job_rows.h"
#include "server/daemon/shutting_down.h"
#include "server/sweep/cells.h"

namespace edgekiln::server {
namespace {

// Between attempts when the disk is full or failing.
constexpr auto kRetryPause = std::chrono::seconds(1);
constexpr int kShutdownAttempts = 3;
constexpr int kAttemptsPerMessage = 60;
// What nobody waits for is written this much later at most: a job whose stages
// are all in the cache is over by then, and costs one transaction.
constexpr auto kGather = std::chrono::milliseconds(10);
// The same of the beginning and the end of a sweep's cell, which only the sweep
// waits for.
constexpr auto kGatherCells = std::chrono::milliseconds(4);
constexpr auto kAtOnce = std::chrono::milliseconds(0);

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
bool JobJournal::Push(Entry& entry, Clocks::duration after_most) {
  if (stopped_) return false;
  ++queued_;
  // The writer sleeps through what can wait.
  const Clocks::time_point due = Clocks::now() + after_most;
  const bool wake = queue_.empty() || due < due_;
  if (wake) due_ = due;
  queue_.push_back(std::move(entry));
  if (wake) work_.NotifyOne();
  return true;
}

// False for a job that has told its end.
bool JobJournal::Number(const std::string& job_id, v1::JobEvent& event) {
  const auto it = sequences_.find(job_id);
  if (it == sequences_.end() || it->second.finished) return false;
  event.set_sequence(++it->second.queued);
  *event.mutable_time() = ToTimestamp(clock_.Now());
  return true;
}

void JobJournal::Create(const v1::Job& job, v1::JobEvent event, Done done) {
  Entry entry{.update = {}, .done = std::move(done)};
  entry.update.job_id = job.id();
  entry.update.is_new = true;
  entry.update.has_job = true;
  entry.update.job = job;
  const bool is_cell = SweepOfCell(job.request().request_id()).has_value();
  bool taken = false;
  {
    MutexLock lock(mutex_);
    sequences_[job.id()] = {.is_cell = is_cell};
    Number(job.id(), event);
    entry.update.events.push_back(std::move(event));
    taken = Push(entry, is_cell ? kGatherCells : kAtOnce);
    if (!taken) sequences_.erase(job.id());
  }
  if (!taken) entry.done(ShuttingDown());
}

void JobJournal::CreateEnded(v1::Job job, std::vector<v1::JobEvent> events,
                             std::vector<v1::Report> reports, Done done) {
  Entry entry{.update = {}, .done = std::move(done)};
  entry.update.job_id = job.id();
  entry.update.is_new = true;
  entry.update.has_job = true;
  entry.update.job = std::move(job);
  entry.update.reports = std::move(reports);
  int64_t sequence = 0;
  const google::protobuf::Timestamp now = ToTimestamp(clock_.Now());
  for (v1::JobEvent& event : events) {
    event.set_sequence(++sequence);
    *event.mutable_time() = now;
  }
  entry.update.events = std::move(events);
  store_.Fit(entry.update).IgnoreError();  // Apply() tries again.
  bool taken = false;
  {
    MutexLock lock(mutex_);
    Sequences& sequences = sequences_[entry.update.job_id];
    sequences.queued = sequence;
    sequences.finished = true;
    taken = Push(entry, kAtOnce);
  }
  if (!taken) entry.done(ShuttingDown());
}

void JobJournal::Track(const std::string& job_id, int64_t last_sequence) {
  MutexLock lock(mutex_);
  sequences_[job_id] = {.queued = last_sequence, .durable = last_sequence};
}

void JobJournal::Append(const std::string& job_id, v1::JobEvent event) {
  MutexLock lock(mutex_);
  if (!failure_.ok() &&
      (event.has_progress() || event.has_waiting() || event.has_counted())) {
    return;
  }
  if (!Number(job_id, event)) return;
  if (!queue_.empty() && queue_.back().update.job_id == job_id &&
      !queue_.back().update.has_job) {
    queue_.back().update.events.push_back(std::move(event));
    return;
  }
  Entry entry;
  entry.update.job_id = job_id;
  entry.update.events.push_back(std::move(event));
  Push(entry, kGather);
}

void JobJournal::Save(const v1::Job& job) {
  Entry entry;
  entry.update.job_id = job.id();
  entry.update.has_job = true;
  entry.update.job = job;
  MutexLock lock(mutex_);
  Push(entry, kGather);
}

void JobJournal::Finish(v1::Job job, std::vector<v1::Report> reports,
                        v1::JobEvent last_event, Done done) {
  Entry entry{.update = {}, .done = std::move(done)};
  entry.update.job_id = job.id();
  entry.update.has_job = true;
  entry.update.job = std::move(job);
  entry.update.reports = std::move(reports);
  bool is_cell = false;
  {
    MutexLock lock(mutex_);
    if (Number(entry.update.job_id, last_event)) {
      entry.update.events.push_back(std::move(last_event));
      Sequences& sequences = sequences_[entry.update.job_id];
      sequences.finished = true;
      is_cell = sequences.is_cell;
    }
  }
  // Not in the writer's thread, where all others wait.
  store_.Fit(entry.update).IgnoreError();  // Apply() tries again.
  bool taken = false;
  {
    MutexLock lock(mutex_);
    taken = Push(entry, is_cell ? kGatherCells : kAtOnce);
  }
  if (!taken && entry.done) entry.done(ShuttingDown());
}

void JobJournal::Flush() {
  MutexLock lock(mutex_);
  const uint64_t wanted = queued_;
  due_ = Clocks::now();
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
    const News news = NewsOf(job_id, after_sequence);
    if (news != News::kNone || !in_time) return news;
  }
}

JobJournal::News JobJournal::NewsOf(const std::string& job_id,
                                    int64_t after) const {
  const auto it = sequences_.find(job_id);
  if (it == sequences_.end()) return News::kEnded;
  return it->second.durable > after ? News::kEvents : News::kNone;
}

void JobJournal::Subscribe(const std::string& job_id, int64_t after_sequence,
                           const void* subscriber, Told told) {
  News news = News::kNone;
  {
    MutexLock lock(mutex_);
    news = NewsOf(job_id, after_sequence);
    if (news == News::kNone && stopped_) news = News::kStopped;
    if (news == News::kNone) {
      subscriptions_[job_id].push_back(
          {after_sequence, subscriber, std::move(told)});
      return;
    }
  }
  told(news);
}

void JobJournal::Unsubscribe(const std::string& job_id,
                             const void* subscriber) {
  MutexLock lock(mutex_);
  const auto it = subscriptions_.find(job_id);
  if (it == subscriptions_.end()) return;
  std::vector<Subscription>& all = it->second;
  all.erase(std::remove_if(all.begin(), all.end(),
                           [&](const Subscription& one) {
                             return one.subscriber == subscriber;
                           }),
            all.end());
  if (all.empty()) subscriptions_.erase(it);
}

void JobJournal::TellSubscribers(const std::string& job_id) {
  std::vector<Subscription> told;
  std::vector<Subscription> left;
  News news = News::kStopped;
  {
    MutexLock lock(mutex_);
    const auto it = subscriptions_.find(job_id);
    if (it == subscriptions_.end()) return;
    const auto sequences = sequences_.find(job_id);
    const bool ended = sequences == sequences_.end();
    if (ended) {
      news = News::kEnded;
    } else if (!stopped_) {
      news = News::kEvents;
    }
    for (Subscription& one : it->second) {
      const bool has_news =
          ended || stopped_ || sequences->second.durable > one.after;
      (has_news ? told : left).push_back(std::move(one));
    }
    it->second = std::move(left);
    if (it->second.empty()) subscriptions_.erase(it);
  }
  for (const Subscription& one : told) one.told(news);
}

std::vector<JobJournal::Entry> JobJournal::NextBatch() {
  MutexLock lock(mutex_);
  while (!stopping_ && queue_.empty()) work_.Wait(lock);
  while (!stopping_ && Clocks::now() < due_) work_.WaitUntil(lock, due_);
  std::vector<Entry> batch;
  batch.swap(queue_);
  return batch;
}

absl::Status JobJournal::Failure() {
  MutexLock lock(mutex_);
  return failure_;
}

void JobJournal::SetFailure(const absl::Status& failure) {
  MutexLock lock(mutex_);
  failure_ = failure;
}

// Answers new jobs, in `batch` and behind it: somebody waits. Whether there
// were any in `batch`.
bool JobJournal::RefuseNew(std::vector<Entry>& batch, const absl::Status& why) {
  std::vector<Entry> refused;
  const auto take = [&refused](std::vector<Entry>& entries) {
    const auto is_old = [](const Entry& e) { return !e.update.is_new; };
    const auto first =
        std::stable_partition(entries.begin(), entries.end(), is_old);
    std::move(first, entries.end(), std::back_inserter(refused));
    entries.erase(first, entries.end());
  };
  take(batch);
  const bool had_new = !refused.empty();
  {
    MutexLock lock(mutex_);
    take(queue_);
    for (const Entry& entry : refused) sequences_.erase(entry.update.job_id);
  }
  for (const Entry& entry : refused) {
    entry.done(why);
    TellSubscribers(entry.update.job_id);
  }
  {
    MutexLock lock(mutex_);
    done_ += refused.size();
  }
  written_.NotifyAll();
  return had_new;
}

// False: the daemon ends, and that was the last attempt.
bool JobJournal::PauseBefore(int attempt) {
  MutexLock lock(mutex_);
  const auto end = std::chrono::steady_clock::now() + kRetryPause;
  // Stopping ends the pause, but for the last attempts.
  const bool stopping = stopping_;
  while (stopping_ == stopping && work_.WaitUntil(lock, end)) {
  }
  return !stopping_ || attempt <= kShutdownAttempts;
}

// Until it succeeds. New jobs are refused at each failure.
bool JobJournal::Write(std::vector<Entry>& batch) {
  int attempt = 1;
  while (!batch.empty()) {
    // Lent, not copied: requests may be large.
    std::vector<JobUpdate> updates;
    updates.reserve(batch.size());
    for (Entry& entry : batch) updates.push_back(std::move(entry.update));
    const absl::Status status = store_.Apply(updates);
    for (size_t i = 0; i < batch.size(); ++i) {
      batch[i].update = std::move(updates[i]);
    }
    SetFailure(status);
    if (status.ok()) {
      if (attempt > 1) log_.Info("job events are written again");
      return true;
    }
    if (attempt % kAttemptsPerMessage == 1) {
      log_.Error("cannot write job events, tried again every second: ",
                 status.message());
    }
    if (RefuseNew(batch, status)) continue;
    if (!PauseBefore(++attempt)) return false;
  }
  return true;
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
  for (const Entry& entry : batch) {
    if (!entry.update.events.empty()) TellSubscribers(entry.update.job_id);
  }
  {
    MutexLock lock(mutex_);
    done_ += batch.size();
  }
  written_.NotifyAll();
}

void JobJournal::Abandon(const std::vector<Entry>& batch) {
  const absl::Status why = Failure();
  for (const Entry& entry : batch) {
    if (entry.done) entry.done(why);
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
      std::vector<std::string> jobs;
      for (const auto& [job, all] : subscriptions_) jobs.push_back(job);
      lock.Unlock();
      for (const std::string& job : jobs) TellSubscribers(job);
      return;
    }
    if (Write(batch)) {
      Publish(batch);
    } else {
      Abandon(batch);
    }
  }
}

}  // namespace edgekiln::server
