#include "server/daemon/job_journal.h"

#include <chrono>
#include <utility>

#include "google/protobuf/util/time_util.h"

namespace edgekiln::server {
namespace {

// Between attempts when the disk is full or failing.
constexpr auto kRetryPause = std::chrono::seconds(1);
constexpr int kShutdownAttempts = 3;

}  // namespace

JobJournal::JobJournal(JobStore& store, Clock& clock, Logger& log)
    : store_(store),
      clock_(clock),
      log_(log),
      writer_([this] { WriteLoop(); }) {}

JobJournal::~JobJournal() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_.notify_all();
  writer_.join();
}

void JobJournal::Track(const std::string& job_id, int64_t last_sequence) {
  std::lock_guard lock(mutex_);
  sequences_[job_id] = last_sequence;
}

JobUpdate& JobJournal::NewUpdate(const std::string& job_id) {
  ++queued_;
  JobUpdate& update = queue_.emplace_back();
  update.job_id = job_id;
  return update;
}

void JobJournal::Add(const std::string& job_id, v1::JobEvent event) {
  const auto it = sequences_.find(job_id);
  if (it == sequences_.end()) return;
  event.set_sequence(++it->second);
  *event.mutable_time() =
      google::protobuf::util::TimeUtil::MicrosecondsToTimestamp(
          absl::ToUnixMicros(clock_.Now()));
  NewUpdate(job_id).events.push_back(std::move(event));
}

void JobJournal::Append(const std::string& job_id, v1::JobEvent event) {
  {
    std::lock_guard lock(mutex_);
    Add(job_id, std::move(event));
  }
  work_.notify_one();
}

void JobJournal::Save(const v1::Job& job) {
  {
    std::lock_guard lock(mutex_);
    JobUpdate& update = NewUpdate(job.id());
    update.has_job = true;
    update.job = job;
  }
  work_.notify_one();
}

void JobJournal::Finish(const v1::Job& job, std::vector<v1::Report> reports,
                        v1::JobEvent last_event) {
  {
    std::lock_guard lock(mutex_);
    Add(job.id(), std::move(last_event));
    sequences_.erase(job.id());
    JobUpdate& update = NewUpdate(job.id());
    update.has_job = true;
    update.job = job;
    update.reports = std::move(reports);
  }
  work_.notify_one();
}

void JobJournal::Flush() {
  std::unique_lock lock(mutex_);
  const uint64_t wanted = queued_;
  written_.wait(lock, [&] { return durable_ >= wanted; });
}

uint64_t JobJournal::WaitForChange(uint64_t version, absl::Duration timeout) {
  std::unique_lock lock(mutex_);
  written_.wait_for(lock, absl::ToChronoMilliseconds(timeout),
                    [&] { return version_ != version; });
  return version_;
}

void JobJournal::WriteLoop() {
  std::unique_lock lock(mutex_);
  while (true) {
    work_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
    if (queue_.empty()) return;
    std::vector<JobUpdate> batch;
    batch.swap(queue_);
    lock.unlock();
    for (int attempt = 1;; ++attempt) {
      const absl::Status status = store_.Apply(batch);
      if (status.ok()) break;
      log_.Error("cannot write job events, will try again: ", status.message());
      lock.lock();
      const bool give_up = stopping_ && attempt >= kShutdownAttempts;
      lock.unlock();
      if (give_up) break;
      std::this_thread::sleep_for(kRetryPause);
    }
    lock.lock();
    durable_ += batch.size();
    ++version_;
    written_.notify_all();
  }
}

}  // namespace edgekiln::server
