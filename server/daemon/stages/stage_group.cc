#include "server/daemon/stages/stage_group.h"

#include <algorithm>
#include <utility>

namespace edgekiln::server {
namespace {

// `hook` for that stage; empty if it is.
template <typename News>
std::function<void(const News&)> About(
    const StageId& id,
    const std::function<void(const StageId&, const News&)>& hook) {
  if (!hook) return nullptr;
  return [hook, id](const News& news) { hook(id, news); };
}

}  // namespace

StageGroup::~StageGroup() { DropPrefetched(); }

std::shared_ptr<PendingStage> StageGroup::Start(StageCall call) {
  const StageId id = {.name = call.name, .target = call.target};
  StageEvents events;
  if (hooks_.started) {
    events.started = [hook = hooks_.started, id] { hook(id); };
  }
  events.progress = About(id, hooks_.progress);
  events.waiting = About(id, hooks_.waiting);
  events.warned = About(id, hooks_.warned);
  events.finished = About(id, hooks_.finished);
  std::shared_ptr<StageTicket> ticket =
      runner_.Start(std::move(call), std::move(events), owner_);
  absl::Status cancelled;
  {
    MutexLock lock(mutex_);
    cancelled = cancelled_;
    if (tickets_.size() >= sweep_at_) {
      tickets_.erase(std::remove_if(tickets_.begin(), tickets_.end(),
                                    [](const auto& t) { return t.expired(); }),
                     tickets_.end());
      sweep_at_ = std::max<size_t>(64, 2 * tickets_.size());
    }
    tickets_.push_back(ticket);
  }
  if (!cancelled.ok()) ticket->Cancel(cancelled);
  return ticket;
}

void StageGroup::Prefetch(const std::vector<StageCall>& calls) {
  {
    MutexLock lock(mutex_);
    if (!cancelled_.ok()) return;
  }
  StageRunner::Prefetched prefetched = runner_.Prefetch(calls, owner_);
  bool cancelled = false;
  {
    MutexLock lock(mutex_);
    cancelled = !cancelled_.ok();
    prefetched_.erase(std::remove_if(prefetched_.begin(), prefetched_.end(),
                                     [](const auto& p) { return p.expired(); }),
                      prefetched_.end());
    if (!prefetched.expired()) prefetched_.push_back(std::move(prefetched));
  }
  if (cancelled) DropPrefetched();
}

void StageGroup::DropPrefetched() {
  std::vector<StageRunner::Prefetched> dropped;
  {
    MutexLock lock(mutex_);
    dropped.swap(prefetched_);
  }
  for (const auto& prefetched : dropped) runner_.Drop(prefetched);
}

void StageGroup::OnSamples(const v1::JobEvent::Samples& samples) {
  if (hooks_.samples) hooks_.samples(samples);
}

void StageGroup::OnCounted(const v1::JobEvent::Counted& counted) {
  if (hooks_.counted) hooks_.counted(counted);
}

void StageGroup::Cancel(const absl::Status& why) {
  std::vector<std::shared_ptr<StageTicket>> live;
  {
    MutexLock lock(mutex_);
    if (!cancelled_.ok()) return;
    cancelled_ = why;
    for (const auto& weak : tickets_) {
      if (auto ticket = weak.lock()) live.push_back(std::move(ticket));
    }
  }
  for (const auto& ticket : live) ticket->Cancel(why);
  DropPrefetched();
}

}  // namespace edgekiln::server
