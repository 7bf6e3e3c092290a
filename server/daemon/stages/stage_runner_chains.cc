// Stages that are executed along with others
// (docs/design/0032-chains-of-stages.md).

#include <algorithm>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "server/daemon/stages/stage_flight.h"
#include "server/daemon/stages/stage_runner.h"
#include "server/stage_chain.h"
#include "server/worker_limits.h"

namespace edgekiln::server {

bool StageRunner::IsShortBehind(const Flight& head, const std::string& work) {
  MutexLock lock(mutex_);
  return head.owner.job_class == v1::BATCH && head.tickets.size() <= 1 &&
         known_work_.IsShort(work);
}

void StageRunner::NoteWork(const StageCall& call, const Landed& landed) {
  if (call.work.empty() || landed->has_error()) return;
  MutexLock lock(mutex_);
  known_work_.Note(call.work, landed.cpu_seconds);
}

// Which of the stages that follow go with the lease. Those with a key have a
// flight of their own, which others join.
void StageRunner::FindNext(const std::shared_ptr<Flight>& flight,
                           LeaseRequest& request) {
  bool some_left_out = false;
  bool some_open = false;
  for (StageCall& call : flight->call.next) {
    const Stage stage = call.options.options_case();
    std::shared_ptr<Flight> next;
    if (!HasAllInputs(call)) {
      // What it needs may have been left out.
      if (some_left_out) break;
      MutexLock lock(mutex_);
      // Those behind the first one are as unlike others as it is.
      if (!some_open && !chained_.TryAdd(call)) break;
      some_open = true;
    } else {
      const absl::StatusOr<std::string> key = KeyOf(call);
      if (!key.ok()) break;
      if (IsAtHand(call, *key)) {
        some_left_out = true;
        continue;
      }
      MutexLock lock(mutex_);
      const auto [it, is_new] = flights_.try_emplace(*key);
      if (!is_new) {
        some_left_out = true;
        continue;
      }
      next = it->second = std::make_shared<Flight>();
      next->key = *key;
      next->call = call;
      next->owner = flight->owner;
      next->head = flight;
    }
    LeaseRequest::Next& follows = request.next.emplace_back();
    if (next != nullptr) follows.key = next->key;
    follows.stage = call.name;
    follows.role = RoleOf(stage);
    follows.options = call.options;
    follows.inputs = call.inputs;
    if (!call.work.empty()) {
      follows.goes_along = [this, flight, work = call.work] {
        return IsShortBehind(*flight, work);
      };
    }
    MutexLock lock(mutex_);
    flight->next.emplace_back(std::move(call), std::move(next));
  }
  flight->call.next.clear();
}

StageRunner::Prefetched StageRunner::Prefetch(
    const std::vector<StageCall>& calls, const LeaseOwner& owner) {
  std::shared_ptr<Flight> head;
  for (const StageCall& call : calls) {
    if (head != nullptr) {
      head->call.next.push_back(call);
      continue;
    }
    const absl::StatusOr<std::string> key = KeyOf(call);
    if (!key.ok() || IsAtHand(call, *key)) continue;
    MutexLock lock(mutex_);
    const auto [it, is_new] = flights_.try_emplace(*key);
    if (!is_new) continue;
    head = it->second = std::make_shared<Flight>();
    head->key = *key;
    head->call = call;
    head->owner = owner;
    head->prefetched = true;
    head->kept = true;
  }
  if (head != nullptr) Launch(head);
  return head;
}

void StageRunner::Drop(const Prefetched& prefetched) {
  const std::shared_ptr<Flight> head = prefetched.lock();
  if (head == nullptr) return;
  uint64_t lease_id = 0;
  {
    MutexLock lock(mutex_);
    head->kept = false;
    if (IsWanted(*head)) return;
    lease_id = head->lease_id;
    Forget(*head);
  }
  if (lease_id != 0) leases_.Cancel(lease_id);
}

bool StageRunner::IsWanted(const Flight& head) {
  return !head.tickets.empty() ||
         std::any_of(head.next.begin(), head.next.end(), [](const auto& next) {
           return next.second != nullptr && !next.second->tickets.empty();
         });
}

void StageRunner::Forget(const Flight& flight) {
  const auto found = flights_.find(flight.key);
  if (found != flights_.end() && found->second.get() == &flight) {
    flights_.erase(found);
  }
}

void StageRunner::OnNextDone(Flight& head, const Landed& landed,
                             std::vector<LeaseOutcome> outcomes) {
  std::vector<std::pair<StageCall, std::shared_ptr<Flight>>> next;
  {
    MutexLock lock(mutex_);
    next.swap(head.next);
  }
  std::vector<Landed> all = {landed};
  size_t done = 0;
  while (landed.ok() && done < next.size() && done < outcomes.size() &&
         OnOneDone(std::move(next[done].first), next[done].second,
                   std::move(outcomes[done]), all)) {
    ++done;
  }
  for (; done < next.size(); ++done) {
    if (next[done].second != nullptr) Release(next[done].second);
  }
}

// Adds its result to those of the chain. False if this one, and those of what
// follows, are of no use.
bool StageRunner::OnOneDone(StageCall call,
                            const std::shared_ptr<Flight>& flight,
                            LeaseOutcome outcome, std::vector<Landed>& all) {
  std::vector<const v1::StageResult*> before;
  for (const Landed& made : all) before.push_back(&**made.result);
  auto inputs = ChainedInputs(std::move(call.inputs), before);
  if (!inputs.ok()) return false;
  call.inputs = *std::move(inputs);
  const absl::StatusOr<std::string> key = KeyOf(call);
  if (!key.ok() || IsOverWorkerLimit(outcome.result.error()) ||
      !CheckOutcome(call.name, outcome).ok()) {
    return false;
  }
  // Another stage may have had the same result as the one before it.
  bool twice = flight == nullptr && IsAtHand(call, *key);
  if (flight == nullptr && !twice) {
    MutexLock lock(mutex_);
    twice = flights_.count(*key) > 0;
  }
  if (!twice) SetReadVersion(call, outcome.result);
  const Landed& landed = all.emplace_back(std::move(outcome));
  NoteWork(call, landed);
  if (twice) return true;
  Store(call, *key, landed);
  if (flight != nullptr) {
    Land(flight, landed, How::kExecuted);
    return true;
  }
  CountLanding(call.name, landed, How::kExecuted, 0);
  MutexLock lock(mutex_);
  unclaimed_.Add(*key, {landed.elapsed, landed.cpu_seconds});
  return true;
}

// Its lease ended without it: whoever waits for it gets a lease.
void StageRunner::Release(const std::shared_ptr<Flight>& flight) {
  {
    MutexLock lock(mutex_);
    flight->head = nullptr;
    if (flight->tickets.empty()) {
      flights_.erase(flight->key);
      return;
    }
  }
  Launch(flight);
}

}  // namespace edgekiln::server
