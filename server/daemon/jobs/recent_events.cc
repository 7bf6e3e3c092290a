#include "server/daemon/jobs/recent_events.h"

#include <algorithm>

namespace edgekiln::server {

void RecentEvents::Follow(const std::string& id) {
  MutexLock lock(mutex_);
  ++jobs_[id].followers;
}

void RecentEvents::Unfollow(const std::string& id) {
  MutexLock lock(mutex_);
  const auto job = jobs_.find(id);
  if (job != jobs_.end() && --job->second.followers == 0) jobs_.erase(job);
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
      job.events.clear();
      job.bytes = 0;
    }
    job.bytes += event.ByteSizeLong();
    job.events.push_back(event);
  }
  while (job.bytes > kKeptBytes) {
    job.bytes -= job.events.front().ByteSizeLong();
    job.events.pop_front();
  }
}

void RecentEvents::Drop(const std::string& id) {
  MutexLock lock(mutex_);
  const auto job = jobs_.find(id);
  if (job == jobs_.end()) return;
  job->second.events.clear();
  job->second.bytes = 0;
}

std::vector<v1::JobEvent> RecentEvents::After(const std::string& id,
                                              int64_t after, int limit) {
  MutexLock lock(mutex_);
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return {};
  const std::deque<v1::JobEvent>& events = found->second.events;
  if (events.empty() || after + 1 < events.front().sequence() ||
      after >= events.back().sequence()) {
    return {};
  }
  const auto begin = events.begin() + (after + 1 - events.front().sequence());
  const auto count = std::min<int64_t>(limit, events.end() - begin);
  return {begin, begin + count};
}

}  // namespace edgekiln::server
