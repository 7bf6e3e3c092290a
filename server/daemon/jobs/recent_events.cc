#include "server/daemon/jobs/recent_events.h"

#include <algorithm>

namespace edgekiln::server {
namespace {

// What a parsed event takes in memory for each byte on the wire.
constexpr size_t kSpread = 4;

}  // namespace

size_t RecentEvents::BytesOf(const v1::JobEvent& event) {
  return sizeof(event) + kSpread * event.ByteSizeLong();
}

void RecentEvents::Clear(Job& job) {
  bytes_ -= job.bytes;
  job.bytes = 0;
  job.events.clear();
}

void RecentEvents::Follow(const std::string& id) {
  MutexLock lock(mutex_);
  ++jobs_[id].followers;
}

void RecentEvents::Unfollow(const std::string& id) {
  MutexLock lock(mutex_);
  const auto job = jobs_.find(id);
  if (job == jobs_.end() || --job->second.followers > 0) return;
  Clear(job->second);
  jobs_.erase(job);
}

void RecentEvents::Add(const std::string& id,
                       const std::vector<v1::JobEvent>& events) {
  MutexLock lock(mutex_);
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return;
  Job& job = found->second;
  for (const v1::JobEvent& event : events) {
    if (!job.events.empty() &&
        event.sequence() != job.events.back().sequence() + 1) {
      Clear(job);
    }
    job.bytes += BytesOf(event);
    bytes_ += BytesOf(event);
    job.events.push_back(event);
  }
  while (job.bytes > kKeptBytes) {
    const size_t bytes = BytesOf(job.events.front());
    job.bytes -= bytes;
    bytes_ -= bytes;
    job.events.pop_front();
  }
  if (bytes_ > kAllKeptBytes) Clear(job);
}

void RecentEvents::Drop(const std::string& id) {
  MutexLock lock(mutex_);
  const auto job = jobs_.find(id);
  if (job != jobs_.end()) Clear(job->second);
}

void RecentEvents::DropAll() {
  MutexLock lock(mutex_);
  for (auto& [id, job] : jobs_) Clear(job);
}

std::vector<v1::JobEvent> RecentEvents::After(const std::string& id,
                                              int64_t after, int limit) {
  MutexLock lock(mutex_);
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return {};
  const std::deque<v1::JobEvent>& events = found->second.events;
  if (events.empty() || after >= events.back().sequence() ||
      after + 1 < events.front().sequence()) {
    return {};
  }
  const auto begin = events.begin() + (after + 1 - events.front().sequence());
  const auto count = std::min<int64_t>(limit, events.end() - begin);
  return {begin, begin + count};
}

}  // namespace edgekiln::server
