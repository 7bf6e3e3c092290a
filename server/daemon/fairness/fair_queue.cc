#include "server/daemon/fairness/fair_queue.h"

#include <algorithm>

#include "server/daemon/fairness/job_class.h"

namespace edgekiln::server {
namespace {

int ClassIndex(v1::JobClass job_class) {
  return std::clamp(static_cast<int>(job_class), 1, 3) - 1;
}

// Moves to the end of the round, or leaves it.
template <typename Member>
void NextRound(std::map<std::string, Member>& members,
               std::set<std::pair<uint64_t, std::string>>& round,
               const std::string& name, bool stays, uint64_t turn) {
  const auto it = members.find(name);
  round.erase({it->second.turn, name});
  if (!stays) {
    members.erase(it);
    return;
  }
  it->second.turn = turn;
  round.emplace(turn, name);
}

}  // namespace

FairQueue::Bucket& FairQueue::BucketOf(const Item& item) {
  return buckets_[ClassIndex(item.job_class) * kKinds +
                  std::clamp(item.kind, 0, kKinds - 1)];
}

void FairQueue::Push(uint64_t id, Item item) {
  Insert(id, item);
  items_.emplace(id, std::move(item));
}

bool FairQueue::Remove(uint64_t id) {
  const auto it = items_.find(id);
  if (it == items_.end()) return false;
  Erase(id, it->second);
  items_.erase(it);
  return true;
}

void FairQueue::Promote(uint64_t id, v1::JobClass job_class) {
  const auto it = items_.find(id);
  if (it == items_.end() || !GoesBefore(job_class, it->second.job_class)) {
    return;
  }
  Erase(id, it->second);
  it->second.job_class = job_class;
  Insert(id, it->second);
}

void FairQueue::Insert(uint64_t id, const Item& item) {
  Bucket& bucket = BucketOf(item);
  const auto [client, new_client] =
      bucket.clients.try_emplace(item.client, Client());
  if (new_client) {
    client->second.turn = next_turn_++;
    bucket.round.emplace(client->second.turn, item.client);
  }
  const auto [job, new_job] = client->second.jobs.try_emplace(item.job, Job());
  if (new_job) {
    job->second.turn = next_turn_++;
    client->second.round.emplace(job->second.turn, item.job);
  }
  job->second.items.emplace(item.order, id);
  bucket.by_age.emplace(item.since, id);
}

// Who has nothing left leaves the round; who has keeps the place in it.
void FairQueue::Erase(uint64_t id, const Item& item) {
  Bucket& bucket = BucketOf(item);
  bucket.by_age.erase({item.since, id});
  Client& client = bucket.clients.at(item.client);
  Job& job = client.jobs.at(item.job);
  job.items.erase({item.order, id});
  if (!job.items.empty()) return;
  NextRound(client.jobs, client.round, item.job, /*stays=*/false, 0);
  if (!client.jobs.empty()) return;
  NextRound(bucket.clients, bucket.round, item.client, /*stays=*/false, 0);
}

FairQueue::Choice FairQueue::Choose(absl::Duration now, const Admits& admits,
                                    const AdmitsClient& admits_client) {
  Choice first;
  Choice overdue;
  absl::Duration longest = absl::ZeroDuration();
  for (size_t i = 0; i < buckets_.size(); ++i) {
    Bucket& bucket = buckets_[i];
    const auto job_class = static_cast<v1::JobClass>(i / kKinds + 1);
    if (bucket.by_age.empty() ||
        !admits(job_class, static_cast<int>(i % kKinds))) {
      continue;
    }
    const auto client =
        std::find_if(bucket.round.begin(), bucket.round.end(), [&](auto& turn) {
          return admits_client == nullptr ||
                 admits_client(job_class, turn.second);
        });
    if (client == bucket.round.end()) continue;
    if (first.bucket == nullptr) first = {&bucket, client->second};
    const absl::Duration late =
        now - bucket.by_age.begin()->first - PatienceOf(job_class);
    if (late > longest) {
      longest = late;
      overdue = {&bucket, client->second};
    }
  }
  first.passed_over =
      overdue.bucket != nullptr && overdue.bucket != first.bucket;
  const bool its_turn =
      first.passed_over && passed_over_ + 1 >= kTurnsToOverdue;
  return its_turn ? overdue : first;
}

uint64_t FairQueue::TakeFrom(Bucket& bucket, const std::string& name) {
  Client& client = bucket.clients.at(name);
  const std::string job_name = client.round.begin()->second;
  Job& job = client.jobs.at(job_name);
  const uint64_t id = job.items.begin()->second;
  job.items.erase(job.items.begin());
  bucket.by_age.erase({items_.at(id).since, id});
  NextRound(client.jobs, client.round, job_name, !job.items.empty(),
            next_turn_++);
  NextRound(bucket.clients, bucket.round, name, !client.jobs.empty(),
            next_turn_++);
  items_.erase(id);
  return id;
}

std::optional<uint64_t> FairQueue::Pop(absl::Duration now, const Admits& admits,
                                       const AdmitsClient& admits_client) {
  const Choice choice = Choose(now, admits, admits_client);
  if (choice.bucket == nullptr) return std::nullopt;
  passed_over_ = choice.passed_over ? passed_over_ + 1 : 0;
  return TakeFrom(*choice.bucket, choice.client);
}

bool FairQueue::HasAfter(v1::JobClass job_class) const {
  const auto first = buckets_.begin() + (ClassIndex(job_class) + 1) * kKinds;
  return std::any_of(first, buckets_.end(), [](const Bucket& bucket) {
    return !bucket.by_age.empty();
  });
}

std::vector<uint64_t> FairQueue::Order(absl::Duration now) const {
  std::vector<uint64_t> order;
  order.reserve(items_.size());
  FairQueue rest = *this;
  while (const std::optional<uint64_t> id =
             rest.Pop(now, [](v1::JobClass, int) { return true; })) {
    order.push_back(*id);
  }
  return order;
}

}  // namespace edgekiln::server
