#include "server/daemon/jobs/job_queue.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "server/daemon/fairness/job_class.h"

namespace edgekiln::server {
namespace {

constexpr int kRunningPerReserved = 4;
constexpr int kQueuedPerReserved = 4;
constexpr int kQueuedPerFew = 64;

std::string KindOf(const v1::CreateJobRequest& request) {
  // Of several goals the last ones cost most.
  int costliest = 0;
  for (const int goal : request.goals()) costliest = std::max(costliest, goal);
  return absl::StrCat(costliest);
}

}  // namespace

std::string ClientOf(const v1::CreateJobRequest& request,
                     const std::string& peer) {
  return request.slot().client().empty()
             ? absl::StrCat("peer ", peer)
             : absl::StrCat("client ", request.slot().client());
}

void JobQueue::Push(const std::string& id, const v1::CreateJobRequest& request,
                    const std::string& client, absl::Duration since) {
  const uint64_t number = next_number_++;
  const v1::JobClass job_class = ClassOf(request);
  waiting_[id] = {.kind = KindOf(request),
                  .job_class = job_class,
                  .number = number,
                  .client = client};
  ++waiting_of_[client];
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
  NoLongerWaits(it->second);
  waiting_.erase(it);
  return true;
}

std::optional<std::string> JobQueue::Next(absl::Duration now) {
  if (static_cast<int>(running_.size()) >= max_running_) return std::nullopt;
  const int reserved = max_running_ / kRunningPerReserved;
  const bool others_may = others_ < max_running_ - reserved;
  const bool batch_may =
      others_may && batch_ < std::max(1, max_running_ - 2 * reserved);
  const int of_client = std::max(1, (max_running_ - reserved) / 2);
  const std::optional<FairQueue::Choice> next = queue_.Next(
      now,
      [&](v1::JobClass job_class, int) {
        return job_class == v1::INTERACTIVE ||
               (job_class == v1::BATCH ? batch_may : others_may);
      },
      [&](uint64_t number) {
        const FairQueue::Item& item = queue_.at(number);
        const auto running = others_of_.find(item.client);
        return item.job_class == v1::INTERACTIVE ||
               running == others_of_.end() || running->second < of_client;
      });
  if (!next.has_value()) return std::nullopt;
  queue_.Take(*next);
  const std::string id = ids_.at(next->id);
  auto entry = waiting_.extract(id);
  NoLongerWaits(entry.mapped());
  entry.mapped().started = now;
  if (entry.mapped().job_class != v1::INTERACTIVE) {
    ++others_;
    ++others_of_[entry.mapped().client];
  }
  if (entry.mapped().job_class == v1::BATCH) ++batch_;
  running_.insert(std::move(entry));
  return id;
}

void JobQueue::NoLongerWaits(const Entry& entry) {
  ids_.erase(entry.number);
  const auto it = waiting_of_.find(entry.client);
  if (--it->second == 0) waiting_of_.erase(it);
}

bool JobQueue::HasRoom(const std::string& client, int max_queued, int coming,
                       int coming_of_client) const {
  const int total = static_cast<int>(queue_.size()) + coming;
  if (total >= max_queued) return false;
  if (total < max_queued - max_queued / kQueuedPerReserved) return true;
  const auto it = waiting_of_.find(client);
  const int own = (it == waiting_of_.end() ? 0 : it->second) + coming_of_client;
  return own < std::max(1, max_queued / kQueuedPerFew);
}

void JobQueue::Ended(const std::string& id, absl::Duration now,
                     bool succeeded) {
  const auto it = running_.find(id);
  if (it == running_.end()) return;
  if (it->second.job_class != v1::INTERACTIVE) {
    --others_;
    const auto of_client = others_of_.find(it->second.client);
    if (--of_client->second == 0) others_of_.erase(of_client);
  }
  if (it->second.job_class == v1::BATCH) --batch_;
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
