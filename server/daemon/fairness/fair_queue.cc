#include "server/daemon/fairness/fair_queue.h"

#include <algorithm>
#include <deque>
#include <unordered_set>

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

std::optional<size_t> FairQueue::Choose(const Oldest& oldest,
                                        absl::Duration now, int turns,
                                        bool& passed_over) {
  std::optional<size_t> first;
  std::optional<size_t> overdue;
  absl::Duration longest = absl::ZeroDuration();
  for (size_t i = 0; i < oldest.size(); ++i) {
    if (!oldest[i].has_value()) continue;
    if (!first.has_value()) first = i;
    const auto job_class = static_cast<v1::JobClass>(i / kKinds + 1);
    const absl::Duration late = now - *oldest[i] - PatienceOf(job_class);
    if (late > longest) {
      longest = late;
      overdue = i;
    }
  }
  passed_over = overdue.has_value() && overdue != first;
  if (!passed_over || turns + 1 < kTurnsToOverdue) return first;
  passed_over = false;
  return overdue;
}

std::optional<uint64_t> FairQueue::FirstOf(const Bucket& bucket,
                                           const Fits& fits) {
  for (const auto& [turn, client_name] : bucket.round) {
    const Client& client = bucket.clients.at(client_name);
    for (const auto& [job_turn, job_name] : client.round) {
      for (const auto& [order, id] : client.jobs.at(job_name).items) {
        if (fits(id)) return id;
      }
    }
  }
  return std::nullopt;
}

std::optional<FairQueue::Choice> FairQueue::Next(absl::Duration now,
                                                 const Admits& admits,
                                                 const Fits& fits) const {
  Oldest oldest;
  for (size_t i = 0; i < buckets_.size(); ++i) {
    const Bucket& bucket = buckets_[i];
    if (bucket.by_age.empty() ||
        !admits(static_cast<v1::JobClass>(i / kKinds + 1),
                static_cast<int>(i % kKinds))) {
      continue;
    }
    oldest[i] = bucket.by_age.begin()->first;
  }
  Choice choice;
  while (const std::optional<size_t> bucket =
             Choose(oldest, now, passed_over_, choice.passed_over)) {
    if (const auto id = FirstOf(buckets_[*bucket], fits)) {
      choice.id = *id;
      return choice;
    }
    oldest[*bucket] = std::nullopt;
  }
  return std::nullopt;
}

void FairQueue::TakeItem(uint64_t id) {
  const auto it = items_.find(id);
  const Item& item = it->second;
  Bucket& bucket = BucketOf(item);
  Client& client = bucket.clients.at(item.client);
  Job& job = client.jobs.at(item.job);
  job.items.erase({item.order, id});
  bucket.by_age.erase({item.since, id});
  NextRound(client.jobs, client.round, item.job, !job.items.empty(),
            next_turn_++);
  NextRound(bucket.clients, bucket.round, item.client, !client.jobs.empty(),
            next_turn_++);
  items_.erase(it);
}

void FairQueue::Take(const Choice& choice) {
  passed_over_ = choice.passed_over ? passed_over_ + 1 : 0;
  TakeItem(choice.id);
}

std::optional<uint64_t> FairQueue::Pop(absl::Duration now,
                                       const Admits& admits) {
  const std::optional<Choice> next =
      Next(now, admits, [](uint64_t) { return true; });
  if (!next.has_value()) return std::nullopt;
  Take(*next);
  return next->id;
}

bool FairQueue::HasAfter(v1::JobClass job_class) const {
  const auto first = buckets_.begin() + (ClassIndex(job_class) + 1) * kKinds;
  return std::any_of(first, buckets_.end(), [](const Bucket& bucket) {
    return !bucket.by_age.empty();
  });
}

// Goes through the items of a bucket in the order in which they would be taken.
class FairQueue::Walk {
 public:
  explicit Walk(const Bucket& bucket) : ages_(bucket.by_age) {
    for (const auto& [turn, client_name] : bucket.round) {
      const Client& client = bucket.clients.at(client_name);
      Jobs& jobs = round_.emplace_back();
      for (const auto& [job_turn, job_name] : client.round) {
        const Job& job = client.jobs.at(job_name);
        jobs.push_back({job.items.begin(), job.items.end()});
      }
    }
    oldest_ = ages_.begin();
  }

  // Nothing at the end.
  std::optional<absl::Duration> oldest() {
    while (oldest_ != ages_.end() && taken_.contains(oldest_->second)) {
      taken_.erase(oldest_->second);
      ++oldest_;
    }
    if (oldest_ == ages_.end()) return std::nullopt;
    return oldest_->first;
  }

  uint64_t Take() {
    Jobs jobs = std::move(round_.front());
    round_.pop_front();
    Items items = jobs.front();
    jobs.pop_front();
    const uint64_t id = items.first->second;
    if (++items.first != items.second) jobs.push_back(items);
    if (!jobs.empty()) round_.push_back(std::move(jobs));
    taken_.insert(id);
    return id;
  }

 private:
  using Iterator = std::set<std::pair<uint64_t, uint64_t>>::const_iterator;
  using Items = std::pair<Iterator, Iterator>;
  using Jobs = std::deque<Items>;

  const std::set<std::pair<absl::Duration, uint64_t>>& ages_;
  std::set<std::pair<absl::Duration, uint64_t>>::const_iterator oldest_;
  std::unordered_set<uint64_t> taken_;  // Not before `oldest_`.
  std::deque<Jobs> round_;
};

std::vector<uint64_t> FairQueue::Order(absl::Duration now) const {
  std::vector<uint64_t> order;
  order.reserve(items_.size());
  std::vector<Walk> walks(buckets_.begin(), buckets_.end());
  int turns = passed_over_;
  while (true) {
    Oldest oldest;
    for (size_t i = 0; i < walks.size(); ++i) oldest[i] = walks[i].oldest();
    bool passed_over = false;
    const auto bucket = Choose(oldest, now, turns, passed_over);
    if (!bucket.has_value()) return order;
    turns = passed_over ? turns + 1 : 0;
    order.push_back(walks[*bucket].Take());
  }
}

}  // namespace edgekiln::server
