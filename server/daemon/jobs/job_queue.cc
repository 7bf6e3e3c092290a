#include "server/daemon/jobs/job_queue.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "server/daemon/fairness/job_class.h"

namespace edgekiln::server {
namespace {

constexpr int kRunningPerReserved = 4;

std::string KindOf(const v1::CreateJobRequest& request) {
  // Of several goals the last ones cost most.
  int costliest = 0;
  for (const int goal : request.goals()) costliest = std::max(costliest, goal);
  return absl::StrCat(costliest);
}

}  // namespace

void JobQueue::Push(const std::string& id, const v1::CreateJobRequest& request,
                    const std::string& client, absl::Duration since) {
  const uint64_t number = next_number_++;
  const v1::JobClass job_class = ClassOf(request);
  waiting_[id] = {
      .kind = KindOf(request), .job_class = job_class, .number = number};
  ids_[number] = id;
  queue_.Push(number, {.job_class = job_class,
                       .client = client,
                       .order = number,
                       .since = since});
}

bool JobQueue::Remove(const std::string& id) {
  const auto it = waiting_.find(id);
  if (it == waiting_.end()) return false;
  queue_.Remove(it->second.number);
  ids_.erase(it->second.number);
  waiting_.erase(it);
  return true;
}

std::optional<std::string> JobQueue::Next(absl::Duration now) {
  if (static_cast<int>(running_.size()) >= max_running_) return std::nullopt;
  const int reserved = max_running_ / kRunningPerReserved;
  const bool others_may = others_ < max_running_ - reserved;
  const std::optional<uint64_t> number =
      queue_.Pop(now, [others_may](v1::JobClass job_class, int) {
        return others_may || job_class == v1::INTERACTIVE;
      });
  if (!number.has_value()) return std::nullopt;
  const std::string id = ids_.at(*number);
  ids_.erase(*number);
  auto entry = waiting_.extract(id);
  entry.mapped().started = now;
  if (entry.mapped().job_class != v1::INTERACTIVE) ++others_;
  running_.insert(std::move(entry));
  return id;
}

void JobQueue::Ended(const std::string& id, absl::Duration now,
                     bool succeeded) {
  const auto it = running_.find(id);
  if (it == running_.end()) return;
  if (it->second.job_class != v1::INTERACTIVE) --others_;
  if (succeeded) recent_.Add(it->second.kind, now - it->second.started);
  running_.erase(it);
}

WaitEstimate JobQueue::Running(absl::Duration now) const {
  WaitEstimate wait(recent_, max_running_);
  for (const auto& [id, entry] : running_) {
    wait.Add(entry.kind, now - entry.started);
  }
  return wait;
}

std::vector<JobQueue::Place> JobQueue::Places(absl::Duration now) const {
  std::vector<Place> places;
  WaitEstimate wait = Running(now);
  for (const uint64_t number : queue_.Order(now)) {
    const std::string& id = ids_.at(number);
    places.push_back({.id = id,
                      .position = static_cast<int64_t>(places.size()) + 1,
                      .eta = wait.Get()});
    wait.Add(waiting_.at(id).kind);
  }
  return places;
}

}  // namespace edgekiln::server
